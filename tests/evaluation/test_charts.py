"""The charts show the figures they are made of."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from whorl.automatic import NoiseModel
from whorl.automatic.noise_model import smoothed
from whorl.data import RectangleSet
from whorl.evaluation import AngleTable
from whorl.evaluation.charts import COMPARED, PAPER, draw_angles, draw_comparison, result_table
from whorl.evaluation.noise_chart import _gaussian_power, draw_noise, draw_report, spectrum
from whorl.evaluation.reproduction import Outcome
from whorl.evaluation.sheet import MARGIN, sheet
from whorl.metrics import psnr
from whorl.networks import load_card


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    found = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, *_, **how: found.append((self, how)))
    return found


def measured(name: str, low: float, high: float) -> Outcome:
    """Made-up results of a network that ships, from ``low`` to ``high`` dB."""
    psnr = torch.linspace(low, high, 3, dtype=torch.float64)[:, None].expand(3, 2)
    table = AngleTable((15, 45, 75), 255**2 / 10 ** (psnr / 10))
    card = load_card(name)
    return Outcome(card, RectangleSet(2, size=32), {card.chosen: table})


def test_the_chart_shows_every_value_with_its_label(drawn):
    draw_angles([measured("isotropic-0.41", 20.0, 30.0), measured("whorl-28", 29.0, 34.0)], "a.png")
    ((figure, how),) = drawn
    (axes,) = figure.axes
    assert how["format"] == "png"
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, 90), pytest.approx((19.5, 34.5)))
    assert axes.get_xticks().tolist() == [0, 15, 30, 45, 60, 75, 90]
    assert axes.get_yticks().tolist() == [21, 23, 25, 27, 29, 31, 33]
    lines = axes.get_lines()
    assert [line.get_xdata(orig=False).tolist() for line in lines] == [[15, 45, 75]] * 2
    assert lines[0].get_ydata(orig=False) == pytest.approx([20.0, 25.0, 30.0])
    assert lines[1].get_label() == "whorl-28"
    assert "2 per angle, whole scene turned" in axes.get_title()


def test_the_comparison_names_the_quality_of_every_picture_but_the_truth(drawn):
    networks = [measured(name, 25.0, 30.0) for name in COMPARED]
    draw_comparison(networks, "a.png", image=1, angle=45, dpi=90)
    ((figure, how),) = drawn
    titles = [axes.get_title() for axes in figure.axes]
    clean, noisy = RectangleSet(2, size=32).pairs(45)
    assert titles[0] == "ground truth\n"
    assert titles[1] == f"noisy\nPSNR {float(psnr(noisy[1:].clamp(0, 255), clean[1:], value_range=255)):.1f} dB"
    assert len(titles) == 5
    assert all("PSNR" in title for title in titles[1:])
    assert how["dpi"] == 90
    shown = figure.axes[0].get_images()[0]
    assert np.array_equal(shown.get_array(), clean[1, 0])
    assert shown.get_clim() == (0, 255)
    assert figure.get_suptitle() == "Test scene 1, rotation angle 45°"
    # Two pictures above, in the middle; three below, side by side.
    above, below = ([axes.get_position() for axes in some] for some in (figure.axes[:2], figure.axes[2:]))
    assert min(box.y0 for box in above) > max(box.y1 for box in below)
    for row in (above, below):
        assert all(left.x1 < right.x0 for left, right in pairwise(row))
        assert (row[0].x0 + row[-1].x1) / 2 == pytest.approx(0.5, abs=0.02)


FROM_GREY_VALUES = NoiseModel((0.5,), (20.0,), (0.0,), 0.0, 255.0)
"""Noise of variance 0.5 u + 20."""


def noisy_slope(model: NoiseModel = FROM_GREY_VALUES) -> torch.Tensor:
    return model.simulate(torch.linspace(40, 200, 96).expand(1, len(model.gain), 96, 96).double())


def test_tiles_in_which_noise_was_cut_off_do_not_count_in_the_spectrum():
    noise = 20 * torch.randn(1, 1, 128, 128, generator=torch.Generator().manual_seed(0)).double()
    half_black = (noise + 130 * (torch.arange(128) > 63)).clamp(0, 255)
    _, power = spectrum([half_black], NoiseModel.constant(20.0))
    assert float(power.mean()) > 0.8  # of the flattest tiles; 0.3 where those on black count
    _, dark = spectrum([noise.clamp(0, 255)], NoiseModel.constant(20.0))
    assert len(dark) == len(power)


def test_the_spectrum_of_white_noise_is_flat_at_1_and_that_of_smooth_noise_falls():
    """Of 65,536 pixels 25 tiles are looked at: rings of 8 to 40 waves scatter by at most 1 / sqrt(8 x 25), 7 %.

    The flattest tenth of the tiles is flatter than the mean: of tiles of 256 pixels, whose variance scatters by 9 %, by
    1.75 standard deviations. What is left is 0.84.
    """
    flat = FROM_GREY_VALUES.simulate(torch.full((1, 1, 256, 256), 100.0, dtype=torch.float64))
    frequencies, power = spectrum([flat], FROM_GREY_VALUES)
    assert frequencies.tolist() == [k / 16 for k in range(1, 9)]
    assert power.tolist() == pytest.approx([0.84] * 8, rel=0.25)
    white = torch.randn(1, 1, 256, 256, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    # The mean of two neighbours along each axis has the spectrum cos²(pi k) there: none at half a cycle.
    smooth = torch.nn.functional.avg_pool2d(white, 2, 1)
    even = NoiseModel((0.0,), (1.0,), (0.0,), -9.0, 9.0)
    _, power = spectrum([100 + smooth], even)
    assert power[0] > 0.5
    assert float(power[-1]) < 0.05 * float(power[0])
    assert len(spectrum([torch.zeros(1, 1, 15, 40)], even)[0]) == 0


def test_the_noise_is_drawn_over_the_grey_value_with_its_line(drawn):
    draw_noise([noisy_slope()], FROM_GREY_VALUES, "a.svg", format="svg")
    ((figure, how),) = drawn
    assert how["format"] == "svg"
    left, right = figure.axes
    assert left.get_ylim()[0] == right.get_ylim()[0] == 0
    line, points, far = left.get_lines()
    assert len(far.get_xdata()) == 0
    grey, variance = (torch.as_tensor(part) for part in points.get_data(orig=False))
    assert (float(grey.min()), float(grey.max())) == pytest.approx((40, 200), abs=15)
    assert np.allclose(variance, 0.5 * grey + 20, rtol=0.3)
    assert np.allclose(line.get_ydata(), 0.5 * np.asarray(line.get_xdata()) + 20)
    measured, model = right.get_lines()
    assert measured.get_xdata(orig=False).tolist() == [k / 16 for k in range(1, 9)]
    assert np.allclose(model.get_ydata(), 1)


def test_detail_far_above_the_noise_is_shown_at_the_upper_end(drawn):
    picture = noisy_slope()
    picture[..., 70:] += 60 * torch.randn(96, 26)
    draw_noise([picture], FROM_GREY_VALUES, "a.png")
    _, points, far = drawn[0][0].axes[0].get_lines()
    assert len(far.get_ydata()) > 0
    assert float(np.max(far.get_ydata())) < 1000 < 60**2
    assert len(points.get_ydata()) + len(far.get_ydata()) == 24


def test_the_noise_of_colours_is_drawn_in_their_colours(drawn):
    model = NoiseModel((0.5, 1.0, 0.0), (20.0, 5.0, 9.0), (0.0,) * 3, 0.0, 255.0)
    draw_noise([noisy_slope(model)], model, "a.png")
    lines = [line for line in drawn[0][0].axes[0].get_lines() if len(line.get_xdata()) == 101]
    slopes = [float((np.diff(line.get_ydata()) / np.diff(line.get_xdata())).mean()) for line in lines]
    assert slopes == pytest.approx([0.5, 1.0, 0.0])
    red, green, blue = ([int(line.get_color()[k : k + 2], 16) for k in (1, 3, 5)] for line in lines)
    assert (np.argmax(red), np.argmax(green), np.argmax(blue)) == (0, 1, 2)


@pytest.mark.parametrize("width", [0.0, 0.6, 1.3])
def test_the_dashed_spectrum_is_that_of_simulated_noise(width):
    """The response of the smoothing that makes the noise to a single pixel has its power at every frequency."""
    pixel = torch.zeros(64, 64, dtype=torch.float64)
    pixel[0, 0] = 1
    power = torch.fft.fft2(smoothed(pixel, width)).abs().square()
    places = torch.arange(33)
    assert torch.allclose(_gaussian_power(places.double() / 64, width), power[0, places], rtol=1e-9, atol=1e-12)


def test_the_table_sets_the_claims_of_the_paper_beside_what_was_measured():
    table = result_table([measured("isotropic-0.41", 20.0, 30.0), measured("whorl-28", 29.0, 34.0)])
    rows = dict(zip(("known", "own"), zip(*(column.cells for column in table.columns), strict=True), strict=True))
    claim = PAPER["isotropic-0.41"]
    # Of 20, 25 and 30 dB the variance is 50 / 3.
    assert rows["known"][:3] == ("isotropic-0.41", f"{claim.variance:.3g}", "17")
    assert rows["known"][4:] == (f"{claim.psnr_45:.1f}" if claim.psnr_45 else "–", "25.00", "25.00")
    assert rows["own"][:2] == ("whorl-28", "–")
    assert rows["own"][3:] == ("–", "–", "31.50", "31.50")


@pytest.mark.parametrize(("channels", "shape"), [(1, (40, 50)), (2, (40, 50)), (3, (40, 50, 3))])
def test_the_sheet_shows_colours_or_the_first_channel(drawn, channels, shape):
    model = NoiseModel((0.0,), (25.0,), (0.0,), 0.0, 255.0)
    before = 100 + 5 * torch.randn(channels, 40, 50, generator=torch.Generator().manual_seed(0))
    after = torch.full_like(before, 100.0)
    draw_report(before, after, [before[None]], model, ("title", "text"), "a.png")
    ((figure, _),) = drawn
    shown = [axes.get_images()[0].get_array() for axes in figure.axes if axes.get_images()]
    assert [each.shape for each in shown] == [shape] * 3
    first = np.asarray(shown[2], float).reshape(40, 50, -1)[..., 0]
    exact = (255 * ((before[0] - after[0]) / 5 + 3) / 6).clamp(0, 255).numpy()
    assert np.abs(first - exact).max() <= 1


def test_the_sheet_of_a_strip_and_of_a_tower_keep_to_their_bounds(drawn):
    """A row of panels is two to seven inches high; what stands below is as high for both."""
    model = NoiseModel((0.0,), (25.0,), (0.0,), 0.0, 255.0)
    for size in ((16, 400), (400, 16), (60, 60)):
        before = 100 + 5 * torch.randn(1, *size, generator=torch.Generator().manual_seed(0))
        draw_report(before, before, [before[None]], model, ("title", "text"), "a.png")
    strip, tower, square = (figure.get_figheight() for figure, _ in drawn)
    assert tower - strip == pytest.approx(5)
    assert square - strip == pytest.approx(4.1 - 2)


def test_a_sheet_is_as_wide_as_its_longest_line():
    page = sheet([[("", np.zeros((4, 4), np.uint8), (4, 4))]], ["short", "M" * 60])
    inked = np.nonzero((np.asarray(page.convert("L")) < 128).any(0))[0]
    assert inked.min() >= MARGIN
    assert page.width - 2 * MARGIN <= inked.max() < page.width - MARGIN
    assert sheet([[("", np.zeros((4, 30), np.uint8), (4, 30))]]).width == 30 + 2 * MARGIN


def test_the_spectrum_of_a_little_picture_is_that_of_its_flattest_tile():
    noise = torch.randn(1, 1, 16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    even = NoiseModel((0.0,), (1.0,), (0.0,), -99.0, 99.0)
    frequencies, power = spectrum([noise], even)
    assert len(frequencies) == 8
    assert torch.equal(spectrum([torch.cat([noise, 3 * noise.flip(2)], 3)], even)[1], power)
