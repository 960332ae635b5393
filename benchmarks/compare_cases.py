"""What two trees are compared by: calls that both have, each built in a process that imports whorl from one tree.

A case is a function without arguments that makes everything its call needs and returns the call, ready to be timed.
"""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

__all__ = ["Call", "cases"]

Call = Callable[[], object]

MODELS = ("perona-malik", "weickert-brox", "eed", "multiscale-isotropic", "multiscale-anisotropic", "uncoupled")
SIZES = (64, 256, 1024, 4096)
CONTRAST = 10.0
NETWORK = "anisotropic-0.41"


def cases() -> dict[str, Callable[[], Call]]:
    found: dict[str, Callable[[], Call]] = {}
    for size in SIZES:
        for model in MODELS:
            if size < 4096 or not model.startswith("multiscale"):
                found[f"{model}, {size}², one step"] = partial(_steps, model, size, 1, 1)
                found[f"{model}, {size}², five steps"] = partial(_steps, model, size, 1, 5)
    for model in MODELS[3:5]:
        found[f"{model}, 512², four scales, one step"] = partial(_steps, model, 512, 1, 1, scales=4)
    for model in ("gerig", "weickert-brox"):
        for size in (512, 1024):
            found[f"{model}, {size}² colour, one step"] = partial(_steps, model, size, 3, 1)
            found[f"{model}, {size}² colour, five steps"] = partial(_steps, model, size, 3, 5)
    for model in ("perona-malik", "eed"):
        for scheme in ("fed", "fsi"):
            found[f"{model}, 512², t = 50, {scheme}"] = partial(_flow, model, 512, scheme)
    found["whorl.diffuse, array 256²"] = partial(_diffuse, 256)
    found[f"network {NETWORK}, 256²"] = partial(_network, 256)
    found["Adam, an epoch of 4 pictures"] = partial(_training, "paper")
    found["Gauss–Newton, a step on 2 pictures"] = partial(_training, "gauss-newton")
    found["import whorl"] = partial(_process, "-c", "import whorl")
    found["models and torch, import"] = partial(_process, "-c", "import whorl.models")
    found["whorl --help"] = partial(_process, "-m", "whorl", "--help")
    found["first step of a process, eed 64²"] = partial(_process, "-m", "benchmarks.compare_cases")
    return found


def _steps(model: str, size: int, channels: int, count: int, **options: Any) -> Call:
    """One step by ``step`` into a tensor that is there, or several in one call of the model."""
    import torch

    built, u = _model(model, **options), _picture(size, channels)
    tau, out = built.automatic_step(), torch.empty_like(u)
    if count == 1:
        return lambda: built.step(u, tau, out=out)
    return lambda: built(u, time=count * tau, tau=tau)


def _flow(model: str, size: int, scheme: str) -> Call:
    built, u = _model(model), _picture(size, 1)
    return lambda: built(u, time=50.0, scheme=scheme)


def _diffuse(size: int) -> Call:
    import whorl

    image = _picture(size, 1)[0, 0].numpy()
    return lambda: whorl.diffuse(image, "weickert-brox", contrast=CONTRAST, time=2.0)


def _network(size: int) -> Call:
    import torch

    import whorl

    network, u = whorl.load(NETWORK), _picture(size, 1)

    def run() -> object:
        with torch.no_grad():
            return network(u)

    return run


def _training(protocol: str) -> Call:
    from whorl.data import RectangleSet
    from whorl.networks import named
    from whorl.training import PROTOCOLS

    try:
        from whorl.training.recipe import Recipe, Scenes
    except ImportError:  # an older tree
        from whorl.networks.recipe import Recipe

        Scenes = lambda data: data  # noqa: E731

    config = replace(PROTOCOLS[protocol], epochs=1, batch=2, images=2)
    recipe = Recipe(named(NETWORK), data=Scenes(RectangleSet(4, "train", size=64)), training=config)
    pairs = recipe.pairs()
    return lambda: recipe.train(pairs=pairs)


def _process(*arguments: str) -> Call:
    return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


def _model(name: str, **options: Any) -> Any:
    import whorl

    if name != "uncoupled":
        return whorl.models.build(name, contrast=CONTRAST, **options)
    return whorl.models.uncoupled_twin(whorl.models.build("perona-malik", contrast=CONTRAST))


def _picture(size: int, channels: int) -> Any:
    """Waves with noise, the same in every process."""
    import torch

    y, x = np.mgrid[:size, :size] / 16
    noise = np.random.default_rng(0).standard_normal((1, channels, size, size))
    return torch.from_numpy((128 + 60 * np.sin(x) * np.cos(y) + 20 * noise).astype(np.float32))


if __name__ == "__main__":
    _steps("eed", 64, 1, 1)()
