"""``torch.compile`` sees a compiled step as one operator, with the same results and derivatives."""

import copy
import pickle
import shutil

import pytest
import torch

from whorl import engines
from whorl.activations import Anisotropic, Isotropic
from whorl.blocks import DiffusionBlock, diffusion_block, multichannel_block, multiscale_block
from whorl.diffusivities import Exponential, FreeForm
from whorl.models import build
from whorl.networks import NetworkSpec, build_network
from whorl.operators import CellGradient, Dictionary, Smoothing
from whorl.steps import Numbers

pytest.importorskip("numba")

STEPPING = {
    "diffusion": lambda: diffusion_block(9.0, 0.2, trainable=True),
    "multichannel": lambda: multichannel_block(11.0, 0.15, gamma=0.4, trainable=True),
    "multiscale": lambda: multiscale_block(contrast=20.0, trainable=True),
    "network": lambda: build_network(NetworkSpec("isotropic", steps=3, scales=2, own_steps=True)),
    "scheduled": lambda: build_network(NetworkSpec("uncoupled", steps=2, scales=2, scheduled=True)),
}
parametrised = pytest.mark.parametrize("name", STEPPING)


@pytest.fixture(autouse=True)
def _anew():
    torch._dynamo.reset()


def results(module: torch.nn.Module, own: torch.nn.Module, u: torch.Tensor) -> list[torch.Tensor]:
    """The image after the steps, and its derivatives by the image and all parameters."""
    x = u.clone().requires_grad_()
    after = module(x)
    trained = [p for p in own.parameters() if p.requires_grad]
    return [after.detach(), *torch.autograd.grad(after.square().sum(), [x, *trained])]


class Recorded:
    """A backend that keeps the graphs it is given and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, graph: torch.fx.GraphModule, inputs: object) -> object:
        self.graphs.append(graph)
        return graph.forward

    def steps(self) -> int:
        return sum("whorl.step" in str(node.target) for graph in self.graphs for node in graph.graph.nodes)


@parametrised
def test_steps_are_single_operators_with_the_same_derivatives(name, rng):
    module = STEPPING[name]()
    u = 255 * torch.rand(1, 2, 12, 14, generator=rng)
    recorded = Recorded()
    compiled = torch.compile(module, fullgraph=True, backend=recorded)
    for found, expected in zip(results(compiled, module, u), results(module, module, u), strict=True):
        assert torch.equal(found, expected)
    assert len(recorded.graphs) == 1
    assert recorded.steps() == {"network": 3, "scheduled": 2}.get(name, 1)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # from inside torch
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning")
@pytest.mark.slow  # what its own compiler makes of a traced step is torch's affair; tracing is tested without it
@pytest.mark.skipif(shutil.which("c++") is None, reason="torch.compile needs a C++ compiler")
def test_the_multiscale_block_compiles_whole(rng):
    block, u = multiscale_block(contrast=20.0, trainable=True), 255 * torch.rand(1, 1, 24, 20, generator=rng)
    compiled = torch.compile(block, fullgraph=True)
    # The compiler may evaluate exponentials of the parameters by another routine, one unit in the last place apart.
    for found, expected in zip(results(compiled, block, u), results(block, block, u), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))
    with torch.no_grad():
        torch.testing.assert_close(compiled(u), block(u), rtol=1e-6, atol=1e-4)


def test_backward_is_an_operator_too(rng):
    block, u = multiscale_block(contrast=20.0, trainable=True), 255 * torch.rand(1, 1, 12, 14, generator=rng)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    for found, expected in zip(results(compiled, block, u), results(block, block, u), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6 * float(expected.abs().max()))


def test_the_operator_keeps_the_promises_of_pytorch(rng):
    from whorl.engines.opaque import take

    block = diffusion_block(9.0, 0.2, trainable=True)
    step = block.description
    numbers = [part.detach().clone().requires_grad_() for part in step.complete((block.tau, None, None, None))]
    u = (50 * torch.rand(1, 1, 6, 7, generator=rng)).requires_grad_()
    torch.library.opcheck(take, (u, *numbers, step.key, "numba"))


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a:UserWarning")
def test_what_has_no_compiled_form_is_traced(rng):
    recorded = Recorded()
    block = DiffusionBlock(
        Dictionary(CellGradient(), [Smoothing(0.5), Smoothing(1.0)], features=2),
        Anisotropic(FreeForm(20.0), couple=("channels", "scales")),
        tau=0.1,
    )
    u = 255 * torch.rand(1, 1, 9, 8, generator=rng)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(block, backend=recorded)(u), block(u))
    assert recorded.steps() == 0
    asked = diffusion_block(9.0, 0.2)
    asked.engine = "reference"
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(asked, backend=recorded)(u), asked(u))
    assert recorded.steps() == 0


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a:UserWarning")
def test_the_reference_is_traced_whole(rng):
    block, u = diffusion_block(9.0, 0.2, trainable=True), 255 * torch.rand(1, 1, 9, 8, generator=rng)
    block.engine = "reference"
    compiled = torch.compile(block, fullgraph=True, backend=Recorded())
    for found, expected in zip(results(compiled, block, u), results(block, block, u), strict=True):
        torch.testing.assert_close(found, expected)


def test_a_data_term_counts_once(rng):
    u = 255 * torch.rand(1, 1, 9, 8, generator=rng)
    step = build("perona-malik", contrast=9.0).with_data(u.flip(-1), 0.5).description
    taken = [Numbers(0.2), Numbers(0.1)]
    recorded = Recorded()
    compiled = torch.compile(lambda v: engines.advance(step, v, taken), fullgraph=True, backend=recorded)
    with torch.no_grad():
        torch.testing.assert_close(compiled(u), engines.advance(step, u, taken, "reference"))
    assert recorded.steps() == 2


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda block: pickle.loads(pickle.dumps(block))])
def test_copies_are_steps_of_their_own(duplicate, rng):
    block = DiffusionBlock(CellGradient(), Isotropic(Exponential(10.0)), tau=0.2)
    twin = duplicate(block)
    assert twin.description.key != block.description.key
    assert twin.description.operator is twin.operator
    u = 255 * torch.rand(1, 1, 9, 8, generator=rng)
    del block
    with torch.no_grad():
        assert torch.equal(torch.compile(twin, fullgraph=True, backend=Recorded())(u), twin(u))
