"""Activations that multiply by scalars: the uncoupled counter-example and isotropic coupling."""

from abc import abstractmethod
from collections.abc import Iterable

from whorl.activations.base import Activation
from whorl.activations.laws import Variational
from whorl.diffusivities import Diffusivity

__all__ = ["Isotropic", "Uncoupled"]


class Scalar(Activation):
    """Base of both."""

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
