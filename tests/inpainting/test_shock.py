"""Diffusion and shock: the maximum-minimum principle at the limit, quarter turns, known pixels, edges, refusals."""

import numpy as np
import pytest
import torch
from torch.nn import functional

import whorl
from whorl.inpainting import DiffusionShock
from whorl.inpainting.shock import LIMIT


def noise(seed, *shape):
    return 255 * torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def around(u):
    """The largest of nine pixels."""
    return functional.max_pool2d(functional.pad(u, (1, 1, 1, 1), mode="replicate"), 3, 1)


@pytest.mark.parametrize("seed", range(4))
def test_a_step_stays_within_the_nine_pixels_around_whatever_guides_it(seed):
    u, flow = noise(seed, 1, 2, 24, 17), DiffusionShock()
    random = noise(seed + 10, 1, 1, 24, 17) / 255, 2 * noise(seed + 20, 1, 2, 24, 17) / 255 - 1
    extreme = random[0].round(), random[1].sign()
    for guidance in (flow.guidance(u), random, extreme):
        v = u + LIMIT * flow.change(u, guidance)
        rounding = 255 * 16 * torch.finfo(u.dtype).eps
        assert bool((v <= around(u) + rounding).all() and (v >= -around(-u) - rounding).all())


def test_the_limit_is_sharp():
    """One dark pixel in white: where all is diffusion the step at the limit makes it white, and a larger one whiter."""
    u = torch.ones(1, 1, 5, 5, dtype=torch.float64)
    u[..., 2, 2] = 0
    flow, guidance = DiffusionShock(), (torch.ones_like(u), torch.zeros_like(u))
    assert float(LIMIT * flow.change(u, guidance)[..., 2, 2]) == pytest.approx(1, rel=1e-15)
    with pytest.raises(ValueError, match="above the limit"):
        flow.step(u, 1.01 * LIMIT)


def test_quarter_turns_and_mirrors_carry_over():
    u, flow = noise(5, 1, 3, 20, 20), DiffusionShock()
    for moved in (lambda v: v.rot90(1, (2, 3)), lambda v: v.flip(3), lambda v: v.transpose(2, 3)):
        assert torch.allclose(flow.step(moved(u)), moved(flow.step(u)), rtol=0, atol=1e-10)


def test_constants_stay_and_channels_share_their_guidance():
    flat = torch.full((1, 3, 9, 9), 7.0)
    assert torch.equal(DiffusionShock().step(flat), flat)
    assert DiffusionShock().guidance(noise(1, 1, 3, 9, 9))[0].shape == (1, 1, 9, 9)


def test_an_edge_runs_on_over_a_gap_and_stays_sharp():
    y, x = np.mgrid[:48, :48]
    clean = np.where(x + 0.5 * y > 36, 200, 40).astype(np.float32)
    mask = (y > 18) & (y < 30)
    errors = {}
    for model in ("diffusion-shock", "homogeneous"):
        filled = whorl.inpaint(np.where(mask, 0, clean).astype(np.float32), mask, model)
        assert np.array_equal(filled[~mask], clean[~mask])
        assert filled.min() >= 40
        assert filled.max() <= 200
        errors[model] = np.sqrt(np.mean((filled - clean)[mask] ** 2))
    assert errors["diffusion-shock"] < errors["homogeneous"]


def test_what_it_cannot_do_it_refuses_with_the_remedy():
    image, mask = np.zeros((8, 8), np.float32), np.zeros((8, 8), bool)
    mask[3, 3] = True
    image[0] = 9
    with pytest.raises(ValueError, match="engine='reference'"):
        whorl.inpaint(image, mask, "diffusion-shock", engine="numba")
    with pytest.raises(ValueError, match="square pixels"):
        whorl.inpaint(image, mask, "diffusion-shock", spacing=(1.0, 2.0))
    with pytest.raises(ValueError, match="model='eed'"):
        whorl.inpaint(np.stack([image] * 8), np.stack([mask] * 8), "diffusion-shock", spacing=(1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="contrast"):
        DiffusionShock(contrast=0.0)


def test_the_soft_sign_lies_between_both_signs_and_gets_there():
    u = noise(3, 1, 1, 20, 20)
    _, sign = DiffusionShock().guidance(u)
    assert float(sign.abs().max()) < 1
    _, hard = DiffusionShock(softness=1e-9).guidance(u)
    assert torch.allclose(hard, sign.sign(), rtol=0, atol=1e-6)
    # At a second derivative as large as the softness it is a half.
    _, where = DiffusionShock(softness=1.0).guidance(u)
    curvature = torch.tan(0.5 * torch.pi * where)
    k = int(curvature.abs().flatten().argmax())
    _, half = DiffusionShock(softness=float(curvature.flatten()[k].abs())).guidance(u)
    assert float(half.flatten()[k].abs()) == pytest.approx(0.5, abs=1e-9)


def test_the_settings_are_those_that_are_stated():
    flow = DiffusionShock()
    assert (flow.contrast, flow.softness, flow.nu, flow.sigma, flow.rho) == (5.5, 10.0, 0.7, 1.0, 1.5)
