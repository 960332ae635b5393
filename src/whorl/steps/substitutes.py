"""Modules with other numbers: copies that share everything else, so that no module is ever changed for a call."""

import copy
from typing import TypeVar

from torch import Tensor, nn

from whorl.activations import Activation
from whorl.operators import Operator

__all__ = ["with_beta", "with_contrast", "without_scale_weights"]

M = TypeVar("M", bound=nn.Module)


def with_contrast(activation: Activation, contrast: Tensor) -> Activation:
    """The activation with this contrast, a tensor that derivatives reach."""
    law = activation.law
    if isinstance(law, nn.Module):  # a law of its own, with a contrast or without
        return _with(activation, "law", _with(law, "_contrast", _Given(contrast)))
    twin = _with(activation, "diffusivity", _with(activation.diffusivity, "_contrast", _Given(contrast)))
    twin.law = law.of(twin.diffusivity)
    return twin


def with_beta(operator: Operator, beta: Tensor | None) -> Operator:
    """The operator with these weights of its scales; itself where it has none."""
    return operator if beta is None or operator.numbers()[1] is None else _with(operator, "beta", beta)


def without_scale_weights(activation: Activation) -> Activation:
    """The activation with every scale counted alike."""
    return _with(activation, "scale_weights", None)


class _Given(nn.Module):
    """A module whose call gives back a tensor."""

    def __init__(self, value: Tensor) -> None:
        super().__init__()
        self.value = value

    def forward(self) -> Tensor:
        return self.value


def _with(module: M, name: str, part: Tensor | nn.Module | None) -> M:
    twin = copy.copy(module)
    tables = {table: dict(getattr(module, table)) for table in ("_parameters", "_buffers", "_modules")}
    twin.__dict__.update(tables)
    tables["_parameters"].pop(name, None)
    home = tables["_modules"] if isinstance(part, nn.Module) else tables["_buffers"] if part is None else twin.__dict__
    home[name] = part
    return twin
