"""Networks of whorl as denoisers of deepinv, and energies as its priors: pictures from 0 to 1 there.

deepinv is imported when one of the functions is called: ``pip install deepinv``.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl import engines
from whorl.energies import EnergyAt, LearnedEnergy, minimise
from whorl.energies.learned import OfColours, Regulariser
from whorl.energies.minimise import STEPS, TOLERANCE
from whorl.errors import ShapeError
from whorl.models import Model
from whorl.networks import EnergyNetwork, TrainedNetwork, load
from whorl.networks.denoiser import Denoiser
from whorl.reconstruction.weights import OfModel

_WHITE = 255.0


def denoiser(network: str | Path | TrainedNetwork) -> Any:
    """A ``deepinv.models.Denoiser``: ``denoiser(x, sigma)`` with pictures ``(n, c, y, x)`` from 0 to 1.

    ``sigma`` is one number, or one for each picture; levels that the network was not trained for are scaled to those
    that it was. Networks for grey pictures take every channel for itself; learned
    energies take three for colours, unless they are guided.
    """
    return _denoiser()(load(network) if isinstance(network, str | Path) else network)


def prior(energy: str | EnergyNetwork | LearnedEnergy | Model, noise: float | None = None) -> Any:
    """A ``deepinv.optim.Prior`` with ``fn``, ``grad`` and ``prox`` of pictures from 0 to 1.

    A learned energy, convex or weak, needs the ``noise`` that it is for; a model of ``whorl.models.build`` with an
    energy has contrasts in units of pictures from 0 to 1. Values and steps are those of the energy for such pictures:
    with ``noise`` 0.1 and gamma 1, ``prox`` is the denoiser for noise 0.1. ``prox`` stops where the gradient is at most
    1e-4 of the picture's norm; it is a minimiser where gamma times the lowest second derivative is above -1.
    """
    if isinstance(energy, Model):
        return _prior()(OfModel(energy), 1.0, energy)
    network = load(energy) if isinstance(energy, str) else energy
    learned = network.energy if isinstance(network, EnergyNetwork) else network
    if not isinstance(learned, LearnedEnergy) or learned.kind == "guided":
        raise ValueError(
            "deepinv.prior: expected energy-convex, energy-weak, a LearnedEnergy of these kinds, or a model with an "
            "energy. A guided energy belongs to one picture: take it as a denoiser."
        )
    if noise is None:
        raise ValueError("deepinv.prior: a learned energy belongs to a level of noise. Give noise=, such as 25 / 255.")
    level = noise * _WHITE
    return _prior()(learned.eval().at(level), _WHITE, learned, learned.of_colours(level))


@cache
def _denoiser() -> Any:
    base: Any = import_module("deepinv.models").Denoiser

    class WhorlDenoiser(base):  # type: ignore[misc]
        """A network of whorl."""

        def __init__(self, network: TrainedNetwork) -> None:
            super().__init__()
            if network.dimension != 2:
                raise ShapeError("deepinv.denoiser: this network is for volumes. Give one for pictures.")
            self.network = network.eval()

        def forward(self, x: Tensor, sigma: float | Tensor, **kwargs: Any) -> Tensor:
            """The picture without noise; differentiable where the network is."""
            levels = torch.as_tensor(sigma, dtype=torch.float64).flatten().expand(len(x)).tolist()
            if min(levels) < 0:
                raise ValueError(f"deepinv.denoiser: sigma = {min(levels)}: expected 0 or more.")
            pages = [
                Denoiser(self.network, level, 0.0, 1.0).differentiable(page) if level else page
                for page, level in zip(x.split(1), levels, strict=True)
            ]
            return torch.cat(pages)

    return WhorlDenoiser


@cache
def _prior() -> Any:
    base: Any = import_module("deepinv.optim.prior").Prior

    class WhorlPrior(base):  # type: ignore[misc]
        """An energy of whorl."""

        def __init__(
            self, term: Regulariser, white: float, owner: torch.nn.Module, colours: OfColours | None = None
        ) -> None:
            super().__init__()
            self.explicit_prior = True
            self.term, self.white, self.owner, self.colours = term, white, owner, colours

        def fn(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            """The energy of every picture of the batch."""
            term = self._taken(x)
            return torch.stack([term(page * self.white) for page in x.split(1)]) / self.white**2

        def grad(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
            """Its gradient, in closed form."""
            return self._taken(x).gradient(x * self.white) / self.white

        def prox(self, x: Tensor, *args: Any, gamma: float | Tensor = 1.0, **kwargs: Any) -> Tensor:
            r"""The minimiser of :math:`\tfrac12|u-x|^2 + \gamma R(u)` of every picture, to the tolerance."""
            x = self.white * x.detach()
            steps = torch.as_tensor(gamma, dtype=torch.float64).flatten().expand(len(x)).tolist()
            with torch.no_grad():
                term = self._taken(x)

            def nearest(f: Tensor, step: float) -> Tensor:
                return minimise(
                    lambda u: 0.5 * (u - f).square().sum() + step * term(u), lambda u: u - f + step * term.gradient(u),
                    f, 1 + step * term.curvature, float(f.norm()) or 1.0, TOLERANCE, STEPS,
                ).u  # fmt: skip

            return torch.cat([nearest(*each) for each in zip(x.split(1), steps, strict=True)]) / self.white

        def _taken(self, x: Tensor) -> Regulariser:
            """The energy as an engine computes it, where no derivative is asked for."""
            term = self.colours if self.colours is not None and x.shape[1] == 3 else self.term
            if torch.is_grad_enabled() or not isinstance(term, EnergyAt | OfColours):
                return term
            return engines.energy(term, x)

    return WhorlPrior
