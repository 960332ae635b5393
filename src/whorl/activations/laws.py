r"""Laws: how a structure tensor :math:`J` becomes a diffusion tensor :math:`D`.

Every filter here is structure → law → flux: the structure tensor of the (smoothed) image, a law that gives a diffusion
tensor, and the responses multiplied by it. Laws that come from an energy are the three of the table below; the
others are in ``enhancing.py`` and ``given.py``.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor, nn

from whorl.activations.tensors import Structure, SymmetricMatrix, matrix_diffusivity, upper
from whorl.diffusivities import Diffusivity

Multiplier = Tensor | SymmetricMatrix
"""A diffusion tensor: one number per position (size 1 along axis 3), one per direction (along axis 3), or a matrix."""


class Law(ABC):
    """Base of all laws.

    ``name`` says to engines which law it is. A law with a diffusivity shows it as ``diffusivity``; a law with trained
    numbers of its own is a module, too.

    >>> import whorl
    >>> whorl.models.build("eed", contrast=5.0).activation.law.name
    'edge-enhancing'
    """

    name: str
    diffusivity: Diffusivity | None = None

    smoothed: bool = False
    """Whether the law is for smoothed structure tensors: compiled loops then look at neighbours in any case."""

    formula: bool = False
    """Whether the name says everything about the law but its numbers."""

    def __init_subclass__(cls) -> None:
        if {"tensor", "rises"} & vars(cls).keys() and "name" not in vars(cls):  # another law under a name it inherits
            cls.formula = vars(cls).get("formula", False)

    @abstractmethod
    def tensor(self, J: Structure) -> Multiplier:
        """The diffusion tensor of a structure tensor."""

    @abstractmethod
    def maximum(self) -> float:
        """A bound on the eigenvalues of the diffusion tensor; the step limits rest on it. None is negative."""

    @property
    def inner(self) -> "Law":
        """The law that is applied: itself, unless it applies another one to a part of the structure."""
        return self

    @property
    def contrast(self) -> Tensor:
        """The contrast in the units of the image; 1 for a law that has none."""
        return torch.tensor(1.0, dtype=torch.float64) if self.diffusivity is None else self.diffusivity.contrast

    def psi(self, J: Structure) -> Tensor:
        """The regulariser, whose derivative with respect to ``J`` is the diffusion tensor."""
        raise ValueError(f"{type(self).__name__}: no energy exists: {self.no_energy()}")

    def no_energy(self) -> str:
        """Why the law is not the derivative of a regulariser; empty if it is."""
        return f"the law {self.name!r} is not the derivative of a regulariser."

    def of(self, diffusivity: Diffusivity) -> "Law":
        """A law like this one, with another diffusivity."""
        twin = copy.copy(self)
        twin.diffusivity = diffusivity
        return twin

    def matrix(self, J: Structure) -> SymmetricMatrix:
        """The diffusion tensor as a matrix, whatever form it has."""
        D, J = self.tensor(J), J.matrix()
        if isinstance(D, SymmetricMatrix):
            return D
        diagonal = D.split(1, dim=3) * (J.dimensions if D.shape[3] == 1 else 1)
        return SymmetricMatrix(*(diagonal[i] if i == j else 0 * diagonal[i] for i, j in upper(J.dimensions)))


# It matters where the trace stands: Psi(tr J) makes diffusion isotropic, tr Psi(J) makes it anisotropic.
REGULARISERS: dict[str, Callable[[Callable[[Tensor], Tensor], Structure], Tensor]] = {
    "isotropic": lambda psi, J: psi(J.trace()),
    "anisotropic": lambda psi, J: J.trace(psi),
    "uncoupled": lambda psi, J: psi(J.diagonal()).sum(3, keepdim=True),
}

# Their derivatives with respect to J: g(tr J) I, g(J), and the diagonal matrix of g(J_ii).
TENSORS: dict[str, Callable[[Diffusivity, Structure], Multiplier]] = {
    "isotropic": lambda g, J: g(J.trace()),
    "anisotropic": lambda g, J: matrix_diffusivity(g, J.matrix()),
    "uncoupled": lambda g, J: g(J.diagonal()),
}


class Variational(Law):
    r"""A law that is the derivative of a regulariser.

    .. math:: \Psi(\operatorname{tr} J) \to g(\operatorname{tr} J)\, I, \qquad
              \operatorname{tr} \Psi(J) \to g(J), \qquad
              \textstyle\sum_i \Psi(J_{ii}) \to \operatorname{diag} g(J_{ii})

    Parameters
    ----------
    name : str
        ``"isotropic"``, ``"anisotropic"`` or ``"uncoupled"``.
    diffusivity : Diffusivity
        The function :math:`g = \Psi'`.

    Examples
    --------
    >>> from whorl.diffusivities import Rational
    >>> J = SymmetricMatrix(*torch.tensor([3.0, 0.0, 1.0]).view(3, 1, 1, 1, 1, 1, 1))
    >>> [entry.item() for entry in Variational("anisotropic", Rational(1.0)).tensor(J)]
    [0.25, -0.0, 0.5]
    """

    formula = True

    def __init__(self, name: str, diffusivity: Diffusivity) -> None:
        if name not in TENSORS:
            raise ValueError(f"Variational: name must be one of {', '.join(TENSORS)}, got {name!r}.")
        self.name, self.diffusivity = name, diffusivity

    def tensor(self, J: Structure) -> Multiplier:
        return TENSORS[self.name](self._g, J)

    def psi(self, J: Structure) -> Tensor:
        return REGULARISERS[self.name](self._g.psi, J)

    def maximum(self) -> float:
        return self._g.maximum()

    def no_energy(self) -> str:
        return ""

    @property
    def _g(self) -> Diffusivity:
        assert self.diffusivity is not None
        return self.diffusivity


class AxisAligned(nn.Module, Law):
    """Another law, applied to the diagonal of the structure tensor alone: the same model without coupled directions.

    >>> from whorl.diffusivities import Rational
    >>> J = SymmetricMatrix(*torch.tensor([3.0, 1.0, 1.0]).view(3, 1, 1, 1, 1, 1, 1))
    >>> [entry.item() for entry in AxisAligned(Variational("anisotropic", Rational(1.0))).tensor(J)]
    [0.25, -0.0, 0.5]
    """

    name = "axis-aligned"

    def __init__(self, law: Law) -> None:
        super().__init__()
        self.law = law

    @property
    def inner(self) -> Law:
        return self.law

    def tensor(self, J: Structure) -> Multiplier:
        A = J.matrix()
        places = upper(A.dimensions)
        return self.law.tensor(SymmetricMatrix(*(e if i == j else 0 * e for (i, j), e in zip(places, A, strict=True))))

    def maximum(self) -> float:
        return self.law.maximum()
