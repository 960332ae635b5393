"""Large files: flat memory, the bits of the whole, and nothing left of a run that was ended half-way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile

import whorl
from peak import GIGABYTE, run_alone
from whorl import files

SRC = Path(whorl.__file__).parents[1]
WHORL = "import sys; from whorl.cli.main import run; run(sys.argv[1:])"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}


def make(path: Path, height: int, width: int) -> None:
    """A tiled 16-bit TIFF of noise, written without ever holding it."""
    base = np.random.default_rng(0).integers(0, 65535, (512, width), dtype=np.uint16)

    def tiles():
        for row in range(0, height, 512):
            for column in range(0, width, 512):
                yield np.roll(base, 37 * row // 512, axis=1)[:, column : column + 512]

    tifffile.imwrite(path, tiles(), shape=(height, width), dtype=np.uint16, tile=(512, 512))


def check_huge(folder: Path, side: int, killed_after: int = 0) -> None:
    make(folder / "huge.tif", side, side)
    words = ["filter", "-q", "--tile", "auto", "--model", "perona-malik", "--contrast", "9000", "--time", "0.8"]
    words += [str(folder / "huge.tif"), str(folder / "out.tif")]
    if killed_after:
        done = folder / ".out.tif.whorl" / "0" / "done"
        with subprocess.Popen([sys.executable, "-m", "whorl", *words], env=environment()) as process:
            while not done.exists() or done.read_text().count("\n") < killed_after:
                assert process.poll() is None
                time.sleep(0.05)
            process.kill()
    answer = run_alone(WHORL, *words, "--json", limit=64 * GIGABYTE, timeout=1200)
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["files"][0]["resumed"] == bool(killed_after)
    assert answer.peak < GIGABYTE
    steps, margin = 2, 8
    with files.open_reader(folder / "huge.tif") as before, files.open_reader(folder / "out.tif") as after:
        assert after.pages[0].layout == before.pages[0].layout
        # across the borders of windows and tiles, and at a corner
        for top, left in ((side // 2 - 300, side // 2 - 200), (1024, 1500), (0, 0)):
            cut = before.pages[0].read(top, top + 600, left, left + 600)[..., 0]
            whole = whorl.diffuse(cut, "perona-malik", contrast=9000.0, time=0.8)
            inner = slice(margin * bool(top), 600 - margin), slice(margin * bool(left), 600 - margin)
            assert steps < margin
            seen = after.pages[0].read(top, top + 600, left, left + 600)[..., 0]
            assert np.array_equal(seen[inner], whole[inner])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_memory_stays_below_a_gigabyte(tmp_path):
    check_huge(tmp_path, 4096)  # whole, the steps would need three gigabytes


@pytest.mark.slow
@pytest.mark.skipif("WHORL_HUGE" not in os.environ, reason="takes minutes and 8 GB of disk: set WHORL_HUGE=30000")
def test_thirty_thousand_squared_killed_and_gone_on_with(tmp_path):
    check_huge(tmp_path, int(os.environ["WHORL_HUGE"]), killed_after=5)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_ended_half_way_leaves_no_output(tmp_path, number, code):
    make(tmp_path / "in.tif", 2048, 2048)
    words = ["filter", "-q", "--tile", "256", "--model", "eed", "--contrast", "9000", "--time", "500"]
    command = [sys.executable, "-m", "whorl", *words, str(tmp_path / "in.tif"), str(tmp_path / "out.tif")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        while not (tmp_path / ".out.tif.whorl" / "0" / "run").exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(timeout=60)
    # Python may end by the signal itself instead of its number, which is the same to a shell
    assert process.returncode in (code, -number)
    assert not (tmp_path / "out.tif").exists()
    if number == signal.SIGKILL:  # nobody could clean up: the next run does
        assert len(os.listdir(tmp_path)) == 3
        tifffile.imwrite(tmp_path / "small.tif", np.zeros((9, 9), np.uint8))
        (tmp_path / "in.tif").unlink()
        files.write(tmp_path / "out.tif", files.read(tmp_path / "small.tif"))
        assert sorted(os.listdir(tmp_path)) == [".out.tif.whorl", "out.tif", "small.tif"]
    else:
        assert sorted(os.listdir(tmp_path)) == [".out.tif.whorl", "in.tif"]  # with which the same command goes on
