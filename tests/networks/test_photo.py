"""Networks for photographs: exact symmetries, stability, files, denoising of arrays."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import whorl
from whorl.data.photographs import photographs, set_aside
from whorl.errors import FileError
from whorl.evaluation.angles import noisy_picture
from whorl.invariance import symmetry_error
from whorl.invariance.coincidence import noisy_turn_error
from whorl.networks import Denoiser, ModelCard, PhotoNetwork, PhotoSpec, load_card, photo_networks
from whorl.networks.denoiser import value_range
from whorl.training.recipe import photo_recipe

DATA = Path(os.environ.get("WHORL_DATA", Path(__file__).parents[3] / "shared" / "data"))
SPECS = {
    "grey": PhotoSpec(width=6, fields=(6, 4, 2), repetitions=2),
    "colour, blind, smoothed": PhotoSpec(3, 6, (6, 4, 2), repetitions=2, rho=1, noise=(5.0, 55.0)),
    "stable": PhotoSpec(width=6, fields=(6, 4, 2), repetitions=2, rho=1, stable=True),
    "guided": PhotoSpec(width=2, fields=(2, 2, 1), repetitions=2, stable=True, guide=4, guide_fields=(4, 2, 1)),
    "3x3, alternate": PhotoSpec(width=6, fields=(4, 4, 0, 0), size=3, repetitions=2, alternate=True),
}


def build(name):
    torch.manual_seed(2)
    network = PhotoNetwork(SPECS[name]).double().eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return network


@pytest.mark.parametrize("name", SPECS)
def test_quarter_turns_and_mirror_images_are_exact(name):
    network = build(name)
    channels = SPECS[name].channels
    for size in [(19, 14), (3, 2), (1, 5)]:
        picture = 255 * torch.rand(1, channels, *size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        error = symmetry_error(lambda u: network(u, 25.0), picture=picture)
        assert error.ulp <= 64
        assert error.change > 1  # a network that does nothing commutes with everything


@pytest.mark.parametrize("name", photo_networks())
def test_shipped_networks_carry_quarter_turns_over_exactly(name):
    card = load_card(name)
    network = card.build().double()
    shape = (1, card.network.channels, 15, 12)
    picture = 255 * torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert symmetry_error(lambda u: network(u, 25.0), picture=picture).ulp <= 64


@pytest.mark.parametrize("name", photo_networks())
def test_shipped_files_are_small_and_say_what_they_are_for(name):
    card = load_card(name)
    size = (Path(whorl.networks.__file__).parent / "photographs" / f"{name}.safetensors").stat().st_size
    assert size < 500_000
    assert card.about
    assert card.data["train"]
    assert card.training["calls"]
    assert any(key.startswith("test_") for key in card.figures)
    assert isinstance(whorl.load(name), PhotoNetwork)


def test_networks_for_grey_and_colour_are_there():
    assert {"photo-grey", "photo-colour"} <= set(photo_networks())


@pytest.mark.skipif(not (DATA / "CTrain400").is_dir(), reason="needs CTrain400")
def test_a_share_of_the_committed_figures_is_found_again():
    """The turn errors of the smallest network on four pictures held back; training measured them with TF32 rounding."""
    results = json.loads((Path(__file__).parents[2] / "experiments/photo/results/last.json").read_text())
    figures = load_card("photo-8k").figures
    assert figures["test_25"] == results["trials"]["photo-8k"]["test_25"]
    _, held = set_aside(photographs(DATA / "CTrain400"))
    noisy = [
        noisy_picture(picture[:, :192, :192], number, 25.0)[0] for number, picture in enumerate([*held.values()][:4])
    ]
    errors = noisy_turn_error(load_card("photo-8k").build(), noisy)
    for error in errors:
        assert error.relative == pytest.approx(figures["turn_25"][f"{error.angle:.1f}"], rel=0.02)


def test_the_strict_network_is_trained_with_a_term_on_turns_and_turns_better():
    recipes = {name: photo_recipe(name, DATA, steps=100) for name in ("photo-27k", "photo-27k-strict")}
    assert recipes["photo-27k"].training.turn == 0 < recipes["photo-27k-strict"].training.turn
    assert recipes["photo-27k"].network == recipes["photo-27k-strict"].network
    noise = torch.Generator().manual_seed(4)
    y, x = torch.meshgrid(torch.arange(192.0), torch.arange(192.0), indexing="ij")
    scene = 60 + 120 * ((x - 90).square() + (y - 100).square() < 50**2) + 40 * ((x + 2 * y) % 60 < 25)
    noisy = [(scene + 25 * torch.randn(192, 192, generator=noise))[None]]
    free, strict = (noisy_turn_error(load_card(name).build(), noisy) for name in recipes)
    for worse, better in zip(free, strict, strict=True):
        assert better.relative < 0.7 * worse.relative


@pytest.mark.parametrize("name", ["stable", "guided"])
def test_stable_networks_never_let_the_norm_grow_about_grey(name):
    network = build(name)
    for seed in range(5):
        u = 400 * torch.randn(1, 1, 12, 9, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        with torch.no_grad():
            assert (network(u) - 127.5).norm() <= (u - 127.5).norm() * (1 + 1e-12)


def test_a_guide_belongs_to_a_stable_network_and_has_its_orders():
    for wrong in (
        dict(guide=4, guide_fields=(2, 2)),
        dict(stable=True, guide=4),
        dict(guide=4, guide_fields=(2, 2, 1)),
    ):
        with pytest.raises(ValueError, match="a guide belongs to a stable network"):
            PhotoSpec(fields=(2, 2, 1), **wrong)


@pytest.mark.parametrize("name", SPECS)
def test_a_pixel_depends_on_its_surroundings_within_the_reach_alone(name):
    network = build(name)
    size = 2 * network.reach + 9
    u = 255 * torch.rand(1, SPECS[name].channels, 5, size, dtype=torch.float64)
    other = u.clone()
    other[..., 0] += 50
    with torch.no_grad():
        changed = (network(u, 25.0) - network(other, 25.0)).abs().amax((0, 1, 2))
    assert not changed[network.reach + 1 :].any()


@pytest.mark.parametrize("name", SPECS)
def test_files_give_the_network_back(name, tmp_path):
    network = build(name).float()
    ModelCard.of(name, network, {"test_25": 1.0}).write(tmp_path / "a.safetensors")
    found = load_card(tmp_path / "a.safetensors")
    u = 255 * torch.rand(1, SPECS[name].channels, 9, 8)
    with torch.no_grad():
        assert torch.equal(found.build()(u, 25.0), network(u, 25.0))
    assert found.figures == {"test_25": 1.0}
    assert isinstance(whorl.load(tmp_path / "a.safetensors"), PhotoNetwork)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    ModelCard.of("x", build("grey")).write(path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    with pytest.raises(FileError, match="damaged"):
        load_card(path)
    path.write_bytes(b"something else")
    with pytest.raises(FileError, match="cannot be read"):
        load_card(path)
    with pytest.raises(FileError, match="cannot be read"):
        ModelCard.of("x", build("grey")).write(path)
    assert path.read_bytes() == b"something else"


def test_a_blind_network_asks_for_the_level():
    with pytest.raises(ValueError, match=r"noise from 5 to 55; say which"):
        build("colour, blind, smoothed")(torch.zeros(1, 3, 4, 4, dtype=torch.float64))


def test_a_level_may_be_a_map():
    network = build("colour, blind, smoothed")
    u = 255 * torch.rand(1, 3, 9, 8, dtype=torch.float64)
    with torch.no_grad():
        one = network(u, 20.0)
        assert torch.allclose(one, network(u, torch.full((1, 1, 9, 8), 20.0, dtype=torch.float64)), atol=1e-9)
        assert not torch.allclose(one, network(u, 40.0), atol=1e-3)


def scene(deviation):
    y, x = np.mgrid[:40, :44]
    clean = 60 + 120.0 * (np.hypot(x - 20, y - 18) < 12)
    return clean, clean + np.random.default_rng(0).normal(0, deviation, clean.shape)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "float32", "torch"])
def test_denoise_takes_pictures_of_any_type_and_gives_the_same_type_back(kind):
    clean, noisy = scene(20.0)
    scale = {"uint16": 257.0, "float32": 1 / 255}.get(kind, 1.0)
    picture = noisy * scale
    if kind.startswith("uint"):
        picture = np.clip(np.rint(picture), 0, 255 * scale).astype(kind)
    picture = torch.from_numpy(picture) if kind == "torch" else picture.astype(kind)
    result = whorl.denoise(picture, 20.0 * scale)
    assert type(result) is type(picture)
    assert result.dtype == picture.dtype
    error = float(((np.asarray(result) / scale - clean) ** 2).mean() ** 0.5)
    assert error < 10


def test_denoise_estimates_the_noise_and_leaves_flat_pictures_alone():
    clean, noisy = scene(20.0)
    assert ((whorl.denoise(noisy) - clean) ** 2).mean() < 10**2
    flat = np.full((20, 20), 7, np.uint8)
    assert np.array_equal(whorl.denoise(flat), flat)
    with pytest.raises(ValueError, match="positive"):
        whorl.denoise(noisy, noise=-1.0)


def test_weak_and_strong_noise_is_scaled_into_the_range_trained_for():
    network = PhotoNetwork(SPECS["colour, blind, smoothed"])
    assert Denoiser(network, 25.0).factor == pytest.approx(1.0)
    assert Denoiser(network, 2.0).factor == pytest.approx(1.0)
    assert Denoiser(network, 110.0).factor == pytest.approx(0.5)
    assert Denoiser(network, 25.0 * 257, 0.0, 65535.0).factor == pytest.approx(1 / 257)
    low, high = value_range(torch.linspace(10, 20, 5001), False)
    assert low == pytest.approx(10, abs=0.1)
    assert high == pytest.approx(20, abs=0.1)
