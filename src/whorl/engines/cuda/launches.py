"""Buffers and launches for one design of block and one size of image."""

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from .across import along_x_kernel
from .coupling import couple_kernel
from .design import Design, Tiling
from .divergence import divergence_adjoint_kernel, divergence_kernel
from .smoothing import along_y_kernel, gather_kernel
from .step import step_kernel

__all__ = ["Design", "Launches", "Tiling"]


class Launches:
    """Launches for `images` images of `design.channels` channels each and `height` x `width` pixels.

    Holds the intermediate fields of one step forward and backward, nothing per step.
    """

    def __init__(
        self, design: Design, images: int, height: int, width: int, device: torch.device, tiling: Tiling | None = None
    ) -> None:
        self.design, self.tiling = design, tiling or Tiling.of(design)
        self.images, self.height, self.width = images, height, width
        self.planes = images * design.channels
        self.device = device
        self.Z = design.spacing[1] / design.spacing[0]
        self.Y, self.square = self.Z**2, self.Z == 1.0
        self.kappa = 1.0 - 2.0 * design.alpha
        self.seen_kappa = self.kappa if design.structure_alpha is None else 1.0 - 2.0 * design.structure_alpha
        self.pitch = 16 * math.ceil((width + 1) / 16)
        self.plane = images * (height + 1) * self.pitch
        self.aligned = width % 4 == 0
        self._buffers: dict[str, Tensor] = {}
        self._table = design.gaussians.table(device)

    def buffer(self, name: str, size: int) -> Tensor:
        """A scratch field, made at first use."""
        if name not in self._buffers or self._buffers[name].numel() < size:
            self._buffers[name] = torch.empty(size, dtype=torch.float32, device=self.device)
        return self._buffers[name]

    def reserve(self) -> None:
        """Make room for a step backward now: what grows later would move from under a recorded graph."""
        if self.design.taps:
            for name in "ab":
                self.buffer(name, 2 * self.design.scales * self.planes * self.height * self.width)

    @property
    def programs(self) -> int:
        """Partial sums per scale left by one backward step."""
        _, rows, strip = self.tiling.strips_adjoint
        return self.planes * math.ceil(self.width / (4 * strip)) * math.ceil(self.height / rows)

    def new_sums(self, steps: int = 1) -> Tensor:
        """Room for the partial sums of `steps` backward steps."""
        return torch.empty(steps, 2, self.design.scales, self.programs, dtype=torch.float32, device=self.device)

    def step(self, u: Tensor, out: Tensor, coefficients: Tensor) -> None:
        """Out = u - tau K^T Phi(K u)."""
        field = self.planes * self.height * self.width
        if self.design.taps or self.design.structure:
            a, b = (self.buffer(name, self.design.scales * field) for name in "ab")
            self._smooth(u, a, b, field, self.planes)
        if self.design.taps:
            cells = self._couple(b, b, coefficients, field, adjoint=False)
            self._divergence(b, cells, a, coefficients, field, step=False)
            self._along_x(a, b, field, self.planes)
            self._gather(b, a, u, out, coefficients, field, weighted=True)
        elif self.design.structure:
            cells = self._couple(b, b, coefficients, 0, adjoint=False)
            self._divergence(u, cells, out, coefficients, 0, step=True)
        elif self.design.channels > 1:
            cells = self._couple(u, u, coefficients, 0, adjoint=False)
            self._divergence(u, cells, out, coefficients, 0, step=True)
        else:
            self._fused(u, out, coefficients)

    def step_adjoint(self, pair: Tensor, out: Tensor, sums: Tensor, coefficients: Tensor) -> None:
        """Out = the adjoint of `step` at u = pair[0] applied to pair[1]; sums receives its partial sums."""
        u, v = pair[0], pair[1]
        if self.design.structure:
            raise ValueError("step_adjoint: not for a tensor of another structure. Use the reference.")
        if not self.design.taps:
            cells = self._couple(u, v, coefficients, 0, adjoint=True)
            self._divergence_adjoint(u, v, cells, out, sums, coefficients, 0, step=True)
            return
        field = self.planes * self.height * self.width
        a, b = (self.buffer(name, 2 * self.design.scales * field) for name in "ab")
        self._smooth(pair, a, b, 2 * field, 2 * self.planes)
        cells = self._couple(b, b[field:], coefficients, 2 * field, adjoint=True)
        self._divergence_adjoint(b, b[field:], cells, a, sums, coefficients, 2 * field, step=False)
        self._along_x(a, b, 2 * field, self.planes)
        self._gather(b, a, v, out, coefficients, 2 * field, weighted=False)

    def _size(self, value: int) -> int:
        """A size as kernels take it: by value, or compiled in."""
        known: int = tl.constexpr(value) if self.tiling.fixed else value
        return known

    def _smooth(self, source: Tensor, a: Tensor, b: Tensor, stride: int, planes: int) -> None:
        """B = all Gaussians of the source, by way of a."""
        self._along_y(source, a, b, stride, planes)
        self._along_x(a, b, stride, planes)

    def _fused(self, u: Tensor, out: Tensor, coefficients: Tensor) -> None:
        rows, strip, warps = self.tiling.step
        grid = (triton.cdiv(self.width, 4 * strip) * triton.cdiv(self.height, rows), self.images)
        step_kernel[grid](
            u, out, coefficients, self.height, self.width, self.Y, self.Z, self.kappa, self.design.gamma,
            KIND=self.design.kind, COUPLING=self.design.coupling, SQUARE=self.square, ROWS=rows,
            BLOCK=strip, ALIGNED=self.aligned, num_warps=warps,
        )  # fmt: skip

    def _along_y(self, source: Tensor, target: Tensor, direct: Tensor, stride: int, planes: int) -> None:
        blocks, rows, columns, warps = self.tiling.down
        G = self.design.gaussians
        grid = (triton.cdiv(self.height, blocks * rows) * triton.cdiv(self.width, columns), planes, self.design.scales)
        along_y_kernel[grid](
            source, target, direct, self._table, self._size(self.height), self._size(self.width), self._size(0),
            self._size(stride), WEIGHTS=G.weights, RADII=G.radii, SCALES=self.design.scales, SKIP=G.skip, TAPS=G.taps,
            BLOCKS=blocks, ROWS=rows, BX=columns, UNROLL=self.tiling.unroll,
            FAR=max(G.radii) + blocks * rows > self.height, EXACT=self.width % columns == 0, num_warps=warps,
        )  # fmt: skip

    def _along_x(self, source: Tensor, target: Tensor, stride: int, planes: int) -> None:
        rows, groups, warps = self.tiling.across
        G, radius = self.design.gaussians, max(self.design.gaussians.radii)
        if G.skip == len(G.radii):
            return
        far = (radius + 3) // 4 > self.width // 4 if self.aligned else radius + 4 * groups + 4 > self.width
        tiles = triton.cdiv(self.height, rows) * triton.cdiv(self.width, 4 * groups)
        along_x_kernel[(tiles, planes, self.design.scales - G.skip)](
            source, target, self._table, self._size(self.height), self._size(self.width), self._size(stride),
            WEIGHTS=G.weights, RADII=G.radii, SCALES=self.design.scales, SKIP=G.skip, TAPS=G.taps, ROWS=rows,
            BLOCK=groups, UNROLL=self.tiling.unroll, FAR=far, ALIGNED=self.aligned,
            EXACT=self.width % (4 * groups) == 0, num_warps=warps,
        )  # fmt: skip

    def _gather(
        self, fields: Tensor, direct: Tensor, start: Tensor, out: Tensor, coefficients: Tensor, stride: int, *,
        weighted: bool,
    ) -> None:  # fmt: skip
        blocks, rows, columns, warps = self.tiling.gather
        G = self.design.gaussians
        grid = (triton.cdiv(self.height, blocks * rows) * triton.cdiv(self.width, columns), self.planes)
        gather_kernel[grid](
            fields, direct, start, out, self._table, coefficients, self._size(self.height), self._size(self.width),
            self._size(stride), WEIGHTS=G.weights, RADII=G.radii, SCALES=self.design.scales, SKIP=G.skip, TAPS=G.taps,
            WEIGHTED=weighted, BLOCKS=blocks, ROWS=rows, BX=columns, UNROLL=self.tiling.unroll,
            FAR=max(G.radii) + blocks * rows > self.height, EXACT=self.width % columns == 0, num_warps=warps,
        )  # fmt: skip

    def _couple(self, fields: Tensor, adjoints: Tensor, coefficients: Tensor, stride: int, *, adjoint: bool) -> Tensor:
        block, warps, unroll = self.tiling.cells_adjoint if adjoint else self.tiling.cells
        strip = max(self.tiling.strips[2], self.tiling.strips_adjoint[2])
        # The last strip may read past its row: room for one more behind the last field.
        cells = self.buffer("cells", 2 * self.design.parts * self.plane + 4 * strip + 16)
        grid = (triton.cdiv((self.height + 2) // 2 * self.pitch, 4 * block), self.images)
        couple_kernel[grid](
            fields, adjoints, cells, coefficients, *self._layout(stride), self.Y, self.Z, self.seen_kappa,
            self.design.gamma, SCALES=self.design.scales, CHANNELS=self.design.channels, KIND=self.design.kind,
            COUPLING=self.design.coupling, SQUARE=self.square, ADJOINT=adjoint, BLOCK=block, UNROLL=unroll,
            ALIGNED=self.aligned, num_warps=warps,
        )  # fmt: skip
        return cells

    def _divergence(
        self, fields: Tensor, cells: Tensor, out: Tensor, coefficients: Tensor, stride: int, *, step: bool
    ) -> None:
        grid, cut = self._strips(self.tiling.strips)
        divergence_kernel[grid](
            fields, cells, out, coefficients, *self._layout(stride), self.Y, self.Z, self.kappa, self.design.gamma,
            SCALES=self.design.scales, CHANNELS=self.design.channels, COUPLING=self.design.coupling,
            SQUARE=self.square, STEP=step, **cut,
        )  # fmt: skip

    def _divergence_adjoint(
        self, fields: Tensor, adjoints: Tensor, cells: Tensor, out: Tensor, sums: Tensor, coefficients: Tensor,
        stride: int, *, step: bool,
    ) -> None:  # fmt: skip
        grid, cut = self._strips(self.tiling.strips_adjoint)
        divergence_adjoint_kernel[grid](
            fields, adjoints, cells, out, sums, coefficients, *self._layout(stride), self.Y, self.Z, self.kappa,
            self.design.gamma, SCALES=self.design.scales, CHANNELS=self.design.channels,
            COUPLING=self.design.coupling, SQUARE=self.square, STEP=step, **cut,
        )  # fmt: skip

    def _layout(self, stride: int) -> tuple[int, int, int, int, int]:
        return (
            self._size(self.height), self._size(self.width), self._size(self.pitch), self._size(self.plane),
            self._size(stride),
        )  # fmt: skip

    def _strips(self, tiling: tuple[int, int, int]) -> tuple[tuple[int, int, int], dict[str, int | bool]]:
        group, rows, strip = tiling
        group = min(group, triton.next_power_of_2(self.design.scales))
        strips = triton.cdiv(self.width, 4 * strip) * triton.cdiv(self.height, rows)
        cut = {
            "GROUP": group, "ROWS": rows, "BLOCK": strip, "ALIGNED": self.aligned,
            "EXACT": self.width % (4 * strip) == 0, "WHOLE": self.height % rows == 0,
            "num_warps": max(1, group * strip // 32),
        }  # fmt: skip
        return (strips, self.planes, triton.cdiv(self.design.scales, group)), cut
