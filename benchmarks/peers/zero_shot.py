"""Two denoisers that are trained on the noisy picture alone, written anew from their papers, shortened for processors.

- ZS-N2N (Mansour and Heckel 2023): means over the two diagonals of 2x2 pixels are two noisy pictures of one scene; a
  network of three layers and 48 channels learns the noise, by the error of one against the other and by consistency of
  both ways (downsample, denoise). The paper takes 3000 steps of Adam at 1e-3, halved every 1000; here ``STEPS``.
- Noise2Fast (Lequyer et al. 2022): the two colours of a checkerboard, each squeezed together along an axis, give pairs
  of pictures; a network learns one from the other, until it predicts the noisy picture no better. The paper's network
  is deeper and wider; here five layers of 32 channels, and ``STEPS`` steps at most.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, mse_loss

from benchmarks.peers.base import Image

__all__ = ["STEPS", "noise2fast", "zs_n2n"]

STEPS = 300


def zs_n2n(noisy: Image, steps: int = STEPS) -> Image:
    """The picture denoised by ZS-N2N."""
    f = _tensor(noisy)
    channels = f.shape[1]
    torch.manual_seed(0)
    net = _layers(channels, 48, (3, 3, 1), slope=0.2)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimiser, max(steps // 3, 1), 0.5)
    first, second = _diagonals(f)
    for _ in range(steps):
        optimiser.zero_grad()
        one, two = first - net(first), second - net(second)
        whole_one, whole_two = _diagonals(f - net(f))
        loss = mse_loss(one, second) + mse_loss(two, first) + mse_loss(one, whole_one) + mse_loss(two, whole_two)
        (0.5 * loss).backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        return _image((f - net(f)).clamp(0, 1), noisy)


def noise2fast(noisy: Image, steps: int = STEPS) -> Image:
    """The picture denoised by Noise2Fast; the channels of colour pictures one by one."""
    if noisy.ndim == 3:
        return np.stack([noise2fast(noisy[..., c], steps) for c in range(noisy.shape[2])], -1)
    f = _tensor(noisy)
    f = f[..., : f.shape[2] // 2 * 2, : f.shape[3] // 2 * 2]
    torch.manual_seed(0)
    net = _layers(1, 32, (3, 3, 3, 3, 1), slope=0.1)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    pairs, best, patience = list(_squeezed(f)), float("inf"), 0
    kept = [weight.detach().clone() for weight in net.parameters()]
    for step in range(steps):
        source, target = pairs[step % len(pairs)]
        optimiser.zero_grad()
        mse_loss(net(source), target).backward()
        optimiser.step()
        if step % 20 == 19:
            with torch.no_grad():  # the paper's criterion: how well the network predicts the picture itself
                error = float(mse_loss(net(f), f))
            patience = 0 if error < best else patience + 1
            if error < best:
                best, kept = error, [weight.detach().clone() for weight in net.parameters()]
            if patience == 5:
                break
    with torch.no_grad():
        for weight, value in zip(net.parameters(), kept, strict=True):
            weight.copy_(value)
        return _image(net(_tensor(noisy)).clamp(0, 1), noisy)


def _layers(channels: int, width: int, sizes: tuple[int, ...], slope: float) -> nn.Module:
    """Convolutions of these sizes, between them leaky rectifiers; ends without one."""
    parts: list[nn.Module] = []
    for number, size in enumerate(sizes):
        last = number == len(sizes) - 1
        parts.append(nn.Conv2d(channels if number == 0 else width, channels if last else width, size, padding="same"))
        parts += [] if last else [nn.LeakyReLU(slope)]
    return nn.Sequential(*parts)


def _diagonals(u: Tensor) -> tuple[Tensor, Tensor]:
    """Means over the two diagonals of 2x2 pixels."""
    channels = u.shape[1]
    kernels = torch.tensor([[[0, 0.5], [0.5, 0]], [[0.5, 0], [0, 0.5]]])[:, None, None]
    first, second = (conv2d(u, kernel.expand(channels, 1, 2, 2), stride=2, groups=channels) for kernel in kernels)
    return first, second


def _squeezed(f: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """The two colours of the checkerboard, squeezed along x and along y, each as source and as target."""
    for u in (f, f.mT):
        even, odd = u[..., ::2, :], u[..., 1::2, :]
        white = torch.stack([even[..., ::2], odd[..., 1::2]], -2).flatten(-3, -2)
        black = torch.stack([even[..., 1::2], odd[..., ::2]], -2).flatten(-3, -2)
        yield from ((white, black), (black, white))


def _tensor(image: Image) -> Tensor:
    u = torch.from_numpy(np.ascontiguousarray(image, np.float32)) / 255
    return u[None, None] if u.dim() == 2 else u.permute(2, 0, 1)[None]


def _image(u: Tensor, like: Image) -> Image:
    found: Image = (255 * (u[0, 0] if like.ndim == 2 else u[0].permute(1, 2, 0))).numpy()
    return found
