import pytest
import torch

from whorl.data import RectangleSet
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.spec import NetworkSpec
from whorl.training import TensorPairs


@pytest.fixture(scope="session")
def pairs() -> TensorPairs:
    clean, noisy = RectangleSet(6, "train", size=24).pairs(30)
    return TensorPairs(noisy, clean)


@pytest.fixture
def network() -> MultiscaleNetwork:
    # large weights: training moves within a few steps
    return MultiscaleNetwork(NetworkSpec("anisotropic", steps=2, scales=3), tau=0.1, contrast=100.0)


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
