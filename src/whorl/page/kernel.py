"""The diffusivities for the page's kernel in C, written from the formulas of :mod:`whorl.diffusivities`.

``python -m whorl.page.kernel`` writes ``web/kernel/diffusivities.h`` in the source tree; ``make kernel`` does so before
it compiles the kernel.
"""

import math
from pathlib import Path

from whorl.engines.formulas import statements
from whorl.engines.leaves import LEAVES, Leaf

__all__ = ["TARGET", "header"]

TARGET = Path(__file__).parents[3] / "web" / "kernel" / "diffusivities.h"

_WORDS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "truediv": "{} / {}",
    "inverse": "1.0f / {}",
    "neg": "-{}",
    "abs": "__builtin_fabsf({})",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "eq": "{} == {}",
    "and": "{} & {}",
    "or": "{} | {}",
    "where": "{} ? {} : {}",
    "minimum": "({0} < {1} ? {0} : {1})",
    "maximum": "({0} > {1} ? {0} : {1})",
    "fma": "{} * {} + {}",
    "sqrt": "__builtin_sqrtf({})",
    "rsqrt": "1.0f / __builtin_sqrtf({})",
    "exp2": "power_of_two({})",
    "fall": "fall({})",
}
"""How C writes each operation."""

_HEAD = """\
/* Diffusivities g(s2) of a squared magnitude. Written by `python -m whorl.page.kernel`; do not edit. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

#include "exponentials.h"
"""

_TAIL = """
#define NUMBER(name, word, g) KIND_##name,
enum { DIFFUSIVITIES(NUMBER) KINDS };
#undef NUMBER

/* g(s2); `scale` is 1 / contrast^2, prepared by the caller. */
static inline float diffusivity(int kind, float s2, float contrast, float scale) {
    (void)contrast;
    switch (kind) {
#define VALUE(name, word, g) case KIND_##name: return g;
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

#endif
"""


def header() -> str:
    """The file: a function for each diffusivity, and a list of all by their names in Python."""
    listed = [f'ENTRY({_word(name)}, "{name}", {_call(name, leaf)})' for name, leaf in LEAVES.items()]
    parts = [_HEAD, *(_function(name, leaf) for name, leaf in LEAVES.items())]
    return "\n".join([*parts, "#define DIFFUSIVITIES(ENTRY) \\", *_continued(listed)]) + "\n" + _TAIL


def _continued(lines: list[str]) -> list[str]:
    return [f"    {line} \\" for line in lines[:-1]] + [f"    {lines[-1]}"]


def _function(name: str, leaf: Leaf) -> str:
    lines, (found,) = statements(_write, leaf.value, assign="    const float {} = {};")
    lines = [line.replace("const float", "const int", 1) if _condition(line) else line for line in lines]
    rate = "scale" if leaf.exponent is None else f"{leaf.exponent / math.log(2):.9g}f * scale"
    begin = [f"static inline float g_{_word(name)}(float s2, float scale) {{", f"    const float rate = {rate};"]
    unused = [] if lines else ["    (void)s2, (void)rate;"]
    return "\n".join([*begin, *unused, *lines, f"    return {found};", "}", ""])


def _write(operation: str, *words: str) -> str:
    return f"{float(f'{float(words[0]):.9g}')!r}f" if operation == "number" else _WORDS[operation].format(*words)


def _condition(line: str) -> bool:
    words = line.split()
    return any(sign in words for sign in ("<", ">", "==", "&", "|")) and "?" not in words


def _call(name: str, leaf: Leaf) -> str:
    value = f"g_{_word(name)}(s2, scale)"
    return value + "".join([" / contrast" * max(-leaf.amplitude, 0), " * contrast" * max(leaf.amplitude, 0)])


def _word(name: str) -> str:
    return name.replace("-", "_")


if __name__ == "__main__":
    TARGET.write_text(header())
