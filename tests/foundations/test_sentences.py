"""What cannot be done is said in a sentence with the remedy, and the remedy works."""

import numpy as np
import pytest
import torch
from torch import nn

import whorl
from whorl.activations import FeatureActivation, Isotropic
from whorl.diffusivities import Exponential

GREY = np.random.default_rng(0).normal(100, 10, (16, 17))


def network():
    return nn.Sequential(nn.Conv2d(3, 8, 3), FeatureActivation(Isotropic(Exponential(1.0, trainable=True))))


def test_fx_keeps_an_activation_as_one_node():
    plain, u = network(), torch.rand(1, 3, 9, 9)
    graph = torch.fx.symbolic_trace(plain)
    assert [str(node.target) for node in graph.graph.nodes if node.op == "call_module"] == ["0", "1"]
    torch.testing.assert_close(graph(u), plain(u), rtol=0, atol=0)
    block = nn.Sequential(whorl.blocks.multiscale_block())
    v = torch.rand(1, 1, 12, 12)
    torch.testing.assert_close(torch.fx.symbolic_trace(block)(v), block(v), rtol=0, atol=0)
    with pytest.raises(TypeError, match="Trace a network that holds it"):
        torch.fx.symbolic_trace(plain[1])


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_jit_script_says_what_to_use_and_that_works():
    plain, u = network(), torch.rand(1, 3, 9, 9)
    with pytest.raises(TypeError, match="torch.jit.script cannot compile it. Use torch.jit.trace, torch.export"):
        torch.jit.script(plain)
    torch.testing.assert_close(torch.export.export(plain, (u,)).module()(u), plain(u))


CALLS = {
    "diffuse": lambda device: whorl.diffuse(GREY, contrast=5.0, time=1.0, device=device),
    "denoise": lambda device: whorl.denoise(GREY, 10.0, device=device),
    "network": lambda device: whorl.load("photo-8k").denoise(GREY, 10.0, device=device),
    "inpaint": lambda device: whorl.inpaint(GREY, GREY > 120, device=device),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_devices_that_are_not_here_are_named(call):
    with pytest.raises(ValueError, match="device 'gpu' is unknown. Use cpu, cuda"):
        call("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(
            ValueError, match="device 'cuda': this machine or this build of PyTorch has no CUDA. Use cpu"
        ):
            call("cuda")


@pytest.mark.parametrize("name", ["photo-8k", "isotropic-0.41"])
def test_networks_and_blocks_say_which_axes_are_missing(name):
    for module in (whorl.load(name), whorl.blocks.multiscale_block()):
        with pytest.raises(
            ValueError, match=r"expected an image \(n, c, y, x\).*got shape \(1, 16, 17\).*u\[None\] for"
        ):
            module(torch.rand(1, 16, 17))
    with pytest.raises(ValueError, match=r"takes 1 channel\(s\), got shape \(1, 3, 16, 17\)"):
        whorl.load("photo-8k")(torch.rand(1, 3, 16, 17))


def test_a_level_for_each_picture_is_taken_and_other_shapes_are_refused():
    network, u = whorl.load("photo-grey"), 255 * torch.rand(2, 1, 16, 17)
    with torch.no_grad():
        found = network(u, torch.tensor([10.0, 40.0]))
        torch.testing.assert_close(found[1:], network(u[1:], 40.0), rtol=0, atol=1e-3)
        for shape in ((3,), (2, 1), (2, 16, 17), (2, 3, 16, 17)):
            with pytest.raises(
                ValueError, match=r"Give a number, one for each picture \(2,\), or a map \(2, 1, 16, 17\)"
            ):
                network(u, torch.full(shape, 20.0))
    with pytest.raises(ValueError, match="noise must be one number. Call it for each picture"):
        whorl.load("isotropic-0.41")(u, torch.tensor([10.0, 40.0]))


@pytest.mark.parametrize(("word", "here"), [("kappa", "contrast"), ("conductance", "contrast"), ("niter", "time")])
def test_words_of_other_libraries_are_translated(word, here):
    with pytest.raises(TypeError, match=f"diffuse: {word} is called {here} here"):
        whorl.diffuse(GREY, **{word: 3})


def test_a_misspelt_option_is_guessed():
    with pytest.raises(TypeError, match="'sigmaa' is unknown; did you mean 'sigma'"):
        whorl.diffuse(GREY, sigmaa=3)
