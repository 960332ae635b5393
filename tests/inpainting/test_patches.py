"""Holes that are cut out and laid side by side are filled as they are in the whole picture."""

import numpy as np
import pytest
import torch

from whorl.inpainting import fill, patches
from whorl.inpainting.images import METHODS, method


def holes(*shape):
    """A blob, a corner, a gap at the border, and a scratch from border to border."""
    known = torch.ones(1, 1, *shape, dtype=torch.bool)
    y, x = torch.meshgrid(*(torch.arange(size) for size in shape), indexing="ij")
    known &= (y - 40) ** 2 + (x - 50) ** 2 > 30
    known[..., :4, :3] = known[..., 60:66, -5:] = False
    return known & ((y - 2 * (x - 90)).abs() > 2)


@pytest.fixture
def both(monkeypatch):
    """The picture filled in patches, and as a whole."""

    def filled(model, image, known, tolerance):
        for share in (4.0, 0.0):
            monkeypatch.setattr(patches, "WORTHWHILE", share)
            cut = patches.around(known, 10, model.operator.reach, model.reach)
            assert (cut is None) == (share == 0)
            yield fill(model, image, known, tolerance=tolerance, engine="reference")

    return filled


@pytest.mark.parametrize("name", METHODS)
def test_patches_give_what_the_whole_picture_gives(name, both):
    known = holes(100, 120)
    values = torch.rand(1, 2, 20, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    image = 255 * torch.nn.functional.interpolate(values, scale_factor=5, mode="bilinear")
    found, wanted = both(method(name), image, known, tolerance=1.0)
    assert found.steps == wanted.steps
    assert float((found.image - wanted.image).abs().max()) < 1e-9  # 13 digits of a grey value
    assert torch.equal(found.image.masked_select(known), image.masked_select(known))


def test_patches_of_a_volume_and_of_pictures_with_holes_of_their_own(both):
    known = torch.ones(2, 1, 12, 30, 70, dtype=torch.bool)
    known[0, :, 3:6, 8:10, 12:15] = known[1, :, 9:12, 25:, 64:68] = False
    image = torch.rand(2, 1, 12, 30, 70, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, wanted = both(method("homogeneous", 3), image, known, tolerance=1e-2)
    assert float((found.image - wanted.image).abs().max()) < 1e-12


def test_work_follows_the_holes():
    sizes = []
    for side in (200, 400, 800):
        known = torch.ones(1, 1, side, side, dtype=torch.bool)
        known[..., 50:60, 50:60] = known[..., 100:103, 100:190] = False
        sizes.append(patches.around(known, 10, 1, 3).source.numel())
    assert sizes[0] == sizes[1] == sizes[2] < 8000


def test_where_all_is_full_of_holes_the_picture_is_taken_as_a_whole():
    known = torch.from_numpy(np.random.default_rng(0).random((1, 1, 64, 64)) < 0.9)
    assert patches.around(known, 10, 1, 3) is None
    assert patches.around(torch.ones_like(known), 10, 1, 3) is None


@pytest.mark.parametrize("axes", [2, 3])
def test_boxes_lie_side_by_side_on_shelves_the_highest_first(axes):
    """Four of 3 by 3 and five of 1 by 3: in a row of 7 columns two fit, so that 3 + 3 + 1 + 1 + 1 rows are enough."""
    flat = np.array([[1, 3], [3, 3], [1, 3], [3, 3], [1, 3], [3, 3], [1, 3], [3, 3], [1, 3]])
    sizes = flat if axes == 2 else np.insert(flat, 0, [2, 5] * 4 + [2], axis=1)
    corners, total = patches._packed(sizes)
    assert total == ((9, 7) if axes == 2 else (5, 9, 7))
    covered = np.zeros(total[-2:], int)
    for (y, x), (height, width) in zip(corners[:, -2:], flat, strict=True):
        covered[y : y + height, x : x + width] += 1
    assert covered.max() == 1
    assert covered.sum() == 51
    assert (corners[:, :-2] == 0).all()
