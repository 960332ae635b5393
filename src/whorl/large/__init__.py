"""Images larger than memory: windows with exact halos, the same bits as the whole.

:func:`map` filters NumPy, zarr and dask arrays; ``whorl filter`` does the same with files.
"""

from whorl.large.arrays import map
from whorl.large.plan import Plan, plan
from whorl.large.run import run
from whorl.large.stages import Stage, denoising_stages, halo, network_stages, stages
from whorl.large.windows import Window, windows

__all__ = [
    "Plan", "Stage", "Window", "denoising_stages", "halo", "map", "network_stages", "plan", "run", "stages", "windows",
]  # fmt: skip
