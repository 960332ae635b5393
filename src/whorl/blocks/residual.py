"""The literal residual blocks of the paper, made of plain convolutions."""

import torch
from torch import Tensor, nn

from whorl.activations import Activation
from whorl.operators import Operator, fold, mirror
from whorl.operators.cells import border_weights


def literal_stencils(operator: Operator, radius: int | None = None) -> Tensor:
    """The stencils of an operator as convolution weights ``(s, k, size, size)``, read off its impulse response.

    >>> from whorl.operators import Laplacian
    >>> (6 * literal_stencils(Laplacian(), 1)[0, 0]).round()
    tensor([[  1.,   4.,   1.],
            [  4., -20.,   4.],
            [  1.,   4.,   1.]], dtype=torch.float64)
    """
    cells = _on_cells(operator)
    radius = (operator.reach + cells) // 2 if radius is None else radius
    centre = radius + operator.reach
    impulse = torch.zeros(1, 1, 2 * centre + 1, 2 * centre + 1, dtype=torch.float64)
    impulse[..., centre, centre] = 1
    with torch.no_grad():
        response = operator(impulse)[0, 0]
    size = 2 * radius + 1 - cells
    # A convolution layer correlates, so the impulse response is its kernel turned upside down.
    last = centre + radius
    window = slice(last - size + 1, last + 1)
    return response[..., window, window].flip(-1, -2).contiguous()


class MirrorPad(nn.Module):
    """Reflecting padding by any radius.

    >>> import torch
    >>> MirrorPad(1)(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(self, radius: int) -> None:
        super().__init__()
        self.radius = radius

    def forward(self, u: Tensor) -> Tensor:
        return mirror(u, self.radius)


class MirrorFold(nn.Module):
    """The transpose of :class:`MirrorPad`.

    >>> import torch
    >>> MirrorFold(1)(torch.ones(1, 1, 4, 4))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """

    def __init__(self, radius: int) -> None:
        super().__init__()
        self.radius = radius

    def forward(self, v: Tensor) -> Tensor:
        return fold(v, self.radius)


class _BorderWeights(nn.Module):
    """Cells on the border count half."""

    def forward(self, v: Tensor) -> Tensor:
        return v * border_weights(v)


class _ScaledActivation(nn.Module):
    r""":math:`\tau\Phi` on a list of feature maps, one per path; all paths are coupled."""

    def __init__(self, activation: Activation, tau: float, channels: int, flux: int, structure: int) -> None:
        super().__init__()
        self.activation, self.tau = activation, tau
        self.channels, self.flux, self.structure = channels, flux, structure

    def forward(self, paths: list[Tensor]) -> list[Tensor]:
        n, _, y, x = paths[0].shape
        split = [path.reshape(n, self.channels, -1, y, x) for path in paths]
        v = torch.stack([path[:, :, : self.flux] for path in split], dim=2)
        seen = None
        if self.structure:
            seen = torch.stack([path[:, :, self.flux :] for path in split], dim=2)
        flux = self.tau * self.activation(v, seen)
        return [part.reshape(n, -1, y, x) for part in flux.unbind(2)]


class ResNeXtBlock(nn.Module):
    r"""Equation (37): :math:`\varphi_2\big(f + \sum_\ell W_{2,\ell}\, \varphi_\ell(W_{1,\ell} f + b_{1,\ell}) +
    b_{2,\ell}\big)`.

    ``W1[l]`` pads and convolves, ``W2[l]`` is its transpose with the opposite sign; the biases are zero. Parameters are
    float64, as the block they were read from; ``block.float()`` makes them float32.

    >>> import torch, whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> u = torch.rand(1, 1, 8, 8, dtype=torch.float64)
    >>> block = whorl.blocks.ResNeXtBlock(model.operator, model.activation, 0.2, 1, None)
    >>> torch.allclose(block(u), model.step(u, 0.2))
    True
    """

    def __init__(
        self, operator: Operator, activation: Activation, tau: float, channels: int, structure: Operator | None
    ) -> None:
        super().__init__()
        if channels < 1:
            raise ValueError(f"ResNeXtBlock: channels must be at least 1, got {channels}.")
        cells = _on_cells(operator)
        reach = max(operator.reach, structure.reach if structure else 0)
        radius = (reach + cells) // 2
        stencils = literal_stencils(operator, radius)
        weights = operator.scale_weights(stencils).flatten()
        seen = literal_stencils(structure, radius) if structure else stencils[:, :0]
        flux, size = stencils.shape[1], stencils.shape[-1]
        self.W1, self.W2 = nn.ModuleList(), nn.ModuleList()
        for stencil, extra, weight in zip(stencils, seen.expand(len(stencils), -1, -1, -1), weights, strict=True):
            inner = nn.Conv2d(channels, channels * (flux + len(extra)), size, groups=channels).double()
            outer = nn.ConvTranspose2d(channels * flux, channels, size, groups=channels, bias=False).double()
            with torch.no_grad():
                inner.weight.copy_(torch.cat([stencil, extra]).repeat(channels, 1, 1)[:, None])
                assert inner.bias is not None
                inner.bias.zero_()
                outer.weight.copy_(-weight * stencil.repeat(channels, 1, 1)[:, None])
            self.W1.append(nn.Sequential(MirrorPad(radius), inner))
            steps = [_BorderWeights()] if cells else []
            self.W2.append(nn.Sequential(*steps, outer, MirrorFold(radius)))
        self.b2 = nn.Parameter(torch.zeros(len(stencils), channels, 1, 1, dtype=torch.float64))
        self.phi1 = _ScaledActivation(activation, tau, channels, flux, seen.shape[1])
        self.phi2 = nn.Identity()

    def forward(self, f: Tensor) -> Tensor:
        """The block's output image."""
        paths = self.phi1([W1(f) for W1 in self.W1])
        total = f
        for W2, path, b2 in zip(self.W2, paths, self.b2, strict=True):
            total = total + W2(path) + b2
        result: Tensor = self.phi2(total)
        return result


class ResNetBlock(ResNeXtBlock):
    r"""Equation (5), the case of a single path: :math:`\varphi_2(f + W_2\, \varphi_1(W_1 f + b_1) + b_2)`.

    >>> import torch, whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> u = torch.rand(1, 1, 8, 8, dtype=torch.float64)
    >>> block = whorl.blocks.ResNetBlock(model.operator, model.activation, 0.2, 1, None)
    >>> torch.allclose(block(u), model.step(u, 0.2))
    True
    """

    def __init__(
        self, operator: Operator, activation: Activation, tau: float, channels: int, structure: Operator | None
    ) -> None:
        super().__init__(operator, activation, tau, channels, structure)
        if len(self.W1) > 1:
            raise ValueError(
                f"ResNetBlock: this block has {len(self.W1)} scales, a ResNet block one path. Use to_resnext()."
            )


def _on_cells(operator: Operator) -> int:
    """1 for operators that respond on the cells between pixels, 0 for those on pixels."""
    probe = torch.zeros(1, 1, 1, 1, dtype=torch.float64)
    with torch.no_grad():
        return int(operator(probe).shape[-1]) - 1
