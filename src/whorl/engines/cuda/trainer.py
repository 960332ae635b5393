r"""Training of a multiscale block with shared parameters as one recorded sequence of kernels.

A batch goes through K equal steps, the mean squared error is sent back through them and Adam changes the ten
parameters, all without the host: on a CUDA device the sequence is recorded once as a graph and replayed per batch.

Memory: one field per step and image. The step k of the way back needs :math:`u^k` and the adjoint state of step k+1;
the latter takes the place of :math:`u^{k+1}`, which nothing needs any more, so both lie side by side and are smoothed
in one launch.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .launches import Design, Launches, Tiling
from .optimiser import adam_kernel, total_kernel

LANES = 64


class MultiscaleTrainer:
    r"""Fits :math:`(\tau, \lambda, \beta_1, \dots, \beta_L)` of `design` to pairs of images.

    Parameters
    ----------
    design : Design
        A block with scales and one image channel.
    noisy, clean : Tensor
        Images ``(count, 1, y, x)`` in float32 on one device.
    omega, chi : sequences of float
        Weights of the scales outside and inside the diffusivity.
    steps, batch, rate : int, int, float
        Explicit steps, images per batch, Adam's learning rate.
    chunk : int, optional
        Images that pass through the block together; fewer keep the intermediate fields in the cache.

    Notes
    -----
    The gradient is that of the exact discrete chain, summed in a fixed order: two runs give the same bits.
    """

    def __init__(
        self,
        design: Design,
        noisy: Tensor,
        clean: Tensor,
        *,
        omega: Sequence[float],
        chi: Sequence[float],
        tau: float = 0.05,
        contrast: float = 60.0,
        beta: Sequence[float] | None = None,
        steps: int = 10,
        batch: int = 10,
        rate: float = 1e-3,
        chunk: int | None = None,
        tiling: Tiling | None = None,
    ) -> None:
        if noisy.shape != clean.shape or noisy.dim() != 4 or noisy.shape[1] != 1:
            raise ValueError(
                f"MultiscaleTrainer: expected two sets of images (count, 1, y, x), got {tuple(noisy.shape)} and "
                f"{tuple(clean.shape)}."
            )
        chunk = batch if chunk is None else chunk
        if noisy.shape[0] % batch or batch % chunk:
            raise ValueError(
                f"MultiscaleTrainer: batch = {batch} must divide the {noisy.shape[0]} images, and chunk = {chunk} the "
                f"batch."
            )
        self.design, self.steps, self.batch, self.chunk = design, steps, batch, chunk
        self.noisy, self.clean = noisy.contiguous(), clean.contiguous()
        device, (count, _, height, width) = noisy.device, noisy.shape
        self.count, self.device = count, device
        tiling = Tiling.of(design, fixed=True) if tiling is None else tiling
        self.launches = Launches(design, chunk, height, width, device, tiling)
        self.launches.reserve()
        scales = design.scales
        new: dict[str, Any] = {"dtype": torch.float32, "device": device}
        self.omega, self.chi = torch.tensor(list(omega), **new), torch.tensor(list(chi), **new)
        start = [1.0] * scales if beta is None else list(beta)
        logs = torch.tensor([tau, contrast], dtype=torch.float64).log().tolist()
        self.parameters = torch.tensor([*logs, *start], **new)
        self.gradient = torch.zeros_like(self.parameters)
        self.moments, self.clock = torch.zeros(2, LANES, **new), torch.zeros(1, **new)
        self.rate = torch.full((1,), rate, **new)
        b2 = torch.tensor(start, dtype=torch.float64) ** 2
        outer, inner = torch.tensor(list(omega), dtype=torch.float64) * b2, torch.tensor(list(chi)).double() * b2
        unit = design.unit
        self.coefficients = torch.cat([torch.tensor([tau * unit, unit / contrast**2]).double(), outer, inner]).to(**new)
        chunks = batch // chunk
        self.history = torch.empty(chunks, steps + 1, chunk, 1, height, width, **new)
        self.sums = torch.empty(chunks * steps, 2, scales, self.launches.programs, **new)
        self.totals = torch.empty(2 * scales, **new)
        self.index = torch.arange(batch, device=device)
        self.target = torch.empty(batch, 1, height, width, **new)
        self.losses = torch.zeros(count // batch, **new)
        self.loss = torch.zeros((), **new)
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def tau(self) -> float:
        """The step size."""
        return float(self.parameters[0].exp())

    @property
    def contrast(self) -> float:
        """The contrast of the diffusivity."""
        return float(self.parameters[1].exp())

    @property
    def beta(self) -> list[float]:
        """The weights of the scales."""
        values: list[float] = self.parameters[2:].tolist()
        return values

    def epoch(self, order: Tensor) -> Tensor:
        """One pass over all images in the given order; the losses of its batches, still on the device."""
        if self.device.type == "cuda" and self._graph is None:
            self._record()
        order = order.to(self.device)
        for number, index in enumerate(order.split(self.batch)):
            self.index.copy_(index)
            if self._graph is None:
                self.step()
            else:
                self._graph.replay()
            self.losses[number].copy_(self.loss)
        return self.losses

    def filtered(self, images: Tensor) -> Tensor:
        """Any number of images of the training size after all steps, with the parameters as they are."""
        out = torch.empty_like(images)
        here, there = (images.new_empty(self.chunk, *images.shape[1:]) for _ in range(2))
        for source, target in zip(images.split(self.chunk), out.split(self.chunk), strict=True):
            here[: len(source)] = source  # what lies behind the last image of a smaller part is computed and dropped
            for _ in range(self.steps):
                self.launches.step(here, there, self.coefficients)
                here, there = there, here
            target.copy_(here[: len(source)])
        return out

    def step(self) -> None:
        """One batch, forward and backward, and Adam."""
        torch.index_select(self.clean, 0, self.index, out=self.target)
        for number, part in enumerate(self.index.split(self.chunk)):
            fields = self.history[number]
            torch.index_select(self.noisy, 0, part, out=fields[0])
            for k in range(self.steps):
                self.launches.step(fields[k], fields[k + 1], self.coefficients)
        end = self.history[:, self.steps]
        end -= self.target.view_as(end)
        self.loss.copy_(end.square().mean())
        end *= 2.0 / end.numel()
        for number in range(self.batch // self.chunk):
            fields = self.history[number]
            for k in reversed(range(self.steps)):
                sums = self.sums[number * self.steps + k]
                self.launches.step_adjoint(fields[k : k + 2], fields[k], sums, self.coefficients)
        self._adam()

    def _adam(self) -> None:
        scales, runs = self.design.scales, self.sums.shape[0]
        total_kernel[(2 * scales,)](
            self.sums, self.totals, self.launches.programs, 2 * scales * self.launches.programs, STEPS=runs, BLOCK=256
        )
        adam_kernel[(1,)](
            self.parameters, self.moments, self.clock, self.totals, self.omega, self.chi, self.coefficients,
            self.gradient, self.rate, self.design.unit, SCALES=scales, LANES=LANES,
        )  # fmt: skip

    def _record(self) -> None:
        """Record one batch as a graph; the parameters and Adam's state are put back afterwards."""
        state = (self.parameters, self.moments, self.clock, self.coefficients, self.index)
        kept = [t.clone() for t in state]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.step()  # compiles every kernel before the recording
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        for tensor, value in zip(state, kept, strict=True):
            tensor.copy_(value)
        self._graph = graph
