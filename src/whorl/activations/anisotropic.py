"""Activations that multiply by scalars, the uncoupled counter-example and isotropic coupling, or by a tensor."""

from abc import abstractmethod
from collections.abc import Iterable

from whorl.activations.base import Activation
from whorl.activations.laws import Law, Variational
from whorl.activations.tensors import SymmetricMatrix
from whorl.diffusivities import Diffusivity
from whorl.foundations import validation
from whorl.foundations.types import Responses, SpacingLike
from whorl.operators.cell_smoothing import CellSmoothing


class Scalar(Activation):
    """Base of the activations that multiply by scalars."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the law that turns the diffusivity into multipliers."""

    def __init__(
        self,
        diffusivity: Diffusivity,
        couple: Iterable[str] = (),
        *,
        axes: int = 2,
        scale_weights: Iterable[float] | None = None,
    ) -> None:
        super().__init__(Variational(self.kind, diffusivity), couple, axes=axes, scale_weights=scale_weights)


class Uncoupled(Scalar):
    r"""Every direction for itself, :math:`\Phi(v)_i = g\big(\sum |v_i|^2\big)\, v_i`: the counter-example.

    The sum runs over the parts of one direction (and over coupled image channels and scales), never over directions.
    The result depends on how the directions lie in the image: rotation invariance is lost.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Uncoupled(Rational(1.0))(torch.tensor([3.0, 1.0]).view(1, 1, 1, 2, 1, 1)).flatten()
    tensor([0.3000, 0.5000])
    """

    kind = "uncoupled"


class Isotropic(Scalar):
    r"""One scalar for all responses, :math:`\Phi(v) = g\big(\sum |v|^2\big)\, v`.

    With ``couple=()`` this is Design Principle 1 (operator channels), with ``"channels"`` Design Principle 2, with
    ``"scales"`` Design Principle 3.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Isotropic(Rational(1.0))(torch.tensor([3.0, 1.0]).view(1, 1, 1, 2, 1, 1)).flatten()
    tensor([0.2727, 0.0909])
    """

    kind = "isotropic"


class Anisotropic(Activation):
    r"""A diffusion tensor for all responses, :math:`\Phi(v) = D\, v`, by default :math:`D = g(\sum v\, v^\top)`.

    Responses come in parts of two directions. The first part is a vector :math:`(p, q)`, further parts are details
    that count towards their own direction:

    .. math:: J = \sum \begin{pmatrix} p^2 + r_x^2 & p q \\ p q & q^2 + r_y^2 \end{pmatrix}, \qquad
              D = \begin{pmatrix} a & b \\ b & c \end{pmatrix}, \qquad
              \Phi = \begin{pmatrix} a p + b q \\ b p + c q \\ a r_x - \gamma |b| r_y \\ c r_y - \gamma |b| r_x
              \end{pmatrix}.

    With one part (a plain gradient) this is the paper's matrix-vector product; with the cell gradient it is the family
    of Weickert, Welk and Wickert. In space there are three directions, and everything is the same with gamma = 0.

    Parameters
    ----------
    law : Diffusivity or Law
        A diffusivity :math:`g` stands for the paper's law :math:`D = g(J)`, in which all eigenvalues go through
        :math:`g`; a law says itself what :math:`D` is.
    gamma : float
        In [0, 1]; how far the detail follows the off-diagonal entry. Above 0 no energy exists.
    rho : float
        Standard deviation of the Gaussian that smooths :math:`J` entry by entry; a length like the spacing. Only for
        responses on cells.
    spacing : float or tuple of float
        Pixel or voxel size, for ``rho``.

    Guarantees
    ----------
    Values and gradients finite and exact on flat images and at equal eigenvalues, in both precisions; the multiplier is
    symmetric with eigenvalues within the range of the law, for any gamma.

    >>> import torch
    >>> from whorl.diffusivities import Rational
    >>> Anisotropic(Rational(1.0))(torch.tensor([3.0, 0.0]).view(1, 1, 1, 2, 1, 1)).flatten()
    tensor([0.3000, 0.0000])
    """

    def __init__(
        self,
        law: Diffusivity | Law,
        couple: Iterable[str] = (),
        *,
        gamma: float = 0.0,
        rho: float = 0.0,
        spacing: SpacingLike = 1.0,
        scale_weights: Iterable[float] | None = None,
    ) -> None:
        gamma = validation.number(gamma, "gamma", "Anisotropic", 0.0, 1.0)
        if not isinstance(law, Diffusivity | Law):
            raise ValueError(
                f"Anisotropic: expected a diffusivity or a law, got {type(law).__name__}. Wrap a function in CustomLaw."
            )
        rho = validation.number(rho, "rho", "Anisotropic", 0.0)
        super().__init__(
            Variational("anisotropic", law) if isinstance(law, Diffusivity) else law,
            couple,
            scale_weights=scale_weights,
            smoothing=CellSmoothing(rho, spacing) if rho else None,
            gamma=gamma,
        )

    def structure_tensor(self, v: Responses) -> SymmetricMatrix:
        """The structure tensor of the responses, summed over what is coupled, and smoothed."""
        return self.structure(v).matrix()

    def extra_repr(self) -> str:
        rho = "" if self.smoothing is None else f", rho={self.smoothing.sigma:g}"
        return f"{super().extra_repr()}, gamma={self.gamma:g}{rho}"
