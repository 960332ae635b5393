"""Explicit vectors, for loops that the compiler does not vectorise by itself.

It does not vectorise loops over a dozen rows of one buffer, since it cannot see that the rows do not overlap. Here an
intrinsic says which numbers form a vector. Every pixel is the same sequence of operations in every lane.
"""

import platform
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils


def _lanes() -> int:
    """Floats in a register, or in two where there are enough of those."""
    if platform.machine() in ("x86_64", "AMD64") and not binding.get_host_cpu_features().get("avx512vl", False):
        return 8
    return 16


LANES = _lanes()
"""Floats that are computed together."""

_FLOAT, _INDEX = ir.FloatType(), ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, LANES)


class Vector:
    """Numbers side by side, for which arithmetic appends instructions."""

    def __init__(self, builder: ir.IRBuilder, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: "Vector") -> "Vector":
        return Vector(self.builder, self.builder.fadd(self.value, other.value))

    def __sub__(self, other: "Vector") -> "Vector":
        return Vector(self.builder, self.builder.fsub(self.value, other.value))

    def __mul__(self, other: "Vector") -> "Vector":
        return Vector(self.builder, self.builder.fmul(self.value, other.value))

    def times(self, factor: "Vector", more: "Vector") -> "Vector":
        """``self * factor + more`` with one rounding."""
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        fma = cgutils.get_or_insert_function(self.builder.module, kind, f"llvm.fma.v{LANES}f32")
        return Vector(self.builder, self.builder.call(fma, [self.value, factor.value, more.value]))

    def shifted(self, following: "Vector", by: int) -> "Vector":
        """The numbers ``by`` places further on, where ``following`` comes after this vector."""
        places = ir.Constant(ir.VectorType(ir.IntType(32), LANES), list(range(by, by + LANES)))
        return Vector(self.builder, self.builder.shuffle_vector(self.value, following.value, places))

    def carried(self) -> "Carried":
        """A vector that starts with this one and changes from round to round of a loop."""
        return Carried(self)


class Carried(Vector):
    """A vector of a loop."""

    def __init__(self, start: Vector) -> None:
        super().__init__(start.builder, None)
        self.start = start.value

    def enter(self, before: Any) -> None:
        """Begin the loop, coming from the block before."""
        self.value = self.builder.phi(_VECTOR)
        self.value.add_incoming(self.start, before)


class Memory:
    """A float32 array in memory, read and written by vectors."""

    def __init__(self, builder: ir.IRBuilder, data: Any) -> None:
        self.builder, self.data = builder, data

    def __call__(self, offset: Any, more: int = 0) -> Vector:
        """The numbers from ``offset + more`` on."""
        return Vector(self.builder, self.builder.load(self._address(offset, more, _VECTOR), align=4))

    def put(self, offset: Any, value: Vector, more: int = 0) -> None:
        """Write the numbers from ``offset + more`` on."""
        self.builder.store(value.value, self._address(offset, more, _VECTOR), align=4)

    def number(self, offset: Any, more: int = 0) -> Vector:
        """One number in every lane."""
        number = self.builder.load(self._address(offset, more, _FLOAT))
        nothing, first = ir.Constant(_VECTOR, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        single = self.builder.insert_element(nothing, number, first)
        return Vector(self.builder, self.builder.shuffle_vector(single, nothing, everywhere))

    def _address(self, offset: Any, more: int, kind: Any) -> Any:
        place = self.builder.gep(self.data, [self.builder.add(offset, ir.Constant(_INDEX, more))])
        return self.builder.bitcast(place, kind.as_pointer())


def nothing(builder: ir.IRBuilder) -> Vector:
    """Zeros."""
    return Vector(builder, ir.Constant(_VECTOR, [0.0] * LANES))


def sums_over_lanes(vectors: list[Vector]) -> Vector:
    """The sums of the numbers in each of ``LANES`` vectors, side by side: pairs of vectors are added up into one."""
    whole, width = ir.IntType(32), 1
    while len(vectors) > 1:
        first = [lane // (2 * width) * 2 * width + lane % width + lane // width % 2 * LANES for lane in range(LANES)]
        masks = [ir.Constant(ir.VectorType(whole, LANES), [lane + more for lane in first]) for more in (0, width)]
        halves = [
            [Vector(a.builder, a.builder.shuffle_vector(a.value, b.value, mask)) for mask in masks]
            for a, b in zip(vectors[::2], vectors[1::2], strict=True)
        ]
        vectors, width = [one + other for one, other in halves], 2 * width
    return vectors[0]


def memories(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """The arguments of an intrinsic: arrays as :class:`Memory`, tuples as lists, whole numbers as they are."""

    def readable(kind: Any, value: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            return cgutils.unpack_tuple(builder, value)
        if isinstance(kind, types.Array):
            return Memory(builder, context.make_array(kind)(context, builder, value).data)
        return value

    return [readable(*each) for each in zip(signature.args, arguments, strict=True)]


def rounds(builder: ir.IRBuilder, count: Any, carried: list[Carried], body: Callable[[Any], list[Vector]]) -> None:
    """A loop of at least one round: ``body`` takes the number of the round and gives the new carried vectors.

    Afterwards the carried vectors hold the results.
    """
    before = builder.block
    loop, after = (builder.append_basic_block(name) for name in ("rounds", "rounds.after"))
    builder.branch(loop)
    builder.position_at_end(loop)
    number = builder.phi(_INDEX)
    number.add_incoming(ir.Constant(_INDEX, 0), before)
    for each in carried:
        each.enter(before)
    results = body(number)
    following = builder.add(number, ir.Constant(_INDEX, 1))
    number.add_incoming(following, builder.block)
    for each, result in zip(carried, results, strict=True):
        each.value.add_incoming(result.value, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
    builder.position_at_end(after)
    for each, result in zip(carried, results, strict=True):
        each.value = result.value
