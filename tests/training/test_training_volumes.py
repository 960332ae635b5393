"""Training on volumes: drawn ones and scans, noise as it is told, and refusals."""

import numpy as np
import pytest
import torch

from whorl.data import drawn_volumes
from whorl.errors import FileError
from whorl.files.scans import scans
from whorl.networks import PhotoSpec
from whorl.training.method import image_losses
from whorl.training.pairs import LevelInput
from whorl.training.recipe import Recipe, photo_recipe
from whorl.training.volumes import NoisyCubes, Volumes

SMALL = PhotoSpec(
    width=3, fields=(3, 2, 1), blocks=1, repetitions=2, size=3, rho=1, noise=(20.0, 60.0), correlated=True, dimension=3
)


@pytest.fixture
def folder(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    for name, volume in zip(("a.nii", "b.nii"), drawn_volumes(range(2), size=16)[:, 0].numpy(), strict=True):
        nibabel.Nifti1Image(40 + 3 * volume[:, 2:], np.eye(4)).to_filename(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a volume")
    return tmp_path


def test_cubes_depend_on_seed_epoch_and_numbers_alone():
    cubes = NoisyCubes([], (2.0, 60.0), 8, 6, seed=1, correlated=True)
    noisy, clean = cubes.batch(torch.tensor([3, 1]), 2)
    assert (noisy.shape, clean.shape) == ((2, 3, 8, 8, 8), (2, 1, 8, 8, 8))
    for same, first in zip(cubes.batch(torch.tensor([3, 1]), 2), (noisy, clean), strict=True):
        assert torch.equal(same, first)
    assert not torch.equal(cubes.batch(torch.tensor([3, 1]), 3)[1], clean)


def test_level_and_correlation_are_those_of_the_noise():
    volume = np.full((1, 24, 24, 24), 100.0, np.float32)
    noisy, clean = NoisyCubes([volume], (2.0, 60.0), 24, 12, seed=0, correlated=True).batch(torch.arange(12), 0)
    noise, level, correlation = noisy[:, :1] - clean, noisy[:, 1, 0, 0, 0], noisy[:, 2, 0, 0, 0]
    torch.testing.assert_close(noise.std((1, 2, 3, 4)), level, rtol=0.05, atol=0)
    products = [(noise * noise.roll(1, axis)).mean((1, 2, 3, 4)) / level**2 for axis in (2, 3, 4)]
    torch.testing.assert_close(sum(products) / 3, correlation, rtol=0, atol=0.05)
    assert 0 < int((correlation > 0).sum()) < 12
    assert float(level.min()) < 10 < 30 < float(level.max())


def test_a_network_is_told_level_and_correlation():
    seen = []

    class Spy(torch.nn.Module):
        def forward(self, u, *told):
            seen.extend(told)
            return u

    u = torch.arange(2.0 * 3 * 8).view(2, 3, 2, 2, 2)
    assert torch.equal(LevelInput(Spy(), 2)(u), u[:, :1])
    assert [each.shape for each in seen] == [(2, 1, 1, 1, 1)] * 2
    assert torch.equal(seen[1][:, 0, 0, 0, 0], u[:, 2, 0, 0, 0])


def test_scans_are_read_scaled_and_one_is_held_back(folder):
    found = scans(folder, 12)
    assert list(found) == ["a.nii 0 0", "b.nii 0 0"]
    for volume in found.values():
        assert volume.dtype == np.float32
        assert np.mean((volume >= 0) & (volume <= 255)) > 0.99
    assert [len(part) for part in Volumes(found, size=12).pictures] == [1, 1]


def _loss(network, pairs):
    noisy, clean = pairs.batch(torch.arange(4), 0)
    with torch.no_grad():
        return float(image_losses("log", LevelInput(network, pairs.told)(noisy) - clean, 255.0).mean())


@pytest.mark.filterwarnings("ignore:the training ended")  # ten steps on other volumes and levels each
@pytest.mark.parametrize("kind", ["drawn", "scans"])
def test_training_lowers_the_loss_and_writes_a_card(kind, folder):
    data = Volumes(scans(folder, 12) if kind == "scans" else {}, steps=10, size=12 if kind == "scans" else 8)
    settings = photo_recipe("volume-5k", None, steps=10, size=data.size, batch=4, epochs=2, warmup=1).training
    recipe = Recipe(SMALL, data, settings)
    torch.manual_seed(settings.seed)
    before = SMALL.build().eval()
    network, history = recipe.train()
    pairs = data.pairs(network, settings, "cpu")
    assert _loss(network, pairs) < _loss(before, pairs)
    assert history.last.held_back is not None
    card = recipe.card("mine", {0: (network, history)})
    assert card.training["steps"] == 10
    assert ("drawn" in card.data) == (kind == "drawn")


def test_what_cannot_be_learned_from_is_refused(folder):
    with pytest.raises(FileError, match="at least 20 are needed a side"):
        scans(folder, 20)
    with pytest.raises(FileError, match="no such folder"):
        scans(folder / "nowhere", 8)
    nibabel = pytest.importorskip("nibabel")
    volume = np.ones((12, 12, 12), np.float32)
    nibabel.Nifti1Image(volume, np.eye(4)).to_filename(folder / "a.nii")
    with pytest.raises(FileError, match="one value"):
        scans(folder, 12)
    volume[3] = np.nan
    nibabel.Nifti1Image(volume, np.eye(4)).to_filename(folder / "a.nii")
    with pytest.raises(FileError, match="NaN"):
        scans(folder, 12)
    for path in folder.glob("*.nii"):
        path.unlink()
    with pytest.raises(FileError, match="holds no volumes"):
        scans(folder, 12)


def test_one_level_makes_a_network_that_is_told_nothing():
    recipe = photo_recipe("volume-5k", None, noise=25.0, steps=2, size=8)
    network = recipe.network.build()
    assert not network.takes_level
    noisy, clean = recipe.data.pairs(network, recipe.training, "cpu").batch(torch.arange(2), 0)
    assert noisy.shape == clean.shape
    assert float((noisy - clean).std()) == pytest.approx(25, rel=0.1)
