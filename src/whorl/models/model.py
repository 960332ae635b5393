"""A diffusion model as one module: its energy, flow, steps and limits."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from whorl import engines
from whorl.activations import Activation
from whorl.energies import Energy, KnownPixels, QuadraticFidelity, refusal
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.operators import Operator
from whorl.schemes import (
    SCHEMES,
    Cycles,
    Progress,
    automatic_step,
    check_step,
    equal_cycles,
    equal_steps,
    fed_steps,
    fsi_steps,
    growing_cycles,
    l2_limit,
    max_min_limit,
)
from whorl.steps import Described, Numbers, Step


class Model(nn.Module):
    r"""The flow :math:`\partial_t u = -K^* \Phi(K u)` of an operator and an activation, on images ``(n, c, y, x)``.

    On volumes ``(n, c, z, y, x)``, too, unless the operator's spacing says otherwise.

    ``model.energy(u)``, ``model.rhs(u)``, ``model.step(u, tau)`` and ``model(u, time=8.0)`` are the columns of the
    paper's table. The dtype and the device of ``u`` are kept; ``u`` itself is never changed.

    Parameters
    ----------
    operator, activation
        :math:`K` and :math:`\Phi`.
    structure : Operator, optional
        The operator whose responses steer the nonlinearity, if not ``operator``.
    fidelity : QuadraticFidelity, optional
        A data term; see :meth:`with_data`.
    kept : KnownPixels, optional
        Pixels that keep their values; see :meth:`inpaint`.
    name, settings
        How the model was built, for error messages and files.

    Guarantees
    ----------
    ``rhs`` is minus the gradient of ``energy`` where there is one; the mean is conserved (without data term and known
    pixels); constants stay to the last bit; steps up to ``step_limit()`` never raise energy or L2 norm (with known
    pixels: the distance to the steady state, where the flow is linear), steps up to ``max_min_limit()`` never widen the
    range of grey values. Known pixels keep their values to the last bit.

    Examples
    --------
    >>> import torch, whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> u = torch.linspace(0, 255, 64).reshape(1, 1, 8, 8)
    >>> bool(model.energy(model(u, time=1.0)) < model.energy(u))
    True
    """

    def __init__(
        self,
        operator: Operator,
        activation: Activation,
        *,
        structure: Operator | None = None,
        fidelity: QuadraticFidelity | None = None,
        kept: KnownPixels | None = None,
        name: str = "model",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.operator, self.activation, self.structure, self.fidelity = operator, activation, structure, fidelity
        self.kept = kept
        self.name, self.settings = name, dict(settings or {})
        self._described = Described(operator, activation, structure, fidelity, kept)

    @property
    def description(self) -> Step:
        """The step of the model, as engines take it."""
        return self._described.of(self.operator, self.activation, self.structure, self.fidelity, self.kept)

    def energy(self, u: Image) -> Tensor:
        """The energy of the image, all of the batch together; an error where the model has none."""
        reason = self.no_energy()
        if reason:
            raise ValueError(f"{self.name}: no energy exists: {reason}")
        u = self._held(u)
        energy: Tensor = Energy(self.operator, self.activation)(u)
        return energy if self.fidelity is None else energy + self.fidelity(u)

    def no_energy(self) -> str:
        """Why the model has no energy; empty if it has one."""
        if self.structure is not None:
            return "the nonlinearity looks at a presmoothed image, so the flow is no gradient flow."
        return refusal(self.operator, self.activation)

    def rhs(self, u: Image) -> Image:
        r"""The right hand side :math:`-K^* \Phi(K u)` (minus the gradient of the data term) of the flow."""
        change = -self.description.gradient(self._held(u))
        return change if self.kept is None else self.kept.free(change)

    def step_limit(self, dimension: int | None = None) -> float:
        r"""The L2 limit :math:`2 / (\|K\|^2 g_{\max} + w)` of explicit steps; refused above, unless insisted.

        ``dimension`` is 2 (the default) or 3, for a model that serves images and volumes.
        """
        return l2_limit(self.operator, self.activation, self._weight(), dimension)

    def max_min_limit(self, dimension: int | None = None) -> float | None:
        """The limit below which the range of grey values never grows, or None where no such limit is known."""
        return max_min_limit(self.operator, self.activation, self._weight(), dimension)

    def automatic_step(self, dimension: int | None = None) -> float:
        """The largest step taken when none is given."""
        return automatic_step(self.operator, self.activation, self._weight(), dimension)

    def step(
        self,
        u: Image,
        tau: float | None = None,
        *,
        insist: bool = False,
        engine: str = "auto",
        out: Image | None = None,
    ) -> Image:
        """One explicit step; the automatic one by default.

        ``out`` receives the result: a contiguous tensor like ``u`` that shares no memory with it. A loop that uses two
        tensors in turn needs no fresh memory, which costs time where images are large. Not while learning.

        A single step does not look for NaN and infinity, which a whole flow refuses; they spread to the pixels around.
        """
        u = self._checked(u)
        space = u.dim() - 2
        tau = self.automatic_step(space) if tau is None else validation.number(tau, "tau", self.name, 0.0)
        check_step(tau, self.step_limit(space), self.name, insist=insist)
        out = None if out is None else validation.receiver(out, u, self.name)
        return engines.advance(self.description, u, [Numbers(tau)], engine, out=out)

    def advance(self, u: Image, taus: Sequence[float], engine: str = "auto") -> Image:
        """The image after steps of these sizes, which the caller has checked."""
        return engines.advance(self.description, u, [Numbers(tau) for tau in taus], engine)

    def forward(
        self,
        u: Image,
        time: float,
        *,
        tau: float | None = None,
        insist: bool = False,
        engine: str = "auto",
        progress: Progress | None = None,
        scheme: str = "explicit",
        cycles: int | None = None,
    ) -> Image:
        """The image after the given diffusion time, reached in equal steps of at most ``tau``.

        ``scheme`` is ``"explicit"``, or ``"fed"`` or ``"fsi"``, whose number of steps grows only with the root of the
        time; ``cycles`` divides theirs into so many equal parts (more is more accurate), growing ones by default.
        ``engine`` is one of ``whorl.engines.ENGINES``: compiled where possible, or the plain ``"reference"``.
        """
        time = validation.number(time, "time", self.name, 0.0)
        u = self._checked(u)
        space = u.dim() - 2
        tau = None if tau is None else validation.number(tau, "tau", self.name, 0.0, open_low=True)
        largest = self.automatic_step(space) if tau is None else tau
        check_step(min(largest, time), self.step_limit(space), self.name, insist=insist)
        u = u.contiguous()
        if not engines.transformed(u):
            validation.squarable(u, self.operator.squared_norm_bound(space), self.name)
        if scheme not in SCHEMES:
            raise ValueError(f"{self.name}: scheme {scheme!r} is unknown. Known: {', '.join(SCHEMES)}.")
        if scheme != "explicit":
            limit = self.step_limit(space) if tau is None else min(tau, self.step_limit(space))
            plan = growing_cycles(time, limit) if cycles is None else equal_cycles(time, limit, cycles)
            passes = _cycle_passes(plan, scheme, together=progress is None)
        elif cycles is not None:
            raise ValueError(f"{self.name}: cycles = {cycles} has no meaning for explicit steps. Use scheme='fsi'.")
        else:
            # Compiled engines take several steps in one pass over the image, but cannot look back at those in between.
            steps = equal_steps(time, largest)
            stride = max(1, len(steps)) if progress is None else 8
            passes = [(steps[first : first + stride], []) for first in range(0, len(steps), stride)]
        done, total = 0, sum(len(taus) for taus, _ in passes)
        for taus, mixes in passes:
            numbers = [Numbers(size) for size in taus]
            u = engines.advance(self.description, u, numbers, engine, mixes=mixes, frozen=scheme == "fed")
            counts = range(done + 1, done + len(taus) + 1)
            for done in counts if scheme == "explicit" else counts[-1:]:
                if progress is not None:
                    progress(done, total)
        return u if passes else u.clone()

    if TYPE_CHECKING:  # torch leaves the type of a call open, and an alias of ``forward`` would stay so for pyright

        def __call__(
            self, u: Image, time: float, *, tau: float | None = None, insist: bool = False, engine: str = "auto",
            progress: Progress | None = None, scheme: str = "explicit", cycles: int | None = None,
        ) -> Image: ...  # fmt: skip

    def with_data(self, data: Image, weight: float | Tensor) -> "Model":
        r"""The same model with the data term :math:`\frac12 \sum w (u - f)^2`, which keeps the flow near ``data``.

        ``weight`` is one number, or a tensor with one for each pixel.
        """
        return self._with(QuadraticFidelity(data, weight), self.kept)

    def inpaint(self, image: Image, mask: Tensor) -> "Model":
        """The same model on the pixels under the mask alone; the others keep the values of ``image``.

        ``mask`` is True where to fill, and broadcasts to the image; what stands there in ``image`` has no effect. The
        step limits stay as they are. :func:`whorl.inpainting.fill` takes the flow to its steady state.

        >>> from whorl.models import build
        >>> image, mask = torch.tensor([[[[0.0, 9.0, 4.0]] * 3]]), torch.tensor([[False, True, False]] * 3)
        >>> build("perona-malik", diffusivity="homogeneous").inpaint(image, mask)(image, time=50.0)[0, 0, 1]
        tensor([0., 2., 4.])
        """
        if mask.dtype != torch.bool:
            raise ValueError(f"{self.name}: the mask must be of type bool, True where to fill, got {mask.dtype}.")
        return self._with(self.fidelity, KnownPixels(image, ~mask))

    @property
    def reach(self) -> int:
        """How many pixels around a pixel one step looks at, on either side; the exact halo of a tile."""
        seen = self.operator.reach if self.structure is None else max(self.operator.reach, self.structure.reach)
        return (self.operator.reach + seen) // 2 + self.activation.radius

    def extra_repr(self) -> str:
        return f"name={self.name!r}"

    def _with(self, fidelity: QuadraticFidelity | None, kept: KnownPixels | None) -> "Model":
        return Model(
            self.operator,
            self.activation,
            structure=self.structure,
            fidelity=fidelity,
            kept=kept,
            name=self.name,
            settings=self.settings,
        )

    def _weight(self) -> float:
        return 0.0 if self.fidelity is None else self.fidelity.weight

    def _held(self, u: Image) -> Image:
        """The image, with the known values put in."""
        u = self._checked(u)
        return u if self.kept is None else self.kept(u)

    def _checked(self, u: Image) -> Image:
        u = validation.image(u, self.name, self.operator.dimension)
        own = next((t.device for t in chain(self.buffers(), self.parameters())), u.device)
        if own != u.device:
            raise ValueError(
                f"{self.name}: the model is on {own}, the image on {u.device}. Move one, for example with "
                f"model.to({str(u.device)!r})."
            )
        return u


def _cycle_passes(plan: Cycles, scheme: str, together: bool) -> list[tuple[list[float], list[float]]]:
    """Sizes and weights of the steps that go through in one pass over the image."""
    if scheme == "fed":
        # The diffusion tensor stays that of the cycle's start, since only then do the large steps undo each other's
        # growth: one pass for each cycle.
        return [(fed_steps(length, plan.tau), []) for length in plan.lengths]
    some = [plan.lengths] if together else [(length,) for length in plan.lengths]
    return [fsi_steps(lengths, plan.tau) for lengths in some if lengths]


def count_parameters(model: nn.Module) -> int:
    """How many numbers training may change.

    >>> count_parameters(nn.Linear(2, 1))
    3
    """
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
