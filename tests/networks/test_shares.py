"""Who has which share of a result: of the networks for strong and weak noise, and of brightness and colours."""

import pytest
import torch

import whorl
from whorl.networks.common import CommonDenoiser
from whorl.networks.denoiser import Denoiser


@pytest.mark.parametrize("level", [0.5, 3.0, 4.0, 4.5, 5.0, 25.0])
def test_a_map_of_one_level_shares_as_the_number_does(level):
    first, second = whorl.load("photo-grey"), whorl.load("photo-grey-real")
    denoiser = Denoiser(first, level, second=second)
    found = {
        id(network): float(share) for network, share in denoiser.shares(torch.full((1, 1, 2, 2), level)[:, :, 0, 0])
    }
    told = {id(network): share for network, share in denoiser.shares(level)}
    assert sum(told.values()) == pytest.approx(1.0)
    for network in (first, second):
        assert found.get(id(network), 0.0) == pytest.approx(told.get(id(network), 0.0), abs=1e-6)
    # The second network takes over below the smallest level of the first one, and is alone at 1 / 1.4 of that.
    assert told.get(id(second), 0.0) == pytest.approx(min(max((5.0 / level - 1) / 0.4, 0.0), 1.0))


def refuse(u):
    raise AssertionError("nobody has a share for it")


def test_noise_in_common_is_taken_from_the_brightness_and_colours_stay():
    u = torch.rand(2, 3, 5, 4, dtype=torch.float64)
    found = CommonDenoiser(torch.zeros_like, refuse, refuse, share=1.0, kept=1.0)(u)
    torch.testing.assert_close(found, u - u.mean(1, keepdim=True))
    # Half of the colours of a picture without any, and a quarter of what another one makes of all together.
    mixed = CommonDenoiser(lambda grey: grey, torch.zeros_like, torch.zeros_like, share=0.75, kept=0.5)(u)
    grey = u.mean(1, keepdim=True)
    torch.testing.assert_close(mixed, 0.75 * (grey + 0.5 * (u - grey)))
