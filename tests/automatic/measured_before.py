"""What is measured and chosen on some pictures, written down: it changes on purpose only.

``python tests/automatic/measured_before.py`` writes the file anew. The pictures are drawn here: discs on a ramp with
noise of many kinds, a page of strokes, a texture, colours, a volume.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.automatic import NoiseModel, automatic_settings, noise_level, samples_of
from whorl.automatic.answer import answer
from whorl.automatic.believed import model_to_remove
from whorl.automatic.between import measure_colours
from whorl.automatic.noise import levels
from whorl.automatic.noise_model import smoothed
from whorl.automatic.traces import measure
from whorl.automatic.variance import noise_model
from whorl.operators import Smoothing

FLOWS = {
    "photons": "weickert-brox",
    "mostly blank": "gerig",
    "one noise for all colours": "perona-malik",
    "volume": "perona-malik",
}
"""The flows whose settings are chosen, each on one picture: that takes the longest."""

FILE = Path(__file__).with_suffix(".json")


def drawn(seed: int, *shape: int) -> Tensor:
    """White noise of variance 1."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def pictures() -> dict[str, Tensor]:
    y, x = torch.meshgrid(torch.arange(92.0), torch.arange(81.0), indexing="ij")
    discs = 90 + 0.4 * x + 70 * ((y - 40) ** 2 + (x - 30) ** 2 < 400) - 50 * ((y - 70) ** 2 + (x - 60) ** 2 < 150)
    discs = discs.double()[None, None]
    waves = 100 + 30 * torch.sin(0.9 * x + 0.3 * y) * (x > 30) + 0 * y
    strokes = 255 - 225.0 * ((y % 11 < 5) & (torch.sin(x * 1.3 + (y // 11) * 2.1) > 0.2)).double()
    colours = discs * torch.tensor([1.0, 0.8, 0.6]).view(1, 3, 1, 1).double() + 10
    photons = torch.poisson(discs / 4, generator=torch.Generator().manual_seed(5)) * 4
    soft = torch.stack([smoothed(plane, 0.7) for plane in drawn(7, 3, 92, 81)])[None]
    cube = torch.stack(torch.meshgrid(*[torch.arange(14.0)] * 3, indexing="ij")).double()
    voxels = drawn(11, 14, 14, 14)
    ball = 80 + 60 * ((cube - 6.5).square().sum(0) < 20)
    blank = torch.where(x[None, None] < 25, discs + 12 * drawn(8, 1, 1, 92, 81), 255.0)
    return {
        "clean": discs,
        "grey": discs + 10 * drawn(0, 1, 1, 92, 81),
        "weak": discs + 1.5 * drawn(1, 1, 1, 92, 81),
        "cut off": (discs + 80 * drawn(2, 1, 1, 92, 81)).clamp(0, 255).round(),
        "texture": waves.double()[None, None] + 6 * drawn(3, 1, 1, 92, 81),
        "page": (strokes[None, None] + 20 * drawn(4, 1, 1, 92, 81)).clamp(0, 255).round(),
        "photons": photons,
        "mostly blank": blank.round(),
        "colours": colours + 14 * drawn(6, 1, 3, 92, 81),
        "soft colours": colours + 9 * soft,
        "one noise for all colours": colours + 12 * (0.8 * drawn(9, 1, 1, 92, 81) + 0.6 * drawn(10, 1, 3, 92, 81)),
        "magnitudes": torch.hypot(ball * (ball > 100) + 9 * voxels, 9 * drawn(12, 14, 14, 14))[None, None],
        "volume": (ball + 12 * drawn(13, 14, 14, 14))[None, None],
    }  # fmt: skip


def numbers_of(model: NoiseModel | None) -> list[float]:
    if model is None:
        return []
    return [
        *model.gain,
        *model.offset,
        *model.correlation,
        model.uncertainty,
        *(x for row in model.between for x in row),
    ]


def measurements(name: str, u: Tensor) -> Iterator[tuple[str, list[float]]]:
    """Every measurement that a picture can have, by name."""
    parts, colours = samples_of(u), u.shape[1] == 3
    yield "levels", [*levels(parts), noise_level(parts)]
    model = noise_model(parts)
    yield f"model, {model.kind}", numbers_of(model)
    if u.dim() == 4:
        yield "to remove", numbers_of(model_to_remove(lambda: parts, "recorded", colours=colours))
        found = measure_colours(parts, 0.0)[0] if colours else measure(parts)
        yield "traces", [] if found is None else [*found.levels, found.correlation, found.softness]
        blurred = answer(Smoothing(0.8), model, [part.float() for part in parts]) if any(model.offset) else None
        if blurred is not None:
            fit = blurred.fit
            rest = [] if fit is None else [fit.mean, fit.variance, fit.neighbours, *fit.least, *fit.most]
            yield "answer", [blurred.before, blurred.after, blurred.removed, *rest]
    if name in FLOWS:
        chosen = automatic_settings(FLOWS[name], parts, engine="reference")
        yield FLOWS[name], [chosen.noise, chosen.contrast, chosen.time, float(chosen.options.get("sigma", 0.0))]
    if name == "texture":
        chosen = automatic_settings("gerig", parts, engine="reference", diffusivity="exponential")
        yield "by the rule", [chosen.noise, chosen.contrast, chosen.time]
    if name == "magnitudes":
        yield "model, rician", numbers_of(noise_model(parts, "rician"))


def write() -> None:
    """Write the file."""
    found = {f"{name}: {what}": row for name, u in pictures().items() for what, row in measurements(name, u)}
    rows = [f"  {json.dumps(name)}: {json.dumps([float(f'{x:.9g}') for x in row])}" for name, row in found.items()]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


def kept() -> dict[str, Any]:
    """What the file holds."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    torch.set_num_threads(1)
    write()
    assert all(math.isfinite(x) for row in kept().values() for x in row)
