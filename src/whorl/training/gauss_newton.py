r"""Second-order training for networks with few parameters: Gauss–Newton with Levenberg's damping.

.. math:: (J^\top J + \mu\, m\, I)\, \delta = -J^\top r, \qquad \theta \leftarrow \theta + \delta,
          \qquad m = \max_i\, (J^\top J)_{ii} .

The choice of coordinates is decisive. Step sizes and contrasts are fitted as logarithms. So are the weights of scales,
of which only the magnitude counts: a weight can become very small, but it can neither change its sign nor get stuck at
zero, where its derivative vanishes. One unit means the same for all logarithms, so one damping fits all of them.
(Damping each by its own curvature, as Marquardt does, lets parameters without influence take such large steps that the
bound on the length of a step holds all others back.)

Derivatives of the network's output by its parameters go forward through the network. With few parameters
:math:`\theta` and many pixels the normal equations need only :math:`J^\top J` and :math:`J^\top r`, where column
:math:`i` of :math:`J` is :math:`\partial N(f; \theta) / \partial \theta_i`. A column costs about two evaluations of
the network; nothing is stored over the steps.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from whorl.training.config import Derivatives, TrainingConfig
from whorl.training.distributed import Team
from whorl.training.method import Begun, Method, Scores, Watch, image_order, sums, trainable
from whorl.training.pairs import Pairs


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
    total = torch.zeros(count * count + count + 2, dtype=torch.float64, device=noisy.device)
    for f, target in zip(team.share(noisy).split(at_once), team.share(clean).split(at_once), strict=True):
        if not len(f):
            continue
        u, jacobian = columns(parameters, f, how)
        J, r = jacobian.flatten(1), (u - target).flatten()
        total += torch.cat([(J @ J.mT).double().flatten(), (J @ r).double(), sums(u - target, peak)])
    team.add(total)
    pixels = noisy.numel()
    matrix, gradient, last = total.cpu().split([count * count, count, 2])
    loss, psnr = (last / len(noisy)).tolist()
    return NormalEquations(matrix.view(count, count) / pixels, gradient / pixels, loss, psnr)


_LONGEST = 1.0  # no logarithm changes by more than this at once: beyond, the linear model says little
_LEAST = 1e-5  # of the damping: parameters without influence stay where they are
_TRIES = 8


class GaussNewtonMethod(Method):
    """Damped Gauss–Newton on a fixed set of images; one iteration per epoch, the loss never rises.

    Damping follows the ratio of the gain found to the gain promised. A step that does not lower the loss, or leads to a
    non-finite one, is not taken. The run has converged when a step gains less than ``tolerance`` (relative), or none
    can be found.

    Weakness: the cost of an iteration grows with the number of parameters; beyond a few dozen Adam is cheaper.
    """

    def __init__(self, network: nn.Module, pairs: Pairs, config: TrainingConfig, team: Team) -> None:
        self.network, self.config, self.team = network, config, team
        self.parameters = Parameters(network)
        count = min(config.images or len(pairs), len(pairs))
        chosen = image_order(len(pairs), config.seed, 0)[:count].sort().values
        self.noisy, self.clean = pairs.batch(chosen, 0)
        forward_mode = config.derivatives == "forward-mode"  # holds the fields of all derivatives: few images at once
        self.at_once = max(1, (1 << 17) // self.noisy[0].numel()) if forward_mode else config.batch
        self.damping = torch.tensor(config.damping, dtype=torch.float64)
        self.done = torch.tensor(0.0, dtype=torch.float64)

    def epoch(self, number: int, begun: Begun | None = None, watch: Watch | None = None) -> Scores:
        """One accepted step, or the discovery that there is none."""
        self.network.eval()
        theta = self.parameters.get()
        here = normal_equations(
            self.parameters, self.noisy, self.clean, self.config.derivatives, self.config.peak, self.team, self.at_once
        )
        units = self.parameters.units(theta).cpu()
        matrix, gradient = units[:, None] * here.matrix * units, units * here.gradient
        damper = max(float(matrix.diagonal().max()), 1e-30) * torch.eye(len(theta), dtype=torch.float64)
        for _ in range(_TRIES):
            step = torch.linalg.solve(matrix + self.damping * damper, -gradient)
            step = step * min(1.0, _LONGEST / max(float(step.abs().max()), 1e-30))
            moved = self.parameters.moved(theta, step.to(theta))
            there = self._measure(moved)
            gain = here.loss - there.loss
            promised = -float(step @ (2 * gradient + matrix @ step))
            if gain > 0:  # false for NaN
                ratio = gain / max(promised, 1e-300)
                self.damping *= max(1 / 5, 1 - (2 * min(ratio, 1.5) - 1) ** 3)
                self.damping.clamp_(_LEAST, 1e9)
                self.done.fill_(float(gain < self.config.tolerance * here.loss))
                self.parameters.set(moved)
                return there
            self.damping *= 6
        self.done.fill_(1.0)
        return Scores(here.loss, here.psnr)

    def state(self) -> dict[str, Tensor]:
        """Damping, and whether the run has converged."""
        return {"damping": self.damping, "done": self.done}

    def load(self, state: Mapping[str, Tensor]) -> None:
        self.damping.copy_(state["damping"])
        self.done.copy_(state["done"])

    @property
    def converged(self) -> bool:
        """Whether the last step gained less than the tolerance."""
        return bool(self.done)

    @torch.no_grad()
    def _measure(self, theta: Tensor) -> Scores:
        total = torch.zeros(2, dtype=torch.float64, device=self.noisy.device)
        shares = (self.team.share(images).split(self.config.batch) for images in (self.noisy, self.clean))
        for noisy, clean in zip(*shares, strict=True):
            if len(noisy):
                total += sums(self.parameters.output(theta, noisy) - clean, self.config.peak)
        loss, psnr = (self.team.add(total) / len(self.noisy)).tolist()
        return Scores(loss, psnr)
