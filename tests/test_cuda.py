"""On a CUDA device every model gives the CPU's result to rounding, and the same bits again on a second run."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

import whorl
from catalogue import MODELS, noise
from whorl.networks import load

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
]
parametrised = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@parametrised
def test_models_agree_with_the_cpu_and_repeat_bit_for_bit(model, dtype, rng):
    u = noise(rng, 2, 3, 33, 40, dtype=dtype)
    time = 3 * model.automatic_step()
    expected = model(u, time=time)
    try:
        on_device = model.to("cuda")
        first, second = on_device(u.cuda(), time=time), on_device(u.cuda(), time=time)
        gradients = []
        for _ in range(2):
            x = u.cuda().requires_grad_()
            on_device.step(x).square().sum().backward()
            gradients.append(x.grad)
    finally:
        model.to("cpu")
    assert first.device.type == "cuda"
    assert torch.equal(first, second)
    assert torch.equal(*gradients)
    assert (first.cpu() - expected).abs().max() <= 200 * torch.finfo(dtype).eps * u.abs().max()


def test_constants_stay_to_the_last_bit_on_cuda():
    for model in MODELS.values():
        u = torch.full((1, 2, 9, 8), 0.1, device="cuda")
        try:
            assert torch.equal(model.to("cuda")(u, time=1.0), u)
        finally:
            model.to("cpu")


def test_diffuse_computes_where_told_and_returns_where_the_image_was():
    image = torch.randint(0, 255, (20, 20, 3), dtype=torch.uint8)
    result = whorl.diffuse(image, contrast=12.0, time=2.0, channel_axis=-1, device="cuda")
    assert result.device == image.device
    assert (result.int() - whorl.diffuse(image, contrast=12.0, time=2.0, channel_axis=-1).int()).abs().max() <= 1


def test_a_step_can_be_recorded_in_a_cuda_graph():
    model = whorl.models.build("perona-malik", contrast=5.0).to("cuda")
    u = 100 * torch.rand(1, 1, 64, 64, device="cuda")
    out, expected = torch.empty_like(u), model.step(u, 0.2, engine="triton")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model.step(u, 0.2, engine="triton", out=out)
    graph.replay()
    assert torch.equal(out, expected)


@torch.no_grad()
def test_a_network_told_the_noise_can_be_recorded_in_a_cuda_graph():
    network, noise = load("photo-grey").cuda().eval(), torch.tensor(25.0, device="cuda")
    u = 255 * torch.rand(1, 1, 64, 64, device="cuda")
    expected = network(u, noise)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = network(u, noise)
    graph.replay()
    assert torch.equal(found, expected)


@contextmanager
def exactly() -> Iterator[None]:
    """Without kernels that round to 11 bits, and without convolutions that do."""
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = True


def photograph_like(channels: int) -> tuple[torch.Tensor, torch.Tensor]:
    y, x = torch.meshgrid(torch.arange(160.0), torch.arange(200.0), indexing="ij")
    clean = 128 + 60 * torch.sin(x / 17) * torch.cos(y / 23) + 40 * ((x // 40 + y // 40) % 2)
    noisy = clean + 25 * torch.randn(channels, 160, 200, generator=torch.Generator().manual_seed(0))
    return clean.cuda(), noisy[None].cuda()


@pytest.mark.parametrize(
    "name", ["photo-8k", "photo-27k", "photo-27k-stable", "photo-66k", "photo-grey", "photo-colour"]
)
@torch.no_grad()
def test_networks_for_photographs_by_kernels(name):
    network = load(name).cuda().eval()
    clean, noisy = photograph_like(network.spec.channels)
    more = (torch.tensor(25.0, device="cuda"),) if network.spec.blind else ()
    found = network(noisy, *more)
    with exactly():
        exact = network(noisy, *more)
    assert not torch.equal(found, exact)  # there were kernels
    # Rounding of 2^-12 in each of twelve applications, far below the noise that is left.
    assert (found - exact).abs().max() <= 0.5
    psnr = [10 * math.log10(255**2 / float((u - clean).square().mean())) for u in (found, exact)]
    assert abs(psnr[0] - psnr[1]) < 0.004  # on a picture this small
    assert torch.equal(found, network(noisy, *more))
    block, level = network.blocks[0], network.level(*more, noisy) if more else None
    u = torch.randn(1, block.analysis.channels, 40, 50, device="cuda")
    once = block(u, 0, level)
    for turned in (lambda v: v.rot90(1, (2, 3)), lambda v: v.flip(3)):
        assert torch.equal(block(turned(u), 0, level), turned(once))
    inner = slice(block.reach, -block.reach)
    assert torch.equal(block(u[..., 3:38, 5:47], 0, level)[..., inner, inner], once[..., 3:38, 5:47][..., inner, inner])


@pytest.mark.parametrize("name", ["photo-27k", "photo-27k-stable", "photo-66k", "photo-grey"])
@torch.no_grad()
def test_networks_stay_finite_by_kernels_where_they_are(name):
    network = load(name).cuda().eval()
    more = (25.0,) if network.spec.blind else ()
    y, x = torch.meshgrid(torch.arange(64.0), torch.arange(64.0), indexing="ij")
    board = 255 * ((x + y) % 2)
    for wild in (board, 255 * torch.randint(0, 2, (64, 64)).float(), board + 55 * torch.randn(64, 64), 1e5 * board):
        found = network(wild[None, None].cuda(), *more)
        with exactly():
            exact = network(wild[None, None].cuda(), *more)
        assert bool(exact.isfinite().all())
        assert bool(found.isfinite().all())
