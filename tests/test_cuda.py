"""On a CUDA device every model gives the CPU's result to rounding, and the same bits again on a second run."""

import pytest
import torch

import whorl
from catalogue import MODELS, noise

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
