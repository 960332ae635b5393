"""All JavaScript keeps to the rules of web/eslint.config.mjs."""

import shutil
import subprocess
from pathlib import Path


def test_the_linter_finds_nothing(packages: Path) -> None:
    command = [shutil.which("npm") or "npm", "run", "--silent", "lint"]
    done = subprocess.run(command, cwd=packages.parent, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
