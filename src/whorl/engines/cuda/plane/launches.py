"""Launches of the kernels for one form of step and one shape of images."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import triton
from torch import Tensor

from whorl.engines.cuda.diffusivity import Law
from whorl.engines.cuda.gaussians import Gaussians, GaussiansByScale, gaussians
from whorl.engines.cuda.plane.coupling import along_kernel, couple_kernel, law_kernel
from whorl.engines.cuda.plane.divergence import divergence_kernel
from whorl.engines.cuda.plane.smoothing import along_x_kernel, along_y_kernel, gather_kernel
from whorl.engines.cuda.plane.step import step_kernel
from whorl.engines.cuda.plane.wide import wide_kernel
from whorl.engines.cuda.rows import Cell, Cut, Picture
from whorl.steps import Form


class Tiling:
    """How the work is cut; none of it changes a result beyond the order of the sums over pixels.

    Scales, or blocks of rows; rows; groups of four columns; warps. Of cells eight scales at once take ten times as long
    to compile as two, of strips eight rows three times as long as four.
    """

    down = (8, 4, 32, 8)
    across = (1, 8, 64, 4)
    gather = (4, 8, 16, 4)
    cells = (2, 2, 128, 4)
    strips = (8, 4, 32, 8)
    strips_adjoint = (1, 4, 32, 1)
    step = (1, 32, 64, 2)
    wide = (1, 64, 32, 1)  # columns in the place of groups of four; the threads of one warp


class Launches:
    """Launches for images like `u`, whose channels are coupled."""

    tiling: type[Tiling] = Tiling
    compiling = False

    def __init__(self, form: Form, u: Tensor) -> None:
        self.form, self.device = form, u.device
        images, channels, height, width = self.images, self.channels, self.height, self.width = u.shape
        self.planes = images * channels
        self.law = Law.of(form)
        Z = form.flux.spacing[1] / form.flux.spacing[0]
        self.seen, self.cell = (
            Cell(Z**2, Z, 1.0 - 2.0 * cells.alpha, form.gamma, form.floor) for cells in (form.structure, form.flux)
        )
        pitch = 16 * math.ceil((width + 1) / 16)
        self.picture = Picture(height, width, pitch, images * (height + 1) * pitch)
        self.scales = len(form.flux.taps)
        self.flat = form.flux.plain
        self.own = form.structure.taps != form.flux.taps
        self.field = self.planes * height * width

    def tensor(self, u: Tensor, coefficients: Tensor) -> Tensor:
        """The diffusion tensor of every cell of the image; of wide cells the image that it is found from."""
        if self.form.flux.cell == "wide":
            return self._smooth(u, self.form.structure.taps, self.planes) if self.own else u
        if self.flat and not self.own:
            return self._couple(u, u, coefficients, 0, adjoint=False)
        fields = self._smooth(u, self.form.structure.taps, self.planes)
        return self._couple(fields, fields, coefficients, self.field, adjoint=False)

    def step(self, u: Tensor, out: Tensor, coefficients: Tensor, cells: Tensor | None = None) -> None:
        """Out = u - tau K^T D K u, with the diffusion tensor of u unless one is given."""
        if self.form.flux.cell == "wide":
            cut, warps = self._cut(self.tiling.wide, FAR=min(self.height, self.width) < 4)
            grid = (math.ceil(self.width / (cut.BLOCK - 3)) * math.ceil(self.height / cut.ROWS), self.images)
            seen = self.tensor(u, coefficients) if cells is None else cells
            self._start(
                wide_kernel, grid, warps, u, seen, out, coefficients, self.picture, self.cell, self.seen, self.law,
                self.channels, seen is not u, cut,
            )  # fmt: skip
        elif self.flat and not self.own and self.channels == 1 and cells is None and self.seen == self.cell:
            cut, warps = self._cut(self.tiling.step)
            grid = (self._tiles(cut), self.images)
            self._start(step_kernel, grid, warps, u, out, coefficients, self.picture, self.cell, self.law, cut)
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
        programs = self.planes * self._tiles(self._cut(self.tiling.strips_adjoint)[0])
        sums = torch.empty(2, self.scales, programs, dtype=torch.float32, device=self.device)
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

    def compile_together(self, u: Tensor, coefficients: Tensor, *, learning: bool) -> None:
        """Compile the kernels of `step` (and of `step_adjoint`, when learning) in parallel threads; none is started.

        Compilation releases Python's lock most of the time. An older Triton compiles them one by one, later.
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

    def _start(self, kernel: Any, grid: tuple[int, ...], warps: int, *arguments: Any) -> None:
        """Start a kernel, or only compile it."""
        if self.compiling:
            kernel.warmup(*arguments, grid=grid, num_warps=warps)
        else:
            kernel[grid](*arguments, num_warps=warps)

    def _cut(self, tile: tuple[int, ...], **fits: bool) -> tuple[Cut, int]:
        """How the work is cut into such tiles, and the warps of each."""
        group, rows, block, warps = tile
        return Cut(group, rows, block, ALIGNED=self.width % 4 == 0, **fits), warps

    def _tiles(self, cut: Cut, blocks: int = 1) -> int:
        """Tiles of one image, with so many blocks of rows."""
        return math.ceil(self.width / (4 * cut.BLOCK)) * math.ceil(self.height / (blocks * cut.ROWS))

    def _room(self, size: int) -> tuple[Tensor, Tensor]:
        """Two scratch fields, one behind the other."""
        both = torch.empty(2 * size, dtype=torch.float32, device=self.device)
        return both[:size], both[size:]

    def _smooth(
        self, source: Tensor, taps: GaussiansByScale, planes: int, a: Tensor | None = None, b: Tensor | None = None
    ) -> Tensor:
        """All Gaussians of the source, in b by way of a."""
        stride = planes * self.height * self.width
        if a is None or b is None:
            a, b = self._room(len(taps) * stride)
        cut, warps, G, table = self._down(self.tiling.down, taps)
        grid = (self._tiles(cut, cut.GROUP), planes, len(taps))
        self._start(
            along_y_kernel, grid, warps, source, a, b, table, self.picture._replace(stride=stride), G, len(taps), cut
        )
        self._along_x(a, b, taps, stride, planes)
        return b

    def _down(self, tile: tuple[int, ...], taps: GaussiansByScale) -> tuple[Cut, int, Gaussians, Tensor]:
        """The cut for Gaussians along y, warps, and the weights."""
        G, table = gaussians(taps, 0, self.device)
        far, exact = max(G.radii) + tile[0] * tile[1] > self.height, self.width % (4 * tile[2]) == 0
        return *self._cut(tile, FAR=far, EXACT=exact), G, table

    def _along_x(self, source: Tensor, target: Tensor, taps: GaussiansByScale, stride: int, planes: int) -> None:
        G, table = gaussians(taps, 1, self.device)
        if G.skip == len(taps):
            return
        radius, groups = max(G.radii), self.tiling.across[2]
        far = (radius + 3) // 4 > self.width // 4 if self.width % 4 == 0 else radius + 4 * groups + 4 > self.width
        cut, warps = self._cut(self.tiling.across, FAR=far)
        grid, picture = (self._tiles(cut), planes, len(taps) - G.skip), self.picture._replace(stride=stride)
        self._start(along_x_kernel, grid, warps, source, target, table, picture, G, len(taps), cut)

    def _gather(
        self, fields: Tensor, direct: Tensor, start: Tensor, out: Tensor, coefficients: Tensor, stride: int, *,
        weighted: bool,
    ) -> None:  # fmt: skip
        cut, warps, G, table = self._down(self.tiling.gather, self.form.flux.taps)
        grid, picture = (self._tiles(cut, cut.GROUP), self.planes), self.picture._replace(stride=stride)
        self._start(
            gather_kernel, grid, warps, fields, direct, start, out, table, coefficients, picture, G, self.scales,
            weighted, cut,
        )  # fmt: skip

    def _couple(self, fields: Tensor, adjoints: Tensor, coefficients: Tensor, stride: int, *, adjoint: bool) -> Tensor:
        cut, warps = self._cut(self.tiling.cells)
        strip = max(self.tiling.strips[2], self.tiling.strips_adjoint[2])
        # The last strip may read past its row: room for one more behind the last field.
        size = (1 + adjoint) * self.law.parts * self.picture.plane + 4 * strip + 16
        cells = torch.empty(size, dtype=torch.float32, device=self.device)
        grid = (triton.cdiv((self.height + 2) // 2 * self.picture.pitch, 4 * cut.BLOCK), self.images)
        law = self.law._replace(kind="") if self.form.rho else self.law
        self._start(
            couple_kernel, grid, warps, fields, adjoints, cells, coefficients, self.picture._replace(stride=stride),
            self.seen, law, self.scales if self.flat else len(self.form.structure.taps), self.channels, adjoint, cut,
        )  # fmt: skip
        return self._by_law(cells, coefficients) if self.form.rho else cells

    def _by_law(self, cells: Tensor, coefficients: Tensor) -> Tensor:
        """The diffusion tensor of the structure tensor in the cells, which is smoothed first."""
        target, block = torch.empty_like(cells), 512
        grid = (triton.cdiv((self.height + 1) * self.picture.pitch, block), self.images, 3)
        for axis in range(2):
            G, table = gaussians((self.form.rho,), axis, self.device)
            self._start(along_kernel, grid, 4, cells, target, table, max(G.radii), self.picture, axis == 0, block)
            cells, target = target, cells
        whole = (triton.cdiv(self.picture.plane, block),)
        self._start(law_kernel, whole, 4, cells, coefficients, self.picture.plane, self.form.floor, self.law, block)
        return cells

    def _divergence(
        self, fields: Tensor, moved: Tensor, cells: Tensor, out: Tensor, coefficients: Tensor, stride: int, *,
        step: bool, sums: Tensor | None = None,
    ) -> None:  # fmt: skip
        """With ``sums`` the adjoint pass, where ``moved`` are adjoints; without, they are the fields."""
        adjoint = sums is not None
        group, rows, strip, _ = self.tiling.strips_adjoint if adjoint else self.tiling.strips
        group = min(group, triton.next_power_of_2(self.scales))
        tile = group, rows, strip, max(1, group * strip // 32)
        cut, warps = self._cut(tile, EXACT=self.width % (4 * strip) == 0, WHOLE=self.height % rows == 0)
        grid = (self._tiles(cut), self.planes, triton.cdiv(self.scales, group))
        self._start(
            divergence_kernel, grid, warps, fields, moved, cells, out, sums if adjoint else out, coefficients,
            self.picture._replace(stride=stride), self.cell, self.law, self.scales, self.channels, step, adjoint, cut,
        )  # fmt: skip
