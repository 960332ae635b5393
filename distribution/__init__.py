"""Whether the distribution works where it is installed: the wheel with each extra, and the oldest versions claimed."""

import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from benchmarks.machine import commit

ROOT = Path(__file__).parents[1]


def project() -> dict[str, Any]:
    """What pyproject.toml says of the distribution."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def write_page(target: str, what: str, *lines: str) -> None:
    """Write the results of `make test-TARGET`: when and from what, in one sentence with ``what``, then the lines."""
    head = f"{time.strftime('%Y-%m-%d')}, commit {commit()}, Python {sys.version.split()[0]}, {sys.platform}, {what}."
    page = [f"# Measured by `make test-{target}`", "", head, "", *lines, ""]
    (Path(__file__).parent / f"{target}.md").write_text("\n".join(page))
