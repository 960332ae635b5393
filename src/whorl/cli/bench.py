"""``whorl bench``: the benchmarks of the repository."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import option

EXAMPLES = ("whorl bench", "whorl bench speed_grey memory", "whorl bench --table", "whorl bench --engines")


def command(
    suites: Annotated[
        list[str] | None, typer.Argument(help="Suites to run; all standard ones by default.", show_default=False)
    ] = None,
    again: Annotated[bool, option("--again", "Measure anew what has been measured already.")] = False,
    engines: Annotated[bool, option("--engines", "Measure nothing; print what each engine has.")] = False,
    table: Annotated[bool, option("--table", "Measure nothing; print the results there are.")] = False,
    out: Annotated[Path, option("--out -o", "Folder of the result files.")] = Path("build/bench"),
) -> None:
    """Measure speed, memory and quality beside other libraries, and print the tables.

    The benchmarks are part of the repository: run this inside a clone, with pip install -e '.[bench]'.
    """
    if engines:
        from whorl.engines.capabilities import table as capabilities

        typer.echo(capabilities())
        return
    root = _repository()
    words = [
        *(suites or []),
        "--out",
        str(out.resolve()),
        *(["--again"] if again else []),
        *(["--table"] if table else []),
    ]
    done = subprocess.run([sys.executable, "-W", "ignore", "-m", "benchmarks", *words], cwd=root, check=False)
    raise typer.Exit(done.returncode)


def _repository() -> Path:
    """The folder that holds ``benchmarks``: the clone whorl runs from, or the one we stand in."""
    import whorl

    for folder in (Path(whorl.__file__).parents[2], Path.cwd(), *Path.cwd().parents):
        if (folder / "benchmarks" / "__main__.py").exists() and (folder / "pyproject.toml").exists():
            return folder
    raise ValueError("the benchmarks are not part of the installed package. Run this inside a clone of the repository.")
