"""Buffers, tables and launches for one design of block and one size of image."""

import math
from dataclasses import dataclass

import torch
import triton
from torch import Tensor

from .coupling import couple_kernel
from .diffusivity import ANISOTROPIC, UNCOUPLED
from .divergence import divergence_adjoint_kernel, divergence_kernel
from .smoothing import along_x_kernel, along_y_kernel, gather_kernel
from .step import step_kernel


@dataclass(frozen=True)
class Design:
    """What a block computes: the constants that are compiled in or passed by value.

    `taps` holds the weights w_0 .. w_R of every scale's Gaussian; empty means the cell step on the image itself.
    `channels` counts the image channels that share one tensor.
    """

    coupling: int
    kind: int
    alpha: float
    gamma: float = 0.0
    spacing: tuple[float, float] = (1.0, 1.0)
    taps: tuple[tuple[float, ...], ...] = ()
    channels: int = 1

    @property
    def scales(self) -> int:
        """Number of smoothed copies of the image, 1 for the cell step."""
        return max(len(self.taps), 1)

    @property
    def parts(self) -> int:
        """Entries of the diffusion tensor that are stored."""
        return {UNCOUPLED: 2, ANISOTROPIC: 3}.get(self.coupling, 1)

    @property
    def unit(self) -> float:
        """X = 1/(4 hx^2); tau and 1/contrast^2 carry this factor."""
        return 0.25 / self.spacing[1] ** 2

    def radii(self) -> list[int]:
        """R of every scale."""
        return [len(weights) - 1 for weights in self.taps]

    def table(self, padding: int) -> Tensor:
        """The taps, one row per scale, followed by at least `padding` zeros."""
        table = torch.zeros(self.scales, max(self.radii()) + 1 + padding)
        for row, weights in zip(table, self.taps, strict=True):
            row[: len(weights)] = torch.tensor(weights, dtype=torch.float64)
        return table


@dataclass(frozen=True)
class Tiling:
    """How the work is cut; none of it changes a result beyond the order of the parameter sums."""

    down: tuple[int, int, int, int] = (8, 128, 4, 1)  # rows, columns, unrolled rows, warps
    across: tuple[int, int, int] = (4, 32, 1)  # rows, groups of four columns, warps
    gather: tuple[int, int, int, int] = (4, 128, 4, 1)  # as down
    cells: int = 256
    cell_warps: int = 4
    rows: int = 16
    strip: int = 64
    strip_warps: int = 2
    step_rows: int = 32
    step_strip: int = 128
    step_warps: int = 4


class Launches:
    """Launches for `images` images of `design.channels` channels each and `height` x `width` pixels.

    Holds the intermediate fields of one step forward and backward, nothing per step.
    """

    def __init__(
        self, design: Design, images: int, height: int, width: int, device: torch.device, tiling: Tiling | None = None
    ) -> None:
        self.design, self.tiling = design, tiling or Tiling()
        self.images, self.height, self.width = images, height, width
        self.planes = images * design.channels
        self.device = device
        self.Z = design.spacing[1] / design.spacing[0]
        self.Y, self.square = self.Z**2, self.Z == 1.0
        self.kappa = 1.0 - 2.0 * design.alpha
        self.pitch = 16 * math.ceil((width + 1) / 16)
        self.plane = images * (height + 1) * self.pitch
        self._buffers: dict[str, Tensor] = {}
        if design.taps:
            t = self.tiling
            self.table = design.table(max(t.down[0] + t.down[2], t.gather[0] + t.gather[2], 8)).to(device)
            self.radius = torch.tensor(design.radii(), dtype=torch.int32, device=device)

    def buffer(self, name: str, size: int) -> Tensor:
        """A scratch field, made at first use."""
        if name not in self._buffers:
            self._buffers[name] = torch.empty(size, dtype=torch.float32, device=self.device)
        return self._buffers[name]

    @property
    def programs(self) -> int:
        """Partial sums per scale left by one backward step."""
        t = self.tiling
        return self.planes * math.ceil(self.width / (4 * t.strip)) * math.ceil(self.height / t.rows)

    def new_sums(self, steps: int = 1) -> Tensor:
        """Room for the partial sums of `steps` backward steps."""
        return torch.empty(steps, 2, self.design.scales, self.programs, dtype=torch.float32, device=self.device)

    def step(self, u: Tensor, out: Tensor, coefficients: Tensor) -> None:
        """Out = u - tau K^T Phi(K u)."""
        if not self.design.taps and self.design.channels == 1:
            self._fused(u, out, coefficients)
        elif not self.design.taps:
            cells = self._couple(u, u, coefficients, 0, adjoint=False)
            self._divergence(u, cells, out, coefficients, 0, step=True)
        else:
            stride = self.planes * self.height * self.width
            a = self.buffer("a", 2 * self.design.scales * stride)
            b = self.buffer("b", 2 * self.design.scales * stride)
            self._along_y(u, a, 0, stride, self.planes)
            self._along_x(a, b, stride, self.planes)
            cells = self._couple(b, b, coefficients, stride, adjoint=False)
            self._divergence(b, cells, a, coefficients, stride, step=False)
            self._along_x(a, b, stride, self.planes)
            self._gather(b, u, out, coefficients, stride, weighted=True)

    def step_adjoint(self, pair: Tensor, out: Tensor, sums: Tensor, coefficients: Tensor) -> None:
        """Out = the adjoint of `step` at u = pair[0] applied to pair[1]; sums receives its partial sums."""
        u, v = pair[0], pair[1]
        if not self.design.taps:
            cells = self._couple(u, v, coefficients, 0, adjoint=True)
            self._divergence_adjoint(u, v, cells, out, sums, coefficients, 0, step=True)
            return
        field = self.planes * self.height * self.width
        stride = 2 * field
        a = self.buffer("a", self.design.scales * stride)
        b = self.buffer("b", self.design.scales * stride)
        self._along_y(pair, a, 0, stride, 2 * self.planes)
        self._along_x(a, b, stride, 2 * self.planes)
        cells = self._couple(b, b[field:], coefficients, stride, adjoint=True)
        self._divergence_adjoint(b, b[field:], cells, a, sums, coefficients, stride, step=False)
        self._along_x(a, b, stride, self.planes)
        self._gather(b, v, out, coefficients, stride, weighted=False)

    def _fused(self, u: Tensor, out: Tensor, coefficients: Tensor) -> None:
        t = self.tiling
        grid = (triton.cdiv(self.width, 4 * t.step_strip) * triton.cdiv(self.height, t.step_rows), self.images)
        step_kernel[grid](
            u, out, coefficients, self.height, self.width, self.Y, self.Z, self.kappa, self.design.gamma,
            KIND=self.design.kind, COUPLING=self.design.coupling, SQUARE=self.square, ROWS=t.step_rows,
            BLOCK=t.step_strip, ALIGNED=self.width % 4 == 0, num_warps=t.step_warps,
        )  # fmt: skip

    def _along_y(self, source: Tensor, target: Tensor, source_stride: int, target_stride: int, planes: int) -> None:
        rows, columns, unroll, warps = self.tiling.down
        grid = (triton.cdiv(self.height, rows) * triton.cdiv(self.width, columns), planes, self.design.scales)
        along_y_kernel[grid](
            source, target, self.table, self.radius, self.height, self.width, source_stride, target_stride,
            SCALES=self.design.scales, TAPS=self.table.shape[1], ROWS=rows, BX=columns, UNROLL=unroll,
            FAR=self.table.shape[1] > self.height, EXACT=self.width % columns == 0, num_warps=warps,
        )  # fmt: skip

    def _along_x(self, source: Tensor, target: Tensor, stride: int, planes: int) -> None:
        rows, groups, warps = self.tiling.across
        grid = (triton.cdiv(self.height, rows) * triton.cdiv(self.width, 4 * groups), planes, self.design.scales)
        along_x_kernel[grid](
            source, target, self.table, self.radius, self.height, self.width, stride, stride,
            SCALES=self.design.scales, TAPS=self.table.shape[1], ROWS=rows, BLOCK=groups,
            FAR=self.table.shape[1] + 4 * groups > self.width, ALIGNED=self.width % 4 == 0, num_warps=warps,
        )  # fmt: skip

    def _gather(
        self, fields: Tensor, start: Tensor, out: Tensor, coefficients: Tensor, stride: int, *, weighted: bool
    ) -> None:
        rows, columns, unroll, warps = self.tiling.gather
        grid = (triton.cdiv(self.height, rows) * triton.cdiv(self.width, columns), self.planes)
        gather_kernel[grid](
            fields, start, out, self.table, self.radius, coefficients, self.height, self.width, stride,
            SCALES=self.design.scales, TAPS=self.table.shape[1], WEIGHTED=weighted, ROWS=rows, BX=columns,
            UNROLL=unroll, FAR=self.table.shape[1] > self.height, EXACT=self.width % columns == 0, num_warps=warps,
        )  # fmt: skip

    def _couple(self, fields: Tensor, adjoints: Tensor, coefficients: Tensor, stride: int, *, adjoint: bool) -> Tensor:
        t, size = self.tiling, (self.height + 1) * self.pitch
        # The last strip may read past its row: room for one more behind the last field.
        cells = self.buffer("cells", 2 * self.design.parts * self.images * size + 4 * t.strip + 16)
        couple_kernel[(triton.cdiv(size, t.cells), self.images)](
            fields, adjoints, cells, coefficients, self.height, self.width, self.pitch, self.plane, stride,
            self.Y, self.Z, self.kappa, self.design.gamma, SCALES=self.design.scales, CHANNELS=self.design.channels,
            KIND=self.design.kind, COUPLING=self.design.coupling, SQUARE=self.square, ADJOINT=adjoint,
            BLOCK=t.cells, num_warps=t.cell_warps,
        )  # fmt: skip
        return cells

    def _divergence(
        self, fields: Tensor, cells: Tensor, out: Tensor, coefficients: Tensor, stride: int, *, step: bool
    ) -> None:
        t = self.tiling
        divergence_kernel[self._strips()](
            fields, cells, out, coefficients, self.height, self.width, self.pitch, self.plane, stride,
            self.Y, self.Z, self.kappa, self.design.gamma, CHANNELS=self.design.channels,
            COUPLING=self.design.coupling, SQUARE=self.square, STEP=step, ROWS=t.rows, BLOCK=t.strip,
            ALIGNED=self.width % 4 == 0, num_warps=t.strip_warps,
        )  # fmt: skip

    def _divergence_adjoint(
        self, fields: Tensor, adjoints: Tensor, cells: Tensor, out: Tensor, sums: Tensor, coefficients: Tensor,
        stride: int, *, step: bool,
    ) -> None:  # fmt: skip
        t = self.tiling
        divergence_adjoint_kernel[self._strips()](
            fields, adjoints, cells, out, sums, coefficients, self.height, self.width, self.pitch, self.plane, stride,
            self.Y, self.Z, self.kappa, self.design.gamma, SCALES=self.design.scales, CHANNELS=self.design.channels,
            COUPLING=self.design.coupling, SQUARE=self.square, STEP=step, ROWS=t.rows, BLOCK=t.strip,
            ALIGNED=self.width % 4 == 0, num_warps=t.strip_warps,
        )  # fmt: skip

    def _strips(self) -> tuple[int, int, int]:
        t = self.tiling
        return triton.cdiv(self.width, 4 * t.strip) * triton.cdiv(self.height, t.rows), self.planes, self.design.scales
