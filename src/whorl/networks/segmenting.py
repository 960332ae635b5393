"""Lines for people: a picture in, the chance of a line at every pixel out."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.errors import ShapeError
from whorl.foundations.arrays import device_of, placed, to_tensor
from whorl.foundations.other_libraries import opened
from whorl.foundations.types import Image
from whorl.networks.cards import shared
from whorl.networks.lines import LineNetwork
from whorl.operators.smoothing import Smoothing

DEFAULT = "vessels-5k"
"""The network for vessels in colour photographs of the retina."""

DARK, BRIGHT = 0.2, 0.95
"""Up to this share of the way from the darkest value to this quantile a pixel is taken for the frame."""

SMOOTH = 2.0
"""Pixels over which a picture is smoothed before it is divided: noise of the frame must not count."""


def field_of_view(u: Image) -> Tensor:
    """Where a picture ``(n, c, y, x)`` shows something: True ``(n, 1, y, x)`` inside its dark frame.

    Pixels are inside that are brighter than the frame in some channel, and those with such pixels on both sides in
    their row and in their column. Quarter turns and mirror images carry over. Without a frame nearly all is inside.

    >>> u = torch.zeros(1, 3, 40, 40)
    >>> u[..., 10:30, 10:30] = 100.0
    >>> view = field_of_view(u)[0, 0]
    >>> bool(view[20, 20]), bool(view[20, 4])
    (True, False)
    """
    bright = Smoothing(SMOOTH)(u.amax(1, keepdim=True))
    order = bright.flatten(1).sort(1).values
    low, high = order[:, 0], order[:, int(BRIGHT * (order.shape[1] - 1))]
    return _between(bright > (low + DARK * (high - low)).view(-1, 1, 1, 1))


def _between(lit: Tensor) -> Tensor:
    """True between the first and the last such pixel of a row, and of a column."""
    both = [along.cumsum(-1).bool() & along.flip(-1).cumsum(-1).flip(-1).bool() for along in (lit, lit.transpose(2, 3))]
    return both[0] & both[1].transpose(2, 3)


def segment(
    image: Any,
    network: str | Path | LineNetwork = DEFAULT,
    *,
    channel_axis: int | None = None,
    view: Any = None,
    device: str | torch.device | None = None,
) -> Any:
    """The chance of a line at every pixel, by a trained network; by default of vessels in photographs of the retina.

    Parameters
    ----------
    image : array
        ``H x W``, or with an axis of channels named by ``channel_axis``; of any library, type and range. A network for
        colour, such as ``vessels-5k``, takes a grey picture for one with equal colours.
    network : str, path or LineNetwork
        A network of the package, the file of one trained by ``whorl train``, or one that is loaded.
    channel_axis : int, optional
        The axis of the channels, usually -1; None for a grey picture.
    view : array, optional
        True (or above half of white) inside the field of view, ``H x W``. It is found by :func:`field_of_view` unless
        given.
    device : optional
        Where to compute.

    Returns
    -------
    array
        Chances ``H x W`` from 0 to 1, 0 outside the field of view: float32, a tensor for a tensor, else of NumPy.

    Guarantees
    ----------
    Quarter turns and mirror images of the picture give those of the result, to rounding. Brightness and gain change
    nothing.

    Examples
    --------
    >>> eye = np.random.default_rng(0).integers(0, 255, (48, 40, 3), np.uint8)
    >>> chances = segment(eye, channel_axis=-1)
    >>> chances.shape, bool(chances.max() <= 1)
    ((48, 40), True)
    """
    found = opened(image, "segment", [] if channel_axis is None else [channel_axis])
    axis = found.channel_axis if channel_axis is None else channel_axis
    u = to_tensor(found.array, axis, "segment")
    chosen = network if isinstance(network, LineNetwork) else shared(network)
    if not isinstance(chosen, LineNetwork) or (chosen.spec.head, chosen.spec.outputs) != ("pixel", 1):
        raise ValueError(f"segment: {network} finds no lines. Take {DEFAULT}, or one trained with annotated pictures.")
    if u.dim() == 4 and u.shape[1] == 1:
        u = u.expand(-1, chosen.channels, -1, -1)
    _check(u, chosen.channels, tuple(found.array.shape))
    low, high = u.min(), u.max()
    if not high > low:
        raise ValueError(f"segment: all values are {float(low):g}. There is nothing to find; check the picture.")
    target = device_of(device, u.device)
    u = ((u / 2 - low / 2) / (high / 2 - low / 2)).float().to(target)  # halves, for the range may overflow
    with torch.no_grad():
        inside = field_of_view(u) if view is None else _given(view, u)
        chances = placed(chosen, target).float().probabilities(u, inside)[0, 0]
    return chances.to(found.array.device) if isinstance(found.array, Tensor) else chances.cpu().numpy()


def _check(u: Tensor, channels: int, shape: tuple[int, ...]) -> None:
    if u.dim() != 4:
        raise ShapeError(
            f"segment: expected a picture, got shape {shape}. For colour name the channel_axis, usually -1."
        )
    if u.shape[1] != channels:
        raise ShapeError(
            f"segment: the network takes {channels} channel(s), the picture has {u.shape[1]}. Leave out what is no "
            f"colour, such as alpha, so that there are {channels}."
        )


def _given(view: Any, u: Tensor) -> Tensor:
    """A field of view as people give it, ``(1, 1, y, x)``."""
    values = np.asarray(view.detach().cpu() if isinstance(view, Tensor) else opened(view, "segment").array)
    if values.shape != tuple(u.shape[2:]):
        raise ShapeError(
            f"segment: the field of view has shape {values.shape}, the picture {tuple(u.shape[2:])}. Make them equal."
        )
    inside = values if values.dtype == bool else values > values.max() / 2
    if not inside.any():
        raise ValueError("segment: the field of view is empty. Give True inside, or leave it out.")
    return torch.from_numpy(np.array(inside))[None, None].to(u.device)
