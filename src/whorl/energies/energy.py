"""Energies and their gradients in closed form."""

import torch
from torch import Tensor, nn

from whorl.activations import Activation
from whorl.foundations.types import Image
from whorl.operators import Operator


class Energy(nn.Module):
    r"""The regularisation energy of an operator and an activation.

    .. math:: E(u) = \tfrac12 \sum_{\text{cells}} W\, \Psi(K u), \qquad \nabla E(u) = K^* \Phi(K u)

    where :math:`\Psi(K u)` stands for :math:`\Psi(\mathrm{tr}\, J)` with isotropic, :math:`\mathrm{tr}\, \Psi(J)` with
    anisotropic and :math:`\sum_i \Psi(J_{ii})` with uncoupled activation. The paper writes :math:`g = \Psi'` and no
    factor; the factor 1/2 makes its diffusion equations the gradient flow exactly. Only for activations that have an
    energy; ``refusal`` says why others have none.

    Guarantees
    ----------
    The closed-form gradient is the derivative of the value. For a decreasing :math:`g`, :math:`\Psi` is concave in the
    structure tensor, the quadratic energy with frozen diffusivity lies above :math:`E`, and explicit steps up to the L2
    limit never raise it.

    Examples
    --------
    >>> from whorl.activations import Isotropic
    >>> from whorl.diffusivities import Homogeneous
    >>> from whorl.operators import CellGradient
    >>> ramp = torch.arange(4.0).expand(1, 1, 4, 4)
    >>> Energy(CellGradient(), Isotropic(Homogeneous()))(ramp)  # half of 12 cells with slope 1
    tensor(6.)
    """

    def __init__(self, operator: Operator, activation: Activation) -> None:
        super().__init__()
        reason = refusal(operator, activation)
        if reason:
            raise ValueError(f"Energy: {reason}")
        self.operator, self.activation = operator, activation

    def forward(self, u: Image) -> Tensor:
        """The energy of all images of the batch together."""
        responses = self.operator(u)
        density = self.activation.density(responses) * self.operator.cell_weights(responses)
        if "scales" not in self.activation.couple:
            density = density * self.operator.scale_weights(responses)
        return 0.5 * density.sum()

    def gradient(self, u: Image) -> Image:
        """The derivative of the energy with respect to the image."""
        return self.operator.adjoint(self.activation(self.operator(u)))


def refusal(operator: Operator, activation: Activation) -> str:
    """Why this pair has no energy; empty if it has one.

    >>> import whorl
    >>> model = whorl.models.build("uncoupled", contrast=5.0)
    >>> refusal(model.operator, model.activation)
    ''
    >>> model = whorl.models.build("ced", contrast=5.0)
    >>> refusal(model.operator, model.activation) != ''
    True
    """
    if activation.no_energy():
        return activation.no_energy()
    weights = operator.scale_weights(torch.zeros(1, dtype=torch.float64)).flatten()
    inside = activation.inside or (1.0,) * len(weights)
    if "scales" in activation.couple and inside != tuple(weights.tolist()):
        return (
            "the scales count differently inside g and in the adjoint. Give the activation the operator's scale "
            "weights (omega inside g)."
        )
    return ""
