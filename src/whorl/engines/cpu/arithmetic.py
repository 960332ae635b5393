"""The few operations the compiled kernels are written in.

Nothing here lets the compiler reorder sums or fuse at will: every pixel is the same sequence of IEEE operations,
whether it falls into a vector or into the remainder of a loop, into this band of rows or the next. Fused multiply-adds
are asked for by name. That is what makes tiles equal to the whole bit by bit, for any number of threads.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.polynomial import chebyshev

from whorl.engines.cpu.compiling import intrinsic

# 2^f on [-1/2, 1/2] by its power series: (ln 2 / 2)^(d+1) / (d+1)! lies below half an ulp.
_DEGREE = {32: 7, 64: 13}
# 1.5 * 2^(mantissa bits): adding it leaves the nearest integer in the low bits of the sum.
_MAGIC = {32: 12582912.0, 64: 6755399441055744.0}
_MANTISSA = {32: 23, 64: 52}
# Below, 2^z is so small that only subnormal fluxes, slow on many processors, would follow.
_LOWEST = {32: -100.0, 64: -1000.0}


@intrinsic
def at(typing: Any, array: Any, index: Any) -> Any:
    """``array[index]`` of a contiguous array, without Python's negative indices: those would stop vectorisation."""
    return array.dtype(array, types.intp), lambda context, builder, *call: builder.load(
        _address(context, builder, *call)
    )


@intrinsic
def put(typing: Any, array: Any, index: Any, value: Any) -> Any:
    """``array[index] = value``, likewise."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _address(context, builder, signature, arguments))
        return context.get_dummy_value()

    return types.void(array, types.intp, array.dtype), generate


@intrinsic
def expect(typing: Any, array: Any, index: Any) -> Any:
    """Tell the processor that ``array[index]`` will be read soon; an index beyond the array does no harm."""

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
    return a(a, a, a), lambda context, builder, signature, arguments: builder.fma(*arguments)


def elementary(build: Callable[[Any, Any], Any]) -> Callable[[float], float]:
    """A function of one number for kernels; ``build`` appends its instructions. Without branches they vectorise."""

    @intrinsic
    def function(typing: Any, x: Any) -> Any:
        return x(x), lambda context, builder, signature, arguments: build(builder, *arguments)

    return function


def literal(number: float) -> Callable[[float], float]:
    """A function that gives this number in the precision of its argument; Numba would widen a literal to float64."""
    return elementary(lambda builder, like: ir.Constant(like.type, number))


zero, half, one, two = literal(0.0), literal(0.5), literal(1.0), literal(2.0)

tiny = literal(1e-37)
"""Keeps divisions finite; far above the smallest normal number of both precisions."""


def _kind(x: Any) -> tuple[int, Any, int]:
    """How many bits a number has, the integers of that many bits, and the bits of the mantissa."""
    bits = 32 if x.type == ir.FloatType() else 64
    return bits, ir.IntType(bits), _MANTISSA[bits]


def _polynomial(builder: Any, x: Any, series: list[float]) -> Any:
    """The value of a power series, by Horner's scheme."""
    result = ir.Constant(x.type, series.pop())
    while series:
        result = builder.fma(result, x, ir.Constant(x.type, series.pop()))
    return result


def _exp2(builder: Any, x: Any) -> Any:
    bits, integer, mantissa = _kind(x)
    lowest, magic = ir.Constant(x.type, _LOWEST[bits]), ir.Constant(x.type, _MAGIC[bits])
    x = builder.select(builder.fcmp_unordered(">", x, lowest), x, lowest)
    shifted = builder.fadd(x, magic)
    rest = builder.fsub(x, builder.fsub(shifted, magic))
    result = _polynomial(builder, rest, [math.log(2) ** k / math.factorial(k) for k in range(_DEGREE[bits] + 1)])
    exponent = builder.shl(builder.bitcast(shifted, integer), integer(mantissa))
    return builder.bitcast(builder.add(builder.bitcast(result, integer), exponent), x.type)


exp2 = elementary(_exp2)
"""``2**z`` for ``z <= 0``, exact at 0 and within 2 ulp.

Below -100 (float32) or -1000 (float64) it stays at that tiny value. NaN stays NaN.
"""


def _log1p(builder: Any, x: Any) -> Any:
    # With 1 + z = 2^k m, 3/4 <= m < 3/2, log m is the series of twice the area tangent of (m - 1) / (m + 1).
    bits, integer, mantissa = _kind(x)
    one = ir.Constant(x.type, 1.0)
    number = builder.bitcast(builder.fadd(x, one), integer)
    # Counted from 3/4, the exponent is the number of bits above the mantissa.
    bias = (1 << bits - 2 - mantissa) - 1
    three_quarters = (bias - 1 << mantissa) + (1 << mantissa - 1)
    exponent = builder.ashr(builder.sub(number, integer(three_quarters)), integer(mantissa))
    m = builder.bitcast(builder.sub(number, builder.shl(exponent, integer(mantissa))), x.type)
    s = builder.fdiv(builder.fsub(m, one), builder.fadd(m, one))
    result = _polynomial(builder, builder.fmul(s, s), [2.0 / (2 * k + 1) for k in range(_DEGREE[bits] - 1)])
    whole = builder.fmul(builder.sitofp(exponent, x.type), ir.Constant(x.type, math.log(2)))
    return builder.fma(result, s, whole)


log1p = elementary(_log1p)
"""``log(1 + z)`` for ``z >= 0``; the error is a few roundings of numbers up to 1 + z."""


def _power(builder: Any, x: Any, *, inverse: bool = False) -> Any:
    bits, integer, mantissa = _kind(x)
    ones = (1 << bits - 1 - mantissa) - 1
    result = builder.and_(builder.bitcast(x, integer), integer(ones << mantissa))
    if inverse:
        result = builder.sub(integer(ones - 1 << mantissa), result)
    return builder.bitcast(result, x.type)


power = elementary(_power)
"""The largest power of two not above ``x > 0``; 0 for 0."""

inverse_power = elementary(partial(_power, inverse=True))
"""One divided by ``power(x)``: products with either are exact, so that squares can be taken at any magnitude."""


def _decay_series(builder: Any, x: Any) -> Any:
    return _polynomial(builder, x, [(-1.0) ** k / math.factorial(k + 1) for k in range(_DEGREE[_kind(x)[0]])])


decay_series = elementary(_decay_series)
"""``(1 - exp(-z)) / z`` for ``0 <= z <= 0.3`` by its power series, where the quotient would cancel."""


def _farthest_root(builder: Any, x: Any) -> Any:
    # Interpolated at Chebyshev's points of [0, 1]: every degree divides the error by about six.
    interpolate: Any = chebyshev.chebinterpolate
    found = interpolate(lambda y: 2 * np.cos(np.arccos((1 + y) / 2) / 3), {32: 8, 64: 18}[_kind(x)[0]])
    centred = builder.fsub(builder.fadd(x, x), ir.Constant(x.type, 1.0))
    return _polynomial(builder, centred, chebyshev.cheb2poly(found).tolist())


farthest_root = elementary(_farthest_root)
"""The largest ``x`` with ``x**3 - 3 x = 2 r``, for ``0 <= r <= 1``: the other two lie at least 1.7 below it."""


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]], inbounds=True)
