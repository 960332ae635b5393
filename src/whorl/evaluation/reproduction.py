"""The paper's test: five networks, seventeen angles, and the report that comes out of it."""

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from whorl.data import RectangleSet
from whorl.evaluation.angles import AngleTable, TestScenes, evaluate
from whorl.evaluation.paper import PAPER, verdict
from whorl.evaluation.seeds import summarise
from whorl.evaluation.store import Store
from whorl.foundations.provenance import versions
from whorl.networks.cards import ModelCard

__all__ = ["Measured", "measure", "report", "report_details"]


@dataclass(frozen=True)
class Measured:
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
) -> list[Measured]:
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
        found.append(Measured(card, scenes.rectangles, tables))
    return found


def wanted_seeds(card: ModelCard, seeds: int) -> tuple[int, ...]:
    """The chosen seed alone, or the first ``seeds`` ones."""
    if not 1 <= seeds <= len(card.runs):
        raise ValueError(
            f"--seeds {seeds}: {card.name} has {len(card.runs)} training runs. Choose 1 to {len(card.runs)}."
        )
    return (card.chosen,) if seeds == 1 else card.seeds[:seeds]


def report(measured: Sequence[Measured], training: dict[str, Any]) -> dict[str, Any]:
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


def report_details(measured: Sequence[Measured]) -> dict[str, Any]:
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
