r"""Formulas of tensors as kernels compute them: products gathered, sums fused, exponentials to the base 2.

A traced formula becomes a tree of nodes ``(operation, *arguments)``. On the way

- constants of a product stand in front, and quotients are taken last: ``-(h * h) / c`` is ``(-1/c * h) * h``;
- a product and a further term are one multiply-add;
- one over one plus something is an ``inverse``, for which devices need no division;
- :math:`e^t` is :math:`2^{t / \ln 2}` with the factor among the constants; ``fall`` is :math:`1 - 2^t`;
- limits are choices, so that NaN passes.

Each language writes the nodes down with :func:`statements`, one line for each, common parts once.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from whorl.foundations.traced import Traced

Node = tuple[Any, ...]
"""``("number", value)``, ``("symbol", name)``, or an operation and the nodes it takes."""


SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "lt": "<", "gt": ">", "eq": "==", "and": "&", "or": "|"}

WORDS = {name: f"{{}} {sign} {{}}" for name, sign in SIGNS.items()} | {"neg": "-{}", "fma": "{} * {} + {}"}
"""How all languages write an operation; they differ in the others."""


class Product(NamedTuple):
    """A constant times nodes over nodes."""

    constant: float
    above: tuple[Node, ...] = ()
    below: tuple[Node, ...] = ()


def number(value: float) -> Node:
    """A constant."""
    return "number", float(value)


def symbol(name: str) -> Node:
    """A value that has a name already."""
    return "symbol", name


def lowered(formula: Any, known: Mapping[str, Node] | None = None, front: str = "") -> Node:
    """The nodes of a traced formula; ``known`` values stand for themselves, ``front`` multiplies the whole of it.

    >>> x = Traced("symbol", "x")
    >>> lowered(1 / (1 + x / 2))
    ('inverse', ('fma', ('number', 0.5), ('symbol', 'x'), ('number', 1.0)))
    """
    found = _Lowering(known or {}).product(formula)
    return _joined(found._replace(above=(symbol(front), *found.above)) if front and found.constant else found)


def exponent(formula: Any, of: str) -> tuple[float | None, set[str]]:
    """The multiple c where a formula has a symbol x in terms ``exp(c x)`` alone, all with the same c; and these terms.

    >>> exponent(Traced("exp", -Traced("symbol", "x") / 2), "x")
    (-0.5, {'exp(truediv(neg(x), 2))'})
    """
    found: dict[str, float | None] = {}

    def visit(value: Any) -> None:
        if not isinstance(value, Traced):
            return
        inside = _Lowering({}).product(value.arguments[0]) if value.name == "exp" else Product(0.0)
        if inside.above == (symbol(of),) and not inside.below:
            found[repr(value)] = inside.constant
        elif repr(value) == of:
            found[of] = None
        elif value.name != "symbol":
            for each in value.arguments:
                visit(each)

    visit(formula)
    one = set(found.values())
    return (one.pop(), set(found)) if len(one) == 1 and of not in found else (None, set())


class _Lowering:
    """Products of the values of one formula, each found once."""

    def __init__(self, known: Mapping[str, Node]) -> None:
        self.known = known
        self.found: dict[int, tuple[Any, Product]] = {}

    def product(self, value: Any) -> Product:
        if not isinstance(value, Traced):
            return Product(float(value))
        if id(value) not in self.found:
            self.found[id(value)] = value, self._product(value)
        return self.found[id(value)][1]

    def node(self, value: Any) -> Node:
        return _joined(self.product(value))

    def _product(self, value: Traced) -> Product:
        if repr(value) in self.known:
            return Product(1.0, (self.known[repr(value)],))
        name, arguments = value.name, value.arguments
        if name == "symbol":
            return Product(1.0, (symbol(arguments[0]),))
        if name in _PRODUCTS:
            return _PRODUCTS[name](*(self.product(each) for each in arguments))
        if name == "pow":
            return _power(self.product(arguments[0]), arguments[1])
        nodes = [self.node(each) for each in arguments]
        if name in _NODES:
            return Product(1.0, (_NODES[name](*nodes),))
        return Product(1.0, ((name, *nodes),))


def _times(x: Product, y: Product) -> Product:
    above, below = list(x.above + y.above), list(x.below + y.below)
    for node in x.above + y.above:
        if node in below:
            below.remove(node)
            above.remove(node)
    return Product(x.constant * y.constant, tuple(above), tuple(below))


def _over(x: Product, y: Product) -> Product:
    return _times(x, Product(1 / y.constant, y.below, y.above))


def _square(x: Product) -> Product:
    """The square of one over something is a quotient, too."""
    if x.above or not x.below:
        return _power(x, 2)
    return Product(x.constant**2, (), (_joined(_power(Product(1.0, x.below), 2)),))


def _power(x: Product, power: int) -> Product:
    """Factors of the number as it is rounded; the third power is ``x (x x)``."""
    base = _joined(x)
    if power not in (2, 3):
        raise ValueError(f"the power {power} has no compiled form: write it as a product or a root.")
    return Product(1.0, (base, base if power == 2 else ("mul", base, base)))


def _sum(x: Product, y: Product) -> Product:
    if not y.constant or not x.constant:
        return x if not y.constant else y
    if not (x.above or x.below or y.above or y.below):
        return Product(x.constant + y.constant)
    for term, other in ((y, x), (x, y)):
        simple = _known_sum(term, other)
        if simple is not None:
            return simple
    for term, other in ((y, x), (x, y)):
        factors = _factors(term)
        if not term.below and len(factors) > 1 and factors[0] != number(-1):
            return Product(1.0, (("fma", _folded(factors[:-1]), factors[-1], _joined(other)),))
    if y.constant < 0 < x.constant:
        return Product(1.0, (("sub", _joined(x), _joined(y._replace(constant=-y.constant))),))
    if x.constant < 0 < y.constant:
        return _sum(y, x)
    return Product(1.0, (("add", _joined(x), _joined(y)),))


def _known_sum(term: Product, other: Product) -> Product | None:
    """Sums in which a part comes twice: ``p + (q - p) = q`` and ``(p + q) + c q = p + (1 + c) q``."""
    if other.constant == 1 and len(other.above) == 1 and not other.below:
        name, *parts = other.above[0]
        if name == "sub" and parts[1] == _joined(term):
            return Product(1.0, (parts[0],))
        if name == "add" and not term.below and term.above == (parts[1],):
            return _sum(
                Product(parts[0][1]) if parts[0][0] == "number" else Product(1.0, (parts[0],)),
                Product(1 + term.constant, (parts[1],)),
            )
    return None


def _exponential(x: Product) -> Product:
    return Product(1.0, (("exp2", _joined(x._replace(constant=x.constant / math.log(2)))),))


def _expm1(x: Product) -> Product:
    return Product(-1.0, (("fall", *_exponential(x).above[0][1:]),))


_PRODUCTS: dict[str, Callable[..., Product]] = {
    "mul": _times,
    "truediv": _over,
    "neg": lambda x: x._replace(constant=-x.constant),
    "reciprocal": lambda x: _over(Product(1.0), x),
    "square": _square,
    "add": _sum,
    "sub": lambda x, y: _sum(x, y._replace(constant=-y.constant)),
    "exp": _exponential,
    "expm1": _expm1,
    "ones_like": lambda x: Product(1.0),
    "zeros_like": lambda x: Product(0.0),
}

_NODES: dict[str, Callable[..., Node]] = {
    "clamp_min": lambda x, y: ("where", ("lt", x, y), y, x),
    "clamp_max": lambda x, y: ("where", ("gt", x, y), y, x),
}


def _factors(x: Product) -> list[Node]:
    """What is multiplied, the constant first; a lone product is taken apart."""
    factors = list(x.above) if x.constant == 1 else [number(x.constant), *x.above]
    return list(factors[0][1:]) if len(factors) == 1 and factors[0][0] == "mul" else factors


def _folded(factors: list[Node]) -> Node:
    found = factors[0]
    for each in factors[1:]:
        found = ("mul", found, each)
    return found


def _joined(x: Product) -> Node:
    """One node: the sign last, quotients before it."""
    if not x.constant:
        return number(0.0)
    size, above = x.constant, list(x.above)
    if size == -1 and above:
        return ("neg", _joined(x._replace(constant=1.0)))
    found = _folded([number(size), *above] if size != 1 or not above else above)
    if not x.below:
        return found
    below = _folded(list(x.below))
    more = below[0] == "fma" and below[3] == number(1) and not (below[1][0] == "number" and below[1][1] < 0)
    return ("inverse", below) if found == number(1) and more else ("truediv", found, below)


def statements(words: Callable[..., str], *nodes: Node, assign: str = "{} = {}") -> tuple[list[str], list[str]]:
    """Lines that compute nodes, and the words for these; ``words`` writes one operation on words.

    >>> statements(lambda name, *words: f"{name}({', '.join(words)})", lowered(1 + 2 * Traced("symbol", "x")))
    (['t1 = fma(number(2.0), x, number(1.0))'], ['t1'])
    """
    lines: list[str] = []
    known: dict[Node, str] = {}

    def word(node: Node) -> str:
        if node[0] == "symbol":
            return str(node[1])
        if node not in known:
            if node[0] == "number":
                known[node] = words("number", repr(node[1]))
            else:
                text = words(node[0], *(word(each) for each in node[1:]))
                known[node] = f"t{len(lines) + 1}"
                lines.append(assign.format(known[node], text))
        return known[node]

    found = [word(node) for node in nodes]
    return lines, found
