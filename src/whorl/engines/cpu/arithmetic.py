"""The few operations the compiled kernels are written in.

Nothing here lets the compiler reorder sums or fuse at will: every pixel is the same sequence of IEEE operations,
whether it falls into a vector or into the remainder of a loop, into this band of rows or the next. Fused multiply-adds
are asked for by name. That is what makes tiles equal to the whole bit by bit, for any number of threads.
"""

import hashlib
import inspect
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import overload

__all__ = [
    "COMPILED",
    "at",
    "by_literal",
    "compiled",
    "decay_series",
    "exp2",
    "expect",
    "fma",
    "half",
    "inverse_power",
    "literal",
    "log1p",
    "one",
    "power",
    "put",
    "source_stamp",
    "tiny",
    "two",
    "zero",
]

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = {"nogil": True, "error_model": "numpy"}
"""Without Python's lock, and with divisions that never raise: a branch for the error would stop vectorisation."""

# 2^f on [-1/2, 1/2] by its power series: (ln 2 / 2)^(d+1) / (d+1)! lies below half an ulp.
_DEGREE = {32: 7, 64: 13}
# 1.5 * 2^(mantissa bits): adding it leaves the nearest integer in the low bits of the sum.
_MAGIC = {32: 12582912.0, 64: 6755399441055744.0}
_MANTISSA = {32: 23, 64: 52}
# Below, 2^z is so small that only subnormal fluxes, slow on many processors, would follow.
_LOWEST = {32: -100.0, 64: -1000.0}


def compiled(*, cache: bool = False, inside: bool = False) -> Callable[[F], F]:
    """Compile with Numba: no Python lock, no reordering; ``cache`` keeps the machine code on disk.

    ``inside`` makes the function part of its callers whatever its size: a loop with a call in it is not vectorised.
    """

    def decorate(function: F) -> F:
        result: F = numba.njit(**COMPILED, cache=cache, forceinline=inside)(function)
        return result

    return decorate


def by_literal(*implementations: Callable[..., Any], inside: bool = False) -> Callable[..., Any]:
    """A function for kernels that takes a literal number first and is then the implementation of that index.

    The choice falls when a kernel is compiled, so that only what is needed is compiled. ``inside`` as above.
    """

    def stub(*arguments: Any) -> Any:
        raise TypeError("this function belongs into compiled kernels")

    def typed(*arguments: Any) -> Any:
        index = arguments[0]
        return implementations[index.literal_value] if isinstance(index, types.IntegerLiteral) else None

    typed.__signature__ = inspect.signature(implementations[0])  # type: ignore[attr-defined]
    options = {**COMPILED, "forceinline": inside}
    overload(stub, prefer_literal=True, jit_options=options, strict=False)(typed)
    return stub


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's ``intrinsic``: a function of the types that says how to generate the code; kernels call it on values."""
    result: Callable[..., Any] = numba_intrinsic(function)
    return result


@cache
def source_stamp() -> int:
    """A number that changes with any source file of this folder.

    Numba's cache looks at one file only; kernels are built with this stamp among their constants, so that a change in
    a function they call is noticed too.
    """
    text = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")


@intrinsic
def at(typing: Any, array: Any, index: Any) -> Any:
    """``array[index]`` of a contiguous array, without Python's negative indices: those would stop vectorisation."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature, arguments))

    return array.dtype(array, types.intp), generate


@intrinsic
def put(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, likewise."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature, arguments))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic
def expect(typing: Any, array: Any, index: Any) -> Any:
    """Ask the memory for ``array[index]``, which is read soon; an index beyond the array does no harm."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, whole, whole, whole])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        place = builder.bitcast(_address(context, builder, signature, arguments), pointer)
        builder.call(prefetch, [place, whole(0), whole(2), whole(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def fma(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` with one rounding."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return a(a, a, a), generate


def literal(number: float) -> Callable[[float], float]:
    """A function that gives this number in the precision of its argument; Numba would widen a literal to float64."""

    @intrinsic
    def constant(typing: Any, like: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(context.get_value_type(like), number)

        return like(like), generate

    return constant


zero, half, one, two = literal(0.0), literal(0.5), literal(1.0), literal(2.0)

tiny = literal(1e-37)
"""Keeps divisions finite; far above the smallest normal number of both precisions."""


@intrinsic
def exp2(typing: Any, z: Any) -> Any:
    """``2**z`` for ``z <= 0``, exact at 0, within 2 ulp, and without branches so that it vectorises.

    Below -100 (float32) or -1000 (float64) it stays at that tiny value. NaN stays NaN.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (x,) = arguments
        bits: int = signature.args[0].bitwidth
        real, integer = x.type, ir.IntType(bits)
        lowest, magic = ir.Constant(real, _LOWEST[bits]), ir.Constant(real, _MAGIC[bits])
        x = builder.select(builder.fcmp_unordered(">", x, lowest), x, lowest)
        shifted = builder.fadd(x, magic)
        rest = builder.fsub(x, builder.fsub(shifted, magic))
        series = [math.log(2) ** k / math.factorial(k) for k in range(_DEGREE[bits] + 1)]
        result = ir.Constant(real, series.pop())
        while series:
            result = builder.fma(result, rest, ir.Constant(real, series.pop()))
        exponent = builder.shl(builder.bitcast(shifted, integer), ir.Constant(integer, _MANTISSA[bits]))
        return builder.bitcast(builder.add(builder.bitcast(result, integer), exponent), real)

    return z(z), generate


@intrinsic
def log1p(typing: Any, z: Any) -> Any:
    """``log(1 + z)`` for ``z >= 0``, without branches; the error is a few roundings of numbers up to 1 + z.

    With 1 + z = 2^k m, 3/4 <= m < 3/2, the logarithm of m is the series of twice the area tangent of (m - 1) / (m + 1).
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (x,) = arguments
        bits: int = signature.args[0].bitwidth
        real, integer, mantissa = x.type, ir.IntType(bits), _MANTISSA[bits]
        one = ir.Constant(real, 1.0)
        number = builder.bitcast(builder.fadd(x, one), integer)
        # Counted from 3/4, the exponent is the number of bits above the mantissa.
        bias = (1 << bits - 2 - mantissa) - 1
        three_quarters = (bias - 1 << mantissa) + (1 << mantissa - 1)
        exponent = builder.ashr(
            builder.sub(number, ir.Constant(integer, three_quarters)), ir.Constant(integer, mantissa)
        )
        m = builder.bitcast(builder.sub(number, builder.shl(exponent, ir.Constant(integer, mantissa))), real)
        s = builder.fdiv(builder.fsub(m, one), builder.fadd(m, one))
        s2 = builder.fmul(s, s)
        series = [2.0 / (2 * k + 1) for k in range(_DEGREE[bits] - 1)]
        result = ir.Constant(real, series.pop())
        while series:
            result = builder.fma(result, s2, ir.Constant(real, series.pop()))
        whole = builder.fmul(builder.sitofp(exponent, real), ir.Constant(real, math.log(2)))
        return builder.fma(result, s, whole)

    return z(z), generate


def _power(*, inverse: bool) -> Callable[[float], float]:
    @intrinsic
    def power(typing: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bits: int = signature.args[0].bitwidth
            integer, ones = ir.IntType(bits), (1 << bits - 1 - _MANTISSA[bits]) - 1
            result = builder.and_(builder.bitcast(arguments[0], integer), ir.Constant(integer, ones << _MANTISSA[bits]))
            if inverse:
                result = builder.sub(ir.Constant(integer, ones - 1 << _MANTISSA[bits]), result)
            return builder.bitcast(result, arguments[0].type)

        return x(x), generate

    return power


power = _power(inverse=False)
"""The largest power of two not above ``x > 0``; 0 for 0."""

inverse_power = _power(inverse=True)
"""One divided by ``power(x)``: products with either are exact, so that squares can be taken at any magnitude."""


@intrinsic
def decay_series(typing: Any, z: Any) -> Any:
    """``(1 - exp(-z)) / z`` for ``0 <= z <= 0.3`` by its power series, where the quotient would cancel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (x,) = arguments
        terms = _DEGREE[signature.args[0].bitwidth]
        series = [(-1.0) ** k / math.factorial(k + 1) for k in range(terms)]
        result = ir.Constant(x.type, series.pop())
        while series:
            result = builder.fma(result, x, ir.Constant(x.type, series.pop()))
        return result

    return z(z), generate


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]], inbounds=True)
