"""What the study trains: every trial by name, in the order of importance."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from whorl.data import RectangleSet
from whorl.networks.spec import NAMED, NetworkSpec
from whorl.training import TrainingConfig
from whorl.training.recipe import Recipe

PAPER = TrainingConfig(checkpoint_seconds=1e9)
CONVERGED = TrainingConfig(rate=0.03, schedule="cosine", checkpoint_seconds=1e9)
NEWTON = TrainingConfig(optimiser="gauss-newton", epochs=15, images=20, tolerance=1e-3, checkpoint_seconds=1e9)
LONG = replace(CONVERGED, epochs=400)

CANDIDATES = {
    "scheduled": NetworkSpec(scheduled=True),
    "scheduled alpha 0.45": NetworkSpec(scheduled=True, alpha=0.45),
    "scheduled alpha 0.35": NetworkSpec(scheduled=True, alpha=0.35),
    "scheduled alpha 0.25": NetworkSpec(scheduled=True, alpha=0.25),
    "scheduled gamma 0.5": NetworkSpec(scheduled=True, gamma=0.5),
    "scheduled gamma 1": NetworkSpec(scheduled=True, gamma=1.0),
    "scheduled alpha 0.25 gamma 1": NetworkSpec(scheduled=True, alpha=0.25, gamma=1.0),
    "scheduled isotropic": NetworkSpec("isotropic", scheduled=True),
    "scheduled omega": NetworkSpec(scheduled=True, omega_inside=True),
    "scheduled omega alpha 0.45 gamma 1": NetworkSpec(scheduled=True, alpha=0.45, gamma=1.0, omega_inside=True),
    "scheduled rational": NetworkSpec(scheduled=True, diffusivity="rational"),
    "scheduled charbonnier": NetworkSpec(scheduled=True, diffusivity="charbonnier"),
    "scheduled weickert": NetworkSpec(scheduled=True, diffusivity="weickert"),
    "scheduled degree 3": NetworkSpec(scheduled=True, degree=3),
    "scheduled degree 3, 16 steps": NetworkSpec(scheduled=True, degree=3, steps=16),
    "own steps": NetworkSpec(own_steps=True),
    "own structure": NetworkSpec(own_structure=True),
    "own structure alpha 0.45": NetworkSpec(own_structure=True, alpha=0.45),
    "own structure alpha 0.3": NetworkSpec(own_structure=True, alpha=0.3),
    "own structure gamma 1": NetworkSpec(own_structure=True, gamma=1.0),
    "own structure isotropic": NetworkSpec("isotropic", own_structure=True),
    "own steps and structure, 5 scales": NetworkSpec(own_steps=True, own_structure=True, scales=5),
}

READINGS = ("uncoupled-0.41", "isotropic-0.41", "anisotropic-0.41", "anisotropic-0.5")
PLAIN = {name: replace(spec, omega_inside=False) for name, spec in NAMED.items()}  # the printed flux
SINGLE = (0.1, 0.56, 1.0, 1.78, 3.16)


@dataclass(frozen=True)
class Trial:
    """One training run and the test pictures it is measured on beside the usual ones."""

    group: str
    name: str
    recipe: Recipe
    seed: int = 0
    errors: bool = False  # keep every image's error, not only the figures

    @property
    def key(self) -> str:
        """Unique name."""
        return f"{self.group}/{self.name}/{self.seed}"


def _trial(group: str, name: str, recipe: Recipe, seed: int = 0, **more: bool) -> Trial:
    return Trial(group, name, recipe.with_seed(seed), seed, **more)


def trials() -> Iterator[Trial]:
    """All trials of the study; a run that is cut short has done the most important ones."""
    for seed in range(5):
        for name, spec in PLAIN.items():
            yield _trial("paper", name, Recipe(spec, training=PAPER), seed, errors=True)
    for seed in range(3):
        for name, spec in NAMED.items():
            yield _trial("omega inside", name, Recipe(spec, training=PAPER), seed)
    for name, spec in CANDIDATES.items():
        yield _trial("better", name, Recipe(spec, training=LONG))
    for seed in (1, 2):  # the one that validation chose
        yield _trial("better", "scheduled isotropic", Recipe(CANDIDATES["scheduled isotropic"], training=LONG), seed)
    for name in ("anisotropic-0.41", "anisotropic-0.5"):
        yield _trial("omega inside, converged", name, Recipe(NAMED[name], training=CONVERGED))
    for seed in range(3):
        for name, spec in PLAIN.items():
            yield _trial("converged", name, Recipe(spec, training=CONVERGED), seed)
    for name, spec in NAMED.items():
        yield _trial("omega inside, Gauss-Newton", name, Recipe(spec, training=NEWTON))
    for group, spec in (("omega inside, centred", NAMED), ("centred", PLAIN)):  # at alpha = 1/2 there is no detail
        centred = replace(spec["anisotropic-0.41"], centred=True)
        yield _trial(group, "anisotropic-0.41", Recipe(centred, training=PAPER))
    for name in READINGS:
        yield from _readings(name, PLAIN[name])
    for alpha in (0.0, 0.1, 1 / 6, 0.25, 0.3, 0.35, 0.45, 0.48):
        for coupling in ("isotropic", "anisotropic"):
            spec = NetworkSpec(coupling, round(alpha, 4))
            yield _trial("front", f"{coupling} alpha {alpha:.3f} gamma 0", Recipe(spec, training=PAPER))
    for alpha in (0.0, 0.25, 0.41):
        for gamma in (0.25, 0.5, 1.0):
            recipe = Recipe(NetworkSpec(alpha=alpha, gamma=gamma), training=PAPER)
            yield _trial("front", f"anisotropic alpha {alpha:.3f} gamma {gamma:g}", recipe)
    for alpha, gamma in ((0.0, 0), (0.25, 0), (0.35, 0), (0.45, 0), (0.0, 1), (0.25, 1), (0.41, 1)):
        for coupling in ("isotropic", "anisotropic")[gamma:]:
            spec = NetworkSpec(coupling, alpha, float(gamma), omega_inside=True)
            name = f"{coupling} alpha {alpha:.3f} gamma {gamma}"
            for seed in range(3 if (coupling, alpha) == ("anisotropic", 0.45) else 1):  # the best of the front
                yield _trial("omega inside, front", name, Recipe(spec, training=NEWTON), seed)
    for coupling in ("isotropic", "anisotropic"):
        for sigma in SINGLE:
            recipe = Recipe(NetworkSpec(coupling, sigma=sigma), training=NEWTON)
            yield _trial("single scale", f"{coupling} sigma {sigma:g}", recipe)


def _readings(name: str, spec: NetworkSpec) -> Iterator[Trial]:
    base = Recipe(spec, training=PAPER)
    for edges in ("4x4", "hard"):
        yield _trial(f"edges {edges}", name, replace(base, data=RectangleSet(100, "train", edges=edges)))
    yield _trial("rectangles turned", name, replace(base, data=RectangleSet(100, "train", turning="rectangles")))
    for batch in (4, 20, 100):
        yield _trial(f"batch {batch}", name, replace(base, training=replace(PAPER, batch=batch)))
