"""Carrying out a plan: window by window, pass by pass, with the bits of the whole image."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.foundations import validation
from whorl.large.plan import Plan
from whorl.large.scratch import Scratch
from whorl.large.stages import Stage, fused, halo
from whorl.large.windows import Window, windows

__all__ = ["Read", "Write", "check", "in_window", "run"]

Read = Callable[[Window], NDArray[Any]]
"""Gives the samples ``(c, y, x)`` of a window, in float32 or float64."""

Write = Callable[[Window, NDArray[Any]], None]
"""Takes the samples ``(c, y, x)`` of a window."""


def run(
    plan: Plan,
    read: Read,
    write: Write,
    *,
    device: str | torch.device = "cpu",
    folder: Path | None = None,
    advance: Callable[[float], None] | None = None,
) -> None:
    """Filter an image in windows.

    Parameters
    ----------
    plan : Plan
        From :func:`whorl.large.plan.plan`.
    read, write : callable
        Where windows come from and go to; each window is written once, and no output is read.
    device : str or torch.device
        Where to compute; the stages must be there already.
    folder : Path, optional
        Where scratch files go if there is more than one pass; the system's temporary folder by default.
    advance : callable, optional
        Called with the share of the work done, summing up to 1.

    Guarantees
    ----------
    Every window has the bits it would have if the image were filtered whole by the same engine; memory depends on the
    window, not on the image.
    """
    share = 1 / (len(plan.passes) * plan.count)
    source, held = read, None
    with ExitStack() as stack:
        for number, stages in enumerate(plan.passes, start=1):
            scratch = Scratch(folder or Path(tempfile.gettempdir()), plan.height, plan.width)
            stack.callback(scratch.close)
            sink = write if number == len(plan.passes) else scratch.write
            for window in windows(plan.height, plan.width, plan.rows, plan.columns):
                grown = window.grown(halo(stages), plan.height, plan.width)
                samples = source(grown)
                if number == 1:
                    check(torch.from_numpy(np.ascontiguousarray(samples)), stages)
                tell = None if advance is None else partial(_scaled, advance, share)
                sink(window, _in_numpy(samples, stages, grown, window, plan, device, tell))
            if held is not None:
                held.close()  # two images on disk are enough
            source, held = scratch.read, scratch


def in_window(
    u: Tensor,
    stages: Sequence[Stage],
    grown: Window,
    window: Window,
    height: int,
    width: int,
    tell: Callable[[float], None] | None = None,
) -> Tensor:
    """The stages applied to the samples ``u`` of the grown window, cropped to the window.

    ``tell`` is told the share of the work just done, 1 in all.

    At the border of the image the filter mirrors, as it should; at a cut it mirrors as well, but what that spoils is
    ``reach`` pixels wide and cropped after every stage (after all of them, where an engine takes them together).
    """
    left, taken = halo(stages), fused(stages)
    total = sum(stage.steps for stage in taken)
    for stage in taken:
        u = stage.apply(u) if tell is None else stage.watched(u, partial(_scaled, tell, stage.steps / total))
        left -= stage.reach
        smaller = window.grown(left, height, width)
        u, grown = u[smaller.inside(grown)].contiguous(), smaller
    return u


def check(u: Tensor, stages: Sequence[Stage]) -> None:
    """Refuse samples that the filter must not begin with: NaN, infinity, and what its first stage objects to."""
    validation.finite(u, "the filter")
    if stages and stages[0].check is not None:
        stages[0].check(u)


def _in_numpy(
    samples: NDArray[Any],
    stages: Sequence[Stage],
    grown: Window,
    window: Window,
    plan: Plan,
    device: str | torch.device,
    tell: Callable[[float], None] | None,
) -> NDArray[Any]:
    u = torch.from_numpy(np.ascontiguousarray(samples))[None].to(device)
    with torch.no_grad():
        result = in_window(u, stages, grown, window, plan.height, plan.width, tell)
    if tell is not None and not stages:
        tell(1.0)
    values: NDArray[Any] = result[0].cpu().numpy()
    return values


def _scaled(tell: Callable[[float], None], share: float, done: float) -> None:
    tell(share * done)
