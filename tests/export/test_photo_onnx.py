"""Networks for photographs as ONNX files: the same pictures as here, for free sizes and noise levels."""

import numpy as np
import pytest
import torch

from whorl.export.photo import photo_onnx
from whorl.networks import PhotoCard, PhotoNetwork, PhotoSpec

onnxruntime = pytest.importorskip("onnxruntime")

SPECS = {
    "grey": PhotoSpec(width=6, fields=(6, 4, 2), repetitions=2),
    "colour, blind, smoothed": PhotoSpec(3, 6, (6, 4, 2), repetitions=2, rho=1, noise=(5.0, 55.0)),
    "stable": PhotoSpec(width=6, fields=(6, 4, 2), repetitions=2, rho=2, stable=True),
    "3x3, alternate": PhotoSpec(width=6, fields=(4, 4), size=3, repetitions=2, alternate=True),
}


@pytest.mark.parametrize("name", SPECS)
def test_onnx_gives_the_picture_that_the_network_gives(name):
    torch.manual_seed(2)
    spec = SPECS[name]
    network = PhotoNetwork(spec).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    card = PhotoCard(name, spec, network.state_dict())
    session = onnxruntime.InferenceSession(photo_onnx(card).SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.get_modelmeta().custom_metadata_map["network"] == name
    for size, noise in [((19, 14), 20.0), ((8, 31), 80.0)]:
        picture = 255 * torch.rand(2, spec.channels, *size)
        with torch.no_grad():
            expected = network(picture, noise).numpy()
        feed = {"image": picture.numpy()}
        if spec.blind:
            feed["noise"] = np.array(noise, np.float32)
        (found,) = session.run(None, feed)
        change = np.abs(expected - picture.numpy()).max()
        assert np.abs(found - expected).max() <= 1e-4 * change
