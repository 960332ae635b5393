"""Coupled activations for the feature maps of any network."""

from typing import cast

from torch import Tensor

from whorl.activations.base import Activation
from whorl.errors import ShapeError
from whorl.foundations.graphs import OneNode


class FeatureActivation(OneNode):
    r"""An activation on plain feature maps ``(n, features, y, x)``, to stand where a ReLU stands.

    Features are read as image channels x scales x operator channels, the last running fastest. With
    ``operator_channels=2`` consecutive pairs of features are the components of vectors, and the activation acts on them
    without breaking rotation invariance. That holds only if the pairs *are* vectors: derivatives along x and y of one
    channel, say, but not the outputs of a free convolution, which do not turn with the image.

    Complex features, as in magnetic resonance, go by their absolute values: to multiply them by a phase
    :math:`e^{i\varphi}` before or after the activation is the same.

    Examples
    --------
    Mix channels pixel by pixel, take derivatives, and let the activation couple them: turning the picture by a quarter
    turns the features, and the length of each vector stays.

    >>> import torch
    >>> from torch import nn
    >>> from whorl.activations import Isotropic
    >>> from whorl.diffusivities import Exponential
    >>> from whorl.operators import CellGradient
    >>> mix, K = nn.Conv2d(3, 8, kernel_size=1), CellGradient(0.5)
    >>> act = FeatureActivation(Isotropic(Exponential(1.0, trainable=True)), operator_channels=2)
    >>> def layer(u):
    ...     return act(K(mix(u))[:, :, 0, :2].flatten(1, 2))  # (n, 16, y+1, x+1): eight vectors
    >>> def lengths(features):
    ...     return features.unflatten(1, (8, 2)).norm(dim=2)
    >>> u = torch.randn(1, 3, 8, 8)
    >>> torch.allclose(lengths(layer(u.rot90(1, (2, 3)))), lengths(layer(u)).rot90(1, (2, 3)), atol=1e-6)
    True
    """

    def __init__(self, activation: Activation, operator_channels: int = 2, scales: int = 1) -> None:
        super().__init__()
        if operator_channels < 1 or scales < 1:
            raise ValueError(
                f"FeatureActivation: operator_channels and scales must be positive, got {operator_channels}, {scales}."
            )
        self.activation, self.operator_channels, self.scales = activation, operator_channels, scales

    def forward(self, features: Tensor) -> Tensor:
        """Feature maps of the same shape."""
        if (node := self.as_node(features)) is not None:
            return cast(Tensor, node)
        group = self.operator_channels * self.scales
        if features.dim() != 4 or features.shape[1] % group:
            raise ShapeError(
                f"FeatureActivation: expected (n, features, y, x) with features a multiple of {group}, "
                f"got shape {tuple(features.shape)}."
            )
        n, f, y, x = features.shape
        responses = features.reshape(n, f // group, self.scales, self.operator_channels, y, x)
        flux: Tensor = self.activation(responses)
        return flux.reshape(n, f, y, x)

    def extra_repr(self) -> str:
        return f"operator_channels={self.operator_channels}, scales={self.scales}"
