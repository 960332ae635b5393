"""Model cards: a trained network as one small JSON file, with what it was trained on and what it reached.

A card holds the parameters of several training runs (seeds). Networks are loaded from the package itself, offline.
"""

import hashlib
from dataclasses import asdict, dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from whorl.errors import FileError
from whorl.foundations.atomic import write_bytes
from whorl.foundations.bounded import read_bounded
from whorl.foundations.strict_json import parsed_json, strict_json
from whorl.networks.base import DiffusionNetwork
from whorl.networks.build import build_network
from whorl.networks.photo import PhotoNetwork
from whorl.networks.photo_cards import ENDING, load_photo_card, photo_networks
from whorl.networks.spec import NetworkSpec
from whorl.training.checkpoint import versions

__all__ = ["FORMAT", "VERSION", "ModelCard", "Run", "available", "load", "load_card"]

FORMAT = "whorl model card"
VERSION = 2
MAX_CARD = 2**26  # bytes
FIRST = 1  # the version that had no hash yet


@dataclass(frozen=True)
class Run:
    """One training run: its seed, the numbers it ended with, and the figures it reached."""

    seed: int
    values: dict[str, list[float]]
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelCard:
    """A network and its training runs; ``chosen`` is the seed that ``load`` takes."""

    name: str
    network: NetworkSpec
    runs: tuple[Run, ...]
    chosen: int
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    versions: dict[str, str] = field(default_factory=versions)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds there are."""
        return tuple(run.seed for run in self.runs)

    def run(self, seed: int | None = None) -> Run:
        """The run with this seed; the chosen one by default."""
        wanted = self.chosen if seed is None else seed
        for run in self.runs:
            if run.seed == wanted:
                return run
        raise ValueError(f"{self.name}: no run with seed {wanted}; there are {self.seeds}.")

    def build(self, seed: int | None = None) -> DiffusionNetwork:
        """The trained network, ready to use."""
        network = build_network(self.network).set_values(self.run(seed).values).eval()
        noise = self.data.get("noise")
        network.trained_noise = None if noise is None else float(noise)
        return network

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    def write(self, path: str | Path) -> None:
        """Write the card atomically; a file that is no model card is never replaced."""
        if Path(path).exists():
            load_card(Path(path))
        contents = self.as_dict()
        write_bytes(Path(path), (strict_json({**contents, "sha256": _hash(contents)}, indent=1) + "\n").encode())


def available() -> tuple[str, ...]:
    """The names of the networks in the package."""
    folder = resources.files("whorl.networks") / "cards"
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json")))


def load_card(source: str | Path) -> ModelCard:
    """Read a model card: the name of one in the package, or a path to a JSON file."""
    if isinstance(source, str) and source in available():
        text = (resources.files("whorl.networks") / "cards" / f"{source}.json").read_bytes()
    elif Path(source).suffix == ".json":
        text = read_bounded(Path(source), MAX_CARD)
    else:
        raise ValueError(
            f"There is no network {str(source)!r}; there are {', '.join((*photo_networks(), *available()))}, "
            "or give a card's path."
        )
    try:
        found = parsed_json(text)
        if found["format"] != FORMAT:
            raise ValueError("its format has another name")
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{source}: not a whorl model card ({error}).") from None
    if found.get("version") not in (FIRST, VERSION):
        raise FileError(f"{source}: model card version {found.get('version')}, this whorl reads version {VERSION}.")
    written = found.pop("sha256", None)
    if found["version"] != FIRST and written != _hash(found):
        raise FileError(f"{source}: damaged model card (its contents are not those that were written).")
    try:
        parts = {name: found[name] for name in ("name", "chosen", "training", "data", "about", "versions")}
        runs = tuple(Run(run["seed"], run["values"], run["figures"]) for run in found["runs"])
        card = ModelCard(network=NetworkSpec.from_dict(found["network"]), runs=runs, **parts)
        for seed in card.seeds:
            card.build(seed)
        card.run()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{source}: damaged model card ({error}).") from None
    return card


def _hash(contents: dict[str, Any]) -> str:
    """The SHA-256 of a card's contents: a bit that flips on the disk is noticed."""
    return hashlib.sha256(strict_json(contents, sort_keys=True).encode()).hexdigest()


def load(name: str | Path, seed: int | None = None) -> DiffusionNetwork | PhotoNetwork:
    """A trained network by name (or by the path of its card), offline.

    ``network(array)`` denoises a NumPy array of any type and range, as :func:`whorl.denoise` does: the noise is
    measured, or given as the second argument, and the picture is scaled to the noise that the network was trained for
    (``network.noise_range``). Networks for photographs (``photo-...``) know a range of levels; those of the paper's
    experiment were trained for noise of standard deviation 60 in pictures of rectangles.

    ``network(tensor)`` on ``(n, c, y, x)`` with grey values from 0 to 255 is the network as it was trained, and can be
    trained further; there, too, a second argument is the level of the noise.
    """
    if str(name) in photo_networks() or Path(name).suffix == ENDING:
        return load_photo_card(name).build()
    return load_card(name).build(seed)
