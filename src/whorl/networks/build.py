"""From a structure to a network."""

from whorl.networks.base import DiffusionNetwork
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.scheduled import ScheduledNetwork
from whorl.networks.spec import NetworkSpec

__all__ = ["build_network"]


def build_network(spec: NetworkSpec) -> DiffusionNetwork:
    """The network of this structure, with the starting values of training.

    >>> type(build_network(NetworkSpec("isotropic"))).__name__
    'MultiscaleNetwork'
    """
    return ScheduledNetwork(spec) if spec.scheduled else MultiscaleNetwork(spec)
