"""Trained networks, and the model cards they come with."""

from whorl.networks.base import DiffusionNetwork
from whorl.networks.cards import ModelCard, available, load, load_card, photo_networks
from whorl.networks.denoiser import Denoiser
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.photo import PhotoNetwork, PhotoSpec
from whorl.networks.scheduled import ScheduledNetwork
from whorl.networks.spec import NAMED, NetworkSpec
from whorl.networks.trained import TrainedNetwork, build_network, named

PhotoCard, load_photo_card = ModelCard, load_card
"""Names from before there was one card for all networks."""

__all__ = [
    "NAMED",
    "Denoiser",
    "DiffusionNetwork",
    "ModelCard",
    "MultiscaleNetwork",
    "NetworkSpec",
    "PhotoCard",
    "PhotoNetwork",
    "PhotoSpec",
    "ScheduledNetwork",
    "TrainedNetwork",
    "available",
    "build_network",
    "load",
    "load_card",
    "load_photo_card",
    "named",
    "photo_networks",
]
