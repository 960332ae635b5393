"""What every other folder stands on: shapes, checks of input, ordered sums, positive parameters."""

from whorl.foundations.ordered import ordered_sum
from whorl.foundations.positive import Positive, geometric
from whorl.foundations.types import Image, Responses, Spacing

__all__ = ["Image", "Positive", "Responses", "Spacing", "geometric", "ordered_sum"]
