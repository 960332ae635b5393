"""Model cards: a trained network as one file, with what it was trained on and what it reached.

A card is a safetensors file. Its header holds architecture, settings and figures as JSON text; its tensors are the
weights of one training run, or of several with different seeds. Nothing in it is executed. Networks are loaded from the
package itself, offline.
"""

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.errors import FileError
from whorl.foundations.atomic import check_regular, write_bytes
from whorl.foundations.provenance import versions
from whorl.foundations.strict_json import parsed_json, strict_json
from whorl.networks.trained import Spec, TrainedNetwork

FORMAT, VERSION = "whorl network", "2"
FIRST = ("whorl photo network", "1")  # one run of a network for photographs, whose tensors have plain names
ENDING = ".safetensors"
LARGEST = 2**26  # bytes


@dataclass(frozen=True)
class Run:
    """One training run: its seed, the weights it ended with, and the figures it reached."""

    seed: int
    weights: Mapping[str, Tensor]
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, list[float]]:
        """The weights as plain numbers."""
        return {name: weight.flatten().tolist() for name, weight in self.weights.items()}


@dataclass(frozen=True)
class ModelCard:
    """A network and its training runs; ``chosen`` is the seed that ``load`` takes.

    >>> import whorl
    >>> whorl.networks.load_card("photo-8k").name
    'photo-8k'
    """

    name: str
    network: Spec
    runs: tuple[Run, ...]
    chosen: int
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    versions: dict[str, str] = field(default_factory=versions)

    @classmethod
    def of(cls, name: str, network: TrainedNetwork, figures: dict[str, Any] | None = None, **more: Any) -> "ModelCard":
        """The card of one trained network."""
        seed = more.get("training", {}).get("seed", 0)
        return cls(name, network.spec, (Run(seed, network.saved(), figures or {}),), seed, **more)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds there are."""
        return tuple(run.seed for run in self.runs)

    @property
    def figures(self) -> dict[str, Any]:
        """What the chosen run reached."""
        return self.run().figures

    def run(self, seed: int | None = None) -> Run:
        """The run with this seed; the chosen one by default."""
        wanted = self.chosen if seed is None else seed
        for run in self.runs:
            if run.seed == wanted:
                return run
        raise ValueError(f"{self.name}: no run with seed {wanted}; there are {self.seeds}.")

    def build(self, seed: int | None = None) -> Any:
        """The trained network, ready to use."""
        network = self.network.build()
        network.restore(self.run(seed).weights, self.data)
        return network.eval()

    def as_dict(self) -> dict[str, Any]:
        """Everything but the weights as plain values, for JSON."""
        runs = [{"seed": run.seed, "figures": run.figures} for run in self.runs]
        own = {key: getattr(self, key) for key in ("name", "about", "chosen", "training", "data", "versions")}
        return {**own, "kind": self.network.kind, "network": self.network.as_dict(), "runs": runs}

    def write(self, path: str | Path) -> None:
        """Write the card atomically; a file that is no model card is never replaced."""
        from safetensors.torch import save

        if Path(path).exists():
            load_card(Path(path))
        tensors = {f"{run.seed}/{name}": weight for run in self.runs for name, weight in run.weights.items()}
        header = {"format": FORMAT, "version": VERSION, "card": strict_json(self.as_dict())}
        write_bytes(Path(path), save(tensors, metadata={**header, "sha256": _hash(tensors, header["card"])}))


def available() -> tuple[str, ...]:
    """The names of the networks of the paper's experiment in the package.

    >>> "anisotropic-0.41" in available()
    True
    """
    return _shipped("cards")


def photo_networks() -> tuple[str, ...]:
    """The names of the networks for photographs in the package.

    >>> "photo-colour" in photo_networks()
    True
    """
    return _shipped("photographs")


def volume_networks() -> tuple[str, ...]:
    """The names of the networks for volumes in the package.

    >>> "volume-5k" in volume_networks()
    True
    """
    return _shipped("volumes")


def energy_networks() -> tuple[str, ...]:
    """The names of the learned energies in the package.

    >>> energy_networks()
    ('energy-convex', 'energy-guided', 'energy-weak')
    """
    return _shipped("energies")


def load(name: str | Path, seed: int | None = None) -> TrainedNetwork:
    """A trained network by name (or by the path of its card), offline.

    ``network(array)`` denoises a NumPy array of any type and range, as :func:`whorl.denoise` does: the noise is
    measured, or given as the second argument, and the picture is scaled to the noise that the network was trained for
    (``network.noise_range``). Networks for photographs (``photo-...``) know a range of levels; those of the paper's
    experiment were trained for noise of standard deviation 60 in pictures of rectangles.

    ``network(tensor)`` on ``(n, c, y, x)`` with grey values from 0 to 255 is the network as it was trained, and can be
    trained further; there, too, a second argument is the level of the noise.

    >>> import numpy as np, whorl
    >>> network = whorl.load("photo-8k")
    >>> network.parameter_count, network(np.full((16, 16), 100.0), 25.0).shape
    (7548, (16, 16))
    """
    network = shared(name, seed)
    return copy.deepcopy(network) if str(name) in _folders() else network


def shared(name: str | Path, seed: int | None = None) -> TrainedNetwork:
    """As :func:`load`, for callers that do not change the network: one of the package is built once and shared."""
    if str(name) not in _folders():
        return _built(_read(name), name, seed)
    return _kept(str(name), seed, torch.get_default_dtype())


def load_card(source: str | Path) -> ModelCard:
    """Read a model card: the name of one in the package, or a path to a file.

    >>> load_card("photo-8k").network.width
    16
    """
    card = _read(source)
    for seed in (*card.seeds, None):
        _built(card, source, seed)
    return card


@lru_cache(maxsize=8)
def _kept(name: str, seed: int | None, dtype: torch.dtype) -> TrainedNetwork:
    # The first caller may be in inference mode, in which nothing can be trained later, or have another default device.
    with torch.inference_mode(False), torch.device("cpu"):
        return _built(_read(name), name, seed)


def _built(card: ModelCard, source: str | Path, seed: int | None) -> TrainedNetwork:
    run = card.run(seed)  # an unknown seed is the caller's mistake, not the file's
    try:
        network: TrainedNetwork = card.build(run.seed)
    except (ValueError, KeyError, TypeError, RuntimeError, AttributeError) as error:
        raise FileError(f"{source}: damaged network ({error}).") from None
    return network


def _folders() -> dict[str, str]:
    """The networks of the package, each with its folder."""
    folders = ("photographs", "volumes", "segmentation", "energies", "cards")
    return {name: folder for folder in folders for name in _shipped(folder)}


def _shipped(folder: str) -> tuple[str, ...]:
    found = resources.files("whorl.networks") / folder
    names = (entry.name for entry in found.iterdir()) if found.is_dir() else ()
    return tuple(sorted(name.removesuffix(ENDING) for name in names if name.endswith(ENDING)))


def _read(source: str | Path) -> ModelCard:
    """The card in a file; refused unless it is complete, written by whorl, and finite."""
    from safetensors import SafetensorError, safe_open

    folders = _folders()
    if str(source) not in folders and Path(source).suffix != ENDING:
        raise ValueError(f"There is no network {str(source)!r}; there are {', '.join(folders)}, or give a card's path.")
    inside = resources.files("whorl.networks") / folders.get(str(source), "") / f"{source}{ENDING}"
    try:
        with resources.as_file(inside) as kept:
            path = kept if str(source) in folders else Path(source)
            if check_regular(path) > LARGEST:
                raise FileError(f"{source}: larger than {LARGEST >> 20} MiB, no network of whorl.")
            with safe_open(path, "pt") as file:
                header = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dictionary
    except (OSError, SafetensorError) as error:
        raise FileError(f"{source}: cannot be read as a network ({error}).") from None
    kind = header.get("format"), header.get("version")
    if kind[0] not in (FORMAT, FIRST[0]):
        raise FileError(f"{source}: not a whorl model card.")
    if kind not in ((FORMAT, VERSION), FIRST):
        raise FileError(f"{source}: model card version {kind[1]}, this whorl reads version {VERSION}.")
    if header.get("sha256") != _hash(tensors, header.get("card", "")):
        raise FileError(f"{source}: damaged network (its contents are not those that were written).")
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise FileError(f"{source}: the weights {name!r} hold NaN or infinity. Train again, or take another file.")
    try:
        found = parsed_json(header["card"])
        if kind == FIRST:
            found |= {"kind": "photo", "chosen": 0, "runs": [{"seed": 0, "figures": found["figures"]}]}
            tensors = {f"0/{name}": tensor for name, tensor in tensors.items()}
        runs = []
        for run in found["runs"]:
            begin = f"{run['seed']}/"
            own = {name.removeprefix(begin): tensor for name, tensor in tensors.items() if name.startswith(begin)}
            runs.append(Run(run["seed"], own, run["figures"]))
        plain = {key: found[key] for key in ("name", "chosen", "training", "data", "about", "versions")}
        card = ModelCard(network=Spec.KINDS[found["kind"]].from_dict(found["network"]), runs=tuple(runs), **plain)
        card.run()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{source}: damaged network ({error}).") from None
    return card


def _hash(tensors: Mapping[str, Tensor], card: str) -> str:
    """The SHA-256 of weights and card: a bit that flips on the disk is noticed."""
    digest = hashlib.sha256(card.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
