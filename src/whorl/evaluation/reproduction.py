"""The paper's test: its printed numbers, five networks at seventeen angles, and the report that comes out of it."""

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whorl.data import RectangleSet
from whorl.evaluation.angles import AngleTable, Store, TestScenes, evaluate
from whorl.foundations.provenance import versions
from whorl.networks.cards import ModelCard

# Two-sided 95 % quantiles of Student's t for 1, 2, ... degrees of freedom; the normal one beyond.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Summary:
    """Median, mean and 95 % confidence interval of the mean (Student) over training seeds; every value is kept.

    >>> from whorl.evaluation import summarise
    >>> summarise([1.0, 2.0, 3.0]).mean
    2.0
    """

    values: tuple[float, ...]
    median: float
    mean: float
    low: float
    high: float


def summarise(values: Sequence[float]) -> Summary:
    """Summarise a figure over seeds; from a single seed no interval follows (NaN).

    >>> summarise([28.1, 28.4, 28.2]).median
    28.2
    """
    if not values:
        raise ValueError("summarise: got no values. Give one per seed.")
    mean = statistics.fmean(values)
    half = math.nan
    if len(values) > 1:
        freedom = len(values) - 1
        quantile = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else 1.96
        half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return Summary(tuple(values), statistics.median(values), mean, mean - half, mean + half)


FULL_TEST = 50
"""Images per angle in the paper's test; with fewer there is no verdict."""


@dataclass(frozen=True)
class Claim:
    """The paper's figures for a network, and the bound that our variance must keep on whole scenes.

    The uncoupled network is the counter-example: its variance must be *large*.
    """

    label: str
    variance: float
    psnr_45: float | None
    bound: float
    at_least: bool = False


PAPER = {
    "uncoupled-0.41": Claim("uncoupled, α = 0.41", 1.25, 27.0, 0.5, at_least=True),
    "isotropic-0.41": Claim("coupled isotropic, α = 0.41", 0.035, 28.1, 0.035),
    "anisotropic-0.41": Claim("coupled anisotropic, α = 0.41, γ = 0", 0.014, 29.2, 0.014),
    "isotropic-0.5": Claim("coupled isotropic, α = 0.5", 0.013, None, 0.013),
    "anisotropic-0.5": Claim("coupled anisotropic, α = 0.5", 8.7e-4, None, 0.0009),
}
"""The five networks of the paper's figure, in its order. PSNRs are those of one picture."""


def verdict(name: str, variance: float, images: int) -> str:
    """``"met"`` or ``"missed"`` at the full test, and nothing with fewer images.

    >>> verdict("isotropic-0.41", 0.004, 50), verdict("isotropic-0.41", 0.004, 5)
    ('met', '')
    """
    if name not in PAPER or images < FULL_TEST:
        return ""
    claim = PAPER[name]
    kept = variance >= claim.bound if claim.at_least else variance <= claim.bound
    return "met" if kept else "missed"


@dataclass(frozen=True)
class Outcome:
    """One network on one way of turning the test scenes, for all its training seeds."""

    card: ModelCard
    rectangles: RectangleSet
    tables: dict[int, AngleTable]

    @property
    def median_seed(self) -> int:
        """The seed whose variance is the median (the lower one of two)."""
        order = sorted(self.tables, key=lambda seed: self.tables[seed].variance)
        return order[(len(order) - 1) // 2]

    @property
    def table(self) -> AngleTable:
        """The table of the median seed."""
        return self.tables[self.median_seed]

    @property
    def variance(self) -> float:
        """Median of the variances over the seeds, in dB²."""
        return statistics.median(table.variance for table in self.tables.values())

    @property
    def verdict(self) -> str:
        """Whether the paper's figure is met; empty with fewer images than the full test, or on turned rectangles."""
        if self.rectangles.turning != "scene":
            return ""
        return verdict(self.card.name, self.variance, self.rectangles.count)


def measure(
    cards: Sequence[ModelCard],
    scenes: TestScenes,
    seeds: int,
    store: Store,
    *,
    batch: int = 10,
    advance: Callable[[int], None] = lambda images: None,
) -> list[Outcome]:
    """Run every card's networks (the chosen seed, or the first ``seeds``) over all angles."""
    found = []
    for card in cards:
        tables = {}
        for seed in wanted_seeds(card, seeds):
            network = card.build(seed).to(scenes.device)
            key = Store.key(
                network=card.network.as_dict(),
                values=card.run(seed).values,
                pictures=dataclasses.asdict(scenes.rectangles),
            )
            tables[seed] = evaluate(network, scenes, batch=batch, store=store, key=key, advance=advance)
        found.append(Outcome(card, scenes.rectangles, tables))
    return found


def wanted_seeds(card: ModelCard, seeds: int) -> tuple[int, ...]:
    """The chosen seed alone, or the first ``seeds`` ones."""
    if not 1 <= seeds <= len(card.runs):
        raise ValueError(
            f"--seeds {seeds}: {card.name} has {len(card.runs)} training runs. Choose 1 to {len(card.runs)}."
        )
    return (card.chosen,) if seeds == 1 else card.seeds[:seeds]


def report(measured: Sequence[Outcome], training: dict[str, Any]) -> dict[str, Any]:
    """``results.json``: the protocol, and for each of the paper's networks PSNR by angle, mean, variance, PSNR at 45°.

    With several seeds the figures of a network are those of the seed with the median variance.
    """
    first = measured[0]
    protocol = {
        "images": first.rectangles.count,
        "turning": first.rectangles.turning,
        "edges": first.rectangles.edges,
        "noise": first.rectangles.noise,
        "angles": list(first.table.angles),
        "seeds": {m.card.name: sorted(m.tables) for m in measured},
        "variance": "population variance over the angles of the mean PSNR, in dB²",
        "training": training,
        "versions": versions(),
    }
    return {"protocol": protocol, "models": {m.card.name: m.table.as_dict() for m in measured if m.card.name in PAPER}}


def report_details(measured: Sequence[Outcome]) -> dict[str, Any]:
    """Every seed of every network on every way of turning, with confidence over seeds."""
    found: dict[str, Any] = {}
    for m in measured:
        entry: dict[str, Any] = {"verdict": m.verdict, "median_seed": m.median_seed, "seeds": {}}
        for seed, table in m.tables.items():
            entry["seeds"][str(seed)] = {**table.as_dict(), "variance_by_chance": table.expected_variance()}
        for name in ("mean", "variance"):
            summary = summarise([getattr(table, name) for table in m.tables.values()])
            interval = {"low": summary.low, "high": summary.high} if len(m.tables) > 1 else {}
            entry[name] = {"median": summary.median, "mean": summary.mean, **interval}
        found.setdefault(m.rectangles.turning, {})[m.card.name] = entry
    return found
