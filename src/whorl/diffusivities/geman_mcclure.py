"""The diffusivity of Geman and McClure."""

from torch import Tensor

from whorl.diffusivities.base import Diffusivity


class GemanMcClure(Diffusivity):
    r"""The diffusivity of Geman and McClure (1985), which falls faster than the rational one.

    .. math:: g(s^2) = \frac{1}{(1 + s^2/\lambda^2)^2}, \qquad \Psi(s^2) = \frac{s^2}{1 + s^2/\lambda^2}

    >>> import torch
    >>> GemanMcClure(2.0)(torch.tensor(4.0))
    tensor(0.2500)
    """

    name = "geman-mcclure"

    def forward(self, s2: Tensor) -> Tensor:
        return self._share(s2) ** 2

    def psi(self, s2: Tensor) -> Tensor:
        return s2 * self._share(s2)

    def slope(self, s2: Tensor) -> Tensor:
        return -2 * self._share(s2) ** 3 / self._contrast_squared(s2)

    def _share(self, s2: Tensor) -> Tensor:
        return 1 / (1 + s2 / self._contrast_squared(s2))
