"""Diffusivities and laws for the page's kernel in C, written from the formulas of the library.

``python -m whorl.page.kernel`` writes ``web/kernel/diffusivities.h`` in the source tree; ``make kernel`` does so before
it compiles the kernel.
"""

import math
from pathlib import Path

from whorl.activations.enhancing import SPECTRAL
from whorl.engines.formulas import WORDS, Node, statements
from whorl.engines.leaves import LEAVES, SPECTRA, Leaf, Spectrum

TARGET = Path(__file__).parents[3] / "web" / "kernel" / "diffusivities.h"

_WORDS = WORDS | {
    "abs": "__builtin_fabsf({})",
    "where": "{} ? {} : {}",
    "minimum": "{0} < {1} ? {0} : {1}",
    "maximum": "{0} > {1} ? {0} : {1}",
    "sqrt": "__builtin_sqrtf({})",
    "inverse": "1.0f / {}",
    "rsqrt": "1.0f / __builtin_sqrtf({})",
    "exp2": "power_of_two({})",
    "fall": "fall({})",
    "g": "shape(kind, {}, rate)",
}
"""How C writes each operation."""

OWN = ("edge-continuing", "edge-enhancing, lines")
"""Laws of eigenvalues that ``tensors.c`` has in another form, and that the plane does not tell apart."""

_HEAD = """\
/* Diffusivities and laws of eigenvalues. Written by `python -m whorl.page.kernel`; do not edit. */
#ifndef WHORL_DIFFUSIVITIES_H
#define WHORL_DIFFUSIVITIES_H

#include "exponentials.h"

/* Diffusivities h(s2) less the power of the contrast before them; `scale` is 1 / contrast^2. */
"""

_MIDDLE = """
#define NUMBER(name, word, front) KIND_##name,
enum { DIFFUSIVITIES(NUMBER) KINDS };
#undef NUMBER

static inline float shape(int kind, float s2, float scale) {
    switch (kind) {
#define VALUE(name, word, front) case KIND_##name: return h_##name(s2, scale);
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

/* The power of the contrast. */
static inline float front(int kind, float contrast) {
    (void)contrast;
    switch (kind) {
#define VALUE(name, word, front) case KIND_##name: return front;
        DIFFUSIVITIES(VALUE)
#undef VALUE
    }
    return 1.0f;
}

/* The mean of both eigenvalues of a diffusion tensor, and the first less the last, by those of the structure tensor. */
"""


def header() -> str:
    """The file: a function for each diffusivity and each law, and lists of all by their names in Python."""
    kinds = [f'ENTRY({_word(name)}, "{name}", {_front(leaf.amplitude)})' for name, leaf in LEAVES.items()]
    spectra = {name: each for name, each in SPECTRA[2].items() if name not in OWN}
    laws = [f'ENTRY({_word(name)}, "{name}", {_settings(each)})' for name, each in spectra.items()]
    parts = [_HEAD, *(_function(name, leaf) for name, leaf in LEAVES.items()), _listed("DIFFUSIVITIES", kinds), _MIDDLE]
    parts += [_law(name, each) for name, each in spectra.items()]
    about = (
        "/* The least gap as a share of mu1; whether it looks at more than the gap; whether it has a diffusivity. */"
    )
    return "\n".join([*parts, about, _listed("SPECTRA", laws), "", "#endif", ""])


def _listed(name: str, lines: list[str]) -> str:
    return " \\\n    ".join([f"#define {name}(ENTRY)", *lines])


def _body(*nodes: Node) -> tuple[list[str], list[str]]:
    lines, found = statements(_write, *nodes, assign="    const float {} = {};")
    return [line.replace("const float", "const int", 1) if _condition(line) else line for line in lines], found


def _function(name: str, leaf: Leaf) -> str:
    lines, (found,) = _body(leaf.value)
    rate = "scale" if leaf.exponent is None else f"{leaf.exponent / math.log(2):.9g}f * scale"
    begin = [f"static inline float h_{_word(name)}(float s2, float scale) {{", f"    const float rate = {rate};"]
    unused = [] if lines else ["    (void)s2, (void)rate;"]
    return "\n".join([*begin, *unused, *lines, f"    return {found};", "}", ""])


def _law(name: str, spectrum: Spectrum) -> str:
    lines, (mean, rise) = _body(spectrum.mean, spectrum.rise)
    floor = _write("number", repr(getattr(SPECTRAL[name], "across", 0.0)))
    given = "int kind, float mu1, float mu2, float gap, float rate, float *both"
    begin = [f"static inline void spectrum_{_word(name)}({given}) {{", f"    const float floor = {floor};"]
    begin += ["    (void)kind, (void)mu1, (void)mu2, (void)gap, (void)rate, (void)floor;"]
    return "\n".join([*begin, *lines, f"    both[0] = {mean}, both[1] = {rise};", "}", ""])


def _settings(spectrum: Spectrum) -> str:
    text = repr((spectrum.mean, spectrum.rise))
    looks, shaped = spectrum.together > 0 or "'mu1'" in text or "'mu2'" in text, "('g'" in text
    return f"{_write('number', repr(spectrum.together))}, {int(looks)}, {int(shaped)}"


def _front(power: int) -> str:
    return "".join(["1.0f", " / contrast" * max(-power, 0), " * contrast" * max(power, 0)])


def _write(operation: str, *words: str) -> str:
    return f"{float(f'{float(words[0]):.9g}')!r}f" if operation == "number" else _WORDS[operation].format(*words)


def _condition(line: str) -> bool:
    words = line.split()
    return any(sign in words for sign in ("<", ">", "==", "&", "|")) and "?" not in words


def _word(name: str) -> str:
    return name.replace("-", "_")


if __name__ == "__main__":
    TARGET.write_text(header())
