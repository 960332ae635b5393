"""The npm package: packed, unpacked elsewhere, and used by node and by TypeScript; its results are Python's."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import whorl
from whorl.automatic import noise_level
from whorl.models import names

WEB = Path(__file__).parents[2] / "web"

RIGHT = """
import { denoise, diffuse, fromImageData, inpaint, noise } from "whorl-imaging";
const picture = fromImageData({ data: new Uint8ClampedArray(16), height: 2, width: 2 });
const plane: Float32Array = (await diffuse(picture, { model: "eed", contrast: 3 })).planes[0]!;
const told: number = (await denoise(picture, { noise: 5, network: "photo-8k" })).settings.noise;
const level: number = told + (await noise(picture)).level;
const filled = await inpaint(picture, [1, 0, 0, 0], { method: "homogeneous" });
export { plane, level, filled };
"""
WRONG = [
    "await diffuse(picture, { kappa: 3 });",
    'await denoise(picture, { network: "dncnn" });',
    "const wrong: string = (await noise(picture)).level;",
    "await denoise([1, 2, 3]);",
]


@pytest.fixture(scope="module")
def home(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the packed package is installed."""
    folder = tmp_path_factory.mktemp("embedding")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not on the PATH")
    subprocess.run([npm, "pack", "--silent", "--pack-destination", str(folder)], cwd=WEB, check=True, timeout=120)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as file:
        file.extractall(folder / "node_modules", filter="data")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "whorl-imaging")
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


@pytest.fixture(scope="module")
def photo() -> np.ndarray:
    y, x = np.mgrid[:40, :56]
    disc = np.hypot(x - 26, y - 19) < 12
    colour = np.stack([150 * disc + 50, 60 + 2 * y, 190 - 100 * disc], axis=-1)
    return np.clip(colour + np.random.default_rng(5).normal(0, 12, colour.shape), 0, 255).round().astype(np.uint8)


def node(home: Path, script: Path | str, *words: str, given: str = "") -> str:
    command = [shutil.which("node") or "node", str(script), *words]
    done = subprocess.run(command, cwd=home, input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_package_is_the_library_s_version_and_licence(home: Path) -> None:
    package = home / "node_modules" / "whorl-imaging"
    description = json.loads((package / "package.json").read_text())
    assert description["version"] == whorl.__version__
    assert (package / "LICENSE").read_text() == (WEB.parent / "LICENSE").read_text()
    assert (package / "README.md").exists()


def test_results_are_python_s(home: Path, photo: np.ndarray) -> None:
    mask = np.zeros(photo.shape[:2], int)
    mask[10:14, 8:40] = 1
    rgba = np.concatenate([photo, np.full((*photo.shape[:2], 1), 255, np.uint8)], -1)
    given = {"data": rgba.ravel().tolist(), "mask": mask.ravel().tolist(), "height": 40, "width": 56}
    shutil.copy(Path(__file__).with_name("embedding.mjs"), home)
    found: dict[str, Any] = json.loads(node(home, "embedding.mjs", given=json.dumps(given)))

    def gap(name: str, expected: np.ndarray) -> int:
        shown = np.reshape(found[name], (*photo.shape[:2], 4))[..., :3]
        assert np.abs(shown - photo.astype(int)).max() > 5
        return int(np.abs(shown - expected.astype(int)).max())

    assert sorted(found["models"]) == sorted(names())
    assert sorted(found["networks"]) == ["photo-8k", "photo-colour", "photo-grey"]
    measured = whorl.noise(photo, channel_axis=-1)
    for key in ("gain", "offset", "correlation"):
        assert found["noise"][key] == pytest.approx(getattr(measured, key), rel=1e-5, abs=1e-6)
    assert found["settings"]["model"] == "weickert-brox"
    # Both round float32 values; ties, and settings that agree to three digits, may fall to either side.
    assert gap("filtered", whorl.diffuse(photo, channel_axis=-1, engine="reference")) <= 1
    assert gap("clean", whorl.denoise(photo, 12, network="photo-colour", channel_axis=-1)) <= 1
    assert gap("filled", whorl.inpaint(photo, mask > 0, channel_axis=-1, tolerance=1e-3)) <= 1
    assert found["stopped"] == "stopped"
    named = ["“median”", "“rho”", "contrast=-1", "{ planes, height, width }", "photo-grey", "all of the picture"]
    for word, said in zip(named, found["refused"], strict=True):
        assert word in said


def test_example_denoises_a_file(home: Path, photo: np.ndarray) -> None:
    Image.fromarray(photo).save(home / "photo.ppm")
    said = node(home, home / "node_modules" / "whorl-imaging" / "example.mjs", "photo.ppm", "clean.ppm")
    level = noise_level([torch.from_numpy(photo.astype(np.float32)).permute(2, 0, 1)[None]])
    assert f"photo-colour told {level:.1f}" in said
    expected = whorl.denoise(photo, level, network="photo-colour", channel_axis=-1).astype(int)
    assert np.abs(np.asarray(Image.open(home / "clean.ppm")) - expected).max() <= 1


def test_types_take_what_is_right_and_refuse_what_is_wrong(home: Path, packages: Path) -> None:
    lines = RIGHT + "\n".join(WRONG)
    (home / "use.ts").write_text(lines)
    compiler = packages.parent / "node_modules" / "typescript" / "bin" / "tsc"
    options = [
        "--noEmit",
        "--strict",
        "--module",
        "nodenext",
        "--target",
        "es2022",
        "--lib",
        "es2022,dom",
    ]
    command = [shutil.which("node") or "node", str(compiler), *options, "use.ts"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=120, check=False)
    complaints = {
        int(line.split("(")[1].split(",")[0]) for line in done.stdout.splitlines() if line.startswith("use.ts(")
    }
    first = RIGHT.count("\n") + 1
    assert complaints == set(range(first, first + len(WRONG))), done.stdout
