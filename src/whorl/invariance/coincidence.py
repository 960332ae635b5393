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

from whorl.data.solids import SolidTurn
from whorl.data.synthetic import Scene, Turn, render
from whorl.invariance.filters import FINGERPRINT, Compared, Filter, filtered, root_mean_square, values_at

__all__ = ["PYTHAGOREAN", "TurnError", "coincident_points", "turn_error", "turned_changes"]

AnyTurn = TypeVar("AnyTurn", Turn, SolidTurn)
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
    scene = scene or FINGERPRINT

    def draw(turn: Turn | None) -> Tensor:
        return render(scene, size, turn=turn or 0.0, channels=channels)

    found = turned_changes("turn_error", filter, draw, turns, size, margin, dtype, device)
    return tuple(TurnError.of(turn.angle, *changes) for turn, changes in zip(turns, found, strict=True))


def turned_changes(
    caller: str,
    filter: Filter,
    draw: Callable[[AnyTurn | None], Tensor],
    turns: Sequence[AnyTurn],
    size: int,
    margin: int,
    dtype: torch.dtype,
    device: str | torch.device,
) -> list[tuple[Tensor, Tensor]]:
    """What the filter changes, upright and turned, at the points that each turn carries onto points of the lattice.

    ``draw`` makes the picture or volume of that ``size`` for a turn (None: upright); points are counted from its
    middle, and those within the ``margin`` of the inscribed circle are left out.
    """
    centre, found = size // 2, []
    if size % 2 == 0 or centre - margin < 1:
        raise ValueError(f"{caller}(size={size}, margin={margin}): size must be odd and above twice the margin.")
    u, v = filtered(filter, draw(None), dtype, device)
    for turn in turns:
        points, turned_points = (centre + points for points in coincident_points(turn, centre - margin))
        u_turned, v_turned = filtered(filter, draw(turn), dtype, device)
        found.append((values_at(v - u, points), values_at(v_turned - u_turned, turned_points)))
    return found


def coincident_points(turn: Turn | SolidTurn, radius: int) -> tuple[Tensor, Tensor]:
    """Points shared by the upright and the turned lattice within a disc or ball: integers ``(points, 2)`` or 3.

    Rows are (x, y) or (x, y, z), those near the middle first. Row ``i`` of the second is where the turn puts row ``i``
    of the first.

    Examples
    --------
    >>> upright, turned = coincident_points(Turn(4, 3, 5), 3)
    >>> upright.tolist(), turned.tolist()
    ([[0, 0], [-2, 1], [-1, -2], [1, 2], [2, -1]], [[0, 0], [-1, 2], [-2, -1], [2, 1], [1, -2]])
    >>> upright, turned = coincident_points(SolidTurn(((2, -1, 2), (2, 2, -1), (-1, 2, 2)), 3), 2)
    >>> upright.tolist()[1:3], turned.tolist()[1:3]
    ([[-1, 0, 1], [-1, 1, 0]], [[0, -1, 1], [-1, 0, 1]])
    """
    M, norm = torch.tensor(turn.rows), round(turn.norm)
    if norm != turn.norm or not torch.equal(M, M.round()):
        raise ValueError(f"coincident_points({turn}): needs integer coefficients, e.g. Turn(4, 3, 5).")
    points = torch.cartesian_prod(*[torch.arange(-radius, radius + 1)] * len(M))
    points = points[(points**2).sum(-1) <= radius**2]
    carried = points @ M.long().T
    shared = (carried % norm == 0).all(-1)
    upright, turned = points[shared], carried[shared] // norm
    order = torch.argsort((upright**2).sum(-1), stable=True)
    return upright[order], turned[order]
