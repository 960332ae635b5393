"""The pages: their code runs, their links lead somewhere, their tables agree with the models."""

import importlib
import inspect
import json
import re
import runpy
from pathlib import Path
from statistics import fmean

import pytest
import torch

import whorl
from whorl.data.synthetic import Whorl, render
from whorl.models import build, names

DOCS = Path(__file__).parents[2] / "docs"
CHOOSING = json.loads((DOCS.parent / "experiments" / "results" / "choosing.json").read_text())
PAGES = sorted(path for path in DOCS.rglob("*.rst") if not {"_build", "gallery"} & set(path.relative_to(DOCS).parts))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_pictures_and_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"^ *\.\. (?:image|figure):: (\S+)$|^ *:file: (\S+)$", text, flags=re.MULTILINE):
        name = "".join(target)
        folder = DOCS if name.startswith("/") else page.parent
        assert (folder / name.lstrip("/")).is_file() or name.startswith("benchmarks/")
    for target in re.findall(r":doc:`(?:[^`<]*<)?([^`>]+)>?`", text):
        folder = DOCS if target.startswith("/") else page.parent
        made = "gallery/" in target  # written by the build
        assert made or (folder / f"{target.lstrip('/')}.rst").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
def test_names_in_roles_are_public(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r":(?:func|class|mod|data|exc):`~?(whorl[\w.]*)`", text):
        parts = name.split(".")
        if len(parts) == 2:
            assert hasattr(whorl, parts[1])
        elif len(parts) > 2:
            module = importlib.import_module(".".join(parts[:-1]))
            assert parts[-1] in getattr(module, "__all__", vars(module))
            assert not parts[-1].startswith("_")


def test_every_public_name_has_an_example() -> None:
    """They are run where they stand, as doctests. Names of types and of constants need none."""
    folders = [value for name in whorl.__all__ if inspect.ismodule(value := getattr(whorl, name))]
    public = {f"{folder.__name__}.{name}": getattr(folder, name) for folder in folders for name in folder.__all__}
    public |= {f"whorl.{name}": value for name in whorl.__all__ if inspect.isroutine(value := getattr(whorl, name))}
    ours = {name: value for name, value in public.items() if inspect.isclass(value) or inspect.isroutine(value)}
    silent = [
        name for name, value in ours.items() if value.__module__[:5] == "whorl" and ">>>" not in str(value.__doc__)
    ]
    assert len(ours) > 150
    assert silent == []


def test_code_of_the_extending_page_runs() -> None:
    text = (DOCS / "extending.rst").read_text(encoding="utf-8")
    blocks = re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text)
    assert len(blocks) >= 5
    namespace: dict[str, object] = {}
    for block in blocks:
        code = "\n".join(line[3:] for line in block.splitlines())
        exec(compile(code, "extending.rst", "exec"), namespace)


def test_every_model_stands_in_the_choosing_table() -> None:
    text = (DOCS / "choosing.rst").read_text(encoding="utf-8")
    _, _, table = text.partition("When to take which\n")
    rows = re.findall(r"^   \* - ``([\w-]+)``$", table, flags=re.MULTILINE)
    assert sorted(rows) == sorted(names())


def test_reach_table_agrees_with_the_models() -> None:
    text = (DOCS / "large-images.rst").read_text(encoding="utf-8")
    rows = re.findall(r"^   \* - (``.*)\n     - (\d+)\n     - (\d+)$", text, flags=re.MULTILINE)
    told = {name: (int(one), int(ten)) for first, one, ten in rows for name in re.findall(r"``([\w-]+)``", first)}
    assert sorted(told) == sorted(names())
    for name, (one, ten) in told.items():
        assert build(name, contrast=9.0).reach == one
        assert ten == 10 * one


def test_block_diagrams_are_those_of_their_script() -> None:
    script = runpy.run_path(str(DOCS / "figures" / "blocks.py"))
    for drawing in (script["single"](), script["several"]("multichannel"), script["several"]("multiscale")):
        committed = (DOCS / "images" / f"block-{drawing.name}.svg").read_text(encoding="utf-8")
        assert drawing.svg() == committed


def test_readme_figure_is_small() -> None:
    assert 20_000 < (DOCS / "images" / "readme.png").stat().st_size < 300_000


def test_figures_of_the_choosing_page_are_those_that_were_measured() -> None:
    text = (DOCS / "choosing.rst").read_text(encoding="utf-8")
    rows = re.findall(
        r"^   \* - (\S.*)\n     - (\S+)\n     - (\S+)\n     - (\S+)\n     - (\S+)$", text, flags=re.MULTILINE
    )
    told = {name.replace("`", ""): [cell.strip("*") for cell in cells] for name, *cells in rows}
    assert {*names(), "photo-grey", "photo-colour", "photo-8k"} < set(told)
    for name, cells in told.items():
        found = [CHOOSING[picture].get(name) for picture in ("fingerprint", "camera", "astronaut", "scene")]
        assert cells == [f"{one['psnr']:.2f}" if one else "–" for one in found], name


@pytest.mark.parametrize("name", ["ced", "eed", "lysaker", "weickert-brox", "perona-malik"])
def test_figures_of_the_fingerprint(name: str) -> None:
    """At the setting that the search found; it took longer steps the longer the time was."""
    clean = render(Whorl(period=14.0), 96).float()
    noisy = clean + 30 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    found = dict(CHOOSING["fingerprint"][name])
    told, time = found.pop("psnr"), found.pop("time")
    with torch.no_grad():
        reached = float(whorl.metrics.psnr(build(name, **found)(noisy, time=time, tau=0.1), clean, value_range=255))
    assert reached == pytest.approx(told, abs=0.02)


def test_figures_beside_non_local_means_are_those_that_were_measured() -> None:
    text = (DOCS / "denoising.rst").read_text(encoding="utf-8")
    for noise, pictures in CHOOSING["photographs"].items():
        for kind in ("colour", "grey"):
            rows = [row for name, row in pictures.items() if name.endswith("grey") == (kind == "grey")]
            ours = fmean(row["weickert-brox, nothing told"] for row in rows)
            means = fmean(max(row["non-local means"], row["non-local means, wide"]) for row in rows)
            network = fmean(row.get("photo-grey", row.get("photo-colour", 0)) for row in rows)
            shown = "\n     - ".join(f"{value:.2f}" for value in (ours, means, network))
            assert f"   * - {kind}, noise {noise}\n     - {shown}\n" in text


def test_the_python_of_the_readme_runs() -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    image = 100 + 10 * torch.randn(24, 20, 3, generator=torch.Generator().manual_seed(0)).numpy()
    mask = image[..., 0] > 120
    known = {"image": image, "mask": mask, "array": image[..., 0], "u": 255 * torch.rand(1, 1, 16, 16)}
    exec(code, known)
    assert known["clean"].shape == known["smooth"].shape == known["whole"].shape == image.shape
    assert known["denoised"].dtype == image.dtype


def test_the_table_of_the_defaults_is_the_committed_result() -> None:
    found = json.loads((DOCS.parent / "experiments" / "results" / "defaults.json").read_text())["report"]
    text = (DOCS / "denoising.rst").read_text(encoding="utf-8")
    for name, levels in found.items():
        for level in ("15", "25", "50"):
            mean = fmean(levels[level].values())
            assert name == "estimated noise" or re.search(rf"{name}(?s:.*?){mean:.2f}", text), (
                f"{name} at noise {level}"
            )
