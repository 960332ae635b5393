"""The versions that a result was made with."""

import platform

import torch

from whorl import __version__


def versions() -> dict[str, str]:
    """The versions that produced a result."""
    return {"whorl": __version__, "torch": torch.__version__, "python": platform.python_version()}
