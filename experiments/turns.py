"""How well a flow turns: noisy scenes on two lattices, without interpolation, PSNR and turn error side by side.

``python -m experiments.turns settings`` measures models at settings of their own: every law, sigma and cell at the
contrast and time that are best by PSNR. ``python -m experiments.turns defaults`` measures what people get:
``whorl.diffuse`` with the noise told, and with nothing told. The scene is a disc and bars with edges of 0.7 pixels
under noise of deviation 20, made of 2,500 waves up to 0.45 cycles per pixel, which have values on both lattices; other
seeds, edges and spectra decide whether a setting is good.
"""

import argparse
import itertools
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import whorl
from whorl.invariance import untold
from whorl.invariance.untold import Sight


def measured(filter: Callable[[Tensor], Tensor], sight: Sight) -> dict[str, float]:
    """PSNR and turn errors as one row."""
    row = untold.measured("", filter, sight)
    return {"psnr": row.psnr, **row.errors}


@torch.no_grad()
def best(
    sight: Sight, model: str, contrasts: tuple[float, ...], longest: float = 12.0, **options: Any
) -> dict[str, Any]:
    """The contrast and time with the best PSNR, and the turn error there."""
    u = sight.noisy().float()
    top = (0.0, 0.0, 0.0)
    for contrast in contrasts:
        built = whorl.models.build(model, contrast=contrast * sight.deviation, **options)
        tau, v, time, peak = built.automatic_step(), u, 0.0, 0.0
        while time < longest:
            v, time = built.step(v, tau), time + tau
            psnr = sight.psnr(v)
            top, peak = max(top, (psnr, contrast, time)), max(peak, psnr)
            if psnr < peak - 0.1:
                break
    _, contrast, time = top
    built = whorl.models.build(model, contrast=contrast * sight.deviation, **options)
    return {"model": model, **options, "contrast": contrast, "time": round(time, 3)} | measured(
        lambda w: built(w, time), sight
    )


CONTRASTS = tuple(0.05 * 1.5**k for k in range(10))
"""In multiples of the noise."""

LAWS = ("exponential", "rational", "charbonnier", "weickert")
CELLS: dict[str, dict[str, Any]] = {"compact": {"alpha": 0.41}, "wide": {"cell": "wide"}}
RESULTS = Path(__file__).parent / "results" / "turns.json"


def settings() -> list[dict[str, Any]]:
    """Every model, law, presmoothing and cell, each at its best contrast and time; written to RESULTS."""
    found = []
    for model, law, sigma, cell in itertools.product(
        ("perona-malik", "weickert-brox", "eed", "uncoupled"), LAWS, (0.0, 1.0), CELLS
    ):
        if sigma or model != "eed":
            options = {"diffusivity": law, **({"sigma": sigma} if sigma else {}), **CELLS[cell]}
            row = best(Sight(), model, CONTRASTS, **options)
            kept = {key: round(row[key], 4) for key in ("contrast", "time", "psnr", "3-4-5", "5-12-13")}
            found.append({"model": model, "law": law, "sigma": sigma, "cell": cell, **kept})
            print(json.dumps(found[-1]), flush=True)
    command = "python -m experiments.turns settings"
    told = {"command": command, "date": str(date.today()), "version": whorl.__version__, "torch": torch.__version__}
    RESULTS.write_text(json.dumps({**told, "rows": found}, indent=1) + "\n", encoding="utf-8")
    return found


def _diffused(u: Tensor, **options: Any) -> Tensor:
    return torch.from_numpy(whorl.diffuse(u[0, 0].numpy(), **options))[None, None]


@torch.no_grad()
def defaults(**options: Any) -> list[dict[str, Any]]:
    """What people get, over seeds, edges and spectra."""
    found = []
    for edge, cutoff, seed in ((0.7, 0.45, 0), (0.7, 0.45, 1), (1.0, 0.45, 2), (0.7, 0.35, 3), (0.7, 0.5, 4)):
        sight = Sight(edge=edge, cutoff=cutoff, seed=seed)
        for noise in (sight.deviation, None):
            row = measured(lambda u, noise=noise: _diffused(u, noise=noise, **options), sight)
            found.append({"edge": edge, "cutoff": cutoff, "seed": seed, "told": noise is not None, **row})
            print(json.dumps(found[-1]), flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("settings", "defaults"))
    torch.set_num_threads(1)
    {"settings": settings, "defaults": defaults}[parser.parse_args().what]()
