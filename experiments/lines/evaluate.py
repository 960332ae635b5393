"""Vessels on DRIVE, cross-validated: ``python -m experiments.lines.evaluate FOLDER [WHAT ...]``.

``folds``: AUC and Dice of networks on the four pictures that each has not seen. ``study``: what is shipped,
fields, scalars and plain convolutions on the pictures of fold 0, trained on 16 pictures and on 2. ``angles``: AUC over
the angle of the camera. ``inputs``: fields of view that are found, pictures of twice the size, grey ones; processor
time. Results go to results/drive.json. All pictures lie in the training half of DRIVE; its test half was not at hand.
"""

import json
import math
import platform
import sys
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any

import torch
from benchmarks.machine import origin
from experiments.lines.networks import FOLDS, SPECS, drive, made, trained
from experiments.lines.train import RUNS
from torch import Tensor, nn

import whorl
from whorl.networks import LineNetwork, field_of_view
from whorl.operators import local_contrast

RESULT = Path(__file__).parent / "results" / "drive.json"
THRESHOLD = 0.45
"""For Dice, of all networks. In the mean over the folds 0.4 gives 0.001 more, and 0.5 gives 0.003 less."""

FINE, COARSE = [7.5 + 15 * k for k in range(24)], [7.5 + 15 * k for k in range(6)]
"""Angles in degrees: none is a quarter turn, so that all of them are interpolated alike."""


def auc(p: Tensor, y: Tensor) -> float:
    """The area under the receiver operating characteristic; ties count half."""
    _, inverse, counts = p.double().unique(return_inverse=True, return_counts=True)
    rank = counts.cumsum(0) - (counts - 1) / 2
    positive, negative = int(y.sum()), int((~y).sum())
    return float((rank[inverse][y].sum() - positive * (positive + 1) / 2) / (positive * negative))


def dice(p: Tensor, y: Tensor, threshold: float = THRESHOLD) -> float:
    """Twice the common pixels over those of both."""
    found = p >= threshold
    return float(2 * (found & y).sum() / (found.sum() + y.sum()))


def figures(p: Tensor, y: Tensor, inside: Tensor) -> dict[str, float]:
    """Inside the field of view that belongs to the data."""
    return {"auc": round(auc(p[inside], y[inside]), 5), "dice": round(dice(p[inside], y[inside]), 5)}


@torch.no_grad()
def chances(network: nn.Module, u: Tensor, inside: Tensor) -> Tensor:
    """The chance of a vessel at every pixel."""
    if isinstance(network, LineNetwork):
        return network.probabilities(u, inside)
    return network(local_contrast(u, inside, SPECS["fields"].sigma)).sigmoid()


def mean(rows: list[dict[str, float]]) -> dict[str, float]:
    """The mean of every figure."""
    return {key: round(fmean(row[key] for row in rows), 5) for key in rows[0]}


def measured(name: str, folder: Path, held: list[int], found: bool = False) -> dict[str, Any]:
    """Figures of a network on pictures, and their mean."""
    network, each = trained(name), {}
    for k in held:
        u, y, inside = drive(folder, k)
        each[str(21 + k)] = figures(chances(network, u, field_of_view(u) if found else inside), y, inside)
    return {"mean": mean(list(each.values())), "each": each}


def folds(folder: Path) -> dict[str, Any]:
    """Every picture by a network with fields in its stream that has not seen it; eight by two of the shipped kind."""
    rows = {f"fields-fold{f}": measured(f"fields-fold{f}", folder, held) for f, held in enumerate(FOLDS)}
    each = [row for fold in rows.values() for row in fold["each"].values()]
    return {"mean of 20": mean(each), **rows, **{f"fold{f}": measured(f"fold{f}", folder, FOLDS[f]) for f in (0, 1)}}


def study(folder: Path) -> dict[str, Any]:
    """Kinds of networks side by side, on the pictures of fold 0."""
    large, few = ("fold0", "fields-fold0", "scalar-fold0", "plain-fold0"), ("two", "fields-first2", "plain-first2")
    names = (*large, *few, "plain-two")
    parameters = {name: sum(p.numel() for p in made(name).parameters()) for name in names}
    others = [k for k in range(20) if k not in RUNS["two"]]
    further = {f"{name}, 18 others": measured(name, folder, others)["mean"] for name in ("two", "plain-two")}
    told = {name: measured(name, folder, FOLDS[0])["mean"] for name in names}
    return {"parameters": parameters, **told, **further}


def turned(u: Tensor, angle: float, mode: str) -> Tensor:
    """The picture on a square lattice, turned around its middle."""
    side = 2 * (int(math.hypot(*u.shape[2:])) // 2) + 2
    rows, columns = side - u.shape[2], side - u.shape[3]
    wide = torch.nn.functional.pad(u, (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2))
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    grid = torch.nn.functional.affine_grid(torch.tensor([[[c, -s, 0.0], [s, c, 0.0]]]), wide.shape, align_corners=False)
    return torch.nn.functional.grid_sample(wide, grid, mode=mode, align_corners=False)


def angles(folder: Path) -> dict[str, Any]:
    """Two pictures of fold 0. Coupled networks need a quarter of the angles: the others follow by quarter turns."""
    told = {}
    for name, at in (("fold0", COARSE), ("plain-fold0", FINE)):
        network, rows = trained(name), {}
        for angle in at:
            each = []
            for k in FOLDS[0][:2]:
                u, y, inside = drive(folder, k)
                view = turned(inside.float(), angle, "bilinear") > 0.999
                truth = turned(y.float(), angle, "bilinear") > 0.5
                each.append(figures(chances(network, turned(u, angle, "bicubic").clamp(0, 1), view), truth, view))
            rows[str(angle)] = mean(each)
        told[name] = {
            **{f"range of {key}": round(max(r[key] for r in rows.values()) - min(r[key] for r in rows.values()), 5)
               for key in ("auc", "dice")},
            "angles": rows,
        }  # fmt: skip
    return told


def inputs(folder: Path) -> dict[str, Any]:
    """The pictures of fold 0 under other conditions, by the network that has not seen them."""
    network = trained("fold0")
    rows: dict[str, list[dict[str, float]]] = {}
    for k in FOLDS[0]:
        u, y, inside = drive(folder, k)
        large = torch.nn.functional.interpolate(u, scale_factor=2, mode="bicubic").clamp(0, 1)
        wide = torch.nn.functional.interpolate(inside.float(), scale_factor=2) > 0
        network.diameter = 0.0
        kinds = {
            "view given": chances(network, u, inside),
            "view found": chances(network, u, field_of_view(u)),
            "green alone, three times": chances(network, u[:, 1:2].expand(-1, 3, -1, -1), inside),
            "mean of colours": chances(network, u.mean(1, keepdim=True).expand(-1, 3, -1, -1), inside),
            "twice the size, as it is": chances(network, large, wide)[..., ::2, ::2],
        }
        network.diameter = whorl.load("vessels-5k").diameter
        kinds["twice the size, halved"] = chances(network, large, wide)[..., ::2, ::2]
        for name, p in kinds.items():
            rows.setdefault(name, []).append(figures(p, y, inside))
    views = [(field_of_view(u), view) for u, _, view in (drive(folder, k) for k in range(20))]
    common = fmean(float((one & other).sum() / (one | other).sum()) for one, other in views)
    picture = drive(folder, 0)[0][0].permute(1, 2, 0).numpy()
    whorl.segment(picture, channel_axis=-1)
    start = process_time()
    whorl.segment(picture, channel_axis=-1)
    told: dict[str, Any] = {name: mean(each) for name, each in rows.items()}
    return told | {"common area of views, 20 pictures": common, "processor seconds, 584 x 565": process_time() - start}


def main() -> None:
    """Measure what is asked for, and keep the rest."""
    folder, *chosen = sys.argv[1:]
    told = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in chosen or ("folds", "study", "angles", "inputs"):
        told[name] = globals()[name](Path(folder))
        told["about"] = {
            "command": "python -m experiments.lines.evaluate DRIVE",
            "versions": {"whorl": whorl.__version__, "torch": torch.__version__, "python": platform.python_version()},
            "threads": torch.get_num_threads(),
        }
        if "study" in told:
            told["card"] = {f"{key}, four pictures not seen": value for key, value in told["study"]["fold0"].items()}
        told |= origin()
        RESULT.write_text(json.dumps(told, indent=1) + "\n")
        print(name, {key: value for key, value in told[name].items() if "fold" not in key}, flush=True)


if __name__ == "__main__":
    main()
