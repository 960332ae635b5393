"""Trained networks, and the model cards they come with."""

from whorl.networks.base import DiffusionNetwork
from whorl.networks.cards import (
    ModelCard,
    available,
    energy_networks,
    load,
    load_card,
    photo_networks,
    volume_networks,
)
from whorl.networks.denoiser import Denoiser
from whorl.networks.energy import EnergyNetwork, EnergySpec
from whorl.networks.lines import LineNetwork, LineSpec
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.photo import PhotoNetwork, PhotoSpec
from whorl.networks.scheduled import ScheduledNetwork
from whorl.networks.segmenting import field_of_view, segment
from whorl.networks.spec import NAMED, NetworkSpec
from whorl.networks.trained import TrainedNetwork, build_network, named

__all__ = [
    "NAMED", "Denoiser", "DiffusionNetwork", "EnergyNetwork", "EnergySpec", "LineNetwork", "LineSpec", "ModelCard",
    "MultiscaleNetwork", "NetworkSpec", "PhotoNetwork", "PhotoSpec", "ScheduledNetwork", "TrainedNetwork", "available",
    "build_network", "energy_networks", "field_of_view", "load", "load_card", "named", "photo_networks", "segment",
    "volume_networks",
]  # fmt: skip
