"""Deliberate faults in a piece of source code, one at a time.

Each fault is small and plausible: a comparison that includes its bound, a sum that became a difference, a constant off
by one, a clamp that was forgotten. Tests that notice none of them guard nothing.
"""

import ast
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import count

__all__ = ["Mutant", "mutants"]

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}
CALLS = {
    "min": "max",
    "max": "min",
    "ceil": "floor",
    "floor": "ceil",
    "sin": "cos",
    "cos": "sin",
    "any": "all",
    "all": "any",
}
FORGOTTEN = {"abs", "clamp_min", "clamp_max", "clamp", "detach", "sqrt", "square", "reciprocal"}
ROUNDING = 1e-9
"""Constants below this are allowances for rounding errors, which five per cent more or less leave as they are."""
SKIPPED_FUNCTIONS = {"extra_repr", "__repr__", "as_dict", "house_style"}
"""Descriptions for people and the look of figures, which tests may leave free."""
LOOKS = {
    "dpi", "figsize", "fontsize", "height_ratios", "linespacing", "linewidth", "linewidths", "lw", "markerscale",
    "markersize", "ms", "ncols", "shrink",
}  # fmt: skip
"""Words of matplotlib for sizes of figures, letters, lines and marks: people look at these."""


@dataclass(frozen=True)
class Mutant:
    """One fault: where it is, what it changes, and the whole source with it.

    The statement around it reaches from line ``first`` to line ``last``, without the block that follows; ``nth`` counts
    changes of the same words in one statement, from 1 on.
    """

    line: int
    first: int
    last: int
    function: str
    before: str
    after: str
    statement: str
    source: str
    nth: int = 1

    def __str__(self) -> str:
        return f"line {self.line} ({self.function}): {self.before}  ->  {self.after}"


def mutants(source: str, written: Container[int] | None = None) -> Iterator[Mutant]:
    r"""Every mutant of the source, from top to bottom.

    To write down the whole source of each takes most of the time: with ``written`` only the mutants of these numbers,
    counted from 0, have theirs.

    >>> [str(mutant) for mutant in mutants("def f(x):\n    return x + 1")]
    ['line 2 (f): x + 1  ->  x - 1', 'line 2 (f): 1  ->  2']
    """
    tree, lines = ast.parse(source), source.splitlines()
    counted: Counter[tuple[int, str, str]] = Counter()
    numbers = count()
    for node, function, first, last in list(_places(tree)):
        for change in _changes(node):
            faulty, source_with_fault = change(node), ""
            number = next(numbers)
            if written is None or number in written:
                _Replace(node, faulty).visit(tree)
                source_with_fault = ast.unparse(tree)
                _Replace(faulty, node).visit(tree)
            before, after = ast.unparse(node), ast.unparse(faulty)
            statement = " ".join(line.strip() for line in lines[first - 1 : last])
            counted[first, before, after] += 1
            nth = counted[first, before, after]
            yield Mutant(node.lineno, first, last, function, before, after, statement, source_with_fault, nth)


Place = tuple[ast.expr, str, int, int]


def _places(tree: ast.Module) -> Iterator[Place]:
    """All expressions that compute something, with the function and the lines of the statement around them."""
    yield from _within(tree, "module", None)


def _within(node: ast.AST, function: str, statement: ast.stmt | None) -> Iterator[Place]:
    for field, child in _children(node):
        if _is_description(node, field, child):
            continue
        inside = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else function
        if inside in SKIPPED_FUNCTIONS:
            continue
        around = child if isinstance(child, ast.stmt) else statement
        if isinstance(child, ast.expr) and around is not None:
            last = child.end_lineno if hasattr(around, "body") else around.end_lineno
            yield child, function, around.lineno, last or child.lineno
        yield from _within(child, inside, around)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _is_description(node: ast.AST, field: str, child: ast.AST) -> bool:
    """Annotations, docstrings, messages of errors, names for the outside: nothing a result depends on."""
    if isinstance(node, ast.keyword) and node.arg in {"strict", *LOOKS}:  # strict, of zip, is a check of our own
        return True
    if field in ("annotation", "returns", "decorator_list", "type_params") or isinstance(
        child, ast.JoinedStr | ast.Assert
    ):
        return True
    if isinstance(child, ast.Raise | ast.Import | ast.ImportFrom):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
        return True
    return isinstance(child, ast.Assign) and any("__all__" in ast.unparse(target) for target in child.targets)


def _changes(node: ast.expr) -> list[Callable[[ast.expr], ast.expr]]:
    """What may be done to an expression; each function makes the faulty one out of it."""
    if isinstance(node, ast.Compare) and len(node.ops) >= 1:
        return [_comparison(index) for index, op in enumerate(node.ops) if type(op) in COMPARISONS]
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not _is_text(node):
        return [_operation]
    if isinstance(node, ast.BoolOp):
        return [_other_connective]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        return [_without_sign]
    if isinstance(node, ast.IfExp):
        return [_other_branch]
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        return [_other_constant]
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in CALLS:
            return [_other_call]
        if (
            name in FORGOTTEN
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) not in ("torch", "math")
        ):
            return [_forgotten]
    return []


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ast.walk(node)
    )


def _comparison(index: int) -> Callable[[ast.expr], ast.expr]:
    def change(node: ast.expr) -> ast.expr:
        assert isinstance(node, ast.Compare)
        ops = list(node.ops)
        ops[index] = COMPARISONS[type(ops[index])]()
        return ast.Compare(node.left, ops, node.comparators)

    return change


def _operation(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.BinOp)
    return ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)


def _other_connective(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.BoolOp)
    return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _without_sign(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.UnaryOp)
    return node.operand


def _other_branch(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.IfExp)
    return ast.IfExp(node.test, node.orelse, node.body)


def _other_constant(node: ast.expr) -> ast.expr:
    """Truth turned round, whole numbers off by one, others by 5 %, allowances for rounding a million times."""
    assert isinstance(node, ast.Constant)
    value = node.value
    if isinstance(value, bool):
        return ast.Constant(not value)
    assert isinstance(value, int | float)
    if isinstance(value, int):
        return ast.Constant(value + 1)
    return ast.Constant(value * (1e6 if abs(value) < ROUNDING else 1.05) or 0.05)


def _other_call(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute):
        func: ast.expr = ast.Attribute(node.func.value, CALLS[node.func.attr], ast.Load())
    else:
        func = ast.Name(CALLS[ast.unparse(node.func)], ast.Load())
    return ast.Call(func, node.args, node.keywords)


def _forgotten(node: ast.expr) -> ast.expr:
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    return node.func.value


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)
