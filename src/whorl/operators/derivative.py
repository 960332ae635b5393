"""What an operator is made of, in plain numbers: a derivative after Gaussians, on one scale or several."""

from dataclasses import dataclass, replace

Taps = tuple[float, ...]
"""The weights :math:`w_0, \\dots, w_R` of a Gaussian along one axis."""


@dataclass(frozen=True)
class Derivative:
    r"""The operator :math:`u \mapsto (K G_\ell u)_\ell` in as many dimensions as the spacing has numbers.

    ``name`` says which derivative :math:`K` is: the gradient on ``"cells"`` and ``"directional"`` ones are of first
    order, the ``"laplacian"`` and the ``"hessian"`` of second. ``alpha`` belongs to the stencils, and ``cell`` names
    the filters of a gradient: ``"compact"`` ones look at 2 pixels along each axis; others have a name of their own.
    ``taps`` holds the Gaussians along each axis, in the order of the axes, for every scale, and ``omega`` the weights
    of the scales in the inner product.

    >>> Derivative("cells", (1.0, 1.0)).plain, Derivative("laplacian", (1.0, 1.0)).order
    (True, 2)
    """

    name: str
    spacing: tuple[float, ...]
    alpha: float = 0.0
    cell: str = "compact"
    directions: int = 0
    taps: tuple[tuple[Taps, ...], ...] = ()
    omega: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if not self.taps:
            object.__setattr__(self, "taps", (((1.0,),) * len(self.spacing),))

    @property
    def order(self) -> int:
        """The order of the derivative; a step has twice that order."""
        return 2 if self.name in ("laplacian", "hessian") else 1

    @property
    def single_scale(self) -> bool:
        """Whether there is one scale."""
        return len(self.taps) == 1

    @property
    def plain(self) -> bool:
        """Whether there is one scale, and no Gaussian."""
        return self.single_scale and all(len(along) == 1 for along in self.taps[0])

    def on_scales(self, *taps: tuple[Taps, ...], omega: tuple[float, ...] = (1.0,)) -> "Derivative | None":
        """The derivative after these Gaussians; None where it comes after Gaussians already."""
        return replace(self, taps=taps, omega=omega) if self.plain and self.omega == (1.0,) else None
