r"""Second-order training for networks with few parameters: Gauss–Newton with Levenberg's damping.

.. math:: (J^\top J + \mu\, m\, I)\, \delta = -J^\top r, \qquad \theta \leftarrow \theta + \delta,
          \qquad m = \max_i\, (J^\top J)_{ii} .

The choice of coordinates is decisive. Step sizes and contrasts are fitted as logarithms. So are the weights of scales,
of which only the magnitude counts: a weight can become very small, but it can neither change its sign nor get stuck at
zero, where its derivative vanishes. One unit means the same for all logarithms, so one damping fits all of them.
(Damping each by its own curvature, as Marquardt does, lets parameters without influence take such large steps that the
bound on the length of a step holds all others back.)
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from whorl.training.config import TrainingConfig
from whorl.training.distributed import Team
from whorl.training.jacobian import Parameters, normal_equations
from whorl.training.method import Method, Seen, image_order
from whorl.training.pairs import Pairs

__all__ = ["GaussNewtonMethod"]

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

    def epoch(self, number: int) -> Seen:
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
        return Seen(here.loss, here.psnr)

    def state(self) -> dict[str, Tensor]:
        """Damping, and whether the run has converged."""
        return {"damping": self.damping, "done": self.done}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on with this damping."""
        self.damping.copy_(state["damping"])
        self.done.copy_(state["done"])

    @property
    def converged(self) -> bool:
        """Whether the last step gained less than the tolerance."""
        return bool(self.done)

    @torch.no_grad()
    def _measure(self, theta: Tensor) -> Seen:
        sums = torch.zeros(2, dtype=torch.float64, device=self.noisy.device)
        batches = zip(
            self.team.share(self.noisy).split(self.config.batch),
            self.team.share(self.clean).split(self.config.batch),
            strict=True,
        )
        for noisy, clean in batches:
            if len(noisy):
                errors = (self.parameters.output(theta, noisy) - clean).double().square().flatten(1).mean(1)
                sums += torch.stack([errors.sum(), -10 * torch.log10(errors / self.config.peak**2).sum()])
        loss, psnr = (self.team.add(sums) / len(self.noisy)).tolist()
        return Seen(loss, psnr)
