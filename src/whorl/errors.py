"""The errors whorl raises on purpose. All are :class:`ValueError`, so one ``except`` catches them."""

__all__ = ["FileError", "ShapeError", "StabilityError"]


class ShapeError(ValueError):
    """An array has the wrong number of axes, an empty axis, or a type the function cannot take."""


class StabilityError(ValueError):
    """A time step lies above the proven stability limit."""


class FileError(ValueError):
    """A file cannot be read, is not what its name says, or must not be overwritten."""
