"""Launches of the kernels for one form of step and one shape of images."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import triton
from torch import Tensor

from whorl.engines.cuda.gaussians import Taps, gaussians
from whorl.engines.cuda.plane.across import along_x_kernel
from whorl.engines.cuda.plane.coupling import couple_kernel
from whorl.engines.cuda.plane.divergence import divergence_kernel
from whorl.engines.cuda.plane.smoothing import along_y_kernel, gather_kernel
from whorl.engines.cuda.plane.step import step_kernel
from whorl.engines.cuda.plane.structure import along_kernel, law_kernel
from whorl.steps import Form

__all__ = ["Launches", "Tiling"]

LAWS = {"uncoupled": 0, "isotropic": 1, "anisotropic": 2, "edge-enhancing": 3, "coherence-enhancing": 4}

PARTS = (2, 1, 3, 3, 3)
"""Entries of the diffusion tensor that are stored, for each law."""


class Tiling:
    """How the work is cut; none of it changes a result beyond the order of the sums over pixels."""

    down = (8, 4, 128, 8)  # blocks of rows, rows of a block (4 or 8), columns, warps
    across = (8, 64, 4)  # rows, groups of four columns, warps
    gather = (4, 8, 64, 4)  # as down
    cells = (128, 4, 2)  # groups of four cells, warps, unrolled scales; eight take ten times as long to compile
    strips = (8, 4, 32)  # scales, rows, groups of four columns; eight rows take three times as long to compile
    strips_adjoint = (1, 4, 32)
    step = (32, 64, 2)  # rows, groups of four columns, warps


class Launches:
    """Launches for images like `u`, whose channels are coupled."""

    tiling: type[Tiling] = Tiling
    compiling = False

    def __init__(self, form: Form, u: Tensor) -> None:
        self.form, self.device = form, u.device
        images, channels, height, width = self.images, self.channels, self.height, self.width = u.shape
        self.planes = images * channels
        self.Z = form.flux.spacing[1] / form.flux.spacing[0]
        self.Y, self.square = self.Z**2, self.Z == 1.0
        self.kappa, self.seen_kappa = (1.0 - 2.0 * cells.alpha for cells in (form.flux, form.structure))
        self.pitch = 16 * math.ceil((width + 1) / 16)
        self.plane = images * (height + 1) * self.pitch
        self.aligned = width % 4 == 0
        self.scales = len(form.flux.taps)
        self.flat = form.flux.plain
        self.own = form.structure.taps != form.flux.taps
        self.law = LAWS[form.law]
        self.parts = PARTS[self.law]
        self.field = self.planes * height * width

    def tensor(self, u: Tensor, coefficients: Tensor) -> Tensor:
        """The diffusion tensor of every cell of the image."""
        if self.flat and not self.own:
            return self._couple(u, u, coefficients, 0, adjoint=False)
        fields = self._smooth(u, self.form.structure.taps, self.planes)
        return self._couple(fields, fields, coefficients, self.field, adjoint=False)

    def step(self, u: Tensor, out: Tensor, coefficients: Tensor, cells: Tensor | None = None) -> None:
        """Out = u - tau K^T D K u, with the diffusion tensor of u unless one is given."""
        if self.flat and not self.own and self.channels == 1 and cells is None and self.seen_kappa == self.kappa:
            self._fused(u, out, coefficients)
        elif self.flat:
            cells = self.tensor(u, coefficients) if cells is None else cells
            self._divergence(u, u, cells, out, coefficients, 0, step=True)
        else:
            a, b = self._room(self.scales * self.field)
            self._smooth(u, self.form.flux.taps, self.planes, a, b)
            if cells is None:
                cells = self._couple(b, b, coefficients, self.field, adjoint=False)
            self._divergence(b, b, cells, a, coefficients, self.field, step=False)
            self._along_x(a, b, self.form.flux.taps, self.field, self.planes)
            self._gather(b, a, u, out, coefficients, self.field, weighted=True)

    def step_adjoint(self, u: Tensor, v: Tensor, out: Tensor, coefficients: Tensor) -> Tensor:
        """Out = the adjoint of `step` at u applied to v; returns sums ``(2, scales)`` by outer and inner weights."""
        sums = torch.empty(2, self.scales, self.programs, dtype=torch.float32, device=self.device)
        if self.flat:
            cells = self._couple(u, v, coefficients, 0, adjoint=True)
            self._divergence(u, v, cells, out, coefficients, 0, step=True, sums=sums)
            return sums.sum(-1, dtype=torch.float64)
        pair, field = torch.stack([u, v]), self.field
        a, b = self._room(2 * self.scales * field)
        self._smooth(pair, self.form.flux.taps, 2 * self.planes, a, b)
        cells = self._couple(b, b[field:], coefficients, 2 * field, adjoint=True)
        self._divergence(b, b[field:], cells, a, coefficients, 2 * field, step=False, sums=sums)
        self._along_x(a, b, self.form.flux.taps, 2 * field, self.planes)
        self._gather(b, a, v, out, coefficients, 2 * field, weighted=False)
        return sums.sum(-1, dtype=torch.float64)

    @property
    def programs(self) -> int:
        """Partial sums per scale left by one backward step."""
        _, rows, strip = self.tiling.strips_adjoint
        return self.planes * math.ceil(self.width / (4 * strip)) * math.ceil(self.height / rows)

    def compile_together(self, u: Tensor, coefficients: Tensor, *, learning: bool) -> None:
        """Compile the kernels of `step` (and of `step_adjoint`, when learning) in parallel threads; none is started.

        Compilation leaves Python's lock to others most of the time. An older Triton compiles them one by one, later.
        """
        if not hasattr(triton, "AsyncCompileMode"):
            return
        self.compiling, out = True, torch.empty_like(u)
        try:
            with ThreadPoolExecutor() as threads, triton.AsyncCompileMode(threads):
                self.step(u, out, coefficients)
                if learning:
                    self.step_adjoint(u, u, out, coefficients)
        finally:
            self.compiling = False

    def _start(self, kernel: Any, grid: tuple[int, ...], *arguments: Any, **cut: Any) -> None:
        """Start a kernel, or only compile it."""
        if self.compiling:
            kernel.warmup(*arguments, grid=grid, **cut)
        else:
            kernel[grid](*arguments, **cut)

    def _room(self, size: int) -> tuple[Tensor, Tensor]:
        """Two scratch fields, one behind the other."""
        both = torch.empty(2 * size, dtype=torch.float32, device=self.device)
        return both[:size], both[size:]

    def _smooth(
        self, source: Tensor, taps: Taps, planes: int,
        a: Tensor | None = None, b: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """All Gaussians of the source, in b by way of a."""
        stride = planes * self.height * self.width
        if a is None or b is None:
            a, b = self._room(len(taps) * stride)
        self._along_y(source, a, b, taps, stride, planes)
        self._along_x(a, b, taps, stride, planes)
        return b

    def _fused(self, u: Tensor, out: Tensor, coefficients: Tensor) -> None:
        rows, strip, warps = self.tiling.step
        grid = (triton.cdiv(self.width, 4 * strip) * triton.cdiv(self.height, rows), self.images)
        self._start(
            step_kernel, grid,
            u, out, coefficients, self.height, self.width, self.Y, self.Z, self.kappa, self.form.gamma,
            KIND=self.form.diffusivity, COUPLING=self.law, SQUARE=self.square, ROWS=rows,
            BLOCK=strip, ALIGNED=self.aligned, num_warps=warps,
        )  # fmt: skip

    def _down(self, tiling: tuple[int, int, int, int], taps: Taps) -> tuple[int, Tensor, dict[str, object]]:
        """Tiles of one image for Gaussians along y, their weights, and what the kernels are told of both."""
        blocks, rows, columns, warps = tiling
        G = gaussians(taps, 0, self.device)
        return triton.cdiv(self.height, blocks * rows) * triton.cdiv(self.width, columns), G.table, {
            "RADII": G.radii, "SCALES": len(taps), "SKIP": G.skip, "TAPS": G.taps, "BLOCKS": blocks, "ROWS": rows,
            "BX": columns, "FAR": max(G.radii) + blocks * rows > self.height, "EXACT": self.width % columns == 0,
            "num_warps": warps,
        }  # fmt: skip

    def _along_y(self, source: Tensor, target: Tensor, direct: Tensor, taps: Taps, stride: int, planes: int) -> None:
        tiles, table, cut = self._down(self.tiling.down, taps)
        self._start(
            along_y_kernel, (tiles, planes, len(taps)), source, target, direct, table, self.height, self.width, 0,
            stride, **cut,
        )  # fmt: skip

    def _along_x(self, source: Tensor, target: Tensor, taps: Taps, stride: int, planes: int) -> None:
        rows, groups, warps = self.tiling.across
        G, scales = gaussians(taps, 1, self.device), len(taps)
        if G.skip == scales:
            return
        radius = max(G.radii)
        far = (radius + 3) // 4 > self.width // 4 if self.aligned else radius + 4 * groups + 4 > self.width
        tiles = triton.cdiv(self.height, rows) * triton.cdiv(self.width, 4 * groups)
        self._start(
            along_x_kernel, (tiles, planes, scales - G.skip),
            source, target, G.table, self.height, self.width, stride, RADII=G.radii, SCALES=scales, SKIP=G.skip,
            TAPS=G.taps, ROWS=rows, BLOCK=groups, FAR=far, ALIGNED=self.aligned, num_warps=warps,
        )  # fmt: skip

    def _gather(
        self, fields: Tensor, direct: Tensor, start: Tensor, out: Tensor, coefficients: Tensor, stride: int, *,
        weighted: bool,
    ) -> None:  # fmt: skip
        tiles, table, cut = self._down(self.tiling.gather, self.form.flux.taps)
        self._start(
            gather_kernel, (tiles, self.planes), fields, direct, start, out, table, coefficients, self.height,
            self.width, stride, WEIGHTED=weighted, **cut,
        )  # fmt: skip

    def _couple(self, fields: Tensor, adjoints: Tensor, coefficients: Tensor, stride: int, *, adjoint: bool) -> Tensor:
        block, warps, unroll = self.tiling.cells
        strip = max(self.tiling.strips[2], self.tiling.strips_adjoint[2])
        # The last strip may read past its row: room for one more behind the last field.
        size = (1 + adjoint) * self.parts * self.plane + 4 * strip + 16
        cells = torch.empty(size, dtype=torch.float32, device=self.device)
        grid = (triton.cdiv((self.height + 2) // 2 * self.pitch, 4 * block), self.images)
        self._start(
            couple_kernel, grid,
            fields, adjoints, cells, coefficients, self.height, self.width, self.pitch, self.plane, stride,
            self.Y, self.Z, self.seen_kappa, self.form.gamma, self.form.floor,
            SCALES=self.scales if self.flat else len(self.form.structure.taps), CHANNELS=self.channels,
            KIND="" if self.form.rho else self.form.diffusivity, COUPLING=self.law, SQUARE=self.square,
            ADJOINT=adjoint, BLOCK=block, UNROLL=unroll, ALIGNED=self.aligned, num_warps=warps,
        )  # fmt: skip
        return self._by_law(cells, coefficients) if self.form.rho else cells

    def _by_law(self, cells: Tensor, coefficients: Tensor) -> Tensor:
        """The diffusion tensor of the structure tensor in the cells, which is smoothed first."""
        target, block = torch.empty_like(cells), 512
        grid = (triton.cdiv((self.height + 1) * self.pitch, block), self.images, 3)
        for axis in range(2):
            G = gaussians((self.form.rho,), axis, self.device)
            self._start(
                along_kernel, grid,
                cells, target, G.table, max(G.radii), self.height, self.width, self.pitch, self.plane,
                ALONG_Y=axis == 0, BLOCK=block,
            )  # fmt: skip
            cells, target = target, cells
        self._start(
            law_kernel, (triton.cdiv(self.plane, block),),
            cells, coefficients, self.plane, self.plane, self.form.floor, KIND=self.form.diffusivity,
            COUPLING=self.law, BLOCK=block,
        )  # fmt: skip
        return cells

    def _divergence(
        self, fields: Tensor, moved: Tensor, cells: Tensor, out: Tensor, coefficients: Tensor, stride: int, *,
        step: bool, sums: Tensor | None = None,
    ) -> None:  # fmt: skip
        """With ``sums`` the adjoint pass, where ``moved`` are adjoints; without, they are the fields."""
        adjoint = sums is not None
        grid, cut = self._strips(self.tiling.strips_adjoint if adjoint else self.tiling.strips)
        self._start(
            divergence_kernel, grid,
            fields, moved, cells, out, sums if adjoint else out, coefficients, self.height, self.width, self.pitch,
            self.plane, stride, self.Y, self.Z, self.kappa, self.form.gamma, SCALES=self.scales,
            CHANNELS=self.channels, COUPLING=self.law, SQUARE=self.square, STEP=step, ADJOINT=adjoint, **cut,
        )  # fmt: skip

    def _strips(self, tiling: tuple[int, int, int]) -> tuple[tuple[int, int, int], dict[str, int | bool]]:
        group, rows, strip = tiling
        group = min(group, triton.next_power_of_2(self.scales))
        strips = triton.cdiv(self.width, 4 * strip) * triton.cdiv(self.height, rows)
        cut = {
            "GROUP": group, "ROWS": rows, "BLOCK": strip, "ALIGNED": self.aligned,
            "EXACT": self.width % (4 * strip) == 0, "WHOLE": self.height % rows == 0,
            "num_warps": max(1, group * strip // 32),
        }  # fmt: skip
        return (strips, self.planes, triton.cdiv(self.scales, group)), cut
