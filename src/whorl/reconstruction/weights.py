r"""The minimiser of data term and energy, and how much the energy counts.

.. math:: E_\lambda(u) = \tfrac12 |A u - y|^2 + \lambda R(u)

Everything is scaled here: pictures to grey values from 0 to 255 where the energy is learned for these, and A to the
norm 1.
"""

import math
import warnings
from dataclasses import dataclass

from torch import Tensor

from whorl.energies import Minimum, minimise
from whorl.energies.learned import Regulariser
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.models import Model
from whorl.reconstruction.measurement import Measurement, product, signs

_LEAST, _MOST = 1e-5, 100.0  # weights over the squared norm of A; for data of noise alone none is enough
_OVER_NOISE = 100.0  # times what A* makes of the noise that gradients are compared with
_NEAR = 0.01  # the share by which the remainder may miss that of the noise


@dataclass(frozen=True)
class OfModel:
    """The energy of a diffusion model, such as total variation; refused where the model has none.

    >>> import whorl
    >>> OfModel(whorl.models.build("perona-malik", diffusivity="charbonnier", contrast=2.0)).curvature > 0
    True
    """

    model: Model

    def __post_init__(self) -> None:
        if reason := self.model.no_energy():
            raise ValueError(f"{self.model.name}: no energy exists: {reason}")

    def __call__(self, u: Image) -> Tensor:
        return self.model.energy(u)

    def gradient(self, u: Image) -> Image:
        """Minus the flow."""
        return -self.model.rhs(u)

    @property
    def curvature(self) -> float:
        """Within 2 over this, explicit steps never raise the energy."""
        return 2 / self.model.step_limit(2)


@dataclass(frozen=True)
class Reconstruction:
    """What was found: the picture, the weight of the energy, the gradient left over that of the data term at 0, steps
    in all, and the root mean square of what the data differ by.

    >>> import torch
    >>> found = Reconstruction(torch.zeros(1, 1, 4, 4), 0.7, 9e-5, 40, True, 5.0)
    >>> found.reached, found.weight
    (True, 0.7)
    """

    u: Image
    weight: float
    residual: float
    steps: int
    reached: bool
    remainder: float


class Problem:
    """Data of a measurement and an energy of pictures that are ``factor`` times as bright."""

    def __init__(
        self, A: Measurement, y: Tensor, energy: Regulariser, factor: float, tolerance: float, steps: int
    ) -> None:
        self.A, self.y, self.energy, self.factor = A, y, energy, factor
        self.tolerance, self.steps, self.taken = tolerance, steps, 0
        self._norm = math.sqrt(A.squared_norm)
        self._scaled = y * self.deviation
        self._size = float(self.backward(self._scaled).norm()) or 1.0

    def heed(self, noise: float) -> None:
        """Stop no earlier than the noise demands: data such as sums along rays outweigh it by far."""
        share = noise * self.deviation * float(self.backward(signs(self.y)).norm())
        self._size = min(self._size, _OVER_NOISE * share or self._size)

    @property
    def deviation(self) -> float:
        """The standard deviation that noise of deviation 1 in the data has after scaling."""
        return self.factor / self._norm

    def forward(self, u: Image) -> Tensor:
        """The measurement, of norm 1."""
        return self.A.forward(u) / self._norm

    def backward(self, v: Tensor) -> Image:
        """The adjoint of :meth:`forward`."""
        return self.A.adjoint(v) / self._norm

    def start(self) -> Image:
        """Where the method begins."""
        return self.factor * self.A.start(self.y)

    def solve(self, weight: float, start: Image, moved: Tensor | None = None) -> Minimum:
        """The minimiser for this weight, of data that are moved where that is asked for."""
        weight = weight / self.A.squared_norm
        data = self._scaled if moved is None else self._scaled + moved

        def value(u: Image) -> Tensor:
            apart = self.forward(u) - data
            return 0.5 * (apart.conj() * apart).real.sum() + weight * self.energy(u)

        def gradient(u: Image) -> Image:
            return self.backward(self.forward(u) - data) + weight * self.energy.gradient(u)

        found = minimise(
            value, gradient, start, 1 + weight * self.energy.curvature, self._size, self.tolerance, self.steps
        )
        self.taken += found.steps
        return found

    def remainder(self, u: Image) -> float:
        """The length of the difference between the measured picture and the data."""
        return float((self.forward(u) - self._scaled).norm())


def count(y: Tensor) -> int:
    """How many real numbers the data are."""
    return y.numel() * (2 if y.is_complex() else 1)


def restored(problem: Problem, noise: float | None, weight: float | str) -> Reconstruction:
    """The minimiser, its weight as told or by a principle."""
    u = problem.start()
    if noise is not None:
        problem.heed(noise)
    if isinstance(weight, str):
        assert noise is not None
        chosen, u = _by_discrepancy(problem, noise, u)
        if weight == "stein":
            chosen, u = _by_stein(problem, noise, chosen, u)
    else:
        chosen = validation.number(weight, "weight", "reconstruct", 0.0, open_low=True)
    found = problem.solve(chosen, u)
    left = problem.remainder(found.u) / problem.deviation / math.sqrt(count(problem.y))
    return Reconstruction(found.u / problem.factor, chosen, found.residual, problem.taken, found.reached, left)


def _by_discrepancy(problem: Problem, noise: float, u: Image) -> tuple[float, Image]:
    """The remainder grows with the weight where the energy is convex: steps of the secant, kept inside a bracket."""
    aim = noise * problem.deviation * math.sqrt(count(problem.y))
    place, past = math.log(problem.A.squared_norm), None
    low, high = place + math.log(_LEAST), place + math.log(_MOST)
    for _ in range(12):
        u = problem.solve(math.exp(place), u).u
        height = math.log(max(problem.remainder(u), 1e-30) / aim)
        if abs(height) <= _NEAR:
            return math.exp(place), u
        low, high = (low, place) if height > 0 else (place, high)
        slope = 0.5 if past is None or past[0] == place else (height - past[1]) / (place - past[0])
        past = place, height
        following = place - height / min(max(slope, 0.05), 2.0)
        place = following if low < following < high else 0.5 * (low + high)
        if high - low < 1e-2:
            break
    if abs(height) > 5 * _NEAR:
        warnings.warn(
            f"reconstruct: no weight leaves {noise:.3g} between data and picture; with {math.exp(place):.2g} it is "
            f"{noise * math.exp(height):.3g}. Is the noise right, and does A describe the data?",
            stacklevel=validation.outside(),
        )
    return math.exp(place), u


def _by_stein(problem: Problem, noise: float, weight: float, u: Image) -> tuple[float, Image]:
    """Halve the weight while the estimate falls; then the lowest point of a parabola through three."""
    sigma = noise * problem.deviation
    b = signs(problem.y)

    def risk(place: float, u: Image) -> tuple[float, Image]:
        near = problem.solve(math.exp(place), u).u
        moved = problem.solve(math.exp(place), near, sigma * b).u
        along = product(b, problem.forward(moved - near)) / sigma
        return problem.remainder(near) ** 2 + 2 * sigma**2 * along, near

    first, u = risk(math.log(weight), u)
    places, risks = [math.log(weight)], [first]
    step = -math.log(2)
    for turn in range(8):
        following, u = risk(places[-1] + step, u)
        places, risks = [*places, places[-1] + step], [*risks, following]
        if risks[-1] >= risks[-2]:
            if turn > 0 or step > 0:
                break
            places, risks, step = places[::-1], risks[::-1], -step  # the other way
    if len(places) < 3 or risks[-1] < risks[-2]:
        return math.exp(places[-1]), u
    (a, b_, c), middle = risks[-3:], places[-2]
    bend = a - 2 * b_ + c
    return math.exp(middle + 0.5 * step * (a - c) / bend if bend > 0 else middle), u
