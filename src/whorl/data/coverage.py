r"""How much of each pixel a union of equally oriented rectangles covers.

Two ways to the same number. The exact one integrates along the boundary of the union: by Green's theorem

.. math:: \operatorname{area}(\text{union} \cap \text{pixel}) = \oint x \, \mathrm dy

so its cost grows with the length of the visible edges, not with the area. The other counts sample points inside the
union, ``k`` by ``k`` of them per pixel; ``k = 1`` gives hard edges.

Rectangles share one direction. In their own frame (``xi`` along the direction, ``eta`` across it) they are axis
aligned, given by rows ``(xi0, xi1, eta0, eta1)``; the frame's origin lies at the centre of the picture.
"""

import numpy as np
from numpy.typing import NDArray

from whorl.errors import ShapeError

Floats = NDArray[np.float64]


def exact_coverage(boxes: Floats, angle: float, shape: tuple[int, int]) -> Floats:
    """Area of each pixel inside the union of ``boxes`` turned by ``angle`` degrees: ``(n, 4) -> (y, x)`` in [0, 1].

    Guarantees: exact to rounding (1e-12); overlapping, touching and coinciding rectangles count once.
    """
    _check(boxes)
    start, stop = union_boundary(boxes)
    return _area_beside(_to_pixels(start, angle, shape), _to_pixels(stop, angle, shape), shape)


def sampled_coverage(boxes: Floats, angle: float, shape: tuple[int, int], samples: int) -> Floats:
    """Share of ``samples`` by ``samples`` points per pixel inside the union of ``boxes``: ``(n, 4) -> (y, x)``.

    A row of points meets a convex box in one interval (the slab method), so a row costs two marks per box.
    """
    _check(boxes)
    rows, columns = shape[0] * samples, shape[1] * samples
    y = (np.arange(rows) + 0.5) / samples
    left = _to_frame(np.stack([np.zeros(rows), y], -1), angle, shape)  # where each row of points enters the picture
    cosine, sine = _direction(angle)
    first = np.full((len(boxes), rows), 0.0)
    last = np.full((len(boxes), rows), float(shape[1]))
    for axis, slope in ((0, cosine), (1, sine)):
        low = boxes[:, 2 * axis, None] - left[None, :, axis]
        high = boxes[:, 2 * axis + 1, None] - left[None, :, axis]
        if abs(slope) < 1e-12:  # the row runs along this pair of edges: inside for all x, or for none
            last[(low > 0) | (high < 0)] = -1.0
        else:
            ends = np.sort(np.stack([low / slope, high / slope]), axis=0)
            first, last = np.maximum(first, ends[0]), np.minimum(last, ends[1])
    enter = np.clip(np.ceil(first * samples - 0.5), 0, columns).astype(np.intp)
    leave = np.clip(np.ceil(last * samples - 0.5), enter, columns).astype(np.intp)
    marks = np.zeros((rows, columns + 1), np.int32)
    row = np.broadcast_to(np.arange(rows), enter.shape)
    np.add.at(marks, (row, enter), 1)
    np.add.at(marks, (row, leave), -1)
    inside = np.cumsum(marks[:, :-1], axis=1) > 0
    share: Floats = inside.reshape(shape[0], samples, shape[1], samples).mean((1, 3))
    return share


def union_boundary(boxes: Floats) -> tuple[Floats, Floats]:
    """Directed pieces ``(start, stop)`` of the union's boundary in the frame of the boxes, the inside on the left."""
    pieces = []
    for i, box in enumerate(boxes):
        for axis, side in ((0, 0), (1, 1), (0, 1), (1, 0)):  # the edge along `axis`, at the low or high end across it
            across = 2 - 2 * axis
            level, (a, b) = box[across + side], box[2 * axis : 2 * axis + 2]
            covers = (boxes[:, across] < level) & (level < boxes[:, across + 1])
            covers[:i] |= boxes[:i, across + side] == level  # where edges coincide, only the first box keeps its edge
            for p, q in _uncovered(a, b, boxes[covers, 2 * axis : 2 * axis + 2]):
                ends = (p, q) if axis == side else (q, p)
                pieces.append([(e, level) if axis == 0 else (level, e) for e in ends])
    if not pieces:
        return np.zeros((0, 2)), np.zeros((0, 2))
    both = np.asarray(pieces, np.float64)
    return both[:, 0], both[:, 1]


def _uncovered(a: float, b: float, intervals: Floats) -> list[tuple[float, float]]:
    """The parts of [a, b] outside every interval."""
    free, reached = [], a
    for low, high in intervals[np.argsort(intervals[:, 0], kind="stable")]:
        if low >= b:
            break
        if low > reached:
            free.append((reached, float(low)))
        reached = max(reached, float(high))
    if reached < b:
        free.append((reached, b))
    return free


def _area_beside(start: Floats, stop: Floats, shape: tuple[int, int]) -> Floats:
    """Signed area between each directed piece and the right border, summed per pixel."""
    height, width = shape
    cuts = [np.zeros((len(start), 1)), np.ones((len(start), 1))]
    for axis in (0, 1):  # cut where a piece crosses from one pixel to the next
        p, d = start[:, axis, None], (stop - start)[:, axis, None]
        span = int(np.ceil(np.abs(d).max(initial=0.0))) + 1
        level = np.floor(np.minimum(p, p + d)) + 1 + np.arange(span)
        cuts.append(np.clip(np.divide(level - p, d, out=np.ones_like(level), where=d != 0), 0.0, 1.0))
    t = np.sort(np.concatenate(cuts, axis=1), axis=1)
    points = start[:, None] + t[..., None] * (stop - start)[:, None]
    a, b = points[:, :-1].reshape(-1, 2), points[:, 1:].reshape(-1, 2)
    middle = (a + b) / 2
    dy = b[:, 1] - a[:, 1]
    visible = (middle[:, 1] >= 0) & (middle[:, 1] < height) & (dy != 0)
    dy, middle = dy[visible], middle[visible]
    x = np.clip(middle[:, 0], 0, width)  # edges left of the picture count as its border
    column, row = np.minimum(np.floor(x), width).astype(np.intp), np.floor(middle[:, 1]).astype(np.intp)
    area = np.zeros((height, width + 2))
    np.add.at(area, (row, column), -dy * (column + 1 - x))
    np.add.at(area, (row, column + 1), -dy * (x - column))
    return np.clip(np.cumsum(area, axis=1)[:, :width], 0.0, 1.0)


def _direction(angle: float) -> tuple[float, float]:
    # Quarter turns must be exact, so that they carry pixels onto pixels.
    quarter, rest = divmod(angle, 90.0)
    c, s = float(np.cos(np.deg2rad(rest))), float(np.sin(np.deg2rad(rest)))
    return [(c, s), (-s, c), (-c, -s), (s, -c)][int(quarter) % 4]


def _to_pixels(points: Floats, angle: float, shape: tuple[int, int]) -> Floats:
    """From the frame of the boxes to pixel coordinates (x right, y down); positive angles turn counter-clockwise."""
    c, s = _direction(angle)
    xi, eta = points[:, 0], points[:, 1]
    return np.stack([shape[1] / 2 + c * xi + s * eta, shape[0] / 2 - s * xi + c * eta], -1)


def _to_frame(points: Floats, angle: float, shape: tuple[int, int]) -> Floats:
    c, s = _direction(angle)
    x, y = points[:, 0] - shape[1] / 2, points[:, 1] - shape[0] / 2
    return np.stack([c * x - s * y, s * x + c * y], -1)


def _check(boxes: Floats) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ShapeError(f"coverage: expected boxes (n, 4) with rows (xi0, xi1, eta0, eta1), got {boxes.shape}.")
