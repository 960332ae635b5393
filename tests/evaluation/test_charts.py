"""The charts show the figures they are made of."""

import numpy as np
import pytest
import torch

from whorl.data import RectangleSet
from whorl.evaluation import AngleTable
from whorl.evaluation.charts import COMPARED, draw_angles, draw_comparison
from whorl.evaluation.reproduction import Measured
from whorl.metrics import psnr
from whorl.networks import load_card


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were saved."""
    found = []
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, *_, **how: found.append((self, how)))
    return found


def measured(name: str, low: float, high: float) -> Measured:
    """Made-up results of a network that ships, from ``low`` to ``high`` dB."""
    psnr = torch.linspace(low, high, 3, dtype=torch.float64)[:, None].expand(3, 2)
    table = AngleTable((15, 45, 75), 255**2 / 10 ** (psnr / 10))
    card = load_card(name)
    return Measured(card, RectangleSet(2, size=32), {card.chosen: table})


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
