"""The page's twin of the policy: noise, settings and network are those of the library, number by number."""

from typing import Any

import numpy as np
import pytest
import torch

from page.planes import encode
from whorl.automatic import RULES, Filtering, samples_of
from whorl.automatic.traces import measure
from whorl.automatic.variance import noise_model
from whorl.denoising import Denoising
from whorl.page.networks import OFFERED

MODELS = [name for name, rule in RULES.items() if rule is not None]
RULED: list[tuple[str, dict[str, Any]]] = [(name, {"diffusivity": "exponential"}) for name in ("eed", "gerig")]
TOLD = [("weickert-brox", {"time": 1.5}), ("perona-malik", {"diffusivity": "tv"}), ("gerig", {"contrast": 9.0})]
RUNS: list[tuple[str, dict[str, Any]]] = [*((name, {}) for name in (*MODELS, *OFFERED)), *RULED, *TOLD]


def pictures() -> list[Any]:
    """Colour with noise, cut into blocks; noise that was cut off; smoothed noise; half a picture on paper; a strip.

    The strip is sampled in windows. On a strip of paper there is something between the windows alone. Noise without
    its highest waves; shaded discs before each other, as in a photograph, in whole numbers. Even noise that is
    taken for stronger than it is, so that estimated errors fall below zero. Lines of letters, on paper with noise and
    on paper without, white ones on black, and letters on grey paper. A scan around which values are nearly, but not
    exactly, equal. At last a flat picture.
    """
    rng = np.random.default_rng(11)
    y, x = np.mgrid[:149, :151]
    clean = 128 + 60 * np.sin(x / 7) * np.cos(y / 11) + 50 * (np.hypot(x - 30, y - 30) < 16)
    colour = np.stack([clean + rng.normal(0, 14, clean.shape) for _ in range(3)])
    cut = np.clip(clean + rng.normal(0, 50, clean.shape), 0, 255).round()[None, :60, :70]
    drawn = rng.normal(0, 1, (2, 72, 81))
    smooth = 100 + 20 * sum(drawn[0, i : i + 71, j : j + 80] for i in (0, 1) for j in (0, 1))[None]
    scan = np.full((1, 64, 96), 255.0)
    scan[:, 9:, 5:45] = 90 + 30 * drawn[1, :55, :40]
    strip = 100 + 50 * np.sin(np.arange(1100) / 40) + rng.normal(0, 9, (1, 31, 1100))
    paper = np.full((1, 40, 1600), 255.0)
    paper[:, :, 300:400] = 120 + rng.normal(0, 12, (40, 100))
    waves = np.fft.fft2(rng.normal(0, 1, (120, 131))) * (np.hypot(*wave_numbers(120, 131)) <= 0.35)
    limited = clean[None, :120, :131] + 25 * np.fft.ifft2(waves).real / np.fft.ifft2(waves).real.std()
    leaves = np.zeros((3, 96, 110))
    for row, column, radius, *tint in rng.uniform([0, 0, 4, 30, 30, 30], [96, 110, 30, 220, 220, 220], (150, 6)):
        share = np.clip(radius - np.hypot(y - row, x - column)[:96, :110], 0, 1)
        leaves += share * (np.reshape(tint, (3, 1, 1)) + (0.3 * (y - row) + 0.4 * (x - column))[:96, :110] - leaves)
    leaves = leaves.clip(0, 255).round()
    even = 100 + 40 * np.sin(x / 30)[None, :60, :90] + np.random.default_rng(7).uniform(-15, 15, (1, 60, 90))
    letters = 255.0 * (np.kron(rng.random((24, 30)) < 0.5, np.ones((3, 3))) < (np.arange(72) % 12 < 8)[:, None])
    page = np.clip(255 - letters + rng.normal(0, 6, letters.shape), 0, 255).round()[None]
    bare = 255 - letters[None] * 0.9
    on_black = np.clip(letters + rng.normal(0, 6, letters.shape), 0, 255).round()[None]
    on_grey = (130 - 0.45 * letters + rng.normal(0, 3, letters.shape)).round()[None]
    around = 1e-4 * rng.normal(0, 1, (1, 64, 90))
    around[:, 12:50, 20:70] = 90 + 30 * drawn[1, :38, :50]
    shown = (
        colour,
        cut,
        smooth,
        scan.clip(0, 255),
        strip,
        paper,
        limited,
        leaves,
        even,
        page,
        bare,
        on_black,
        on_grey,
        around,
        np.full((1, 20, 20), 7.0),
    )
    return [part.astype(np.float32) for part in shown]


def wave_numbers(height: int, width: int) -> tuple[Any, Any]:
    """Cycles per pixel along both axes."""
    return np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)


def asked(drive: Any, shown: list[Any], runs: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    sent = [{"planes": [encode(p) for p in u], "height": u.shape[1], "width": u.shape[2]} for u in shown]
    told = [{"name": name, "told": options} for name, options in runs]
    found: list[Any] = drive("automaticAll", pictures=sent, runs=told, lenient=True)
    return found


@pytest.mark.filterwarnings("ignore:.*a picture of two values")
def test_every_model_and_network_gets_the_numbers_of_the_policy(drive: Any) -> None:
    shown = pictures()
    few = [(name, told) for name, told in RUNS if name in ("weickert-brox", "eed", "network")]
    runs = [few, RUNS, *[few] * 12, RUNS]  # all models on two small ones, for time's sake
    answers = [*asked(drive, shown[:1], runs[0]), *asked(drive, shown[1:2], RUNS), *asked(drive, shown[2:14], few)]
    answers += asked(drive, shown[14:], RUNS)
    for picture, answer, each in zip(shown, answers, runs, strict=True):
        samples = samples_of(torch.from_numpy(picture)[None])
        level = Denoising().level(lambda samples=samples: samples)
        assert answer["noise"] == pytest.approx(level, rel=1e-6, abs=1e-9)
        if (found := measure(samples)) is not None:
            expected = {"level": found.level, "neighbours": found.correlation}
            assert answer["traced"] == pytest.approx(expected, rel=1e-6, abs=1e-9)
        else:
            assert answer["traced"] == {"level": answer["noise"], "neighbours": 0}
        for (name, told), settings in zip(each, answer["settings"], strict=True):
            if name in OFFERED:
                assert settings == {"level": answer["noise"]}
                continue
            options = {key: value for key, value in told.items() if key not in ("contrast", "time")}
            policy = Filtering(name, told.get("contrast"), told.get("time"), options=options, engine="reference")
            chosen = policy.settings(lambda samples=samples: samples, policy.space(2))
            expected = {**options, **chosen.options}
            assert {key: settings.get(key) for key in ("cell", "diffusivity")} == {
                key: expected.get(key) for key in ("cell", "diffusivity")
            }
            # Risks and times are read off flows computed in float32 on both sides.
            for key, value in {"contrast": chosen.contrast, "time": chosen.time, **chosen.options}.items():
                if isinstance(value, float):
                    assert settings[key] == pytest.approx(value, rel=2e-3), (name, key)


def test_noise_is_described_as_in_python(drive: Any) -> None:
    ramp = np.linspace(10, 240, 200) + np.zeros((150, 1))
    photons = np.random.default_rng(3).normal(ramp, np.sqrt(1.5 * ramp + 20))[None].astype(np.float32)
    shown = [photons, *pictures()]
    for picture, answer in zip(shown, asked(drive, shown, []), strict=True):
        expected = noise_model(samples_of(torch.from_numpy(picture)[None]))
        found = answer["model"]
        assert (found["black"], found["white"]) == (expected.black, expected.white)
        for key in ("gain", "offset", "correlation"):
            assert found[key] == pytest.approx(getattr(expected, key), rel=1e-6, abs=1e-6), key
        assert found["uncertainty"] in (None, pytest.approx(expected.uncertainty, rel=1e-6))
    assert asked(drive, [photons], [])[0]["model"]["gain"][0] == pytest.approx(1.5, rel=0.1)


def test_settings_are_the_same_for_all_turns_and_mirror_images(drive: Any) -> None:
    picture = pictures()[0]
    turned = [np.rot90(u, k, axes=(1, 2)) for u in (picture, picture[:, :, ::-1]) for k in range(4)]
    first, *others = asked(drive, [np.ascontiguousarray(u) for u in turned], [("weickert-brox", {})])
    for other in others:
        assert other["noise"] == pytest.approx(first["noise"], rel=1e-9)
        assert other["traced"] == pytest.approx(first["traced"], rel=1e-9)
        for key in ("contrast", "time", "sigma"):
            # The estimated errors are sums of float32 values in another order.
            assert other["settings"][0][key] == pytest.approx(first["settings"][0][key], rel=1e-4)


def test_the_page_takes_the_network_of_the_policy() -> None:
    assert OFFERED["network"] == {"grey": Denoising().name(1), "colour": Denoising().name(3)}
