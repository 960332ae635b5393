r"""What is exported: a chain of explicit steps, read off a model or a trained network as plain numbers.

Every step is

.. math:: u - \sum_\ell c_{k\ell}\, G_\ell F^\top D_k F G_\ell u, \qquad
          D_k = g\Big(\sum_\ell w_{k\ell}\, (F G_\ell u)(F G_\ell u)^\top\Big)

with small stencils :math:`F`, Gaussians :math:`G_\ell` and the activation's way of making :math:`D` (a scalar, one per
direction, or a matrix). On the mirrored image the flux is mirrored as well, so that plain convolutions of a frame that
is wide enough give the exact adjoint without any boundary case.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from whorl.activations import Activation
from whorl.blocks.residual import literal_stencils
from whorl.engines import REGISTRY
from whorl.models import Model
from whorl.operators import Derivative, Operator
from whorl.operators.derivative import Taps
from whorl.schemes import equal_steps
from whorl.steps import Form, Numbers, Step
from whorl.steps.step import without_scale_weights

if TYPE_CHECKING:
    from whorl.networks import DiffusionNetwork

FORMATS = {"onnx": ".onnx", "pt2": ".pt2"}
"""The formats and the endings of their files."""


@dataclass(frozen=True)
class Bank:
    """Stencils ``(k, size, size)`` for a correlation after each of several Gaussians, given by half of their taps.

    Every Gaussian has taps along y and along x.
    """

    stencils: Tensor
    gaussians: tuple[tuple[Taps, ...], ...]

    @property
    def channels(self) -> int:
        """How many stencils."""
        return int(self.stencils.shape[0])

    @property
    def margin(self) -> int:
        """How far the image is mirrored, so that stencils and their transposes together give back its own size."""
        return int(self.stencils.shape[-1]) - 1


@dataclass(frozen=True)
class Chain:
    """All steps of a model or network.

    ``outer`` ``(steps, scales)`` holds the weights :math:`c`, ``inner`` the weights :math:`w`; ``seen`` is the bank
    that the diffusivity looks at, where it is another one than that of the flux.

    >>> import whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> whorl.export.model_chain(model, time=1.0).steps
    3
    """

    bank: Bank
    seen: Bank | None
    outer: Tensor
    inner: Tensor
    activation: Activation
    form: Form
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """How many steps."""
        return len(self.outer)


def model_chain(model: Model, time: float | None = None, *, steps: int | None = None) -> Chain:
    """The steps that ``model(u, time)`` takes, or a number of automatic ones.

    >>> from whorl.models import build
    >>> model_chain(build("perona-malik", contrast=10.0), time=2.0).steps
    5
    """
    if (time is None) == (steps is None):
        raise ValueError(f"{model.name}: give either a time or a number of steps, got time={time}, steps={steps}.")
    if model.fidelity is not None or model.kept is not None:
        raise ValueError(
            f"{model.name}: a data term and known pixels belong to one picture and cannot be exported. Leave them out."
        )
    refuse(model.description.form())
    if steps is not None:
        if steps < 1:
            raise ValueError(f"{model.name}: steps must be at least 1, got {steps}.")
        taus = [model.automatic_step()] * steps
    else:
        if time is None or not 0 < time < math.inf:
            raise ValueError(f"{model.name}: time must be positive, got {time}.")
        taus = equal_steps(time, model.automatic_step())
    about = {"model": model.name, **model.settings, "time": math.fsum(taus), "steps": len(taus), "tau": taus[0]}
    return chain_of(model.description, [Numbers(tau) for tau in taus], about)


def network_chain(network: "DiffusionNetwork", name: str = "network") -> Chain:
    """The steps of a trained network.

    >>> import whorl
    >>> network_chain(whorl.load("anisotropic-0.41")).steps
    10
    """
    about = {"network": name, **network.spec.as_dict(), **network.values()}
    if network.noise_range is not None:
        about["noise"] = noise_text(network.noise_range)
    return chain_of(network.description, network.numbers(), about)


def noise_text(levels: tuple[float, float]) -> str:
    """The levels of noise a network was trained for, as files of ONNX carry them under ``noise``.

    >>> noise_text((5.0, 55.0)), noise_text((60.0, 60.0))
    ('5 to 55', '60')
    """
    return " to ".join(f"{level:g}" for level in dict.fromkeys(levels))


def refuse(form: Form | str, *formats: str) -> Form:
    """The form of a step; an error with the remedy where none of these formats (by default of all) can hold it."""
    missing = {name: REGISTRY[name].lacks(form) for name in FORMATS}
    if isinstance(form, Form) and not all(missing[name] for name in formats or FORMATS):
        return form
    others = [f"Write a {FORMATS[name]} file instead" for name in FORMATS if not missing[name]]
    remedy = others or [f"Files hold the laws {', '.join(REGISTRY['pt2'].laws())}, without smoothing of the structure"]
    raise ValueError(f"export: {missing[(*formats, 'pt2')[0]]}. {remedy[0]}.")


@torch.no_grad()
def chain_of(step: Step, numbers: Sequence[Numbers], about: Mapping[str, Any]) -> Chain:
    """The steps of a description with these numbers."""
    form = refuse(step.form())
    omega = step.operator.scale_weights(torch.zeros(1, dtype=torch.float64)).flatten()
    inside = step.activation.inside
    own = step.complete(Numbers(1.0))
    outer, inner = [], []
    for each in numbers:
        tau, contrast, beta, seen = step.complete(each)
        # Another contrast means other weights inside the diffusivity, and for total variation another factor before it.
        front = step.at(each).activation.diffusivity.maximum() / step.activation.diffusivity.maximum()
        outer.append(tau * front * omega * beta**2)
        weights = torch.ones_like(seen) if inside is None else torch.tensor(inside).to(seen)
        shares = torch.ones(()) if each.contrast is None else ((own.contrast / contrast) ** 2).flatten()
        inner.append(weights * seen**2 * shares.to(seen))
    return Chain(
        _bank(step.operator, form.flux),
        None if step.structure is None else _bank(step.structure, form.structure),
        torch.stack(outer).cpu(),
        torch.stack(inner).cpu(),
        without_scale_weights(step.activation),
        form,
        about,
    )


def _bank(operator: Operator, parts: Derivative) -> Bank:
    """On the mirrored image the responses of a derivative are mirrored: no boundary case is needed."""
    return Bank(literal_stencils(operator.bare)[0], parts.taps)
