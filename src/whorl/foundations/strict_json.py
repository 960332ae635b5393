"""JSON that every reader takes: numbers that JSON does not know (NaN, infinity) are neither written nor read."""

import json
import math
from typing import Any


def strict_json(value: Any, **style: Any) -> str:
    """The text of plain values, with null for NaN and infinity; ``style`` is handed on to :func:`json.dumps`.

    >>> strict_json({"psnr": float("nan"), "angles": (5, 10)})
    '{"psnr": null, "angles": [5, 10]}'
    """
    return json.dumps(_known(value), allow_nan=False, **style)


def parsed_json(text: str | bytes) -> Any:
    """The values of a text; ValueError for numbers that are not finite, and for nesting without end.

    >>> parsed_json('{"steps": Infinity}')
    Traceback (most recent call last):
    ...
    ValueError: Infinity is no finite number
    """
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(word: str) -> float:
    if not math.isfinite(value := float(word)):
        raise ValueError(f"{word} is no finite number")
    return value


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
