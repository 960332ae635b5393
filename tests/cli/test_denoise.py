"""``whorl denoise``: the network at its own noise level, whatever the picture's."""

import json
import math

import numpy as np
import pytest
import torch

import whorl
from files.samples import listing
from whorl import files
from whorl.data.tomogram import tomogram
from whorl.networks import MultiscaleNetwork, NetworkSpec
from whorl.networks.cards import ModelCard, load_card

SPEC = NetworkSpec("isotropic", steps=3, scales=3)


@pytest.fixture
def network():
    return MultiscaleNetwork(SPEC, tau=0.3, contrast=40.0)


@pytest.fixture
def card(tmp_path, network):
    path = tmp_path / "card.safetensors"
    ModelCard.of("small", network, data={"noise": 60.0}).write(path)
    return path


def save(path, image, dtype="u2"):
    layout = files.Layout(*image.shape, 1, np.dtype(dtype), "grey")
    files.write(path, files.Picture(layout.round(image[..., None]), layout))


def scene(deviation, scale=1.0):
    y, x = np.mgrid[:120, :150]
    clean = 1000 + 150.0 * (np.hypot(x - 70, y - 60) < 40)
    return scale * (clean + np.random.default_rng(0).normal(0, deviation, clean.shape))


def test_picture_is_scaled_to_the_noise_trained_for(tmp_path, whorl_command, card, network):
    save(tmp_path / "a.tif", scene(30.0))
    words = ("denoise", "--json", "--network", card, "--noise", 30, tmp_path / "a.tif", tmp_path / "b.tif")
    answer = whorl_command(*words)
    assert answer.code == 0, answer.err
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert (page["noise"], page["noise_measured"]) == (30.0, False)
    u = torch.from_numpy(files.read(tmp_path / "a.tif").samples[..., 0].astype(np.float32))[None, None]
    with torch.no_grad():
        result = 0.5 * network(2.0 * u)
    assert np.array_equal(
        files.read(tmp_path / "b.tif").samples[..., 0], np.rint(result[0, 0].numpy()).astype(np.uint16)
    )


def test_estimate_follows_the_scale_of_the_picture(tmp_path, whorl_command, card):
    for name, scale in (("a.tif", 1.0), ("b.tif", 8.0)):
        save(tmp_path / name, scene(30.0, scale))
    answer = whorl_command(
        "denoise", "-n", "--json", "--network", card, tmp_path / "a.tif", tmp_path / "b.tif", tmp_path / "o"
    )
    one, other = (record["pages"][0] for record in json.loads(answer.out)["files"])
    assert one["noise"] == pytest.approx(30, rel=0.05)
    # details of rounded values are multiples of 1/2, which the median of 20 resolves to 2.5 %
    assert other["noise"] == pytest.approx(8 * one["noise"], rel=0.025)
    assert one["noise_measured"]


def test_windows_give_the_same_file(tmp_path, whorl_command, card):
    save(tmp_path / "a.tif", np.tile(scene(30.0), (3, 4)))
    for name, tile in (("whole.tif", "auto"), ("tiles.tif", 256)):
        words = ("denoise", "-q", "--network", card, "--tile", tile, tmp_path / "a.tif", tmp_path / name)
        assert whorl_command(*words).code == 0
    assert np.array_equal(files.read(tmp_path / "whole.tif").samples, files.read(tmp_path / "tiles.tif").samples)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--noise", -3), "positive standard deviation"),
        (("--noise", "nan"), "positive standard deviation"),
        (("--network", "no-such"), "no-such"),
        (("--network", "missing.json"), "missing.json"),
    ],
)
def test_wrong_requests_are_one_line(tmp_path, whorl_command, card, words, says):
    save(tmp_path / "flat.png", np.full((40, 40), 7.0))
    before = listing(tmp_path)
    answer = whorl_command("denoise", "--network", card, *words, tmp_path / "flat.png", tmp_path / "b.png")
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert says in answer.err
    assert listing(tmp_path) == before


PHOTOGRAPHS = 10 ** ((load_card("photo-grey").figures["test_25"] - 10 * math.log10(255**2 / 25**2)) / 10)
"""By how much the default network lowers the mean squared error of photographs, the mean of its committed test."""


@pytest.mark.parametrize(("network", "share"), [("whorl-28", 20.0), ("photo-grey", PHOTOGRAPHS)])
def test_shipped_networks_denoise_at_any_level_and_scale(tmp_path, whorl_command, network, share):
    """A disc, which the network of the rectangles was made for, and which is simpler than photographs are."""
    y, x = np.mgrid[:96, :96]
    clean = 40.0 + 160.0 * (np.hypot(x - 50, y - 45) < 30)
    for name, scale in (("one.tif", 1.0), ("hundred.tif", 100.0)):
        noisy = scale * (clean + np.random.default_rng(0).normal(0, 20, clean.shape))
        save(tmp_path / name, noisy + 10_000, "u2")
        words = ("denoise", "-q", "--force", "--network", network, tmp_path / name, tmp_path / "b.tif")
        assert whorl_command(*words).code == 0
        result = files.read(tmp_path / "b.tif").samples[..., 0] - 10_000.0
        before, after = (np.mean((image / scale - clean) ** 2) for image in (noisy, result))
        assert after < before / share


def test_the_default_is_the_network_for_photographs(tmp_path, whorl_command):
    save(tmp_path / "a.tif", scene(30.0))
    how = {"b.tif": (), "c.tif": ("--network", "photo-grey"), "d.tif": ("--noise", 30)}
    how["e.tif"] = (*how["c.tif"], *how["d.tif"])
    for name, words in how.items():
        assert whorl_command("denoise", "-q", *words, tmp_path / "a.tif", tmp_path / name).code == 0
    by_default, by_name, told, told_by_name = (files.read(tmp_path / name).samples.astype(float) for name in how)
    assert np.array_equal(told, told_by_name)
    # With nothing told a model of the noise is measured. Two networks would make errors of their own, which add up;
    # the same network makes nearly the same errors.
    errors = [np.square(found[..., 0] - scene(0.0)).mean() for found in (by_default, by_name)]
    assert np.square(by_default - by_name).mean() < 0.25 * sum(errors)


def test_noise_told_out_of_all_proportion_is_doubted_in_one_line(tmp_path, whorl_command, card):
    save(tmp_path / "a.tif", scene(30.0))
    words = ("denoise", "--network", card, "--noise", 0.1, tmp_path / "a.tif", tmp_path / "b.tif")
    with pytest.warns(UserWarning, match=r"noise=0\.1\): the noise measured in this image is (29|30)\.\d+"):
        assert whorl_command(*words).code == 0


@pytest.mark.parametrize("colours", [False, True])
def test_labels_are_copied_with_a_word(tmp_path, whorl_command, colours):
    y, x = np.mgrid[:96, :120]
    cells = np.hypot(x % 17 - 8, y % 15 - 7) < 6
    labels = (cells * np.random.default_rng(0).permutation(64)[x // 17 + 7 * (y // 15)]).astype(np.uint8)
    save(tmp_path / "labels.png", labels, "u1")
    with pytest.warns(UserWarning, match=r"such as labels, have no noise: copied"):
        assert "copied" in whorl_command("denoise", tmp_path / "labels.png", tmp_path / "same.png").out
    assert np.array_equal(files.read(tmp_path / "same.png").samples[..., 0], labels)
    image, axis = (np.stack([labels] * 3, -1), -1) if colours else (labels, None)
    told = (None, 12.0, whorl.automatic.NoiseModel.constant(12.0))
    for noise in told:
        with pytest.warns(UserWarning, match="such as labels"):
            assert np.array_equal(whorl.denoise(image, noise, channel_axis=axis), image)


def test_a_volume_in_windows_is_the_volume_as_a_whole(tmp_path, whorl_command):
    tifffile = pytest.importorskip("tifffile")
    noisy = tomogram((16, 20, 96), noise=20.0).noisy[0, 0].numpy()
    tifffile.imwrite(tmp_path / "stack.tif", noisy, imagej=True, metadata={"axes": "ZYX"})
    found = []
    for name, options in (("whole", []), ("windows", ["--tile", "48"])):
        result = whorl_command("denoise", *options, tmp_path / "stack.tif", tmp_path / f"{name}.tif")
        assert result.code == 0, result
        assert ("2 windows" in result.out + result.err) == bool(options)
        found.append(tifffile.imread(tmp_path / f"{name}.tif"))
    assert np.abs(found[0] - noisy).max() > 1
    assert np.abs(found[0] - found[1]).max() < 1e-3
    assert np.abs(found[0] - whorl.denoise(noisy)).max() < 1e-3


def test_a_volume_is_taken_in_little_memory_and_with_the_voxels_of_its_file(tmp_path, whorl_command):
    nibabel = pytest.importorskip("nibabel")
    noisy = tomogram(24, noise=20.0).noisy[0, 0].numpy()[8:16]  # (z, y, x)
    source = tmp_path / "in.nii"
    nibabel.Nifti1Image(noisy.T, np.diag([1.0, 1.0, 4.0, 1.0])).to_filename(source)
    for number, (words, sides) in enumerate(((("--memory", "2GB"), (4, 1, 1)), (("--spacing", "1,1,1"), 1.0))):
        result = tmp_path / f"out{number}.nii"
        answer = whorl_command("denoise", "--noise", 20, *words, source, result)
        assert answer.code == 0, answer.err
        found = np.asarray(nibabel.load(result).dataobj).T
        np.testing.assert_allclose(found, whorl.denoise(noisy, 20.0, spacing=sides), atol=1e-3)
    answer = whorl_command("denoise", "--noise", 20, "--memory", "1MB", source, tmp_path / "none.nii")
    assert answer.code == 2
    assert "--memory 1MB" in answer.err
