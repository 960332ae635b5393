"""What keeps rotation invariance in a network of one's own, and what breaks it: every row of the table in the docs.

Quarter turns and mirror images are the test: what breaks them breaks other turns too.
"""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from whorl.invariance import SYMMETRIES
from whorl.operators import SteerableMap

EPS = torch.finfo(torch.float64).eps
CHANNELS, FIELDS = 4, (3, 2, 1)
SCALARS, RESPONSES = 3, 3 + 2 * 2 + 2


def gap(network, size=(14, 14)):
    """The largest difference between the result of a moved picture and the moved result, relative to the result."""
    u = torch.randn(1, CHANNELS, *size, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    with torch.no_grad():
        v = network(u)
        moved = [(network(move(u)), move(v)) for move in SYMMETRIES.values()]
    if any(a.shape != b.shape for a, b in moved):
        return float("inf")
    return max(float((a - b).abs().max()) for a, b in moved) / float(v.abs().max())


def between(inner):
    """``u - K2* inner(K1 u)``, with the responses as ``(n, k, y, x)``."""
    torch.manual_seed(6)
    K1, K2 = (SteerableMap(CHANNELS, FIELDS).double() for _ in range(2))
    return lambda u: u - K2.adjoint(inner(K1(u)[:, 0, 0])[:, None, None])


def on_scalars(f):
    return lambda v: torch.cat([f(v[:, :SCALARS]), v[:, SCALARS:]], 1)


def on_vectors(f):
    return lambda v: torch.cat([v[:, :SCALARS], f(v[:, SCALARS:])], 1)


def norm(channels):
    """Batch normalisation as after training, with shifts of its own for every channel."""
    torch.manual_seed(8)
    made = nn.BatchNorm2d(channels).double().eval()
    with torch.no_grad():
        for tensor in (made.weight, made.bias, made.running_mean):
            tensor.copy_(torch.randn(channels))
    return made


def dropped(shape):
    return (torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.6).double()


def drop_fields(v):
    kept = dropped((len(FIELDS) * 2,))
    return v * kept[[0, 1, 2, 3, 3, 4, 4, 5, 5]].view(1, -1, 1, 1)


def convolution(size, **more):
    torch.manual_seed(5)
    return nn.Conv2d(CHANNELS, CHANNELS, size, **more).double()


torch.manual_seed(9)
ISOTROPIC = SteerableMap(CHANNELS, (CHANNELS,)).double()

KEEPS = {
    "1x1 convolution": convolution(1),
    "order 0": lambda u: ISOTROPIC(u)[:, 0, 0],
    "bias on scalars": between(on_scalars(lambda s: s + 0.5)),
    "activation of scalars": between(on_scalars(torch.relu)),
    "number times a field": between(lambda v: v * v[:, :1].sigmoid()),
    "batch norm of scalars": between(on_scalars(norm(SCALARS))),
    "dropout of fields": between(drop_fields),
    "mirrored border": between(lambda v: v),
}
BREAKS = {
    "free 3x3 convolution": convolution(3, padding=1),
    "bias on components": between(on_vectors(lambda w: w + 0.5)),
    "ReLU on components": between(on_vectors(torch.relu)),
    "batch norm of components": between(on_vectors(norm(RESPONSES - SCALARS))),
    "dropout of components": between(lambda v: v * dropped((RESPONSES,)).view(1, -1, 1, 1)),
    "dropout of pixels": between(lambda v: v * dropped(v.shape[-2:])),
    "stride": convolution(1, stride=2),
}


@pytest.mark.parametrize("name", KEEPS)
def test_it_keeps_the_invariance(name):
    assert gap(KEEPS[name]) <= 500 * EPS


@pytest.mark.parametrize("name", BREAKS)
def test_it_breaks_the_invariance(name):
    assert gap(BREAKS[name]) > 1e-3


def test_pooling_breaks_the_invariance_where_the_size_is_odd():
    assert gap(lambda u: F.max_pool2d(u, 2), size=(15, 15)) > 1e-3


def test_zeros_beyond_the_border_turn_along_but_are_seen_as_an_edge():
    torch.manual_seed(9)
    fixed = SteerableMap(CHANNELS, (CHANNELS,)).double()
    kernel, flat = fixed.kernel().detach(), torch.ones(1, CHANNELS, 12, 12, dtype=torch.float64)
    assert gap(lambda u: F.conv2d(u, kernel, padding=2)) <= 500 * EPS
    with torch.no_grad():
        mirrored, padded = fixed(flat)[:, 0, 0], F.conv2d(flat, kernel, padding=2)
    assert float(mirrored.std((2, 3)).max()) < 1e-12
    assert float(padded.std((2, 3)).max()) > 1e-3
