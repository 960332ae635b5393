"""Samples that lie in a file one after the other: read and written by box, wherever they begin."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RawSamples"]


class RawSamples:
    """An array in an open file, from ``start`` on, the last axis fastest.

    It is read and written by plain calls, not by memory mapping, whose pages would count as memory of the process.
    """

    def __init__(self, file: IO[bytes], shape: Sequence[int], dtype: np.dtype[Any], start: int = 0) -> None:
        self.file, self.shape, self.dtype, self.start = file, tuple(shape), dtype, start

    def read(self, place: Sequence[slice]) -> NDArray[Any]:
        """The samples in a box, in the byte order of the file."""
        block = np.empty([part.stop - part.start for part in place], self.dtype)
        for at, piece in self._pieces(place, block):
            self.file.seek(at)
            view = piece.view(np.uint8).data
            while view:  # an unbuffered read may give less than asked for
                view = view[self.file.readinto(view) or _end_of_file() :]  # type: ignore[attr-defined]
        return block

    def write(self, place: Sequence[slice], block: NDArray[Any]) -> None:
        """Put samples into a box."""
        for at, piece in self._pieces(place, np.ascontiguousarray(block, self.dtype)):
            self.file.seek(at)
            view = piece.view(np.uint8).data
            while view:
                view = view[self.file.write(view) :]

    def _pieces(self, place: Sequence[slice], block: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Place in the file and piece of the block, for every run of samples that lies together in both."""
        axis = len(self.shape) - 1  # the first axis of a run: those behind it are taken whole
        while axis > 0 and place[axis].start == 0 and place[axis].stop == self.shape[axis]:
            axis -= 1
        inner = math.prod(self.shape[axis + 1 :])
        steps = [math.prod(self.shape[number + 1 :]) for number in range(axis)]
        if not block.size:
            return
        for index in itertools.product(*(range(part.stop - part.start) for part in place[:axis])):
            first = sum((part.start + n) * step for part, n, step in zip(place, index, steps, strict=False))
            at = first + place[axis].start * inner
            yield self.start + at * self.dtype.itemsize, block[index].reshape(-1)


def _end_of_file() -> int:
    raise OSError("the file ended early")
