"""Exported files compute what the models compute, in onnxruntime and through torch.export, for any size."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from whorl import engines
from whorl.diffusivities import FreeForm
from whorl.errors import FileError
from whorl.export import exported_program, model_chain, network_chain, onnx_model, write
from whorl.export.chain import chain_of
from whorl.export.pt2 import METADATA
from whorl.models import Model, build, names, uncoupled_twin
from whorl.networks import DiffusionNetwork, NetworkSpec, build_network
from whorl.steps import Numbers

TIME = 1.5
SETTINGS: dict[str, dict[str, Any]] = {
    "weickert-brox": {"gamma": 0.6},
    "eed": {"sigma": 1.2, "gamma": 0.3},
    "you-kaveh": {"alpha": 0.1},
    "weickert-integration": {"directions": 6, "sigma": 0.7},
    "multiscale-isotropic": {"contrast": [30.0, 20.0, 10.0, 8.0], "scales": 4},
    "multiscale-anisotropic": {"gamma": 0.4, "omega_inside": False},
}
EXPORTED = [name for name in names() if name != "ced"]
DIFFUSIVITIES = ["exponential", "rational", "charbonnier", "weickert", "tv", "homogeneous"]
# Smaller than the Gaussians' radius, one pixel high, several pictures, and a plain one.
SHAPES = [(1, 3, 21, 16), (2, 1, 1, 9), (1, 2, 5, 1)]


def make(name: str, **more: Any) -> Model:
    return build(name, **{"contrast": 15.0, **SETTINGS.get(name, {}), **more})


def picture(shape: tuple[int, ...]) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return 60 + 120 * torch.rand(shape, generator=generator)


def run_onnx(proto: Any, image: torch.Tensor) -> torch.Tensor:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(["filtered"], {"image": image.numpy()})[0])


def assert_as_exact_as_python(result: torch.Tensor, reference: torch.Tensor, exact: torch.Tensor) -> None:
    """The file computes in float32 with its own order of additions: no worse than Python's float32, up to a factor."""
    one_ulp = float(np.spacing(np.float32(255)))
    python = (reference.double() - exact).abs().max().item()
    assert (result.double() - exact).abs().max().item() <= 4 * max(python, one_ulp)


@pytest.mark.parametrize("name", EXPORTED)
def test_onnx_of_every_model(name: str) -> None:
    model = make(name)
    proto = onnx_model(model_chain(model, TIME))
    for shape in SHAPES:
        image = picture(shape)
        assert_as_exact_as_python(run_onnx(proto, image), model(image, TIME), model(image.double(), TIME))
    # The comparison can fail: the filter does something.
    assert (model(picture(SHAPES[0]), TIME) - picture(SHAPES[0])).abs().max() > 1


@pytest.mark.parametrize("diffusivity", DIFFUSIVITIES)
@pytest.mark.parametrize("name", ["weickert-brox", "perona-malik"])
def test_onnx_of_every_diffusivity(name: str, diffusivity: str) -> None:
    model, image = make(name, diffusivity=diffusivity), picture((1, 2, 12, 9))
    proto = onnx_model(model_chain(model, TIME))
    assert_as_exact_as_python(run_onnx(proto, image), model(image, TIME), model(image.double(), TIME))


def test_onnx_of_a_trained_shape_and_of_uncoupled_twins() -> None:
    g = FreeForm(12.0)
    torch.nn.init.normal_(g.logits, generator=torch.Generator().manual_seed(1))
    image = picture((1, 1, 12, 9))
    twins = [uncoupled_twin(make(name)) for name in ("lysaker", "multiscale-anisotropic", "eed")]
    for model in [make("weickert-brox", diffusivity=g), *twins]:
        proto = onnx_model(model_chain(model, TIME))
        with torch.no_grad():
            assert_as_exact_as_python(run_onnx(proto, image), model(image, TIME), model(image.double(), TIME))


@pytest.mark.parametrize("name", EXPORTED)
def test_pt2_of_every_model(name: str, tmp_path: Path) -> None:
    model = make(name, **({"scales": 3, "contrast": 20.0} if name.startswith("multiscale") else {}))
    channels = 2 if name in ("gerig", "weickert-brox") else 1  # the two that exist to couple channels
    time = 2 * model.automatic_step()  # every step is traced again
    path = write(model_chain(model, time), tmp_path / "model.pt2", channels=channels)
    found = {METADATA: ""}
    loaded = torch.export.load(path, extra_files=found).module()
    for shape in [(1, channels, 21, 16), (2, channels, 1, 7)]:
        image = picture(shape)
        assert_as_exact_as_python(loaded(image), model(image, time), model(image.double(), time))
    about = json.loads(found[METADATA])
    assert (about["model"], about["channels"], about["steps"]) == (name, channels, 2)


def test_a_law_that_cannot_be_exported_is_refused() -> None:
    with pytest.raises(ValueError, match="coherence-enhancing"):
        model_chain(build("ced", contrast=4.0), TIME)


NETWORKS = {
    "anisotropic": NetworkSpec("anisotropic", gamma=0.5, steps=3),
    "isotropic": NetworkSpec("isotropic", alpha=0.5, steps=3, omega_inside=True),
    "uncoupled": NetworkSpec("uncoupled", steps=2, scales=3),
    "own steps and structure": NetworkSpec("anisotropic", steps=3, scales=3, own_steps=True, own_structure=True),
    "scheduled": NetworkSpec("anisotropic", steps=3, scales=4, scheduled=True, diffusivity="rational"),
    "one centred scale": NetworkSpec("isotropic", steps=2, sigma=1.0, centred=True),
}


def trained(spec: NetworkSpec) -> DiffusionNetwork:
    """A network with numbers that differ from each other, as after training."""
    network, rng = build_network(spec), np.random.default_rng(3)
    numbers = network.values()
    return network.set_values({key: (rng.uniform(0.7, 1.3, len(v)) * v).tolist() for key, v in numbers.items()}).eval()


@pytest.mark.parametrize("diffusivity", DIFFUSIVITIES)
def test_every_step_has_its_own_size_contrast_and_weights(diffusivity: str) -> None:
    """Of total variation the contrast stands before the fraction, too: there it is another factor of the flux."""
    image = picture(SHAPES[0])
    step = make("multiscale-isotropic", scales=2, contrast=[15.0, 9.0], diffusivity=diffusivity).description
    _, beta, _ = step.own()
    numbers = [
        Numbers(tau, step.activation.law.contrast * factor, beta * weight, beta * seen)
        for tau, factor, weight, seen in [(0.05, 1.0, 1.0, 1.0), (0.1, 0.4, 0.8, 1.3), (0.08, 2.5, 1.2, 0.7)]
    ]
    with torch.no_grad():
        reference, exact = (engines.advance(step, u, numbers, "reference") for u in (image, image.double()))
    assert (exact - image).abs().max() > 0.1
    assert_as_exact_as_python(run_onnx(onnx_model(chain_of(step, numbers, {})), image), reference, exact)


@pytest.mark.parametrize("name", NETWORKS)
def test_onnx_and_pt2_of_networks(name: str) -> None:
    network = trained(NETWORKS[name])
    chain = network_chain(network, name)
    image = picture((1, 1, 18, 13))
    with torch.no_grad():
        reference, exact = network(image), network(image.double())
    assert (reference - image).abs().max() > 0.5
    assert_as_exact_as_python(run_onnx(onnx_model(chain), image), reference, exact)
    if name == "own steps and structure":
        assert_as_exact_as_python(exported_program(chain).module()(image), reference, exact)


def test_onnx_file_says_what_it_is_and_stays_small() -> None:
    few, many = (onnx_model(model_chain(make("eed"), steps=steps)) for steps in (2, 200))
    assert abs(few.ByteSize() - many.ByteSize()) < 50, "the steps are a loop"
    about = {prop.key: prop.value for prop in many.metadata_props}
    assert (about["model"], about["steps"], about["contrast"], about["sigma"]) == ("eed", "200", "15.0", "1.2")
    assert (many.producer_name, many.opset_import[0].version) == ("whorl", 17)
    image = many.graph.input[0].type.tensor_type
    assert [axis.dim_param for axis in image.shape.dim] == ["batch", "channels", "height", "width"]
    onnx.checker.check_model(many, full_check=True)


def test_constants_stay_constant() -> None:
    flat = torch.full((1, 1, 8, 8), 93.0)
    result = run_onnx(onnx_model(model_chain(make("multiscale-anisotropic"), steps=5)), flat)
    # Float32 weights of a Gaussian sum to 1 up to rounding, eight scales and five steps of it.
    torch.testing.assert_close(result, flat, rtol=5e-6, atol=0)


def test_what_cannot_be_exported_is_refused_with_a_remedy(tmp_path: Path) -> None:
    model = make("perona-malik")
    with pytest.raises(ValueError, match="either a time or a number of steps"):
        model_chain(model)
    with pytest.raises(ValueError, match="time must be positive, got 0"):
        model_chain(model, 0.0)
    with pytest.raises(ValueError, match="data term and known pixels belong to one picture"):
        model_chain(model.with_data(picture((1, 1, 4, 4)), 0.1), 1.0)
    chain = model_chain(model, steps=1)
    with pytest.raises(FileError, match=r"End in \.onnx or \.pt2"):
        write(chain, tmp_path / "model.txt")
    with pytest.raises(ValueError, match="there are onnx and pt2"):
        write(chain, tmp_path / "model.txt", "tflite")
    write(chain, tmp_path / "model.onnx")
    with pytest.raises(FileError, match="exists"):
        write(chain, tmp_path / "model.onnx")
    write(chain, tmp_path / "model.onnx", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
