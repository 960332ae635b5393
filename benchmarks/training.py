"""A training epoch of the paper's experiment: 100 pictures of 256², ten steps, eight scales, forwards and backwards.

``training`` times an epoch of each model (the paper: 50 s on a GTX 1060). ``training_long`` asks what second order
saves: the loss over the full set that 250 Adam epochs reach, and the wall time Gauss–Newton needs to get there, counted
in Adam epochs of the same engine. The long runs keep checkpoints under ``build`` and go on from them.
"""

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads

__all__ = ["LONG", "SUITE"]

PAPER_S = 50.0
_NETWORKS = ("uncoupled-0.41", "isotropic-0.41", "anisotropic-0.41")
_KEPT = Path(__file__).parents[1] / "build" / "bench-training"


def cases() -> dict[str, Case]:
    return {f"epoch, {name}": partial(_epoch, name) for name in _NETWORKS}


def long_cases() -> dict[str, Case]:
    return {f"Gauss–Newton, {name}": partial(_newton, name) for name in _NETWORKS[1:]}


def _recipe(name: str, **changes: Any) -> Any:
    from whorl.networks.recipe import Recipe
    from whorl.networks.spec import named
    from whorl.training import TrainingConfig

    return Recipe(named(name), training=TrainingConfig(**changes))


def _epoch(name: str) -> Rows:
    use_threads(2)
    recipe = _recipe(name, epochs=2)
    _, history = recipe.train(pairs=recipe.pairs())
    use_threads(1)
    seconds = [epoch.seconds for epoch in history.epochs]
    return [
        {
            "method": f"whorl {name}",
            "threads": 2,
            "best_s": min(seconds),
            "median_s": sum(seconds) / len(seconds),
            "repeats": len(seconds),
            "to_paper": PAPER_S / min(seconds),
        }
    ]


def _newton(name: str) -> Rows:
    use_threads(2)
    adam = _recipe(name)
    pairs = adam.pairs()
    _KEPT.mkdir(parents=True, exist_ok=True)
    network, slow = adam.train(pairs=pairs, checkpoint=_KEPT / f"{name}-adam.safetensors")
    goal = _full_loss(network, pairs)
    epoch = min(e.seconds for e in slow.epochs)
    loss, spent, iterations = _race(name, pairs, goal)
    use_threads(1)
    return [
        {"method": "Adam, 250 epochs", "loss": goal, "best_s": sum(e.seconds for e in slow.epochs), "epochs": 250.0},
        {"method": "Gauss–Newton", "loss": loss, "best_s": spent, "iterations": iterations, "epochs": spent / epoch},
    ]


def _race(name: str, pairs: Any, goal: float) -> tuple[float, float, int]:
    """Gauss–Newton until the goal is reached: the loss then, its own seconds, its iterations."""
    from whorl.networks.build import build_network
    from whorl.training import train
    from whorl.training.progress import Progress

    recipe = _recipe(name, optimiser="gauss-newton", epochs=40, tolerance=0.0)
    network = build_network(recipe.network)
    losses: list[float] = []
    seconds: list[float] = []

    class Reached(Exception):
        pass

    class Watch(Progress):
        def epoch(self, done: int, total: int, epoch: Any, remaining: float) -> None:
            losses.append(_full_loss(network, pairs))  # outside the epoch's own clock
            seconds.append(epoch.seconds)
            if losses[-1] <= goal:
                raise Reached

        def close(self) -> None:
            return None

    with suppress(Reached):
        train(network, pairs, recipe.training, progress=Watch())
    return losses[-1], sum(seconds), len(losses)


def _full_loss(network: Any, pairs: Any) -> float:
    """Mean squared error over all pictures."""
    import torch

    with torch.no_grad():
        parts = zip(pairs.noisy.split(10), pairs.clean.split(10), strict=True)
        errors = [(network(noisy) - clean).double().square().mean() * len(noisy) for noisy, clean in parts]
    return float(torch.stack(errors).sum() / len(pairs))


SUITE = Suite("training", "One epoch of the paper's experiment", cases)
LONG = Suite("training_long", "Second order against 250 epochs of Adam", long_cases, standard=False)
