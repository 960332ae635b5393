"""Trained networks, and the model cards they come with."""

from whorl.networks.base import DiffusionNetwork
from whorl.networks.build import build_network
from whorl.networks.cards import ModelCard, available, load, load_card
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.scheduled import ScheduledNetwork
from whorl.networks.spec import NAMED, NetworkSpec, named

__all__ = [
    "NAMED",
    "DiffusionNetwork",
    "ModelCard",
    "MultiscaleNetwork",
    "NetworkSpec",
    "ScheduledNetwork",
    "available",
    "build_network",
    "load",
    "load_card",
    "named",
]
