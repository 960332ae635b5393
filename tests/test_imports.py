"""Nothing heavy is imported until it is used, and folders import only from earlier ones."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import whorl

SOURCE = Path(whorl.__file__).parent
ORDER = ["foundations", "operators", "diffusivities", "activations", "energies", "steps", "blocks", "schemes", "models"]


def loaded(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_imports_nothing_heavy():
    assert not loaded("import whorl") & {"torch", "numpy", "typer", "rich", "numba", "matplotlib"}


def test_models_need_torch_and_numpy_alone():
    heavy = {
        "typer",
        "rich",
        "numba",
        "matplotlib",
        "tifffile",
        "zarr",
        "dask",
        "onnx",
        "imageio",
        "PIL",
        "triton.language",
    }
    assert not loaded("import whorl; whorl.models.build('eed', contrast=1.0); whorl.diffuse") & heavy


def test_folders_import_only_from_earlier_ones():
    for position, folder in enumerate(ORDER):
        allowed = {*ORDER[: position + 1]}
        for path in (SOURCE / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("whorl."):
                    target = node.module.split(".")[1]
                    assert target in allowed or target not in ORDER, f"{path.name} imports whorl.{target}"


def test_every_package_asked_for_is_imported():
    """What the distribution and its extras bring is used by the library itself, not by its tests alone."""
    project = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [
        name for extra in re.findall(r"\w+", extras["all"][0].partition("[")[2]) for name in extras[extra]
    ]
    imported = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])
    names = {re.split(r"[\[><=]", requirement)[0] for requirement in wanted}
    assert {name for name in names if {"pillow": "PIL", "pynrrd": "nrrd"}.get(name, name) not in imported} == set()


def test_every_folder_of_the_library_is_an_attribute():
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")} - {"cli", "page", "plugin"}
    assert {name for name in folders if not hasattr(whorl, name)} == set()
    assert folders <= set(dir(whorl))


def test_files_of_tests_have_names_of_their_own():
    """Test folders are no packages: of two files with one name pytest could import only one."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
