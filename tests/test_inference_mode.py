"""What is built and used in PyTorch's inference mode gives the same results, and sees changes of its numbers."""

import pytest
import torch

import whorl
from whorl import models
from whorl.foundations.versions import version
from whorl.networks.photo import NAMED_PHOTO


def picture(channels: int = 1) -> torch.Tensor:
    return 255 * torch.rand(1, channels, 20, 24, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", models.names())
def test_models(name: str) -> None:
    time = 0.5
    expected = models.build(name, contrast=9.0)(picture(), time)
    with torch.inference_mode():
        assert torch.equal(models.build(name, contrast=9.0)(picture(), time), expected.detach())


@pytest.mark.parametrize("name", ["anisotropic-0.41", "photo-8k", "photo-27k-stable", "photo-colour"])
def test_networks(name: str) -> None:
    spec = NAMED_PHOTO.get(name)
    noise = {"noise": 20.0} if spec is not None and spec.blind else {}
    u = picture(1 if spec is None else spec.channels)
    with torch.no_grad():
        expected = whorl.load(name)(u, **noise)
    with torch.inference_mode():
        assert torch.equal(whorl.load(name)(u, **noise), expected)


def test_changed_weights_are_seen() -> None:
    with torch.inference_mode():
        network, u = whorl.load("photo-8k"), picture()
        before = network(u)
        next(network.blocks.parameters()).mul_(1.5)
        changed = network(u)
        assert not torch.equal(changed, before)
        assert torch.equal(changed, network(u.clone()))


def test_versions_of_uncounted_tensors_are_never_the_same() -> None:
    with torch.inference_mode():
        u = torch.zeros(2)
        assert version(u) != version(u)
