"""JSON that every reader takes: numbers that JSON does not know (NaN, infinity) become null."""

import json
import math
from typing import Any

__all__ = ["strict_json"]


def strict_json(value: Any, **style: Any) -> str:
    """The text of plain values; ``style`` is handed on to :func:`json.dumps`.

    >>> strict_json({"psnr": float("nan"), "angles": (5, 10)})
    '{"psnr": null, "angles": [5, 10]}'
    """
    return json.dumps(_known(value), allow_nan=False, **style)


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_known(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
