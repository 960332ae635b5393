"""The page's twin of the policy: noise, contrast, time and network are those of the library, number by number."""

from typing import Any

import numpy as np
import pytest
import torch

from page.planes import encode
from whorl.automatic import RULES, Filtering
from whorl.denoising import Denoising
from whorl.models import row
from whorl.page.networks import OFFERED

MODELS = [name for name, rule in RULES.items() if rule is not None]


def pictures() -> list[Any]:
    """Colour with noise, grey with noise that was cut off, smoothed noise, half a picture on paper, a flat picture."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[:60, :70]
    clean = 128 + 60 * np.sin(x / 7) * np.cos(y / 11) + 50 * (np.hypot(x - 30, y - 30) < 16)
    colour = np.stack([clean + rng.normal(0, 14, clean.shape) for _ in range(3)])
    cut = np.clip(clean + rng.normal(0, 50, clean.shape), 0, 255).round()[None]
    drawn = rng.normal(0, 1, (2, 72, 81))
    smooth = 100 + 20 * sum(drawn[0, i : i + 71, j : j + 80] for i in (0, 1) for j in (0, 1))[None]
    scan = np.full((1, 64, 96), 255.0)
    scan[:, 9:, 5:45] = 90 + 30 * drawn[1, :55, :40]
    shown = (colour, cut, smooth, scan.clip(0, 255), np.full((1, 20, 20), 7.0))
    return [part.astype(np.float32) for part in shown]


def test_every_model_and_network_gets_the_numbers_of_the_policy(drive: Any) -> None:
    shown, names = pictures(), [*MODELS, *OFFERED]
    sent = [{"planes": [encode(p) for p in u], "height": u.shape[1], "width": u.shape[2]} for u in shown]
    answers = iter(drive("automaticAll", pictures=sent, models=names, lenient=True))
    for picture in shown:
        samples = [torch.from_numpy(picture)[None]]
        for name in names:
            answer = next(answers)
            if name in OFFERED:
                expected = Denoising().level(lambda samples=samples: samples)
                assert answer["level"] == pytest.approx(expected, rel=1e-6, abs=1e-9)
                continue
            # The page runs the paper's law with the rule.
            told = {"diffusivity": "exponential"} if "diffusivity" in row(name).options else {}
            policy = Filtering(name, options=told, engine="reference")
            chosen = policy.settings(lambda samples=samples: samples, policy.space(2))
            assert answer["noise"] == pytest.approx(chosen.noise, rel=1e-6, abs=1e-9)
            assert answer["contrast"] == pytest.approx(chosen.contrast, rel=1e-6)
            # The time is read off a flow computed in float32 on both sides.
            assert answer["time"] == pytest.approx(chosen.time, rel=2e-3)


def test_the_page_takes_the_network_of_the_policy() -> None:
    assert OFFERED["network"] == {"grey": Denoising().name(1), "colour": Denoising().name(3)}
