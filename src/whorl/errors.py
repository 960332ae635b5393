"""The errors whorl raises on purpose. All are :class:`ValueError`, so one ``except`` catches them."""

__all__ = ["FileError", "ShapeError", "StabilityError"]


class ShapeError(ValueError):
    """An array has the wrong number of axes, an empty axis, or a type the function cannot take.

    >>> import numpy as np, whorl
    >>> whorl.diffuse(np.zeros(5))
    Traceback (most recent call last):
    ...
    whorl.errors.ShapeError: diffuse: expected 2 or 3 non-empty axes of space, got shape (5,).
    """


class StabilityError(ValueError):
    """A time step lies above the proven stability limit.

    >>> import torch, whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> model.step(torch.zeros(1, 1, 8, 8), tau=9.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    whorl.errors.StabilityError: perona-malik: tau = 9 is above the L2 stability limit 0.5. ...
    """


class FileError(ValueError):
    """A file cannot be read, is not what its name says, or must not be overwritten.

    >>> import whorl
    >>> issubclass(whorl.errors.FileError, ValueError)
    True
    """
