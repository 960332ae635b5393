r"""How to cut the work: the size of the windows, and how many steps to take in one pass over the image.

Taking all :math:`n` steps in one pass needs a halo of :math:`n` times the reach of a step, which is computed and thrown
away. One pass per step needs the halo of one step only, but a scratch file that holds the image in between. With
:math:`k` steps per pass and windows of side :math:`w` (cropped after every step to what is still valid), a pixel costs

.. math:: \Big\lceil \frac{n}{k} \Big\rceil c_{\mathrm{scratch}}
          + \sum_{j=1}^{n} \Big(\frac{w + 2 h_j}{w}\Big)^d c_{\mathrm{step}}

in :math:`d` dimensions, with the halo :math:`h_j` still needed after step :math:`j` of its pass. The cheapest :math:`k`
is taken.
"""

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl import engines
from whorl.errors import ShapeError
from whorl.foundations.samples import working_dtype
from whorl.large.stages import Stage, halo

MEMORY = 3 * 2**27
"""Bytes that the computation in one window may take unless the user gives another limit."""

LEAST = 100 * 10**6
"""Bytes that a window must have."""

WHOLE = 2**31
"""Bytes that an image may take to be filtered in one piece, where the machine has four times as many."""

RESERVE = 700 * 10**6
"""Bytes that Python, PyTorch and the compiler of the kernels take besides the windows, as measured."""

# Floats alive at the peak of a step, per pixel and channel, and more per response, as measured on all models: from 29
# (Perona-Malik) to 150 (eight scales) in the reference, from 2 to 12 in the compiled engines. Reading and writing a
# window takes some as well.
FLOATS = {"reference": (32.0, 4.0), "compiled": (6.0, 0.5)}
SCRATCH_COST = 16.0  # reading and writing a pixel of the scratch file, in units of one response computed


@dataclass(frozen=True)
class Plan:
    """Windows with the given ``sides`` over an image of that ``shape``, and the stages of each pass over it.

    >>> from whorl.large import Stage, plan
    >>> found = plan((1000, 1000), [Stage(lambda u: u, reach=2)] * 3, tile=256)
    >>> found.sides, found.count
    ((256, 256), 16)
    """

    shape: tuple[int, ...]
    sides: tuple[int, ...]
    passes: tuple[tuple[Stage, ...], ...]

    @property
    def halo(self) -> int:
        """The widest halo of a pass."""
        return max((halo(stages) for stages in self.passes), default=0)

    @property
    def finish(self) -> Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]] | None:
        """What the last stage does to the samples of a file."""
        last = [part[-1] for part in self.passes if part]
        return last[-1].finish if last else None

    @property
    def count(self) -> int:
        """Number of windows in a pass."""
        return math.prod(math.ceil(size / side) for size, side in zip(self.shape, self.sides, strict=True))

    @property
    def work(self) -> float:
        """Pixels computed over all passes and steps, halos included."""
        return math.prod(self.shape) * sum(_cost(part, self.shape, self.sides) for part in self.passes)


def plan(
    shape: Sequence[int],
    stages: Sequence[Stage],
    *,
    tile: int | None = None,
    grain: Sequence[int] | None = None,
    bytes_per_pixel: float = 64.0,
    scratch_cost: float = 0.1,
    memory: int = MEMORY,
    whole: int = 0,
) -> Plan:
    """The cheapest plan within ``memory`` for an image ``(y, x)`` or a volume ``(z, y, x)``.

    ``tile`` sets the side of the windows instead. Windows are multiples of ``grain`` (the tiles of the output), and the
    whole image where that fits into ``memory`` or ``whole`` bytes. ``scratch_cost`` is the cost of a pixel of scratch
    relative to one step.

    >>> from whorl.large import Stage
    >>> plan((1000, 1000), [Stage(lambda u: u, reach=2)] * 3, tile=256).sides
    (256, 256)
    """
    shape, grain = tuple(shape), tuple(grain or (1,) * len(shape))
    if tile is not None and tile < 1:
        raise ShapeError(f"tile = {tile}: a window needs at least one pixel. Use 'auto' or a positive number.")
    fits = tile is None and math.prod(shape) * bytes_per_pixel <= max(memory, whole)
    if fits or any(stage.whole for stage in stages):
        return Plan(shape, shape, (tuple(stages),))
    best: tuple[float, Plan] | None = None
    for per_pass in _divisions(len(stages)):
        passes = tuple(tuple(stages[i : i + per_pass]) for i in range(0, len(stages), per_pass)) or ((),)
        widest = max(halo(part) for part in passes)
        if tile is None:
            sides = _sides(shape, grain, memory / bytes_per_pixel, widest)
        else:
            sides = tuple(_multiple(tile, unit, size) for unit, size in zip(grain, shape, strict=True))
        cost = sum(_cost(part, shape, sides) for part in passes) + (len(passes) - 1) * scratch_cost
        if best is None or cost < best[0]:
            best = cost, Plan(shape, sides, passes)
    assert best is not None
    return best[1]


@dataclass(frozen=True)
class How:
    """How the work on a file is done.

    ``tile`` is the side of the windows; by default it is chosen by cost within ``memory``, bytes for the whole process.
    ``device`` says where to compute: stages must be there already. With ``force`` a target that exists is replaced.
    ``advance`` is told the share of the work done, summing up to 1.
    """

    tile: int | None = None
    memory: int | None = None
    device: str | torch.device = "cpu"
    force: bool = False
    advance: Callable[[float], None] | None = None

    def part(self, share: float) -> Callable[[float], None] | None:
        """Whom to tell of a part that is that share of the whole."""
        told = self.advance
        return None if told is None else lambda done: told(share * done)

    def planned(
        self, shape: Sequence[int], stages: Sequence[Stage], channels: int, dtype: np.dtype[Any],
        grain: Sequence[int] | None = None, *, more: float = 0.0, whole: bool = True,
    ) -> Plan:  # fmt: skip
        """The plan for images of that shape, channels and type, which take so many bytes ``more`` for each pixel.

        Unless it may be taken as a ``whole``, an image is cut wherever a window of it must be.
        """
        pixel, scratch = working_bytes(stages, channels, dtype, len(shape))
        budget, most = window_bytes(self.memory)
        cost = {"bytes_per_pixel": pixel + more, "scratch_cost": scratch}
        return plan(shape, stages, tile=self.tile, grain=grain, memory=budget, whole=most if whole else 0, **cost)


USUALLY = How()


def window_bytes(memory: int | None) -> tuple[int, int]:
    """The bytes for one window, and for an image that is filtered whole, where the process may take ``memory``."""
    if memory is None:
        return MEMORY, whole_bytes()
    if memory < RESERVE + LEAST:
        need = size_in_words(RESERVE + LEAST)
        raise ValueError(
            f"--memory {size_in_words(memory)}: the program itself takes most of that. Give at least {need}."
        )
    return memory - RESERVE, 0


def size_in_words(count: float) -> str:
    """A number of bytes as people write it.

    >>> size_in_words(2_000_000_000), size_in_words(512_000_000)
    ('2GB', '512MB')
    """
    return f"{count / 1e9:.3g}GB" if count >= 1e9 else f"{count / 1e6:.3g}MB"


def whole_bytes() -> int:
    """The bytes for an image that is filtered in one piece: 2 GiB, but at most a quarter of the machine's memory."""
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        return MEMORY
    return min(WHOLE, physical // 4)


def working_bytes(
    stages: Sequence[Stage], channels: int, samples: np.dtype[Any], dimension: int = 2
) -> tuple[float, float]:
    """Bytes a pixel of that type takes while a stage runs, and what a pixel of scratch costs relative to the stage.

    Networks for photographs say so themselves. Models and blocks tell by the number of their responses and by the
    engine that takes their steps; anything else is taken for 32 responses in the reference.
    """
    own_count = next((f for stage in stages if (f := getattr(stage.apply, "bytes_per_pixel", None)) is not None), None)
    if own_count is not None:
        return float(own_count(channels)), SCRATCH_COST / 32
    dtype = torch.float64 if working_dtype(samples) == np.float64 else torch.float32
    responses, kind = 32.0, "reference"
    step = next((found for stage in stages if (found := _diffusion_step(stage)) is not None), None)
    if step is not None:
        own = next((t.device for t in (*step.parameters(), *step.buffers())), torch.device("cpu"))
        probe = torch.zeros(1, channels, *[4] * dimension, dtype=dtype, device=own)
        with torch.no_grad():
            v = step.description.operator(probe[:, :1])
            engine = engines.select(step.description, probe).name
        responses, kind = float(v.shape[2] * v.shape[3]), "reference" if engine == "reference" else "compiled"
    floats, more = FLOATS[kind]
    return (floats + more * responses) * channels * dtype.itemsize, SCRATCH_COST / responses


def _diffusion_step(stage: Stage) -> Any:
    """The model or network behind a stage: something with the description of a step."""
    return getattr(stage.apply, "network", None) or getattr(stage.apply, "model", None)


def _divisions(count: int) -> list[int]:
    """Numbers of steps per pass worth comparing: each the smallest for its number of passes."""
    return sorted({math.ceil(count / passes) for passes in range(1, count + 1)}) or [1]


def _multiple(side: int, unit: int, size: int) -> int:
    """``side`` rounded down to whole units (at least one), or the whole size where that is no larger."""
    return min(max(side // unit, 1) * unit, size)


def _sides(shape: Sequence[int], grain: Sequence[int], pixels: float, halo: int) -> tuple[int, ...]:
    """Sides of windows that hold so many pixels with their halo, as equal as ``grain`` and ``shape`` allow.

    Where an axis is too short for its share, the others get more: first come axes whose grain is wider than their
    share, then short ones.
    """
    even = pixels ** (1 / len(shape))
    order = sorted(range(len(shape)), key=lambda axis: (grain[axis] <= even, shape[axis], -axis))
    sides = [1] * len(shape)
    for number, axis in enumerate(order):
        share = pixels ** (1 / (len(shape) - number))
        whole = share >= shape[axis]
        sides[axis] = shape[axis] if whole else _multiple(int(share) - 2 * halo, grain[axis], shape[axis])
        pixels /= min(sides[axis] + 2 * halo, shape[axis])
    return tuple(sides)


def _cost(stages: Sequence[Stage], shape: Sequence[int], sides: Sequence[int]) -> float:
    """Steps computed per pixel of the result."""
    still, total = halo(stages), 0.0
    for stage in stages:
        # the step runs on the window as it is before it, and is cropped after it
        grown = [min(side + 2 * still, size) / side for side, size in zip(sides, shape, strict=True)]
        total += math.prod(grown) * stage.steps
        still -= stage.reach
    return total
