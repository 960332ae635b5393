"""Training on photographs: losses, schedule, noisy patches, the term for turns."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from whorl.data.photographs import photographs, set_aside
from whorl.data.synthetic import Turn
from whorl.errors import FileError, ShapeError
from whorl.invariance.coincidence import band_limited, noisy_turn_error
from whorl.networks import load_card
from whorl.operators import mirror
from whorl.training import TensorPairs, TrainingConfig, train
from whorl.training.adam import AdamMethod
from whorl.training.distributed import Team
from whorl.training.method import image_losses
from whorl.training.pairs import LevelInput, NoisyPatches
from whorl.training.recipe import Photographs, photo_recipe
from whorl.training.turning import turn_penalty

PICTURES = [np.random.default_rng(i).integers(0, 256, (1, 40, 50 + i), dtype=np.uint8) for i in range(3)]


class Factor(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(0.5))

    def forward(self, u):
        return self.factor * u


@pytest.mark.parametrize("loss", ["mse", "charbonnier", "log"])
def test_every_loss_is_least_where_the_pictures_agree(loss):
    generator = torch.Generator().manual_seed(0)
    noisy = torch.rand(4, 1, 16, 16, generator=generator) * 255
    clean = 0.8 * noisy + torch.randn(noisy.shape, generator=generator)
    network = Factor()
    train(network, TensorPairs(noisy, clean), TrainingConfig(epochs=300, batch=4, rate=0.02, loss=loss))
    assert network.factor.item() == pytest.approx(0.8, abs=0.02)


def test_the_logarithm_weighs_pictures_alike():
    """Doubling the error of one picture changes the loss as much, whichever picture it is."""
    difference = torch.tensor([1.0, 10.0]).view(2, 1, 1, 1).expand(2, 1, 4, 4)
    losses = image_losses("log", difference, 255.0)
    doubled = image_losses("log", 2 * difference, 255.0)
    assert (doubled - losses).tolist() == pytest.approx([math.log(4)] * 2, rel=0.1)


def test_the_rate_rises_step_by_step_and_falls_to_zero():
    pairs = TensorPairs(torch.ones(8, 1, 4, 4), torch.zeros(8, 1, 4, 4))
    config = TrainingConfig(epochs=5, batch=2, rate=0.1, schedule="annealed", warmup=3, clip=1e-3)
    method = AdamMethod(Factor(), pairs, config, Team())
    rates = []
    step = method.optimiser.step
    method.optimiser.step = lambda: (rates.append(method.optimiser.param_groups[0]["lr"]), step())
    for epoch in range(5):
        method.epoch(epoch)
    assert len(rates) == 20
    assert rates[0] == pytest.approx(0.1 / 4)
    assert max(rates) == rates[3]
    assert rates[3:] == sorted(rates[3:], reverse=True)
    assert rates[-1] < 0.001


def test_gradients_are_cut_to_a_length():
    pairs = TensorPairs(torch.ones(2, 1, 4, 4), torch.zeros(2, 1, 4, 4))
    method = AdamMethod(network := Factor(), pairs, TrainingConfig(batch=2, clip=1e-3), Team())
    method.epoch(0)
    assert network.factor.grad.abs().item() == pytest.approx(1e-3, rel=1e-3)
    # Before Adam looks at them: its mean holds a tenth of the first gradient.
    assert method.state()["exp_avg.factor"].abs().item() == pytest.approx(1e-4, rel=1e-3)


def test_patches_depend_on_seed_epoch_and_number_alone():
    patches = NoisyPatches(PICTURES, (5.0, 55.0), size=16, count=8)
    noisy, clean = patches.batch(torch.arange(4), 0)
    again = NoisyPatches(PICTURES, (5.0, 55.0), size=16, count=8).batch(torch.arange(4), 0)
    assert torch.equal(noisy, again[0])
    assert torch.equal(clean, again[1])
    assert not torch.equal(clean, patches.batch(torch.arange(4), 1)[1])
    assert noisy.shape == (4, 2, 16, 16)
    assert clean.shape == (4, 1, 16, 16)


def test_patches_are_cut_from_the_pictures():
    _, clean = NoisyPatches(PICTURES, (25.0, 25.0), size=16, count=8).batch(torch.arange(8), 0)
    for patch in clean[:, 0].to(torch.uint8).numpy():
        windows = [np.lib.stride_tricks.sliding_window_view(picture[0], (16, 16)) for picture in PICTURES]
        assert any((view == patch).all((-2, -1)).any() for view in windows)


def test_patches_come_from_every_place_alike_and_from_large_pictures_more_often():
    """Pictures that say in two channels where a pixel lies, the second one by another 100."""
    size, draws = 16, 20_000
    pictures = [np.indices((24, 24)).astype(np.uint8), (100 + np.indices((40, 72))).astype(np.uint8)]
    _, clean = NoisyPatches(pictures, (25.0, 25.0), size=size, count=draws).batch(torch.arange(draws), 0)
    places = clean[:, :, 0, 0].long()
    second = places[:, 0] >= 100
    # Five standard deviations of a count, here and below.
    share = 40 * 72 / (40 * 72 + 24 * 24)
    assert abs(float(second.double().mean()) - share) < 5 * (share * (1 - share) / draws) ** 0.5
    for chosen, first, (rows, columns) in ((~second, 0, (9, 9)), (second, 100, (25, 57))):
        at = places[chosen] - first
        counts = torch.bincount(at[:, 0] * columns + at[:, 1], minlength=rows * columns).double()
        expected = int(chosen.sum()) / (rows * columns)
        assert len(counts) == rows * columns
        spread = float(((counts - expected).square() / expected).sum())  # chi square
        assert abs(spread - (rows * columns - 1)) < 5 * (2 * rows * columns) ** 0.5


def test_levels_are_drawn_evenly_from_the_whole_range():
    noisy, _ = NoisyPatches(PICTURES, (5.0, 55.0), size=2, count=4000).batch(torch.arange(4000), 0)
    levels = noisy[:, 1, 0, 0].double().sort().values
    assert 5 <= float(levels[0]) < 5.1
    assert 54.9 < float(levels[-1]) <= 55
    even = 5 + 50 * (torch.arange(4000) + 0.5) / 4000
    assert float((levels - even).abs().max()) / 50 < 2 / 4000**0.5  # Kolmogorov and Smirnov: once in 1,500 draws


def test_the_noise_has_the_level_that_comes_with_it():
    noisy, clean = NoisyPatches(PICTURES, (5.0, 55.0), size=40, count=40).batch(torch.arange(40), 0)
    found = (noisy[:, :1] - clean).flatten(1).std(1)
    assert torch.allclose(found, noisy[:, 1, 0, 0], rtol=0.12)  # 4 standard errors of 1600 samples are 7 %
    network = LevelInput(nn.Bilinear(1, 1, 1))
    network.network.forward = lambda u, level: u + level
    assert torch.equal(network(noisy), noisy[:, :1] + noisy[:, 1:, :1, :1])


def test_level_and_correlation_come_apart():
    noisy = torch.arange(2 * 3 * 4 * 4.0).view(2, 3, 4, 4)
    network = LevelInput(nn.Identity(), told=2)
    network.network.forward = lambda u, level, correlation: (u, level, correlation)
    u, level, correlation = network(noisy)
    assert torch.equal(u, noisy[:, :1])
    assert torch.equal(level, noisy[:, 1:2, :1, :1])
    assert torch.equal(correlation, noisy[:, 2:, :1, :1])


def test_the_last_look_comes_after_the_last_step(tmp_path):
    """Epochs of 250 steps; those that are left make one more."""
    for steps, epochs in ((250, 1), (251, 2), (4000, 16)):
        assert photo_recipe("photo-27k", tmp_path, steps=steps).training.epochs == epochs


def test_other_pictures_are_another_training(tmp_path):
    from PIL import Image

    for number in range(41):
        Image.fromarray(np.zeros((16, 16), np.uint8)).save(tmp_path / f"{number}.png")
    data = Photographs(tmp_path, size=16)
    assert [len(part) for part in data.pictures] == [39, 2]
    assert data.identity()["pictures"] == 39
    (tmp_path / "5.png").unlink()
    for other in (Photographs(tmp_path, size=16), Photographs(tmp_path, size=15)):
        assert other.identity() != data.identity()


def test_photographs_are_trained_on_as_the_shipped_networks_were(tmp_path):
    trained, recipe = load_card("photo-grey").training["calls"][0], photo_recipe("photo-27k", tmp_path).training
    for name in ("optimiser", "batch", "rate", "schedule", "warmup", "clip", "precision", "checkpoint_seconds"):
        assert getattr(recipe, name) == trained[name]


def test_gradients_are_left_as_they_are_and_nothing_is_turned_unless_told():
    ends = []
    for told in ({}, {"clip": 0.0, "turn": 0.0}):
        network = nn.Conv2d(1, 1, 1)
        with torch.no_grad():
            network.weight.fill_(0.5)
            network.bias.zero_()
        train(
            network, TensorPairs(torch.ones(4, 1, 48, 48), torch.zeros(4, 1, 48, 48)), TrainingConfig(epochs=2, **told)
        )
        ends.append(torch.cat([network.weight.flatten(), network.bias]))
    assert torch.equal(*ends)


def test_small_pictures_and_empty_folders_are_refused(tmp_path):
    from PIL import Image

    with pytest.raises(ShapeError, match="smallest picture has 40"):
        NoisyPatches(PICTURES, (25.0, 25.0), size=64)
    with pytest.raises(FileError, match="no pictures"):
        photographs(tmp_path)
    with pytest.raises(FileError, match="no such folder"):
        photographs(tmp_path / "missing")
    Image.fromarray(np.zeros((8, 40), np.uint8)).save(tmp_path / "flat.png")
    with pytest.raises(FileError, match=r"flat.png: 40 x 8 pixels; at least 16"):
        photographs(tmp_path, smallest=16)
    assert photographs(tmp_path, smallest=8)["flat.png"].shape == (1, 8, 40)
    (tmp_path / "flat.png").unlink()
    (tmp_path / "broken.png").write_bytes(b"not a picture")
    with pytest.raises(FileError, match=r"broken.png.*cannot be read"):
        photographs(tmp_path)


def test_pictures_are_read_in_grey_and_colour_and_some_are_held_back(tmp_path):
    from PIL import Image

    for i in range(5):
        Image.fromarray(np.full((8, 9, 3), (255, 0, 10 * i), np.uint8)).save(tmp_path / f"{i}.png")
    colour, grey = photographs(tmp_path, 3), photographs(tmp_path, 1)
    assert colour["2.png"].shape == (3, 8, 9)
    assert colour["2.png"][:, 0, 0].tolist() == [255, 0, 20]
    assert int(grey["0.png"][0, 0, 0]) == round(0.299 * 255)
    learned, held = set_aside(grey, 4)
    assert list(held) == ["0.png", "4.png"]
    assert not set(learned) & set(held)


def test_band_limited_pictures_agree_where_lattices_meet():
    picture = torch.rand(2, 48, 48, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    upright, turned = band_limited(picture, 33), band_limited(picture, 33, Turn(4, 3, 5))
    # Turned by 36.9 degrees the way of rot90, (x, y) = (2, 1) steps from the middle comes from (1, 2), and so on.
    for (x, y), (from_x, from_y) in {(2, 1): (1, 2), (1, -2): (2, -1), (4, 7): (-1, 8)}.items():
        assert torch.allclose(turned[:, 16 + y, 16 + x], upright[:, 16 + from_y, 16 + from_x], atol=1e-12)
    waves = torch.fft.fft2(band_limited(picture, 48, frequency=0.2))
    k = torch.fft.fftfreq(48, dtype=torch.float64)
    assert waves[:, (k[:, None] ** 2 + k**2) > 0.2**2].abs().max() < 1e-9


def test_turn_errors_are_zero_for_pointwise_filters_and_large_for_shifts():
    pictures = [255 * torch.rand(1, 64, 64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)]
    how = dict(size=33, margin=4, dtype=torch.float64)
    assert max(e.relative for e in noisy_turn_error(lambda u: u.square() / 255, pictures, **how)) < 1e-11
    assert min(e.relative for e in noisy_turn_error(lambda u: u.roll(1, -1), pictures, **how)) > 0.2


def test_the_penalty_measures_what_the_turn_error_measures():
    """Both see the same filter in the same way, though on other pictures: squares of one are about the other."""
    generator = torch.Generator().manual_seed(1)
    noisy = 255 * torch.rand(6, 1, 48, 48, generator=generator)

    def across(u):
        padded = mirror(u, 0, 1)
        return u + 0.3 * (padded[..., 2:] - 2 * u + padded[..., :-2])

    assert turn_penalty(lambda u: u.square() / 255, noisy, 1) < 1e-9
    penalty = float(turn_penalty(across, noisy, 1)) ** 0.5
    pictures = [255 * torch.rand(1, 64, 64, generator=generator, dtype=torch.float64) for _ in range(4)]
    error = noisy_turn_error(across, pictures, turns=(Turn(4, 3, 5),), size=45, margin=8)[0].relative
    assert penalty == pytest.approx(error, rel=0.15)
