"""Nothing heavy is imported until it is used, and folders import only from earlier ones."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import whorl

SOURCE = Path(whorl.__file__).parent
# fmt: off
ORDER = [
    "errors", "foundations", "operators", "diffusivities", "activations", "energies", "steps", "engines", "blocks",
    "schemes", "models", "automatic", "metrics", "data", "invariance", "testing", "networks", "evaluation", "training",
    "images", "denoising", "inpainting", "reconstruction", "integrations", "files", "large", "export", "page",
    "plugin", "cli", "__main__",
]
# fmt: on
"""Every folder and module of the library; each imports only from those before it, anywhere in its files."""

LOADED_BY_NAME = {"__init__": "the library's own attributes, which are imported when they are first asked for"}
"""Modules that stand outside the order, and why."""

STILL_BACKWARDS: set[tuple[str, str]] = set()
"""Files that import from a later folder today. The list only gets shorter: it names nothing that is in order by now."""

ROOMS = ("plane", "space", "learned")
"""The rooms of an engine, in order."""


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


def modules_named(tree: ast.AST) -> set[str]:
    """All modules of the library that a file names: in imports anywhere, and in strings such as import_module takes."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                assert level == 0, "imports are absolute"
                found |= {f"{module}.{alias.name}" for alias in names}
            case ast.Attribute(value=ast.Name(id="whorl"), attr=name):
                found.add(f"whorl.{name}")
            case ast.Constant(value=str(text)) if re.match(r"whorl(\.\w+)+\.?$", text):
                found.add(text)
    functions = {f"whorl.{name}": f"{module}.{name}" for name, module in whorl._FUNCTIONS.items()}
    return {functions.get(name, name) for name in found if name.startswith("whorl.")}


def imports() -> list[tuple[str, str, str]]:
    """Who imports what: file, folder (or module) that it lies in, and the module imported."""
    return [
        (str(path.relative_to(SOURCE)), path.relative_to(SOURCE).parts[0].removesuffix(".py"), target)
        for path in sorted(SOURCE.rglob("*.py"))
        for target in sorted(modules_named(ast.parse(path.read_text())))
    ]


def test_networks_load_neither_training_nor_evaluation():
    """Who denoises needs no trainer; a process of its own looks at what is really loaded."""
    work = "import numpy, whorl; whorl.denoise(numpy.random.default_rng(0).normal(100, 9, (16, 16)), 9.0)"
    found = loaded(work)
    assert not {name for name in found if name.startswith(("whorl.training", "whorl.evaluation"))}
    assert "whorl.networks.photo" in found


def test_every_way_to_import_is_seen():
    ways = """
import whorl.files
from whorl import large, denoise
from whorl.models import build
def late():
    from whorl.page.server import serve
    import_module("whorl.engines.cpu.engine")
    import_module(f"whorl.cli.{verb}")
    whorl.networks.load
    "whorl.training is not imported by a sentence"
"""
    seen = {name.split(".")[1] for name in modules_named(ast.parse(ways))}
    assert seen == {"files", "large", "denoising", "models", "page", "engines", "cli", "networks"}


def test_every_folder_and_module_has_its_place():
    places = {path.stem for path in SOURCE.glob("*.py")} | {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert sorted(places) == sorted([*ORDER, *LOADED_BY_NAME])


def test_folders_import_only_from_earlier_ones():
    """With one order for all there is no cycle."""
    place = {folder: position for position, folder in enumerate(ORDER)}
    backwards = {
        (file, target.split(".")[1])
        for file, folder, target in imports()
        if folder not in LOADED_BY_NAME and place.get(target.split(".")[1], -1) > place[folder]
    }
    assert backwards - STILL_BACKWARDS == set(), "imports from a later folder"
    assert STILL_BACKWARDS - backwards == set(), "in order by now: take it off the list"


def test_a_picture_passes_every_room_once():
    """Files, then windows, then a command, page or plugin: nobody calls back, and files know no mathematics."""
    callers = {
        "large": {"large", "plugin", "cli"},
        "page": {"page", "cli"},
        "plugin": {"plugin"},
        "cli": {"cli", "__main__"},
    }
    for file, folder, target in imports():
        room = target.split(".")[1]
        if folder in LOADED_BY_NAME or room not in ORDER:
            continue
        assert folder in callers.get(room, {*ORDER}), f"{file} imports {target}"
        assert folder != "files" or room in ("files", "foundations", "errors"), f"{file} imports {target}"


def test_the_rooms_of_an_engine_follow_their_order():
    """Processors and CUDA devices know nothing of each other; what a plane needs knows nothing of space."""
    for file, folder, target in imports():
        here, there = Path(file).parts[1:], target.split(".")[2:]
        if folder != "engines" or not target.startswith("whorl.engines.") or here[0] not in ("cpu", "cuda"):
            continue
        assert there[0] not in {"cpu", "cuda"} - {here[0]}, f"{file} imports {target}"
        if here[1] in ROOMS and len(there) > 1 and there[1] in ROOMS:
            assert ROOMS.index(there[1]) <= ROOMS.index(here[1]), f"{file} imports {target}"


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


def test_every_folder_of_modules_is_a_package():
    """Otherwise the examples in ``numbers.py`` are taken for those of Python's own module of that name."""
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert {str(folder) for folder in folders if not (folder / "__init__.py").exists()} == set()


def test_files_of_tests_have_names_of_their_own():
    """Test folders are no packages: of two files with one name pytest could import only one."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))
