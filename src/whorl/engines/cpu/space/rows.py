"""Rows of cells in a volume.

A row of cells lies between four rows of voxels, which start at a and b in the plane in front and at c and d in the
plane behind. Rows hold at most ``LANE`` voxels; each loop is plain enough to be vectorised.
"""

from typing import Any

from whorl.engines.cpu import rows
from whorl.engines.cpu.arithmetic import at, put
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.laws import ANISOTROPIC, RANK_ONE
from whorl.engines.cpu.space.cells import LANE, collect, entries, flow, haar, measure, meet, store
from whorl.engines.cpu.space.tensors import axis, respond


@compiled(inside=True)
def under(law: int, kind: int, j: int, cell: Any, k: Any, by: Any) -> Any:
    """The tensor of cell j of those that are given."""
    return entries(law, j, by)


@compiled(inside=True)
def alone(law: int, kind: int, j: int, cell: Any, k: Any, by: Any) -> Any:
    """The tensor of a field that is coupled with no other, under a law that needs no eigenvectors."""
    J, (rate, floor) = measure(law, cell, k), by
    return respond(law, kind, J, J[:3], rate, floor)


structure = rows.structures(haar, measure, collect)
step_under, step_alone = (rows.steps(haar, each, flow, meet) for each in (under, alone))


@compiled()
def tensor(law: int, kind: int, n: int, J: Any, T: Any, rate: float, floor: float) -> None:
    """The diffusion tensor of the cells from their structure."""
    # Two loops: of shorter ones, a processor has more cells under way at once.
    for j in range(n if law == ANISOTROPIC or law > RANK_ONE else 0):
        x, y, z = axis(*entries(law, j, J))
        put(T, j, x)
        put(T, LANE + j, y)
        put(T, 2 * LANE + j, z)
    for j in range(n):
        v = at(T, j), at(T, LANE + j), at(T, 2 * LANE + j)
        store(law, j, T, respond(law, kind, entries(law, j, J), v, rate, floor))
