"""Time stepping: limits, explicit steps, and the fast schemes built on them."""

from whorl.schemes.cycles import Cycles, equal_cycles, growing_cycles
from whorl.schemes.explicit import Progress, check_step, equal_steps
from whorl.schemes.fed import fed_steps
from whorl.schemes.fsi import extrapolation, fsi_cycle, fsi_steps
from whorl.schemes.limits import automatic_step, l2_limit, max_min_limit

__all__ = [
    "SCHEMES", "Cycles", "Progress", "automatic_step", "check_step", "equal_cycles", "equal_steps", "extrapolation",
    "fed_steps", "fsi_cycle", "fsi_steps", "growing_cycles", "l2_limit", "max_min_limit",
]  # fmt: skip

SCHEMES = ("explicit", "fed", "fsi")
"""What ``scheme=`` takes."""
