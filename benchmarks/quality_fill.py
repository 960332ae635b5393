r"""Quality of filling in: PSNR and SSIM beside OpenCV and scikit-image, and the error under the 3-4-5 turn.

Pictures of Set12 (grey) and CBSD68 (colour) where they lie in ``../shared/data`` or the folder ``WHORL_DATA``: the
256 x 256 and 128 x 128 pixels in their middle. Settings are those of ``whorl.inpaint``, chosen on Train400
(``experiments/inpainting.py``). scikit-image takes long, so it fills the first few pictures of each case (``count``
says how many); ours on the same few stands beside it, and how far the two biharmonic fillings are apart.

The turn by atan(4/3) maps a fifth of the pixels onto pixels. A scene drawn from formulas and its turned twin are known
at a quarter of these, the same points of the scene in both. At the other three quarters both fillings must agree; the
error is the root mean square of their difference over the standard deviation of the scene.
"""

import os
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.filling import Way, installed, masks
from benchmarks.peers import Image
from benchmarks.quality_turn import sheet
from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE", "turn_views"]

SETS = {"Set12": 256, "CBSD68": 128}
FEW = 3
SIZE, MARGIN, SHARE, SEED = 161, 24, 0.25, 7


def folder() -> Path:
    return Path(os.environ.get("WHORL_DATA", Path(__file__).parents[2] / "shared" / "data"))


@cache
def pictures(name: str) -> list[Image]:
    """The middle of every picture, as float32."""
    from PIL import Image as Pictures

    side, found = SETS[name], []
    for path in sorted(p for p in (folder() / name).iterdir() if p.suffix in (".png", ".jpg")):
        image = np.array(Pictures.open(path)).astype(np.float32)
        y, x = ((n - side) // 2 for n in image.shape[:2])
        found.append(np.ascontiguousarray(image[y : y + side, x : x + side]))
    return found


def cases() -> dict[str, Case]:
    quality = {
        f"{name}, {gap}": partial(_quality, name, gap) for name in SETS if (folder() / name).is_dir() for gap in masks()
    }
    return {**quality, "3-4-5 turn": _turn}


def _quality(name: str, gap: str) -> Rows:
    rows = []
    for way in installed():
        few = pictures(name)[:FEW] if way.slow else pictures(name)
        if way.slow and gap != "5 % of pixels":
            continue
        rows.append({**way.facts(), **_scores(way, few, gap)})
    if gap == "5 % of pixels":
        rows += [
            {**way.facts(), "method": f"{way.name}, {FEW} pictures", **_scores(way, pictures(name)[:FEW], gap)}
            for way in installed() if way.distribution == "whorl"
        ]  # fmt: skip
    return rows


def _scores(way: Way, chosen: list[Image], gap: str) -> dict[str, Any]:
    """Means over the pictures, of results rounded and cut off as a file would be."""
    import torch

    from whorl.metrics import psnr, ssim

    found = []
    for seed, clean in enumerate(chosen):
        mask = masks()[gap](clean.shape, seed)
        holes = clean.copy()
        holes[mask] = 0
        pair = [np.clip(np.rint(way.fill(holes, mask)), 0, 255), clean]
        u, f = (torch.from_numpy(p.reshape(*p.shape[:2], -1).transpose(2, 0, 1)[None].astype(np.float64)) for p in pair)
        found.append([float(measure(u, f, value_range=255)) for measure in (psnr, ssim)])
    mean = np.mean(found, axis=0)
    return {"psnr": float(mean[0]), "ssim": float(mean[1]), "count": len(found)}


def turn_views() -> tuple[tuple[Image, Image], tuple[Any, Any], tuple[Any, Any]]:
    """The scene upright and turned; where both are known; and where they must agree."""
    from whorl.data.synthetic import Turn, render
    from whorl.invariance.coincidence import coincident_points

    turn = Turn(3, 4, 5)
    views = [render(sheet, SIZE), render(sheet, SIZE, turn=turn)]
    upright, turned = (np.ascontiguousarray(v[0, 0].float().numpy()) for v in views)
    p, q = (SIZE // 2 + points.numpy()[:, ::-1] for points in coincident_points(turn, SIZE // 2))
    chosen = np.random.default_rng(SEED).random(len(p)) < SHARE
    inside = np.hypot(*(p - SIZE // 2).T) <= SIZE // 2 - MARGIN
    known, compared = [], []
    for points in (p, q):
        mask = np.ones((SIZE, SIZE), bool)
        mask[tuple(points[chosen].T)] = False
        known.append(mask)
        compared.append(tuple(points[inside & ~chosen].T))
    return (upright, turned), tuple(known), tuple(compared)


def turn_error(way: Way) -> dict[str, float]:
    views, known, compared = turn_views()
    results = [
        way.fill(np.where(mask, 0, view).astype(np.float32), mask)[at].astype(np.float64)
        for view, mask, at in zip(views, known, compared, strict=True)
    ]
    truth = views[0][compared[0]].astype(np.float64)
    return {
        "turn_error": float(np.sqrt(np.mean((results[1] - results[0]) ** 2)) / truth.std()),
        "psnr": float(10 * np.log10(255**2 / np.mean((results[0] - truth) ** 2))),
    }


def _turn() -> Rows:
    return [{**way.facts(), **turn_error(way)} for way in installed()]


SUITE = Suite("quality_fill", "Filling in: quality, and the error under the 3-4-5 turn", cases)
