"""Settings at which each method is at its best, found once and kept in ``settings.json``.

A quality suite asks :func:`tuned` for the optimum of a method on a picture: it is read from the file or, where missing,
searched (see ``search.py``) and added. Delete an entry, or run ``python -m benchmarks.tune --again PICTURE``, to search
anew. Everyone is tuned on the very picture they are judged on, by the same rule: figures are upper bounds for all.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.peers import Image, Method, catalogue
from benchmarks.peers.whorl import variant
from benchmarks.search import Optimum, Score, best_setting

__all__ = ["SETTINGS", "contestants", "kept_or", "slow", "tuned"]

SETTINGS = Path(__file__).with_name("settings.json")
_TWINS = ("itk-gradient-fixed", "numpy-loop-tuned", "torch-loop")  # the equation of another method, or its code
_SOFT = (0.3, 40.0)  # Charbonnier's contrast lies below the noise


def contestants(colour: bool, installed: bool = True) -> list[Method]:
    """Everyone with a contrast to tune; whorl's models with the diffusivities and widths worth trying."""
    ours = [
        variant("perona-malik"),
        variant("perona-malik", diffusivity="charbonnier", contrast_range=_SOFT),
        variant("you-kaveh"),
        variant("you-kaveh", diffusivity="charbonnier", contrast_range=_SOFT),
        variant("lysaker"),
        variant("lysaker", diffusivity="charbonnier", contrast_range=_SOFT),
        variant("weickert-brox"),
        variant("weickert-brox", diffusivity="charbonnier", contrast_range=_SOFT),
        variant("multiscale-isotropic"),
        variant("multiscale-isotropic", diffusivity="charbonnier", contrast_range=(1.0, 160.0)),
        variant("multiscale-anisotropic"),
        variant("multiscale-anisotropic", diffusivity="charbonnier", contrast_range=(1.0, 160.0)),
        variant("uncoupled"),
        variant("eed", sigma=0.5),
        variant("eed", sigma=0.7),
        variant("eed", sigma=1.0),
        variant("eed", sigma=0.7, diffusivity="weickert"),
        variant("eed", sigma=1.0, diffusivity="weickert"),
        variant("weickert-integration", sigma=0.7),
        variant("weickert-integration", sigma=1.0),
    ]
    if colour:  # on one channel the coupled model is Perona–Malik
        ours += [variant("gerig"), variant("gerig", diffusivity="charbonnier", contrast_range=_SOFT)]
    peers = [m for m in catalogue(installed) if m.library != "whorl" and m.contrast != "none"]
    return [m for m in (*ours, *peers) if m.takes(3 if colour else 2) and m.name not in _TWINS]


def slow(method: Method) -> bool:
    """Models in plain PyTorch, and hundreds of multiscale steps: minutes where the others take seconds."""
    plain = method.model in ("you-kaveh", "lysaker", "weickert-integration")
    long = method.model.startswith("multiscale") and "charbonnier" in method.name
    return method.library == "whorl" and (plain or long)


def tuned(picture: str, method: Method, image: Image, score: Score, *, again: bool = False) -> Optimum:
    """The best setting of a method on a picture, from the file or by a search that fills it."""
    return kept_or(picture, method, lambda: best_setting(method, image, score), again=again)


def kept_or(picture: str, method: Method, search: Callable[[], Optimum], *, again: bool = False) -> Optimum:
    """The setting kept for a method on a picture, or what the search finds, which is then kept."""
    kept = _read()
    entry = kept.get(picture, {}).get(method.name)
    if entry is None or again:
        begun = perf_counter()
        best = search()
        seconds = perf_counter() - begun
        print(f"tuned {method.name} on {picture}: {best.psnr:.2f} dB in {seconds:.0f} s", file=sys.stderr, flush=True)
        kept = _read()  # someone else may have written meanwhile
        entry = {k: v for k, v in best.as_row().items() if k != "time"}
        kept.setdefault(picture, {})[method.name] = entry
        _write(kept)
    return Optimum(**entry)


def _read() -> dict[str, dict[str, dict[str, Any]]]:
    return json.loads(SETTINGS.read_text()) if SETTINGS.exists() else {}


def _write(kept: dict[str, dict[str, dict[str, Any]]]) -> None:
    ordered = {picture: dict(sorted(kept[picture].items())) for picture in sorted(kept)}
    beside = SETTINGS.with_suffix(".part")
    beside.write_text(json.dumps(ordered, indent=1) + "\n")
    os.replace(beside, SETTINGS)


def pictures() -> dict[str, tuple[Image, Score, bool]]:
    """For each name the noisy picture, its score, and whether it has colours."""
    from benchmarks import quality_denoise, quality_turn

    return {**quality_denoise.pictures(), **quality_turn.pictures()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=__doc__)
    parser.add_argument("picture", nargs="*", help="all of them by default")
    parser.add_argument("--again", action="store_true", help="search settings anew that are there already")
    parser.add_argument("--method", default="", help="only methods whose name contains this text")
    given = parser.parse_args()
    known: dict[str, tuple[Image, Callable[[Image], float], bool]] = pictures()
    for name in given.picture or known:
        image, score, colour = known[name]
        for method in contestants(colour):
            if given.method in method.name:
                tuned(name, method, image, score, again=given.again)


if __name__ == "__main__":
    main()
