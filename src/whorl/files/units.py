"""Units of length, as microscopes write them, so that sizes in different units can be compared."""

import math
from collections.abc import Sequence

__all__ = ["in_one_unit", "metres"]

PREFIXES = {"": 1.0, "m": 1e-3, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "n": 1e-9, "p": 1e-12}
METRES = {f"{prefix}m": size for prefix, size in PREFIXES.items()} | {
    "meter": 1.0,
    "millimeter": 1e-3,
    "micrometer": 1e-6,
    "micron": 1e-6,
    "nanometer": 1e-9,
    "picometer": 1e-12,
    "cm": 1e-2,
    "centimeter": 1e-2,
    "Å": 1e-10,
    "angstrom": 1e-10,
    "inch": 0.0254,
}


def metres(unit: str | None, default: str = "µm") -> float | None:
    """How many metres the unit has; None for one we do not know.

    >>> metres("nm"), metres("pixel")
    (1e-09, None)
    """
    return METRES.get(unit or default, METRES.get((unit or default).lower()))


def in_one_unit(sizes: Sequence[float], units: Sequence[str | None]) -> tuple[float, ...] | None:
    """Positive sizes as they are where they have one unit, otherwise in micrometres; None where one is unknown.

    >>> in_one_unit((2.0, 0.5), ("nm", "nm")), in_one_unit((2.0, 500.0), ("mm", None)), in_one_unit((1, 2), ("px", "m"))
    ((2.0, 0.5), (2000.0, 500.0), None)
    """
    scales = [1e-6 if len({*units}) == 1 else metres(unit) for unit in units]
    found = [size * scale * 1e6 for size, scale in zip(sizes, scales, strict=True) if scale and 0 < size < math.inf]
    return tuple(found) if len(found) == len(sizes) else None
