"""One function for people: data and how they were measured in, a picture out."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl import engines
from whorl.automatic.noise import noise_level
from whorl.energies import EnergyAt
from whorl.energies.learned import LEVELS, OfColours
from whorl.energies.minimise import STEPS, TOLERANCE
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.arrays import check_unmasked, device_of, placed
from whorl.models import Model
from whorl.networks.cards import energy_networks, shared
from whorl.networks.denoiser import value_range
from whorl.networks.energy import EnergyNetwork
from whorl.reconstruction.measurement import Measurement
from whorl.reconstruction.weights import OfModel, Problem, Reconstruction, restored

SINGLE = 1e-5
"""Up to this tolerance gradients of learned energies are computed in single precision."""

DEFAULT = "energy-convex"
"""The energy where none is told: the one of which everything is proved, whatever A is."""


def reconstruct(
    y: Any,
    A: Any,
    *,
    energy: str | Path | EnergyNetwork | Model = DEFAULT,
    noise: float | None = None,
    weight: float | Literal["discrepancy", "stein"] = "discrepancy",
    channel_axis: int | None = None,
    shape: tuple[int, ...] | None = None,
    peak: float | None = None,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    device: str | torch.device | None = None,
) -> Any:
    r"""The picture :math:`u` behind data :math:`y = A u + n`: the minimiser of :math:`\tfrac12|Au-y|^2 + \lambda R(u)`.

    Parameters
    ----------
    y : array
        The data, of NumPy or torch, real or complex.
    A
        How they were measured: a pair of functions (A and its adjoint), which take and give arrays of the kind of ``y``
        and pictures ``(y, x)``, with a ``channel_axis`` where it is told, or ``(n, c, y, x)``; or, on tensors
        ``(n, c, y, x)``, an operator with an ``adjoint`` such as :class:`whorl.reconstruction.Blur`, a Physics of
        deepinv, or any linear function of torch, whose adjoint autograd finds. With random pictures it is checked that
        A is linear and that both belong together.
    energy : str, EnergyNetwork or Model
        A learned energy, by default ``"energy-convex"``; or a model of :func:`whorl.models.build` that has an energy.
        Learned ones take three channels for colours, and otherwise, or guided, each channel for itself.
    noise : float, optional
        Standard deviation of the white noise in the data (of the real part and of the imaginary part each). Measured
        where the data are a picture.
    weight : float, "discrepancy" or "stein"
        How much the energy counts; or by which principle that is found, see
        :func:`whorl.reconstruction.minimiser`.
    channel_axis : int, optional
        Of a picture that is ``(y, x)`` and channels; None for a grey one.
    shape : tuple of int, optional
        The shape ``(n, c, y, x)`` of the picture, where A is a function without adjoint and the data have another.
    peak : float, optional
        How much brighter white is than black, for a learned energy: 255 where the data have 8 bits, and otherwise the
        range of the best multiple of the adjoint of the data.
    tolerance, steps
        The method stops where the gradient is at most ``tolerance`` times that of the data term at 0, or 100 times what
        the adjoint makes of the noise if that is less; or after so many steps, with a warning.
    device : optional
        Where to compute; the result comes back to where the data were.

    Examples
    --------
    >>> from whorl.reconstruction import Blur
    >>> blur = Blur(torch.full((3, 3), 1 / 9), circular=True)
    >>> flat = np.full((16, 16), 100.0) + np.random.default_rng(0).normal(0, 5, (16, 16))
    >>> bool(reconstruct(flat, blur, noise=5.0, weight=1.0, peak=255).std() < 3)
    True
    """
    validation.number(tolerance, "tolerance", "reconstruct", 0.0)
    validation.number(steps, "steps", "reconstruct", 1.0)
    data, lowered = _data(y, A, channel_axis, shape, device)
    target = device_of(device, data.device)
    data = data.to(target)
    if isinstance(weight, str) and weight not in ("discrepancy", "stein"):
        raise ValueError(f"reconstruct: weight = {weight!r}: give a number, 'discrepancy' or 'stein'.")
    if noise is not None or isinstance(weight, str):
        noise = _noise(noise, _lifted(data, channel_axis) if data.dim() == 2 + (channel_axis is not None) else data)
    pair = _pair(A, y, channel_axis) if isinstance(A, tuple | list) else A
    with torch.no_grad():
        measured = Measurement.of(pair, data, shape)
        peak = 255.0 if peak is None and str(y.dtype).endswith("uint8") else peak
        found = minimiser(measured, data, energy, noise, weight, peak, tolerance, steps)
    if not found.reached:
        warnings.warn(
            f"reconstruct: stopped after {found.steps} steps with a gradient of {found.residual:.1e}, {tolerance:.1e} "
            "was asked for. Allow more with steps=, or take a larger tolerance.",
            stacklevel=validation.outside(),
        )
    return lowered(found.u)


def minimiser(
    measured: Measurement,
    data: Tensor,
    energy: str | Path | EnergyNetwork | Model,
    noise: float | None,
    weight: float | str = "discrepancy",
    peak: float | None = None,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
) -> Reconstruction:
    r"""What :func:`reconstruct` does to tensors, with the weight and the gradient that were reached.

    ``"discrepancy"``: what the data differ by has the length of the noise (Morozov). ``"stein"``: an unbiased estimate
    of :math:`|A\hat u - A u|^2` is least, :math:`|A \hat u - y|^2 - m\sigma^2 + 2\sigma^2\, \mathrm{div}_y A\hat u`,
    with the divergence along one direction of signs; the search begins at the weight of the discrepancy.

    >>> y = 100 + 10 * torch.randn(1, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    >>> same = Measurement.of((lambda u: u, lambda v: v), y)
    >>> minimiser(same, y, "energy-convex", 10.0, weight=1.0, peak=255.0).reached
    True
    """
    if isinstance(energy, Model):
        problem = Problem(measured, data, OfModel(placed(energy, data.device)), 1.0, tolerance, steps)
        return restored(problem, noise, weight)
    learned = _network(energy, data.device)
    if peak is None:
        low, high = value_range(measured.start(data), False)
        peak = high - low
    factor = 255 / validation.number(peak, "peak", "reconstruct", 0.0, open_low=True)
    level = LEVELS[0] if noise is None else noise * factor / measured.squared_norm**0.5
    level = min(max(level, LEVELS[0]), LEVELS[-1])

    like = data.real.float() if tolerance >= SINGLE else data.real

    def solved(term: EnergyAt | OfColours) -> Reconstruction:
        problem = Problem(measured, data, engines.energy(term, like), factor, tolerance, steps)
        return restored(problem, noise, weight)

    def plain(network: EnergyNetwork) -> Reconstruction:
        return solved((network.energy.of_colours if measured.shape[1] == 3 else network.energy.at)(level))

    if learned.guide is None:
        return plain(learned)
    # Weights are read off what the convex energy finds; given these, the guided one is convex as well.
    first = factor * plain(_network(DEFAULT, data.device)).u
    return solved(learned.energy.at(level, learned.guide(first.flatten(0, 1)[:, None].float(), LEVELS[0])))


def _network(energy: Any, device: torch.device) -> EnergyNetwork:
    """The energy that was told, with its guide."""
    network = shared(energy) if isinstance(energy, str | Path) else energy
    if not isinstance(network, EnergyNetwork):
        raise ValueError(
            f"reconstruct: energy is a {type(network).__name__}. Give one of {', '.join(energy_networks())}, an "
            "EnergyNetwork, or a model of whorl.models.build that has an energy."
        )
    return placed(network, device).eval()


def _data(
    y: Any, A: Any, channel_axis: int | None, shape: tuple[int, ...] | None, device: Any
) -> tuple[Tensor, Callable[[Tensor], Any]]:
    """The data as a tensor, and the function that gives a picture the axes and the library of the data."""
    if not isinstance(y, np.ndarray | Tensor):
        raise ShapeError(f"reconstruct: expected data of NumPy or torch, got {type(y).__name__}.")
    check_unmasked(y, "reconstruct", "data")
    if 0 in y.shape:
        raise ShapeError(f"reconstruct: the data have the shape {tuple(y.shape)}: there are none.")
    if channel_axis is not None and channel_axis not in range(-y.ndim, y.ndim):
        raise ShapeError(f"reconstruct: channel_axis must be one of {-y.ndim}..{y.ndim - 1}, got {channel_axis!r}.")
    told = torch.from_numpy(_native(y)) if isinstance(y, np.ndarray) else y.detach()
    if not (told.is_floating_point() or told.is_complex()):
        told = told.float()
    if told.dtype in (torch.float16, torch.bfloat16):
        told = told.float()
    validation.finite(torch.view_as_real(told) if told.is_complex() else told, "reconstruct")
    if not bool(told.any()):
        raise ValueError("reconstruct: the data are 0 everywhere.")
    flat = told.dim() == 2 + (channel_axis is not None)
    lifted = flat and not isinstance(A, tuple | list)
    if lifted and shape is not None and callable(A):  # data of two axes that are no picture
        picture = torch.zeros(shape, dtype=told.real.dtype, device=device_of(device, told.device))
        lifted = A(picture).dim() != told.dim()
    if lifted:
        told = _lifted(told, channel_axis)

    def lowered(u: Tensor) -> Any:
        if isinstance(A, tuple | list):
            return _shown(u, y, channel_axis, A[1](y).ndim)
        return _shown(u, y, channel_axis, 2 + (channel_axis is not None) if lifted else 4)

    return told, lowered


def _native(y: NDArray[Any]) -> NDArray[Any]:
    """A copy as torch takes it: in one piece, the order of bytes that of this machine."""
    return np.array(y, y.dtype.newbyteorder("="), order="C")


def _lifted(u: Tensor, channel_axis: int | None) -> Tensor:
    return u[None, None] if channel_axis is None else u.movedim(channel_axis, 0)[None]


def _shown(u: Tensor, like: Any, channel_axis: int | None, axes: int) -> Any:
    """The picture with so many axes, in the library and place of the data."""
    if axes != 4:
        u = u[0, 0] if channel_axis is None else u[0].movedim(0, channel_axis)
    return u.cpu().numpy() if isinstance(like, np.ndarray) else u.to(like.device)


def _pair(A: Any, y: Any, channel_axis: int | None) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """Functions of people's arrays as functions of tensors ``(n, c, y, x)``."""
    if len(A) != 2 or not all(map(callable, A)):
        raise ValueError("reconstruct: A must be a pair of functions, A and its adjoint.")
    back = A[1](y)
    if not isinstance(back, np.ndarray | Tensor):
        raise TypeError(f"reconstruct: the adjoint gives a {type(back).__name__}. Give an array of NumPy or torch.")
    axes = back.ndim
    if axes != 4 and axes != 2 + (channel_axis is not None):
        raise ShapeError(f"reconstruct: the adjoint gives {axes} axes. Name the channel_axis, or give (n, c, y, x).")

    def tensor(found: Any, like: Tensor) -> Tensor:
        values = torch.from_numpy(_native(found)) if isinstance(found, np.ndarray) else found
        real = like.real.dtype
        return values.to(like.device, real.to_complex() if values.is_complex() else real)

    def forward(u: Tensor) -> Tensor:
        return tensor(A[0](_shown(u, y, channel_axis, axes)), u)

    def adjoint(v: Tensor) -> Tensor:
        u = tensor(A[1](v.cpu().numpy() if isinstance(y, np.ndarray) else v), v)
        u = u.real if u.is_complex() else u
        return u if axes == 4 else _lifted(u, channel_axis)

    return forward, adjoint


def _noise(noise: float | None, data: Tensor) -> float:
    """As told, or measured where the data are a picture."""
    if noise is None:
        if data.dim() != 4 or data.is_complex() or min(data.shape[2:]) < 8:
            raise ValueError(
                "reconstruct: the noise is measured on pictures alone. Give noise=, or a number as weight=."
            )
        noise = noise_level([data])
        if noise == 0:
            raise ValueError("reconstruct: no noise was found. Give its standard deviation as noise=, or a weight=.")
    if noise == 0:
        raise ValueError(
            "reconstruct: noise = 0: without noise no weight follows from it. Give a small one, or a number as weight=."
        )
    return validation.number(noise, "noise", "reconstruct", 0.0, open_low=True)
