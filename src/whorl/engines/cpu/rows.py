"""Rows of cells, in plane and space, compact and wide: loops over cells, and over the pixels that they complete.

Each loop is short and plain enough to be vectorised, and made of functions of one cell. What these take stands in
tuples: ``place``, where the rows of pixels of a field lie; ``k``, the geometry; the details, tensor and flux of a cell.
Arrays that keep fluxes, from c on, are a tuple that is made once: references to arrays are counted, which takes time.
"""

import inspect
from collections.abc import Callable
from typing import Any

from whorl.engines.cpu.arithmetic import at, fma, put
from whorl.engines.cpu.compiling import compiled

Function = Callable[..., Any]


def each(function: Function) -> Function:
    """A loop that writes a function of up to three rows, number by number, into another row.

    It takes for each row the array and where the row begins, the same for the result, and how many numbers there are.
    """
    f = compiled(inside=True)(function)

    def one(x: Any, a: int, into: Any, target: int, n: int) -> None:
        for j in range(n):
            put(into, target + j, f(at(x, a + j)))

    def two(x: Any, a: int, y: Any, b: int, into: Any, target: int, n: int) -> None:
        for j in range(n):
            put(into, target + j, f(at(x, a + j), at(y, b + j)))

    def three(x: Any, a: int, y: Any, b: int, z: Any, c: int, into: Any, target: int, n: int) -> None:
        for j in range(n):
            put(into, target + j, f(at(x, a + j), at(y, b + j), at(z, c + j)))

    return compiled()(_of(function, one, two, three))


def each_within(function: Function) -> Function:
    """The same, into the first row: the compiler has to see that both are one."""
    f = compiled(inside=True)(function)

    def one(x: Any, a: int, n: int) -> None:
        for j in range(n):
            put(x, a + j, f(at(x, a + j)))

    def two(x: Any, a: int, y: Any, b: int, n: int) -> None:
        for j in range(n):
            put(x, a + j, f(at(x, a + j), at(y, b + j)))

    def three(x: Any, a: int, y: Any, b: int, z: Any, c: int, n: int) -> None:
        for j in range(n):
            put(x, a + j, f(at(x, a + j), at(y, b + j), at(z, c + j)))

    return compiled()(_of(function, one, two, three))


def _of(function: Function, *loops: Function) -> Function:
    return loops[len(inspect.signature(function).parameters) - 1]


copy_row = each(lambda x: x)
"""The same numbers elsewhere."""


def structures(details: Function, measure: Function, collect: Function) -> Function:
    """A loop that adds w times the structure of one field in n cells to J; the first field overwrites."""

    @compiled(inside=True)
    def structure(law: int, first: bool, x: Any, place: Any, n: int, w: float, k: Any, J: Any) -> None:
        for j in range(n):
            collect(law, first, j, J, w, measure(law, details(x, place, j), k))

    return structure


def fluxes(details: Function, tensor: Function, flow: Function, keep: Function) -> Function:
    """A loop that keeps the flux of one field in n cells. ``tensor`` is given what ``by`` holds: tensors, or numbers.

    Of a field that is coupled with no other, it finds the tensor from the details: all in one loop.
    """

    @compiled(inside=True)
    def flux(law: int, kind: int, x: Any, place: Any, n: int, k: Any, by: Any, kept: Any, c: Any) -> None:
        for j in range(n):
            cell = details(x, place, j)
            keep(flow(law, tensor(law, kind, j, cell, k, by), cell, k), j, kept, c)

    return flux


def steps(details: Function, tensor: Function, flow: Function, meet: Function) -> Function:
    """A loop that writes ``y = x - tau K^T flux`` for pixels low <= j < high of one field, by such tensors.

    Pixel j of the first row lies between cells j and j + 1.
    """

    @compiled(inside=True)
    def met(law: int, kind: int, x: Any, place: Any, j: int, k: Any, by: Any, kept: Any, c: Any) -> Any:
        cell = details(x, place, j)
        return meet(flow(law, tensor(law, kind, j, cell, k, by), cell, k), j, kept, c)

    @compiled()
    def step(
        law: int, kind: int, x: Any, place: Any, low: int, high: int, k: Any, by: Any, kept: Any, c: Any,
        y: Any, o: int, tau: float,
    ) -> None:  # fmt: skip
        left, _ = met(law, kind, x, place, low, k, by, kept, c)
        for j in range(low, high):
            E, F = met(law, kind, x, place, j + 1, k, by, kept, c)
            put(y, o + j, fma(tau, F - left, at(x, place[0] + j + 1)))
            left = E

    return step
