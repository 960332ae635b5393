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
from whorl.large.scratch import Journal, Scratch
from whorl.large.stages import Stage, fused, halo
from whorl.large.windows import Window, windows

Read = Callable[[Window], NDArray[Any]]
"""Gives the samples ``(c, y, x)`` or ``(c, z, y, x)`` of a window, in float32 or float64."""

Write = Callable[[Window, NDArray[Any]], None]
"""Takes the samples of a window."""


def run(
    plan: Plan,
    read: Read,
    write: Write,
    *,
    device: str | torch.device = "cpu",
    folder: Path | None = None,
    advance: Callable[[float], None] | None = None,
    journal: Journal | None = None,
) -> None:
    """Filter an image or a volume in windows.

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
    journal : Journal, optional
        What is done is written down there, and what it says is done is not done again. ``write`` must have brought its
        samples to the disk when it returns.

    Guarantees
    ----------
    Every window has the bits it would have if the image were filtered whole by the same engine; memory depends on the
    window, not on the image.

    Examples
    --------
    >>> import numpy as np
    >>> from whorl.large import Stage, plan
    >>> image, out = np.ones((20, 30)), np.zeros((20, 30))
    >>> read = lambda window: image[window.slices]
    >>> write = lambda window, values: out.__setitem__(window.slices, values)
    >>> run(plan((20, 30), [Stage(lambda u: 2 * u, reach=0)], tile=16), read, write)
    >>> out.mean()
    np.float64(2.0)
    """
    share = 1 / (len(plan.passes) * plan.count)
    place = journal.folder if journal is not None else folder or Path(tempfile.gettempdir())
    source, held = read, None
    with ExitStack() as stack:
        for number, stages in enumerate(plan.passes, start=1):
            scratch = Scratch(place, plan.shape, None if journal is None else f"pass-{number}")
            stack.callback(scratch.close if journal is None else scratch.release)
            sink = write if number == len(plan.passes) else scratch.write
            if journal is not None and sink != write and (number + 1, "all") not in journal:
                first = read(Window(*(0, 1) * len(plan.shape)))
                scratch.reopen(len(first), first.dtype)
            for index, window in enumerate(windows(plan.shape, plan.sides)):
                if journal is not None and ((number, "all") in journal or (number, index) in journal):
                    if advance is not None:
                        advance(share)
                    continue
                grown = window.grown(halo(stages), *plan.shape)
                samples = source(grown)
                if number == 1:
                    check(torch.from_numpy(np.ascontiguousarray(samples)), stages)
                tell = None if advance is None else partial(scaled, advance, share)
                sink(window, _in_numpy(samples, stages, grown, window, plan, device, tell))
                del samples
                if journal is not None:
                    scratch.flush()
                    journal.mark((number, index))
            if journal is not None and (number, "all") not in journal:
                journal.mark((number, "all"))
            if held is not None:
                held.close()  # two images on disk are enough
            source, held = scratch.read, scratch


def in_window(
    u: Tensor,
    stages: Sequence[Stage],
    grown: Window,
    window: Window,
    shape: Sequence[int],
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
        u = stage.apply(u) if tell is None else stage.watched(u, partial(scaled, tell, stage.steps / total))
        left -= stage.reach
        smaller = window.grown(left, *shape)
        u, grown = u[smaller.inside(grown)].contiguous(), smaller
    return u


def check(u: Tensor, stages: Sequence[Stage]) -> None:
    """Refuse samples that the filter must not begin with: NaN, infinity, and what its first stage objects to."""
    if not any(stage.whole for stage in stages):
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
        result = in_window(u, stages, grown, window, plan.shape, tell)
    if tell is not None and not stages:
        tell(1.0)
    values: NDArray[Any] = result[0].cpu().numpy()
    return values


def scaled(tell: Callable[[float], None], share: float, done: float) -> None:
    """Tell of a part that is ``share`` of the whole; for use with ``partial``."""
    tell(share * done)
