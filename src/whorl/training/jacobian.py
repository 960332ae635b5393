r"""Derivatives of a network's output by its parameters, forward through the network.

With few parameters :math:`\theta` and many pixels the normal equations need only :math:`J^\top J` and
:math:`J^\top r`, where column :math:`i` of :math:`J` is :math:`\partial N(f; \theta) / \partial \theta_i`. A column
costs about two evaluations of the network; nothing is stored over the steps.
"""

import warnings
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from whorl.training.config import Derivatives
from whorl.training.distributed import Team
from whorl.training.method import trainable

__all__ = ["NormalEquations", "Parameters", "normal_equations"]


@dataclass
class NormalEquations:
    r""":math:`A = J^\top J / n`, :math:`b = J^\top r / n` over ``n`` pixels, mean squared error and mean PSNR."""

    matrix: Tensor
    gradient: Tensor
    loss: float
    psnr: float


class Parameters:
    """A network's trainable parameters as one float64 vector.

    Where a module says so (``by_magnitude``), the sign of a parameter has no meaning; it is then changed by a factor.
    """

    def __init__(self, network: nn.Module) -> None:
        self.network = network
        self.named = trainable(network)
        self.sizes = [p.numel() for p in self.named.values()]
        unsigned = {id(m._parameters[key]) for m in network.modules() for key in getattr(m, "by_magnitude", ())}
        self.unsigned = torch.cat([torch.full((p.numel(),), id(p) in unsigned) for p in self.named.values()])

    def get(self) -> Tensor:
        """The current values."""
        return torch.cat([p.detach().flatten().double() for p in self.named.values()])

    def units(self, theta: Tensor) -> Tensor:
        """The derivative of the parameters by the coordinates of :meth:`moved`: the value itself, or 1."""
        return torch.where(self.unsigned.to(theta.device), theta, 1.0)

    def moved(self, theta: Tensor, step: Tensor) -> Tensor:
        """``theta`` after a step in logarithms of magnitudes where only these matter, in plain values elsewhere."""
        return torch.where(self.unsigned.to(theta.device), theta * step.exp(), theta + step)

    def set(self, theta: Tensor) -> None:
        """New values."""
        with torch.no_grad():
            for p, part in zip(self.named.values(), theta.split(self.sizes), strict=True):
                p.copy_(part.view_as(p))

    def output(self, theta: Tensor, noisy: Tensor) -> Tensor:
        """The network's output at ``theta``, differentiable in it; the network itself stays as it is."""
        parts = zip(self.named.values(), theta.split(self.sizes), strict=True)
        values = {id(p): part.view_as(p).to(p.dtype) for p, part in parts}
        # torch.func.functional_call restores a module that sits in two places with the substitute; so by hand.
        places = [
            (module._parameters, key, p)
            for module in self.network.modules()
            for key, p in module._parameters.items()
            if id(p) in values
        ]
        try:
            for table, key, p in places:
                table[key] = values[id(p)]
            result: Tensor = self.network(noisy)
        finally:
            for table, key, p in places:
                table[key] = p
        return result


def columns(parameters: Parameters, noisy: Tensor, how: Derivatives) -> tuple[Tensor, Tensor]:
    """The output ``(n, c, y, x)`` and its derivatives ``(parameters, n, c, y, x)``."""
    theta = parameters.get()
    if how == "forward-mode":

        def both(t: Tensor) -> tuple[Tensor, Tensor]:
            u = parameters.output(t, noisy)
            return u, u

        with warnings.catch_warnings():  # torch's forward mode loads a part of itself that torch calls deprecated
            warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
            jacobian, u = torch.func.jacfwd(both, has_aux=True)(theta)
        return u, jacobian.movedim(-1, 0)
    with torch.no_grad():
        # A thousandth balances the curvature of N against rounding: 1e-5 in the output, so 1e-2 in a derivative.
        width = 1e-3 * theta.abs().clamp(min=1.0)
        u = parameters.output(theta, noisy)
        steps = torch.diag(width)
        return u, torch.stack([(parameters.output(theta + e, noisy) - u) / e.sum() for e in steps])


def normal_equations(
    parameters: Parameters, noisy: Tensor, clean: Tensor, how: Derivatives, peak: float, team: Team, at_once: int
) -> NormalEquations:
    """Sum up the normal equations over this team's images, ``at_once`` images at a time."""
    count = len(parameters.get())
    device = noisy.device
    sums = torch.zeros(count * count + count + 2, dtype=torch.float64, device=device)
    for f, target in zip(team.share(noisy).split(at_once), team.share(clean).split(at_once), strict=True):
        if not len(f):
            continue
        u, jacobian = columns(parameters, f, how)
        J, r = jacobian.flatten(1), (u - target).flatten()
        errors = (u - target).double().square().flatten(1).mean(1)
        sums += torch.cat(
            [
                (J @ J.mT).double().flatten(),
                (J @ r).double(),
                torch.stack([errors.sum(), -10 * torch.log10(errors / peak**2).sum()]),
            ]
        )
    team.add(sums)
    pixels = noisy.numel()
    matrix, gradient, last = sums.cpu().split([count * count, count, 2])
    loss, psnr = (last / len(noisy)).tolist()
    return NormalEquations(matrix.view(count, count) / pixels, gradient / pixels, loss, psnr)
