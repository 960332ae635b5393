r"""Step-size limits: how far one explicit step may go.

L2 limit. The step :math:`I - \tau (K^* D K + w)` with a symmetric multiplier :math:`0 \le D \le g_{\max}` has
eigenvalues in [-1, 1] iff :math:`\tau \le 2 / (\|K\|^2 g_{\max} + w)`. Then the L2 norm never grows and, for
decreasing :math:`g`, neither does the energy.

Max-min limit. Where all weights of the stencil :math:`-K^* D K` off its centre are non-negative, the step is a weighted
mean as long as :math:`\tau` times the sum of the weights is at most 1. Then the range of grey values never grows.
"""

from whorl.activations import Activation, Isotropic, Uncoupled
from whorl.operators import CellGradient, Operator

SAFETY = 0.8
"""The automatic step stays at this share of the L2 limit, at which stripes of the highest frequency hardly decay."""


def l2_limit(
    operator: Operator, activation: Activation, fidelity_weight: float = 0.0, dimension: int | None = None
) -> float:
    r"""The largest step :math:`2 / (\|K\|^2 g_{\max} + w)` that never raises the L2 norm.

    ``dimension`` is 2 (the default) or 3 where the operator serves both.

    >>> from whorl.diffusivities import Exponential
    >>> l2_limit(CellGradient(0.41), Isotropic(Exponential(1.0)))
    0.5
    """
    return 2 / (operator.squared_norm_bound(dimension) * activation.law.maximum() + fidelity_weight)


def max_min_limit(
    operator: Operator, activation: Activation, fidelity_weight: float = 0.0, dimension: int | None = None
) -> float | None:
    r"""The largest step that never widens the range of grey values, or None where no such step is known.

    For isotropic coupling on cells in :math:`d` dimensions a pixel has the weight

    .. math:: 2^{1-d}\, \alpha^{|B|-1} (1-\alpha)^{d-1-|B|} \Big((1-\alpha) \sum_{i \in B} h_i^{-2} -
              \alpha \sum_{i \notin B} h_i^{-2}\Big)\, g

    for its neighbour along the directions :math:`B`, in each cell they share. None is negative iff
    :math:`\alpha \sum_i h_i^{-2} \le \min_i h_i^{-2}`, so up to 1/2 for square pixels and 1/3 for cubic voxels, and all
    of them sum to at most :math:`2 (1-\alpha)^{d-1} \sum_i h_i^{-2}\, g_{\max}`: :math:`\tau \le 1/(4(1-\alpha))` for
    unit pixels, :math:`1/(6(1-\alpha)^2)` for unit voxels. Uncoupled activations have a non-negative stencil for
    :math:`\alpha = 0` only; diffusion tensors, fourth order and coupled scales have none.

    >>> from whorl.diffusivities import Exponential
    >>> round(max_min_limit(CellGradient(0.41), Isotropic(Exponential(1.0))), 4)
    0.4237
    """
    if not isinstance(operator, CellGradient) or operator.cell == "wide":  # wide cells have negative weights
        return None
    dimension, alpha = operator.settle(dimension), operator.alpha
    squares = [h**-2 for h in reversed(operator.spacing.along(dimension))]
    isotropic = isinstance(activation, Isotropic) and alpha * sum(squares) <= min(squares)
    if isotropic or (isinstance(activation, Uncoupled) and alpha == 0):
        centre = 2 * (1 - alpha) ** (dimension - 1) * sum(squares)
        return 1 / (centre * activation.law.maximum() + fidelity_weight)
    return None


def automatic_step(
    operator: Operator, activation: Activation, fidelity_weight: float = 0.0, dimension: int | None = None
) -> float:
    """The step chosen when the user gives none: the max-min limit or 0.8 of the L2 limit, whichever is smaller.

    >>> import whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> automatic_step(model.operator, model.activation) <= model.step_limit()
    True
    """
    safe = SAFETY * l2_limit(operator, activation, fidelity_weight, dimension)
    gentle = max_min_limit(operator, activation, fidelity_weight, dimension)
    return safe if gentle is None else min(gentle, safe)
