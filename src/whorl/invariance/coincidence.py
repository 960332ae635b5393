r"""Whole pictures under Pythagorean turns, compared at the pixels that both lattices share.

With :math:`a^2 + b^2 = c^2` the turn by :math:`\arctan(b/a)` has rational coefficients and carries every c-th point of
the pixel lattice onto another pixel: the *coincidence lattice* known from crystals. The picture is rendered twice from
its formula, upright and turned, both are filtered, and at the shared pixels the two results must be equal. No value is
interpolated, before or after. The 3-4-5 turn shares every fifth pixel, the 20-21-29 turn (43.6 degrees) every 29th.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from whorl.data.synthetic import Scene, Turn, render
from whorl.invariance.filters import FINGERPRINT, Compared, Filter, filtered, root_mean_square, values_at

__all__ = ["PYTHAGOREAN", "TurnError", "coincident_points", "turn_error", "turned_changes"]

AnyTurn = TypeVar("AnyTurn")
"""A turn of the plane or of space."""

PYTHAGOREAN = (Turn(24, 7, 25), Turn(12, 5, 13), Turn(15, 8, 17), Turn(4, 3, 5), Turn(21, 20, 29))
"""Turns by 16.3, 22.6, 28.1, 36.9 and 43.6 degrees."""


@dataclass(frozen=True)
class TurnError(Compared):
    r"""Upright against turned, over the shared pixels :math:`p` (and channels), for one turn :math:`R`.

    .. math:: \text{relative} = \frac{\|d_R(Rp) - d(p)\|}{\|d(p)\|}, \qquad d = F(u) - u, \quad d_R = F(u_R) - u_R

    The change d is compared rather than the result; since :math:`u_R(Rp) = u(p)` that is the same but for rounding.

    Attributes
    ----------
    angle : float
        In degrees.
    points : int
        Number of shared pixels.
    difference, change : float
        Root mean squares of numerator and denominator, in grey values.
    largest : float
        The largest single difference, in grey values.
    """

    angle: float
    points: int
    difference: float
    change: float
    largest: float

    @classmethod
    def of(cls, angle: float, upright: Tensor, turned: Tensor) -> "TurnError":
        """From the changes of the upright and of the turned picture at the points they share."""
        difference = turned - upright
        largest = float(difference.abs().max())
        return cls(angle, upright.shape[-1], root_mean_square(difference), root_mean_square(upright), largest)


def turn_error(
    filter: Filter,
    *,
    scene: Scene | None = None,
    turns: Sequence[Turn] = PYTHAGOREAN,
    size: int = 161,
    margin: int = 16,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> tuple[TurnError, ...]:
    """Filter a scene upright and turned, and compare where pixels meet pixels; one result for each turn.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``.
    scene : Scene, optional
        By default :data:`~whorl.invariance.FINGERPRINT`, which fades into grey before the border.
    turns : sequence of Turn
        With integer coefficients.
    size : int
        Odd, so that the turning point is a pixel.
    margin : int
        Pixels within this distance of the inscribed circle are left out: a square frame does not turn with the scene,
        and a filter carries that news inwards. Choose it a few times the filter's range, or fade the scene.
    channels, dtype, device
        Of the picture, and how it is handed to the filter.

    Examples
    --------
    >>> [round(e.relative, 12) for e in turn_error(lambda u: u.sqrt(), turns=(Turn(4, 3, 5),))]
    [0.0]
    """
    centre = size // 2
    if size % 2 == 0 or centre - margin < 1:
        raise ValueError(f"turn_error(size={size}, margin={margin}): size must be odd and above twice the margin.")
    scene = scene or FINGERPRINT
    found = turned_changes(
        filter,
        lambda turn: render(scene, size, turn=turn or 0.0, channels=channels),
        [(turn, coincident_points(turn, centre - margin)) for turn in turns],
        dtype,
        device,
    )
    return tuple(TurnError.of(turn.angle, *changes) for turn, changes in zip(turns, found, strict=True))


def turned_changes(
    filter: Filter,
    draw: Callable[[AnyTurn | None], Tensor],
    shared: Sequence[tuple[AnyTurn, tuple[Tensor, Tensor]]],
    dtype: torch.dtype,
    device: str | torch.device,
) -> list[tuple[Tensor, Tensor]]:
    """What the filter changes, upright and turned, at the points that each turn carries onto points of the lattice.

    ``draw`` makes the picture for a turn (None: upright); points are counted from its middle.
    """
    u, v = filtered(filter, draw(None), dtype, device)
    centre, found = u.shape[-1] // 2, []
    for turn, (points, turned_points) in shared:
        u_turned, v_turned = filtered(filter, draw(turn), dtype, device)
        upright = values_at(v - u, centre + points)
        found.append((upright, values_at(v_turned - u_turned, centre + turned_points)))
    return found


def coincident_points(turn: Turn, radius: int) -> tuple[Tensor, Tensor]:
    """Pixels shared by the upright and the turned lattice within a disc: two integer tensors ``(points, 2)`` of (x, y).

    Row ``i`` of the second is where the turn puts row ``i`` of the first.

    Examples
    --------
    >>> upright, turned = coincident_points(Turn(4, 3, 5), 3)
    >>> upright.tolist(), turned.tolist()
    ([[0, 0], [2, -1], [-1, -2], [1, 2], [-2, 1]], [[0, 0], [1, -2], [-2, -1], [2, 1], [-1, 2]])
    """
    a, b, c = round(turn.cosine), round(turn.sine), round(turn.norm)
    if (a, b, c) != (turn.cosine, turn.sine, turn.norm):
        raise ValueError(f"coincident_points({turn}): needs integer coefficients, e.g. Turn(4, 3, 5).")
    reach = torch.arange(-radius, radius + 1)
    y, x = (axis.flatten() for axis in torch.meshgrid(reach, reach, indexing="ij"))
    shared = ((a * x - b * y) % c == 0) & ((b * x + a * y) % c == 0) & (x * x + y * y <= radius * radius)
    x, y = x[shared], y[shared]
    order = torch.argsort(x * x + y * y, stable=True)
    x, y = x[order], y[order]
    return torch.stack([(a * x - b * y) // c, (b * x + a * y) // c], -1), torch.stack([x, y], -1)
