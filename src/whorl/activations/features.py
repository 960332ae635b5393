"""Coupled activations for the feature maps of any network."""

from torch import Tensor, nn

from whorl.activations.base import Activation
from whorl.errors import ShapeError

__all__ = ["FeatureActivation"]


class FeatureActivation(nn.Module):
    r"""An activation on plain feature maps ``(n, features, y, x)``, to stand where a ReLU stands.

    Features are read as image channels x scales x operator channels, the last running fastest. With
    ``operator_channels=2`` consecutive pairs of features are the components of vectors, and the activation acts on them
    without breaking rotation invariance.

    Examples
    --------
    >>> import torch
    >>> from whorl.activations import Isotropic
    >>> from whorl.diffusivities import Exponential
    >>> act = FeatureActivation(Isotropic(Exponential(1.0, trainable=True)), operator_channels=2)
    >>> nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), act)(torch.randn(1, 3, 8, 8)).shape
    torch.Size([1, 16, 8, 8])
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
