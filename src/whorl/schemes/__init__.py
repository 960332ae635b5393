"""Time stepping: limits and explicit steps."""

from whorl.schemes.explicit import Progress, check_step, equal_steps
from whorl.schemes.limits import automatic_step, l2_limit, max_min_limit

__all__ = ["Progress", "automatic_step", "check_step", "equal_steps", "l2_limit", "max_min_limit"]
