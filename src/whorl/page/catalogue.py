"""The library as the page knows it, for the browser: models, diffusivities, scales, stencils, step sizes, networks.

``python -m whorl.page.catalogue`` writes ``static/js/catalogue.js`` and the numbers of the networks. The page has no
table of its own: a model or a diffusivity that is new here is new there once the file is written again and the kernel
knows its formula.
"""

import json
import math
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from whorl import diffusivities
from whorl.automatic import cut, noise, paper, samples, settings, traces, variance, weighed, windows
from whorl.engines import REGISTRY
from whorl.inpainting.images import METHODS, NEAR, method
from whorl.inpainting.masks import FARTHEST
from whorl.models import Model, build, names, uncoupled_twin
from whorl.models.catalogue import row
from whorl.operators import DirectionalDerivatives
from whorl.operators.cells import CELLS
from whorl.operators.scales import sample_scales
from whorl.operators.smoothing import TRUNCATE
from whorl.page.networks import describe_networks, write_networks
from whorl.steps import Form

TARGET = Path(__file__).parent / "static" / "js" / "catalogue.js"
MEASURE = TARGET.parents[1] / "measure.safetensors"
"""What the library has learned about noise, unchanged for the page."""

ALPHAS = tuple(k / 100 for k in range(51))
"""The positions of the page's slider for alpha; each has its step size in the file, as has each model's default."""

OFFERED = ("alpha", "gamma", "sigma", "rho")
"""The options of a model that have a slider; the presmoothing where the kernel has some."""


def describe(alphas: Iterable[float] = ALPHAS) -> dict[str, Any]:
    """All of the file, with step sizes for these values of alpha."""
    sampling = sample_scales()
    directional = DirectionalDerivatives()
    return {
        "truncate": TRUNCATE,
        "scales": [{"sigma": s, "weight": w} for s, w in zip(sampling.sigma, sampling.omega, strict=True)],
        "directions": directional.weights,
        "diffusivities": {name: {"maximum": _power(name)} for name in _compiled()},
        "automatic": {
            "longest": settings.LONGEST,
            "default_time": settings.DEFAULT_TIME,
            "own": settings.OWN,
            "weighed": _constants(weighed),
            "samples": _constants(samples),
        },
        "noise": _constants(noise)
        | _constants(windows)
        | {part.__name__.rpartition(".")[2]: _constants(part) for part in (cut, paper, variance, traces)},
        "models": {name: _model(name, tuple(alphas)) for name in names()},
        "filling": {way: _filling(way) for way in ("eed", "homogeneous")},
        "networks": describe_networks(),
    }


def _constants(module: ModuleType) -> dict[str, Any]:
    """The numbers of a module, by their names in small letters."""
    named = ((name.lower(), value) for name, value in vars(module).items() if name.isupper())
    return {name: value for name, value in named if isinstance(value, int | float | tuple | dict)}


def write(target: Path = TARGET) -> None:
    """Write the file anew."""
    content = ",\n".join(
        f'"{key}": {{\n{_lines(value)}\n}}' if isinstance(value, dict) else f'"{key}": {json.dumps(value)}'
        for key, value in describe().items()
    )
    target.write_text(
        f"// Written by `python -m whorl.page.catalogue`; do not edit.\nexport default {{\n{content}\n}};\n"
    )


def _lines(entries: dict[str, Any]) -> str:
    """One entry on each line, so that a change shows where it is."""
    dense = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
    return ",\n".join(f'"{name}":{dense.encode(entry)}' for name, entry in entries.items())


def _compiled() -> list[str]:
    """The diffusivities whose one number is the contrast; free-form ones are trained and have no name in the kernel."""
    shown = build("perona-malik").description.form()
    assert isinstance(shown, Form)
    return [name for name in diffusivities.names() if not REGISTRY["page"].lacks(replace(shown, diffusivity=name))]


def _power(name: str) -> int:
    """The exponent p in ``maximum() = contrast**p``, which shortens or lengthens the steps."""
    one, two = (diffusivities.by_name(name, contrast).maximum() for contrast in (1.0, 2.0))
    power = round(math.log2(two / one))
    if (one, two) != (1.0, 2.0**power):
        raise ValueError(
            f"diffusivity {name!r}: maximum() is no power of the contrast, so the page has no step for it."
        )
    return power


def _model(name: str, alphas: tuple[float, ...]) -> dict[str, Any]:
    entry, model = row(name), build(name)
    offered = [option for option in OFFERED if option in entry.options and (option != "sigma" or _presmoothed(model))]
    options = {option: _default(model, option) for option in offered}
    own = tuple(sorted({*alphas, options["alpha"]})) if "alpha" in options else (None,)
    built = {cell: [build(name, cell=cell, alpha=alpha) for alpha in own] for cell in _cells(name)}
    twins = {cell: [uncoupled_twin(each) for each in models] for cell, models in built.items()}
    steps, others = _steps(built), _steps(twins)
    return {
        "label": entry.label,
        "group": entry.group,
        "use": entry.use,
        "start": dict(entry.start),
        **_parts(model, steps),
        "options": options,
        "alphas": list(own),
        "rule": entry.rule and entry.rule._asdict(),
        "weighed": entry.weighed,
        "reach": {cell or CELLS[0]: _plain(name, options, cell).reach for cell in built},
        "diffusivities": [d for d in _compiled() if _takes(name, d)],
        "twin": _parts(uncoupled_twin(model), {} if others == steps else others),  # none of its own: those of the model
    }


def _cells(name: str) -> list[str | None]:
    """The cells of a model that the kernel has; None is the one that the model has unless told."""
    if "cell" not in row(name).options:
        return [None]
    return [
        None,
        *(cell for cell in CELLS[1:] if not REGISTRY["page"].lacks(build(name, cell=cell).description.form())),
    ]


def _steps(models: dict[str | None, list[Model]]) -> dict[str, list[float]]:
    return {cell or CELLS[0]: [model.automatic_step() for model in each] for cell, each in models.items()}


def _presmoothed(model: Model) -> bool:
    """Whether the kernel smooths before it looks: on the cells of one scale, and where a model does so unless told."""
    flux = _form(model).flux
    return model.structure is not None or (flux.name == "cells" and flux.single_scale)


def _filling(way: str) -> dict[str, Any]:
    """A way to fill in: its settings, its law, and its largest step."""
    model = method(way)
    parts = _parts(model, {})
    settings = {"alpha": _default(model, "alpha"), **{k: v for k, v in METHODS[way].items() if k != "name"}}
    if way == "eed":
        settings |= {"near": NEAR, "farthest": FARTHEST}
    return {**settings, "law": parts["law"], "joint": parts["joint"], "step": model.step_limit()}


def _plain(name: str, options: dict[str, float], cell: str | None) -> Model:
    """The model without any Gaussian: the page adds their radii to its reach."""
    none: dict[str, Any] = {option: 0.0 for option in ("sigma", "rho") if option in options}
    return build(name, cell=cell, **none)


def _parts(model: Model, steps: dict[str, list[float]]) -> dict[str, Any]:
    form = _form(model)
    return {
        "operator": form.flux.name,
        "law": form.law,
        "aligned": form.aligned,
        "joint": form.couple_channels,
        "multiscale": not form.flux.single_scale,
        "steps": steps,
    }


def _form(model: Model) -> Form:
    """The form of a model that the page has."""
    form, missing = model.description.form(), REGISTRY["page"].lacks(model.description.form())
    if missing or not isinstance(form, Form):
        raise ValueError(f"{model.name}: {missing}. Add it to the kernel and to the registry, or leave the model out.")
    return form


def _default(model: Model, option: str) -> float:
    if option == "sigma":
        return float(model.structure.smoothing.sigma) if model.structure else 0.0  # type: ignore[union-attr, arg-type]
    if option == "rho":
        return float(model.activation.smoothing.sigma)  # type: ignore[union-attr]
    form = _form(model)
    return form.gamma if option == "gamma" else form.flux.alpha


def _takes(name: str, diffusivity: str) -> bool:
    try:
        build(name, diffusivity=diffusivity)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    with torch.no_grad():
        write()
        write_networks()
        shutil.copyfile(traces.FILE, MEASURE)
