"""Names that nobody knows: an error that lists the known ones, and suggests one only where it is near."""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["unknown"]


def unknown(what: str, name: object, known: Iterable[str]) -> ValueError:
    """The error to raise for a name that is none of those known.

    >>> unknown("model", "gerik", ["gerig", "eed"])
    ValueError("model 'gerik' is unknown; did you mean 'gerig'? Known: gerig, eed.")
    >>> unknown("model", "foo", ["gerig", "eed"])
    ValueError("model 'foo' is unknown. Known: gerig, eed.")
    """
    names = list(known)
    near = get_close_matches(str(name).lower().replace("_", "-").replace(" ", "-"), names, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else "."
    return ValueError(f"{what} {name!r} is unknown{meant} Known: {', '.join(names)}.")
