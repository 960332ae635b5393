"""Filters written out from the theory in a few lines, independent of the package: the yardsticks of these tests."""

import torch
from torch.nn.functional import pad


def five_point(u, tau=0.2, steps=1):
    for _ in range(steps):
        e = pad(u, (1, 1, 1, 1), mode="replicate")
        star = e[..., :-2, 1:-1] + e[..., 2:, 1:-1] + e[..., 1:-1, :-2] + e[..., 1:-1, 2:]
        u = u + tau * (star - 4 * u)
    return u


def perona_malik(u, coupled, contrast=12.0, tau=0.25, steps=16, alpha=0.41):
    """Cells (a b / c d): flux g·(p, q, 2(1-2 alpha) r), with one g for both axes or one for each."""
    m = 1 - 2 * alpha
    for _ in range(steps):
        e = pad(u, (1, 1, 1, 1), mode="replicate")
        a, b, c, d = e[..., :-1, :-1], e[..., :-1, 1:], e[..., 1:, :-1], e[..., 1:, 1:]
        p, q, r = (b - a + d - c) / 2, (c - a + d - b) / 2, (d - b - c + a) / 2
        gx, gy = (torch.exp(-(s2 + m * r * r) / (2 * contrast**2)) for s2 in (p * p, q * q))
        if coupled:
            gx = gy = gx * gy  # exponentials turn the sum of squares into a product
        p, q, r = gx * p, gy * q, m * (gx + gy) * r
        a, b, c, d = r - p - q, p - q - r, q - p - r, p + q + r
        u = u - tau / 2 * (d[..., :-1, :-1] + c[..., :-1, 1:] + b[..., 1:, :-1] + a[..., 1:, 1:])
    return u


def coupled(u):
    return perona_malik(u, coupled=True)


def uncoupled(u):
    return perona_malik(u, coupled=False)
