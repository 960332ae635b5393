r"""Coupled activations :math:`\Phi`: structure, law, flux.

Responses ``(n, c, s, k, y, x)`` have three kinds of channels: image channels ``c``, scales ``s`` and operator channels
``k``. At each position an activation (1) condenses the responses into their structure tensor, summing over the axes it
couples, (2) lets a law make a diffusion tensor of it and (3) multiplies the responses by the result.
"""

from abc import ABC
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor

from whorl.activations.laws import Law
from whorl.activations.structure import ResponseStructure, by_axis
from whorl.activations.tensors import SymmetricMatrix
from whorl.diffusivities import Diffusivity
from whorl.diffusivities.base import SPATIAL
from whorl.foundations.graphs import OneNode
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Responses
from whorl.operators.cell_smoothing import CellSmoothing

COUPLINGS = ("channels", "scales")


class Activation(OneNode, ABC):
    r"""Base of all activations, :math:`\Phi(v; w) = D\, v` with :math:`D` the law's tensor for the structure of w.

    Parameters
    ----------
    law : Law
        What makes a diffusion tensor of a structure tensor.
    couple : iterable of "channels", "scales"
        What is summed up besides the operator channels: image channels (Design Principle 2), scales (Design
        Principle 3), both, or neither (Design Principle 1).
    axes : int
        How many directions the operator channels belong to; channel ``k`` belongs to direction ``k % axes``. The two
        directions of a plane stand for three where the responses are those of a volume.
    scale_weights : sequence of float, optional
        The weights :math:`\omega_\ell` of the scales inside the sum, as in the paper's energies. Without them every
        scale counts alike, as in the paper's printed flux.
    smoothing : CellSmoothing, optional
        Smooths the structure tensor entry by entry (the scale rho).
    gamma : float
        How far details follow the off-diagonal entry of a diffusion tensor in the plane.

    Examples
    --------
    >>> import torch, whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> isinstance(model.activation, whorl.activations.Activation), model.activation.has_energy
    (True, True)
    """

    diffusivity: Diffusivity
    """The law's diffusivity; an activation whose law has none has no such attribute."""

    if TYPE_CHECKING:  # torch leaves the type of a call open

        def __call__(self, v: Tensor, structure: Tensor | None = None) -> Tensor: ...

    scale_weights: Tensor | None

    def __init__(
        self,
        law: Law,
        couple: Iterable[str] = (),
        *,
        axes: int = 2,
        scale_weights: Iterable[float] | None = None,
        smoothing: CellSmoothing | None = None,
        gamma: float = 0.0,
    ) -> None:
        super().__init__()
        self.law = law
        if law.diffusivity is not None:
            law.diffusivity.check()
            self.diffusivity = law.diffusivity
        self.couple = tuple(couple)
        unknown = [name for name in self.couple if name not in COUPLINGS]
        if unknown:
            raise ValueError(f"{type(self).__name__}: couple takes {' and '.join(COUPLINGS)}, got {unknown[0]!r}.")
        if axes < 1:
            raise ValueError(f"{type(self).__name__}: axes must be at least 1, got {axes}.")
        self.axes, self.smoothing, self.gamma = axes, smoothing, gamma
        weights = None if scale_weights is None else torch.tensor(list(scale_weights), dtype=torch.float64)
        self.register_buffer("scale_weights", weights)

    def forward(self, v: Responses, structure: Responses | None = None) -> Responses:
        """The flux: responses ``v`` multiplied by the diffusion tensor of ``structure`` (of ``v`` itself)."""
        if (node := self.as_node(v, structure)) is not None:
            return cast(Tensor, node)
        D = self.law.tensor(self.structure(v if structure is None else structure))
        if isinstance(D, SymmetricMatrix):
            return _matrix_times(D, v, self.gamma)
        return D * v if D.shape[3] == 1 else (by_axis(v, self.directions(v)) * D.unsqueeze(3)).reshape(v.shape)

    def density(self, v: Responses) -> Tensor:
        """The regularised quantity, whose derivative is twice the flux; coupled axes have size 1."""
        return self.law.psi(self.structure(v))

    def structure(self, v: Responses) -> ResponseStructure:
        """The structure tensor of responses, summed over what is coupled, and smoothed."""
        return ResponseStructure(v, self.directions(v), self._accumulate, self.smoothing)

    def directions(self, v: Responses) -> int:
        """How many directions the operator channels of these responses belong to."""
        return 3 if self.axes == 2 and v.dim() == SPATIAL else self.axes

    def no_energy(self) -> str:
        """Why the flux is not the gradient of the density; empty if it is."""
        if self.law.no_energy():
            return self.law.no_energy()
        if self.law.diffusivity is not None and {*self.law.diffusivity.varies} & {*self.couple}:
            return "coupled scales or channels with contrasts of their own make no gradient flow. Give one contrast."
        if self.smoothing is not None:
            return "the structure tensor is smoothed (rho > 0), so the flow is no gradient flow."
        if self.gamma:
            return "with gamma > 0 the flux is no gradient (its derivative is not symmetric). Use gamma = 0."
        return ""

    @property
    def inside(self) -> tuple[float, ...] | None:
        """The weights of the scales inside the sum; None where every scale counts alike."""
        weights = self.scale_weights
        return None if weights is None else tuple(weights.tolist())

    @property
    def has_energy(self) -> bool:
        """Whether the flux is the gradient of the density."""
        return not self.no_energy()

    @property
    def radius(self) -> int:
        """How many cells around a cell the flux looks at."""
        return 0 if self.smoothing is None else self.smoothing.radius

    def _accumulate(self, v: Tensor) -> Tensor:
        """Sum over the coupled image channels and scales, keeping the axes."""
        if "scales" in self.couple:
            weights = self.scale_weights
            if weights is not None:
                if len(weights) != v.shape[2]:
                    raise ValueError(
                        f"{type(self).__name__}: {len(weights)} scale weights for {v.shape[2]} scales. "
                        "Give one weight for each scale of the structure."
                    )
                v = v * weights.to(v).view(1, 1, -1, *[1] * (v.dim() - 3))
            v = ordered_sum(v.split(1, dim=2))
        if "channels" in self.couple and v.shape[1] > 1:
            v = ordered_sum(v.split(1, dim=1))
        return v

    def extra_repr(self) -> str:
        return f"law={self.law.name!r}, couple={self.couple}, axes={self.axes}"


def _matrix_times(D: SymmetricMatrix, v: Responses, gamma: float) -> Responses:
    """The vector multiplied by the matrix, and details by the entries of the diagonal.

    With gamma, for which see :class:`Anisotropic`, a detail also follows the off-diagonal entry.
    """
    d = D.dimensions
    if gamma and d == 3:
        raise ValueError(
            f"Anisotropic: gamma = {gamma:g} is for the plane; in space only gamma = 0 is known. Build the model with "
            "gamma=0, or with a spacing of three numbers."
        )
    channels = v.split(1, dim=3)
    p, details = channels[:d], channels[d:]
    flux = [ordered_sum(D.entry(i, j) * p[j] for j in range(d)) for i in range(d)]
    if gamma == 0:
        flux += [D.entry(index % d, index % d) * detail for index, detail in enumerate(details)]
    else:
        across = gamma * D.b.abs()
        for r_x, r_y in zip(details[::2], details[1::2], strict=True):
            flux += [D.a * r_x - across * r_y, D.c * r_y - across * r_x]
    return torch.cat(flux, dim=3)
