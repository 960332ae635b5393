"""Networks for photographs as files: weights (safetensors) with their card in the header.

The header says what the network is, what it was trained for and on, and what it reached. Nothing in it is executed.
"""

import hashlib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.errors import FileError
from whorl.foundations.atomic import write_bytes
from whorl.foundations.bounded import check_regular
from whorl.foundations.strict_json import parsed_json, strict_json
from whorl.networks.photo import PhotoNetwork, PhotoSpec
from whorl.training.checkpoint import versions

__all__ = ["ENDING", "PhotoCard", "load_photo_card", "photo_networks"]

FORMAT = "whorl photo network"
VERSION = 1
ENDING = ".safetensors"


@dataclass(frozen=True)
class PhotoCard:
    """A trained network for photographs; ``figures`` holds what it reached, by name."""

    name: str
    spec: PhotoSpec
    tensors: dict[str, Tensor]
    figures: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    about: str = ""
    versions: dict[str, str] = field(default_factory=versions)

    def build(self) -> PhotoNetwork:
        """The trained network, ready to use."""
        network = PhotoNetwork(self.spec)
        network.load_state_dict(self.tensors)
        return network.eval()

    def as_dict(self) -> dict[str, Any]:
        """Everything but the weights as plain values, for JSON."""
        return {
            "name": self.name,
            "about": self.about,
            "network": self.spec.as_dict(),
            "figures": self.figures,
            "training": self.training,
            "data": self.data,
            "versions": self.versions,
        }

    def write(self, path: str | Path) -> None:
        """Write the file atomically; a file that is no network for photographs is never replaced."""
        from safetensors.torch import save

        if Path(path).exists():
            load_photo_card(path)
        tensors = {name: tensor.detach().cpu().float().contiguous() for name, tensor in self.tensors.items()}
        header = {"format": FORMAT, "version": str(VERSION), "card": strict_json(self.as_dict())}
        write_bytes(Path(path), save(tensors, metadata={**header, "sha256": _hash(tensors, header["card"])}))


def photo_networks() -> tuple[str, ...]:
    """The names of the networks for photographs in the package."""
    folder = resources.files("whorl.networks") / "photographs"
    if not folder.is_dir():
        return ()
    return tuple(sorted(entry.name.removesuffix(ENDING) for entry in folder.iterdir() if entry.name.endswith(ENDING)))


def load_photo_card(source: str | Path) -> PhotoCard:
    """Read a network for photographs: the name of one in the package, or a path to a file."""
    from safetensors import SafetensorError, safe_open

    path = Path(source)
    if str(source) in photo_networks():
        with resources.as_file(resources.files("whorl.networks") / "photographs" / f"{source}{ENDING}") as inside:
            path = inside
    check_regular(path)
    try:
        with safe_open(path, "pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dictionary
    except (OSError, SafetensorError) as error:
        raise FileError(f"{source}: cannot be read as a network ({error}).") from None
    if header.get("format") != FORMAT:
        raise FileError(f"{source}: not a network for photographs.")
    if header.get("version") != str(VERSION):
        raise FileError(f"{source}: version {header.get('version')}, this whorl reads version {VERSION}.")
    if header.get("sha256") != _hash(tensors, header.get("card", "")):
        raise FileError(f"{source}: damaged network (its contents are not those that were written).")
    try:
        found = parsed_json(header["card"])
        card = PhotoCard(
            name=found["name"],
            spec=PhotoSpec.from_dict(found["network"]),
            tensors=tensors,
            figures=found["figures"],
            training=found["training"],
            data=found["data"],
            about=found["about"],
            versions=found["versions"],
        )
        card.build()
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise FileError(f"{source}: damaged network ({error}).") from None
    return card


def _hash(tensors: dict[str, Tensor], card: str) -> str:
    """The SHA-256 of weights and card: a bit that flips on the disk is noticed."""
    digest = hashlib.sha256(card.encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
