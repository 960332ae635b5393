"""Networks for photographs and volumes as files: the same results as here, for free sizes and noise levels."""

import numpy as np
import pytest
import torch

from whorl.export import write
from whorl.export.photo import photo_onnx, photo_program
from whorl.networks import ModelCard, PhotoNetwork, PhotoSpec

onnxruntime = pytest.importorskip("onnxruntime")

SPECS = {
    "grey": PhotoSpec(width=6, fields=(6, 4, 2), repetitions=2),
    "colour, blind, smoothed": PhotoSpec(3, 6, (6, 4, 2), repetitions=2, rho=1, noise=(5.0, 55.0)),
    "stable": PhotoSpec(width=6, fields=(6, 4, 2), repetitions=2, rho=2, stable=True),
    "guided": PhotoSpec(width=2, fields=(2, 2, 1), repetitions=2, rho=1, stable=True, guide=4, guide_fields=(4, 2, 1)),
    "guided, blind": PhotoSpec(1, 1, (2, 2, 1), 1, stable=True, guide=3, guide_fields=(4, 2, 1), noise=(5.0, 55.0)),
    "stable, blind": PhotoSpec(1, 4, (4, 2, 1), 1, stable=True, noise=(5.0, 55.0)),
    "volume": PhotoSpec(
        width=4,
        fields=(4, 3, 2),
        blocks=1,
        repetitions=2,
        size=3,
        rho=1,
        noise=(5.0, 55.0),
        correlated=True,
        dimension=3,
    ),
    "stable volume": PhotoSpec(
        width=4, fields=(4, 3, 2), blocks=1, repetitions=2, size=3, stable=True, noise=(5.0, 55.0), dimension=3
    ),
    "3x3, alternate": PhotoSpec(width=6, fields=(4, 4), size=3, repetitions=2, alternate=True),
}


def trained(name):
    """A card with random weights."""
    torch.manual_seed(2)
    network = PhotoNetwork(SPECS[name]).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return ModelCard.of(name, network)


@pytest.mark.parametrize("name", SPECS)
def test_exported_programs_give_the_picture_for_any_size(name):
    card = trained(name)
    network, program = card.build(), photo_program(card).module()
    for size, noise in [((8, 9), 20.0), ((19, 14), 55.0), ((31, 40), 5.0)]:
        size = (10, *size)[-card.network.dimension :]
        picture = 255 * torch.rand(1, card.network.channels, *size)
        given = (picture, torch.tensor(noise)) if card.network.blind else (picture,)
        with torch.no_grad():
            expected, found = network(*given), program(*given)
        assert float((found - expected).abs().max()) <= 1e-4 * float((expected - picture).abs().max())


def test_exported_programs_are_files_that_need_no_whorl(tmp_path):
    card = trained("colour, blind, smoothed")
    path = write(card, tmp_path / "denoiser.pt2")
    about = {"whorl.json": ""}
    program = torch.export.load(path, extra_files=about).module()
    picture = 255 * torch.rand(1, 3, 12, 17)
    with torch.no_grad():
        assert torch.allclose(program(picture, torch.tensor(15.0)), card.build()(picture, 15.0), atol=1e-2)
    assert "colour, blind, smoothed" in about["whorl.json"]


@pytest.mark.parametrize("name", SPECS)
def test_onnx_gives_the_picture_that_the_network_gives(name):
    card = trained(name)
    spec, network = card.network, card.build()
    session = onnxruntime.InferenceSession(photo_onnx(card).SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map["network"] == name
    for size, noise in [((19, 14), 20.0), ((8, 31), 55.0), ((3, 5), 5.0)]:
        picture = 255 * torch.rand(2, spec.channels, *(7, *size)[-spec.dimension :])
        with torch.no_grad():
            expected = network(picture, noise if spec.blind else None).numpy()
        feed = {"image": picture.numpy()}
        if spec.blind:
            feed["noise"] = np.array(noise, np.float32)
        (found,) = session.run(None, feed)
        change = np.abs(expected - picture.numpy()).max()
        assert np.abs(found - expected).max() <= 1e-4 * change
