"""``whorl bench``: the benchmarks of the repository."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whorl.cli.options import option

if TYPE_CHECKING:
    from whorl.steps import Form

EXAMPLES = ("whorl bench", "whorl bench speed_grey memory", "whorl bench --table", "whorl bench --engines")


def command(
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites to run; all standard ones by default.", show_default=False)
    ] = None,
    again: Annotated[bool, option("--again", "Measure anew what has been measured already.")] = False,
    engines: Annotated[bool, option("--engines", "Measure nothing; print what each engine has.")] = False,
    results: Annotated[bool, option("--table", "Measure nothing; print the results there are.")] = False,
    out: Annotated[Path, option("--out -o", "Folder of the result files.")] = Path("build/bench"),
) -> None:
    """Measure speed, memory and quality beside other libraries, and print the tables.

    The benchmarks are part of the repository: run this inside a clone, with pip install -e '.[bench]'.
    """
    if engines:
        return typer.echo(table())
    root = _repository()
    words = [*(suites or []), "--out", str(out.resolve()), *["--again"] * again, *["--table"] * results]
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "benchmarks", *words], cwd=root, check=False)
    raise typer.Exit(done.returncode)


def _repository() -> Path:
    """The folder that holds ``benchmarks``: the clone whorl runs from, or the one we stand in."""
    import whorl

    for folder in (Path(whorl.__file__).parents[2], Path.cwd(), *Path.cwd().parents):
        if (folder / "benchmarks" / "__main__.py").exists() and (folder / "pyproject.toml").exists():
            return folder
    raise ValueError("the benchmarks are not part of the installed package. Run this inside a clone of the repository.")


def table() -> str:
    """The registry as text: which steps and learned blocks each engine has, by law, derivative and diffusivity.

    >>> print(table().splitlines()[1])
    uncoupled                        all        all        back       value      value      value
    """
    from whorl.engines import REGISTRY

    parts, rows = REGISTRY.values(), {"": list(REGISTRY)}
    rows |= {title: [part.gives(form) or "-" for part in parts] for title, form in _examples().items()}
    rows["learned blocks"] = ["all" if part.learned is None else part.learned.gives for part in parts]
    rows["learned blocks in space"] = [
        "all" if part.learned is None else "value" if part.learned.space else "-" for part in parts
    ]
    rows["bits"] = [", ".join(kind.removeprefix("float") for kind in part.dtypes) or "any" for part in parts]
    return "\n".join(f"{title:33}{''.join(f'{word:11}' for word in words)}".rstrip() for title, words in rows.items())


def _examples() -> "dict[str, Form]":
    """Steps that stand for many: every law in plane and space, every other derivative, every diffusivity."""
    from whorl.engines.capabilities import CLOSED, DERIVATIVES, EDGES, EVERY_LAW, SMOOTHED
    from whorl.operators import Derivative
    from whorl.steps import Form

    found = {}
    for dimension, where in ((2, ""), (3, " in space")):
        cells, none = Derivative("cells", (1.0,) * dimension, alpha=0.5), ((1.0,),) * dimension
        for law in EVERY_LAW:
            g, rho = ("none", none) if law in SMOOTHED else (CLOSED[0], ())
            found[law + where] = Form(law, g, cells, cells, rho=rho)
            if law in EDGES:
                found["  of several gradients" + where] = replace(found[law + where], couple_channels=True)
    for where in ("", " in space"):
        plain = found["isotropic" + where]
        scales = replace(plain.flux, taps=(plain.flux.taps[0], ((0.8, 0.1),) * plain.dimension), omega=(1.0, 1.0))
        coupled = replace(plain, flux=scales, structure=scales, couple_scales=True, inside=(1.0, 1.0))
        found["several scales" + where] = coupled
        for name in DERIVATIVES[1:] if not where else DERIVATIVES[1:3]:
            other = replace(plain.flux, name=name)
            found[name + where] = replace(plain, flux=other, structure=other)
    found["homogeneous laplacian"] = replace(found["laplacian"], diffusivity="homogeneous")
    return found | {kind: replace(found["isotropic"], diffusivity=kind) for kind in (*CLOSED, "FreeForm")}
