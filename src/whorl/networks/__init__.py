"""Trained networks, and the model cards they come with."""

from whorl.networks.cards import ModelCard, available, load, load_card
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.spec import NAMED, NetworkSpec, named

__all__ = [
    "NAMED",
    "ModelCard",
    "MultiscaleNetwork",
    "NetworkSpec",
    "available",
    "load",
    "load_card",
    "named",
]
