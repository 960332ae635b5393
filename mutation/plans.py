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
    "foundations": Plan(("tests/foundations", "tests/files/test_atomic.py", "tests/test_images.py"), sample=24, seed=1),
    "operators": Plan(("tests/operators", "tests/networks/test_multiplications.py"), goal=CORE),
    "diffusivities": Plan(("tests/test_diffusivities.py",), goal=CORE),
    "activations": Plan(("tests/activations", "tests/energies", "tests/test_gated.py"), goal=CORE),
    "energies": Plan(("tests/energies",), goal=CORE),
    "steps": Plan(
        (
            "tests/steps",
            "tests/test_gated.py",
            "tests/engines/test_gated_kernel.py",
            "tests/engines/test_capabilities.py",
            "tests/models/test_presmoothing.py",
            "tests/networks/test_networks.py",
        ),
        sample=24,
    ),
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
        sample=24,
        seed=2,
        compiled=True,
        without=("engines/cuda",),
    ),
    "blocks": Plan(("tests/test_blocks.py", "tests/test_gated.py", "tests/models/test_models.py"), sample=24),
    "schemes": Plan(("tests/schemes",), goal=CORE),
    "models": Plan(("tests/models", "tests/schemes", "tests/test_public_names.py", "tests/test_images.py"), goal=CORE),
    "automatic": Plan(("tests/automatic", "tests/test_images.py"), sample=24),
    "data": Plan(("tests/data", "tests/training/test_photographs.py"), sample=24, seed=3),
    "invariance": Plan(("tests/invariance", "tests/test_keeping_invariance.py"), sample=24, seed=4),
    "networks": Plan(("tests/networks", "tests/test_gated.py"), sample=24, seed=5),
    "training": Plan(("tests/training",), sample=24, seed=6),
    "evaluation": Plan(
        ("tests/evaluation", "tests/cli/test_report.py", "tests/cli/test_noise_verb.py"), sample=30, seed=7
    ),
    "inpainting": Plan(("tests/inpainting",), sample=30),
    "reconstruction": Plan(("tests/reconstruction",), sample=24, seed=14),
    # Tests of the interfaces need deepinv, without which they are left out.
    "integrations": Plan(("tests/integrations",), sample=16, seed=15),
    "files": Plan(
        ("tests/files", "tests/cli/test_bad_volumes.py", "tests/cli/test_volume_stacks.py"), sample=24, seed=8
    ),
    "large": Plan(("tests/large", "tests/cli/test_filter.py", "tests/cli/test_pixels_and_pages.py"), sample=24, seed=9),
    "export": Plan(("tests/export",), sample=24, seed=10),
    "page": Plan(("tests/page",), sample=24, seed=11),
    # The widgets need napari, without which their tests are left out.
    "plugin": Plan(("tests/plugin",), sample=24, seed=12, without=("plugin/widgets.py",)),
    "cli": Plan(("tests/cli",), sample=24, seed=13),
}
"""Every folder of the library, in the order of its layers."""
