"""Which faults of each folder are tried, and the tests that must notice them."""

from dataclasses import dataclass

__all__ = ["PLANS", "Plan"]


@dataclass(frozen=True)
class Plan:
    """The faults of one folder.

    ``tests`` are those that must notice, besides the examples in the folder's docstrings. All faults are tried, or a
    ``sample`` of so many, always the same ones, drawn by the ``seed``. ``compiled`` folders hold code that Numba
    compiles: there every fault is compiled anew. Files whose path begins with one of ``without`` are left out. The
    ``goal`` is the share that the tests must notice.
    """

    tests: tuple[str, ...]
    sample: int = 0
    seed: int = 0
    compiled: bool = False
    without: tuple[str, ...] = ()
    goal: float = 0.90


CORE = 0.95
"""The goal of the folders that hold the theory."""


PLANS = {
    "foundations": Plan(("tests/foundations", "tests/files/test_atomic.py", "tests/test_images.py"), sample=60, seed=1),
    "operators": Plan(("tests/operators", "tests/networks/test_multiplications.py"), goal=CORE),
    "diffusivities": Plan(("tests/test_diffusivities.py",), goal=CORE),
    "activations": Plan(("tests/activations", "tests/energies", "tests/test_gated.py"), goal=CORE),
    "energies": Plan(("tests/energies",), goal=CORE),
    "steps": Plan(("tests/engines/test_agreement.py", "tests/engines/test_capabilities.py", "tests/models")),
    # Triton reads the source of its kernels from the disk, where no fault is ever written.
    "engines": Plan(
        (
            "tests/engines/test_agreement.py",
            "tests/engines/test_capabilities.py",
            "tests/engines/test_compiled_laws.py",
            "tests/engines/test_gated_kernel.py",
            "tests/engines/test_smoothing.py",
            "tests/engines/test_volumes.py",
        ),
        sample=60,
        seed=2,
        compiled=True,
        without=("engines/cuda",),
    ),
    "blocks": Plan(("tests/test_blocks.py", "tests/test_gated.py", "tests/networks/test_photo.py")),
    "schemes": Plan(("tests/schemes",), goal=CORE),
    "models": Plan(("tests/models", "tests/schemes", "tests/test_public_names.py", "tests/test_images.py"), goal=CORE),
    "automatic": Plan(("tests/automatic", "tests/test_images.py")),
    "data": Plan(("tests/data", "tests/training/test_photographs.py"), sample=60, seed=3),
    "invariance": Plan(("tests/invariance", "tests/test_keeping_invariance.py"), sample=60, seed=4),
    "networks": Plan(("tests/networks", "tests/test_gated.py"), sample=60, seed=5),
    "training": Plan(("tests/training",), sample=60, seed=6),
    "evaluation": Plan(("tests/evaluation",), sample=60, seed=7),
    "inpainting": Plan(("tests/inpainting",)),
    "files": Plan(("tests/files",), sample=60, seed=8),
    "large": Plan(("tests/large",), sample=60, seed=9),
    "export": Plan(("tests/export",), sample=60, seed=10),
    "page": Plan(("tests/page",), sample=40, seed=11),
    "plugin": Plan(("tests/plugin",), sample=40, seed=12),
    "cli": Plan(("tests/cli",), sample=60, seed=13),
}
"""Every folder of the library, in the order of its layers."""
