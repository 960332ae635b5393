"""How contrast and stopping follow from the noise, model by model.

Chosen on crops of training photographs with noise 5, 15, 25 and 50 (``python -m experiments.defaults choose``): for
each model the pair that loses least against the best setting of every level. Noise that is cut off at black and white
is left out of what is to be removed.
"""

from typing import NamedTuple

from whorl.models import row

__all__ = ["RULES", "Rule", "rule"]


class Rule(NamedTuple):
    """Contrast in multiples of the noise, and the share of the noise after which the flow stops."""

    contrast: float
    removed: float


RULES: dict[str, Rule | None] = {
    "perona-malik": Rule(1.5, 0.9),
    "you-kaveh": Rule(5.5, 1.0),
    "lysaker": Rule(1.2, 1.0),
    "gerig": Rule(1.9, 0.9),
    "weickert-brox": Rule(1.2, 0.95),
    "multiscale-isotropic": Rule(1.9, 0.8),
    "multiscale-anisotropic": Rule(1.2, 0.9),
    "uncoupled": Rule(1.2, 0.95),
    "eed": Rule(0.4, 0.95),
    "weickert-integration": Rule(0.2, 1.0),
    "ced": None,
}
"""None for models that do not remove noise: coherence-enhancing diffusion closes gaps in lines."""


def rule(name: str) -> Rule:
    """The rule of a model, or an error that says what to give instead.

    >>> rule("weickert-brox")
    Rule(contrast=1.2, removed=0.95)
    """
    found = RULES[row(name).name]
    if found is None:
        raise ValueError(f"{name}: contrast and time do not follow from the noise. Give both.")
    return found
