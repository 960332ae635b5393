"""Every model of the paper's table, and three beside it, by name."""

from whorl.models.build import build, uncoupled_twin
from whorl.models.catalogue import ROWS, Row, names, row
from whorl.models.model import Model, count_parameters

__all__ = ["ROWS", "Model", "Row", "build", "count_parameters", "names", "row", "uncoupled_twin"]
