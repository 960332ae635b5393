"""Plain networks for comparison: no invariance is built in, everything else is the same."""

import torch
from torch import Tensor, nn

__all__ = ["Plain", "plain_network"]


class Plain(nn.Module):
    """A chain of 3x3 convolutions: residual blocks with shared weights, or DnCNN without batch normalisation."""

    def __init__(self, kind: str, width: int, blocks: int, repetitions: int) -> None:
        super().__init__()
        self.kind, self.repetitions, self.low_precision = kind, repetitions, False
        self.first = nn.Conv2d(1, width, 3)
        each = 2 if kind == "resnet" else 1
        self.middle = nn.ModuleList(nn.Conv2d(width, width, 3) for _ in range(each * blocks))
        self.last = nn.Conv2d(width, 1, 3)
        with torch.no_grad():
            for layer in [*self.middle[1::2], self.last] if kind == "resnet" else [self.last]:
                layer.weight.mul_(0.1)

    def forward(self, picture: Tensor, noise: object = None) -> Tensor:
        """The denoised picture."""
        f = picture / 255 - 0.5
        u = self._layer(self.first, f)
        if self.kind == "resnet":
            for number in range(0, len(self.middle), 2):
                for _ in range(self.repetitions):
                    u = u + self._layer(self.middle[number + 1], self._layer(self.middle[number], u).relu())
        else:
            u = u.relu()
            for layer in self.middle:
                u = self._layer(layer, u).relu()
        return 255 * (f - self._layer(self.last, u) + 0.5)

    def _layer(self, layer: nn.Module, u: Tensor) -> Tensor:
        extended = nn.functional.pad(u, (1, 1, 1, 1), mode="replicate")  # for radius 1 this is the mirror
        if not self.low_precision:
            return layer(extended)
        return nn.functional.conv2d(extended.bfloat16(), layer.weight.bfloat16(), layer.bias.bfloat16()).float()


def plain_network(name: str) -> Plain:
    """``resnet``: 2 blocks x 6, about 27k parameters; ``dncnn``: 3x3 layers with about 27k parameters."""
    return Plain("resnet", 27, 2, 6) if name == "resnet" else Plain("dncnn", 18, 9, 1)
