r"""Coupled activations :math:`\Phi`: one mechanism, in which a coupling is a choice of axes to sum over.

Responses ``(n, c, s, k, y, x)`` have three kinds of channels: image channels ``c``, scales ``s`` and operator channels
``k``. At each position an activation (1) condenses the responses into a rotationally invariant quantity, summing over
the axes it couples, (2) sends it through the diffusivity and (3) multiplies the responses by the result.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from whorl.diffusivities import Diffusivity
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Responses

__all__ = ["COUPLINGS", "Activation"]

COUPLINGS = ("channels", "scales")


class Activation(nn.Module, ABC):
    r"""Base of all activations.

    Parameters
    ----------
    diffusivity : Diffusivity
        The function :math:`g`.
    couple : iterable of "channels", "scales"
        What is summed up besides the operator channels: image channels (Design Principle 2), scales (Design
        Principle 3), both, or neither (Design Principle 1).
    axes : int
        How many directions the operator channels belong to; channel ``k`` belongs to direction ``k % axes``.
    scale_weights : sequence of float, optional
        The weights :math:`\omega_\ell` of the scales inside the sum, as in the paper's energies. Without them every
        scale counts alike, as in the paper's printed flux.
    """

    if TYPE_CHECKING:  # torch leaves the type of a call open

        def __call__(self, v: Tensor, structure: Tensor | None = None) -> Tensor: ...

    def __init__(
        self,
        diffusivity: Diffusivity,
        couple: Iterable[str] = (),
        *,
        axes: int = 2,
        scale_weights: Iterable[float] | None = None,
    ) -> None:
        super().__init__()
        self.diffusivity = diffusivity
        self.couple = tuple(couple)
        unknown = [name for name in self.couple if name not in COUPLINGS]
        if unknown:
            raise ValueError(f"{type(self).__name__}: couple takes {' and '.join(COUPLINGS)}, got {unknown[0]!r}.")
        if axes < 1:
            raise ValueError(f"{type(self).__name__}: axes must be at least 1, got {axes}.")
        self.axes = axes
        weights = None if scale_weights is None else torch.tensor(list(scale_weights), dtype=torch.float64)
        self.register_buffer("scale_weights", weights)

    @abstractmethod
    def forward(self, v: Responses, structure: Responses | None = None) -> Responses:
        """The flux: responses ``v`` multiplied by what the diffusivity makes of ``structure`` (of ``v`` itself)."""

    @abstractmethod
    def density(self, v: Responses) -> Tensor:
        """The regularised quantity, whose derivative is twice the flux; coupled axes have size 1."""

    @property
    def inside(self) -> tuple[float, ...] | None:
        """The weights of the scales inside the sum; None where every scale counts alike."""
        weights = self._buffers["scale_weights"]
        return None if weights is None else tuple(weights.tolist())

    @property
    def has_energy(self) -> bool:
        """Whether the flux is the gradient of the density."""
        return not self.diffusivity.scale_adaptive

    def _accumulate(self, v: Tensor) -> Tensor:
        """Sum over the coupled image channels and scales, keeping the axes."""
        if "scales" in self.couple and v.shape[2] > 1:
            weights = self._buffers["scale_weights"]
            if weights is not None:
                v = v * weights.to(v).view(1, 1, -1, 1, 1, 1)
            v = ordered_sum(v.split(1, dim=2))
        if "channels" in self.couple and v.shape[1] > 1:
            v = ordered_sum(v.split(1, dim=1))
        return v

    def _by_axis(self, v: Responses) -> Tensor:
        """``(n, c, s, parts, axes, y, x)``: operator channels split into parts of each direction."""
        n, c, s, k, y, x = v.shape
        if k % self.axes:
            raise ValueError(f"{type(self).__name__}: {k} operator channels do not divide into {self.axes} directions.")
        return v.reshape(n, c, s, k // self.axes, self.axes, y, x)

    def extra_repr(self) -> str:
        return f"couple={self.couple}, axes={self.axes}"
