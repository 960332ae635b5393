"""The gallery's scripts: well formed and self-contained, and one of them runs; `make docs` runs them all."""

import ast
import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def test_there_are_at_least_ten_scripts() -> None:
    assert len(SCRIPTS) >= 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_has_a_title_and_an_explanation(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    title, rule, *rest = (ast.get_docstring(tree) or "").splitlines()
    assert set(rule) == {"="}
    assert len(rule) == len(title)
    assert len(" ".join(rest).split()) >= 20


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_imports_public_names_only(script: Path) -> None:
    import importlib

    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "whorl":
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert alias.name in getattr(module, "__all__", vars(module))
                assert not alias.name.startswith("_")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_needs_no_network(script: Path) -> None:
    shipped = {"astronaut", "camera", "cell", "coffee", "coins", "grass", "page", "text"}
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "skimage.data":
            assert node.attr in shipped
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name.split(".")[0] for alias in node.names}
            assert not names & {"urllib", "requests", "pooch", "socket"}


@pytest.mark.parametrize("name", ["11_literal_resnet"])
def test_script_runs_and_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.setattr(pyplot, "show", lambda: None)
    pyplot.close("all")
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    figures = pyplot.get_fignums()
    pyplot.close("all")
    assert figures


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_figures_can_be_read_as_thumbnails(script: Path) -> None:
    """Wide strips of panels shrink to nothing: no figure is wider than 1.8 times its height, or than the page."""
    found = re.findall(r"figsize=\(([\d.]+), ([\d.]+)\)", script.read_text(encoding="utf-8"))
    assert found
    for width, height in found:
        assert float(width) <= 1.8 * float(height)
        assert float(width) <= 9.5
