"""A learned energy at one level of noise in the order in which the compiled loops read its numbers."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.energies import EnergyAt
from whorl.engines.cpu.learned import energies as loops
from whorl.engines.cpu.learned.energies import Guide, Maps, Place, Room, Tables, classes
from whorl.engines.cpu.learned.lanes import LANES
from whorl.engines.cpu.threads import run, split
from whorl.engines.cpu.workspace import flat, room
from whorl.foundations.types import Image
from whorl.operators.boundary import fold, mirror
from whorl.operators.orbits import grouped, padded

WIDEST, TALLEST = 192, 64
"""Pixels of a tile: along x so few that all responses of a row stay in the caches."""

Product = tuple[NDArray[np.float64], int, int]
"""A matrix, and the first rows of what it takes and gives."""


class CompiledEnergy:
    """The energy by compiled loops, in float32: value, gradient, and the derivative of the gradient.

    >>> import whorl
    >>> term = whorl.load("energy-convex").energy.at(25.0)
    >>> bool(CompiledEnergy(term).gradient(torch.ones(1, 1, 8, 8)).abs().max() < 1e-3)
    True
    """

    def __init__(self, term: EnergyAt) -> None:
        self.term, K = term, term.energy.operator
        self.radius = K.radius
        taps, places, self._responses = _stencils(K.radius, [K.get_buffer(f"taps_{m}") for m in range(len(K.fields))])
        mix: list[Product] = []
        rows: list[int] = []
        bends = self._fields = 0
        bent = 0 if term.guide is None else term.guide.bend.shape[1]
        for m, weight in enumerate(K.weights):
            count, inputs = weight.shape
            pad = ((0, padded(count) - count), (0, padded(inputs) - inputs))
            matrix, first = np.pad(weight.detach().double().numpy(), pad), self._fields
            for place in places[m]:
                mix.append((matrix, place, self._fields))
                self._fields += padded(count)
            for f in range(count):
                bend = bends if m and bends < bent else -1
                rows += [first + f, first + padded(count) + f if m else -1, bend, len(rows) // 4]
                bends += m > 0
        self._maps = [_packed(each) for each in (taps, mix, _transposed(mix), _transposed(taps))]
        factor, contrast = term.factor.detach().double()[:, None], term.contrast.detach().double()[:, None]
        slopes = term.energy.potentials.slopes().detach()[:, :-1] * factor.square()
        knots = term.energy.potentials.get_buffer("knots") * contrast / factor
        numbers = [flat(part.float().contiguous()) for part in (knots[:, :-1], knots.diff(dim=1), slopes)]
        self._pieces = slopes.shape[1]
        self._tables = Tables(numbers[0], numbers[1], numbers[2], np.array(rows, np.int64))
        parts = [] if term.guide is None else [term.guide.weights, term.guide.bend]
        # The last row is read up to the end of a vector.
        self._guide = [flat(torch.nn.functional.pad(part.detach().float().flatten(), (0, WIDEST))) for part in parts]

    def __call__(self, u: Image) -> Tensor:
        """The energy of all pictures together."""
        return torch.tensor(sum(self._swept(u, u, loops.VALUE)[1]), dtype=u.dtype)

    def gradient(self, u: Image) -> Image:
        """Its derivative."""
        return self._swept(u, u, loops.GRADIENT)[0]

    def along(self, u: Image, p: Image) -> Image:
        """The derivative of the gradient at a picture along another one."""
        return self._swept(u, p, loops.ALONG)[0]

    @property
    def curvature(self) -> float:
        """The largest second derivative that the energy may have."""
        return self.term.curvature

    def _swept(self, u: Image, p: Image, what: int) -> tuple[Image, list[float]]:
        """The kernel over all tiles. How a picture is cut does not depend on threads, nor do the bits of the sums."""
        r, guide = self.radius, self.term.guide
        given = self._guide or [np.zeros(1, np.float32)] * 2
        n, c, H, W = u.shape
        wide = mirror(u.detach().float(), r).contiguous()
        other = wide if p is u else mirror(p.detach().float(), r).contiguous()
        columns, bands = split(W, WIDEST, LANES), split(H, TALLEST, 1)
        pitch = -(-max(b - a for a, b in columns) // LANES) * LANES
        step, folded = pitch + 2 * LANES, classes(r)[-1]
        sizes = Room(
            lines=(2 * r + 1) * step, folded=folded * pitch, responses=self._responses * pitch,
            fields=self._fields * pitch, along=self._fields * pitch,
            sums=(max(b - a for a, b in bands) + 2 * r) * step, nothing=max(folded, self._fields),
        )  # fmt: skip
        work = loops.kernel(r, self._pieces, what, guide is not None)
        tiles = [(i, *band, *strip) for i in range(n * c) for band in bands for strip in columns]
        found: dict[int, tuple[Tensor, float]] = {}

        def tile(number: int, i: int, y0: int, y1: int, x0: int, x1: int) -> None:
            where = Place((i * (H + 2 * r) + y0) * (W + 2 * r) + x0, W + 2 * r, y0, y1, x1 - x0, pitch, H, W)
            firsts, bent = (0, 0), 0
            if guide is not None:
                page = i * len(guide.weights) // (n * c) * H * W  # one for each picture, or for each channel
                firsts = page * guide.weights.shape[1] + x0, page * 2 * guide.bend.shape[1] + x0
                bent = H * W
            seen, space = Guide(given[0], given[1], firsts, bent), Room(*room(sizes, np.dtype(np.float32)))
            value = work(flat(wide), flat(other), where, *self._maps, self._tables, seen, space)
            sums = space.sums[: (y1 - y0 + 2 * r) * step].reshape(-1, step)[:, : x1 - x0 + 2 * r]
            found[number] = torch.from_numpy(sums.copy()), value

        run(tile, [(number, *each) for number, each in enumerate(tiles)])
        out = torch.zeros_like(wide)
        for number, (i, y0, y1, x0, x1) in enumerate(tiles):
            out.flatten(0, 1)[i, y0 : y1 + 2 * r, x0 : x1 + 2 * r] += found[number][0]
        return fold(out, r).to(u.dtype), [found[number][1] for number in range(len(tiles))]


def _stencils(radius: int, taps: list[Tensor]) -> tuple[list[Product], list[list[int]], int]:
    """Products that give the responses of stencils from sums and differences; where those of each order and component
    begin, and the number of rows.
    """
    starts = classes(radius)
    parts: dict[int, list[tuple[int, NDArray[np.float64]]]] = {}
    for m, kernels in enumerate(taps):
        corner = kernels.detach().double().numpy()[:, :, radius:, radius:]
        for k in range(corner.shape[1]):
            odd_below, odd = k, (m + k) % 2
            matrix = corner[:, k, odd_below:, odd:].reshape(len(corner), -1)
            parts.setdefault(odd + 2 * odd_below, []).append((m, matrix))
    products: list[Product] = []
    places: list[list[int]] = [[] for _ in taps]
    row = 0
    for parity in (p for p in (0, 3, 1, 2) if p in parts):  # even, then odd orders
        begin = row
        for m, matrix in parts[parity]:
            places[m].append(row)
            row += padded(len(matrix))
        stack = [np.pad(matrix, ((0, padded(len(matrix)) - len(matrix)), (0, 0))) for _, matrix in parts[parity]]
        products.append((np.concatenate(stack), starts[parity], begin))
    return products, places, row


def _transposed(products: list[Product]) -> list[Product]:
    return [(matrix.T, target, source) for matrix, source, target in products]


def _packed(products: list[Product]) -> Maps:
    numbers, blocks, begin = [], [], 0
    for matrix, source, target in products:
        numbers.append(grouped(matrix.astype(np.float32)))
        blocks += [padded(len(matrix)), matrix.shape[1], source, target, begin]
        begin += numbers[-1].size
    return Maps(np.concatenate(numbers), np.array(blocks, np.int64))
