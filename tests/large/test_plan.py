"""The plan is the cheapest within its memory, and covers the image once."""

import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tifffile

from whorl import large, models
from whorl.large.pictures import filter_file
from whorl.large.plan import SCRATCH_COST, How, whole_bytes, working_bytes
from whorl.large.scratch import Scratch


def model_plan(name, time, size=8192, **options):
    steps = large.stages(models.build(name, contrast=9.0), time)
    pixel, scratch = working_bytes(steps, 1, np.dtype(np.float32))
    return large.plan((size, size), steps, bytes_per_pixel=pixel, scratch_cost=scratch, **options), pixel


def test_small_images_are_one_window_and_one_pass():
    chosen, _ = model_plan("multiscale-isotropic", 10.0, size=256)
    assert (chosen.sides, len(chosen.passes), chosen.count) == ((256, 256), 1, 1)


def test_local_models_take_one_pass_and_wide_ones_several():
    assert len(model_plan("perona-malik", 8.0)[0].passes) == 1
    wide, _ = model_plan("multiscale-isotropic", 8.0)
    assert len(wide.passes) > 1
    assert wide.halo < 8 * 47


@pytest.mark.parametrize("memory", [2**24, 2**26, 2**28])
@pytest.mark.parametrize("name", ["perona-malik", "eed", "multiscale-isotropic"])
def test_windows_with_halo_fit_the_memory(name, memory):
    chosen, pixel = model_plan(name, 4.0, memory=memory)
    assert math.prod(side + 2 * chosen.halo for side in chosen.sides) * pixel <= memory


def test_cheapest_division_is_taken():
    chosen, _ = model_plan("eed", 8.0, tile=64)
    steps = sum(len(stages) for stages in chosen.passes)

    def computed(per_pass):
        halos = [
            5 * (min(per_pass, steps - start) - j)
            for start in range(0, steps, per_pass)
            for j in range(min(per_pass, steps - start))
        ]
        return sum((64 + 2 * halo) ** 2 / 64**2 for halo in halos) + (-(-steps // per_pass) - 1) * SCRATCH_COST / 4

    assert len(chosen.passes[0]) == min(range(1, steps + 1), key=computed)


def test_windows_are_whole_tiles_of_the_output():
    chosen, _ = model_plan("perona-malik", 1.0, grain=(256, 512), memory=2**26)
    assert chosen.sides[0] % 256 == 0
    assert chosen.sides[1] % 512 == 0


@pytest.mark.parametrize(("height", "width", "rows", "columns"), [(10, 10, 3, 4), (1, 7, 5, 2), (6, 6, 6, 6)])
def test_windows_cover_every_pixel_once(height, width, rows, columns):
    hits = np.zeros((height, width), int)
    for window in large.windows((height, width), (rows, columns)):
        hits[window.slices] += 1
    assert (hits == 1).all()


def test_scratch_holds_what_is_written_and_has_no_name(tmp_path):
    planes = np.random.default_rng(0).normal(size=(2, 30, 40))
    scratch = Scratch(tmp_path, (30, 40))
    for window in large.windows((30, 40), (7, 11)):
        scratch.write(window, planes[window.inside(large.Window(0, 30, 0, 40))])
    assert list(tmp_path.iterdir()) == []
    for window in (large.Window(0, 30, 0, 40), large.Window(3, 17, 0, 40), large.Window(5, 6, 39, 40)):
        assert np.array_equal(scratch.read(window), planes[window.inside(large.Window(0, 30, 0, 40))])
    scratch.close()
    assert scratch.file.closed


def test_scratch_goes_away_when_the_filter_fails(tmp_path, monkeypatch):
    made = []
    genuine = Scratch.close
    monkeypatch.setattr(Scratch, "close", lambda self: made.append(self) or genuine(self))

    def fail(share):
        if len(made) or share:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        large.map(np.zeros((64, 64)), "eed", contrast=1.0, time=5.0, tile=16, folder=Path(tmp_path), advance=fail)
    assert all(scratch.file is None or scratch.file.closed for scratch in made)
    assert list(tmp_path.iterdir()) == []


def test_memory_is_that_of_the_windows_not_of_the_image(tmp_path):
    class Endless:
        """An image that exists only where it is looked at."""

        shape, dtype = (4096, 4096), np.dtype("u1")

        def __getitem__(self, place):
            return np.zeros([part.stop - part.start for part in place], np.uint8)

        def __setitem__(self, place, block):
            assert not block.any()

    image = Endless()
    tracemalloc.start()
    large.map(image, "perona-malik", contrast=9.0, time=0.4, tile=1024, out=image)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4096 * 4096  # NumPy's part: less than one byte a pixel


def test_wide_grains_make_flat_windows():
    """Where the output lies in strips, windows are as wide as the image, and no larger for that."""
    steps = large.stages(models.build("gerig", contrast=1.0), time=1.0)
    free = large.plan((20_000, 20_000), steps, bytes_per_pixel=100.0, memory=2**28)
    strips = large.plan((20_000, 20_000), steps, grain=(8, 20_000), bytes_per_pixel=100.0, memory=2**28)
    assert strips.sides[1] == 20_000
    assert strips.sides[0] % 8 == 0
    assert math.prod(strips.sides) <= math.prod(free.sides)


@pytest.mark.parametrize(("gibibytes", "share"), [(4, 1.0), (2, 0.5), (64, 2.0)])
def test_an_image_in_one_piece_takes_at_most_a_quarter_of_the_memory(monkeypatch, gibibytes, share):
    told = {"SC_PHYS_PAGES": gibibytes * 2**18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf", told.__getitem__)
    assert whole_bytes() == share * 2**30


def test_the_shares_of_all_pages_sum_up_to_one(tmp_path):
    tifffile.imwrite(
        tmp_path / "a.tif",
        np.zeros((3, 40, 30), np.uint8) + np.arange(3, dtype=np.uint8)[:, None, None],
        photometric="minisblack",
    )
    steps = large.stages(models.build("perona-malik", contrast=9.0), 1.0)
    shares = []
    filter_file(tmp_path / "a.tif", tmp_path / "b.tif", lambda pages: [steps] * len(pages), How(advance=shares.append))
    assert math.fsum(shares) == pytest.approx(1)
    assert len(shares) >= 3


def test_a_stage_that_needs_the_whole_picture_gets_it_whatever_was_asked_for():
    local, whole = large.Stage(lambda u: u, reach=1), large.Stage(lambda u: u, reach=1, whole=True)
    assert large.plan((100, 90), [local, whole], tile=16).sides == (100, 90)
    assert large.plan((100, 90), [local, local], tile=16).sides == (16, 16)


def test_work_is_counted_in_steps_on_windows_with_their_halos():
    """Two stages of three steps and of one, reaching 6 and 2 pixels: first on 16 + 2 * 8 pixels, then on 16 + 2 * 2."""
    stages = [large.Stage(lambda u: u, reach=6, steps=3), large.Stage(lambda u: u, reach=2)]
    chosen = large.plan((160, 160), stages, tile=16, scratch_cost=1e9)
    assert chosen.work == pytest.approx(100 * (3 * 32**2 + 20**2))
