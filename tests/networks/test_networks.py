"""Networks of blocks: what the paper prints, the readings beside it, and model cards."""

import json
from pathlib import Path

import pytest
import torch

from whorl.errors import FileError
from whorl.models import count_parameters
from whorl.networks import (
    NAMED,
    DiffusionNetwork,
    ModelCard,
    MultiscaleNetwork,
    NetworkSpec,
    build_network,
    cards,
    load,
    load_card,
    named,
)
from whorl.networks.cards import Run
from whorl.operators import CellGradient, Smoothing, sample_scales

SMALL = {"steps": 2, "scales": 3}
SPECS = {
    **{name: NetworkSpec(spec.coupling, spec.alpha, **SMALL) for name, spec in NAMED.items()},
    "gamma": NetworkSpec(gamma=0.5, **SMALL),
    "omega inside": NetworkSpec(omega_inside=True, **SMALL),
    "centred": NetworkSpec(centred=True, **SMALL),
    "own steps": NetworkSpec(own_steps=True, **SMALL),
    "own structure": NetworkSpec(own_structure=True, **SMALL),
    "scheduled": NetworkSpec(scheduled=True, **SMALL),
    "scheduled levels": NetworkSpec(scheduled=True, degree=2, steps=3, scales=3),
    "scheduled weickert": NetworkSpec("isotropic", scheduled=True, diffusivity="weickert", **SMALL),
    "one scale": NetworkSpec("isotropic", sigma=0.7, steps=2),
}


def shaken(spec: NetworkSpec) -> DiffusionNetwork:
    """A network with unequal parameters."""
    network = build_network(spec)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            if p.requires_grad:
                p.add_(0.3 * torch.randn(p.shape, dtype=p.dtype, generator=draw))
    return network


def picture(n: int = 2, y: int = 17, x: int = 21) -> torch.Tensor:
    return 255 * torch.rand(n, 1, y, x, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", ["scheduled", "scheduled weickert"])
def test_compiled_steps_of_a_schedule_are_those_of_the_reference(name):
    network, found = shaken(SPECS[name]), []
    for network.engine in ("auto", "reference"):
        u = picture(1, 9, 11).requires_grad_()
        result = network(u)
        grads = torch.autograd.grad(result.square().sum(), [u, *(p for p in network.parameters() if p.requires_grad)])
        found.append([result.detach(), *grads])
    for ours, printed in zip(*found, strict=True):
        torch.testing.assert_close(ours, printed, rtol=1e-8, atol=1e-8 * float(printed.abs().max()))


@pytest.mark.parametrize(("name", "count"), [(name, 10) for name in NAMED])
def test_the_papers_networks_have_ten_parameters(name, count):
    assert count_parameters(MultiscaleNetwork(named(name))) == count


@pytest.mark.parametrize("coupling", ["uncoupled", "isotropic", "anisotropic"])
@pytest.mark.parametrize("omega_inside", [False, True])
def test_a_network_is_the_printed_scheme(coupling, omega_inside):
    network = shaken(NetworkSpec(coupling, omega_inside=omega_inside, **SMALL))
    values, u = network.values(), picture()
    (tau,), (contrast,), beta = values["tau"], values["contrast"], values["beta"]
    sigma, omega = sample_scales(3)
    K = CellGradient(0.41)
    expected = u
    for _ in range(2):
        v = [b * K(Smoothing(s)(expected)) for b, s in zip(beta, sigma, strict=True)]
        inner = omega if omega_inside else (1.0,) * 3
        p, q, r_x, r_y = (torch.stack([part[:, :, 0, k] for part in v]) for k in range(4))
        weights = torch.tensor(inner, dtype=torch.float64).view(3, 1, 1, 1, 1)
        xx, yy = (weights * (p**2 + r_x**2)).sum(0), (weights * (q**2 + r_y**2)).sum(0)
        J = torch.stack([torch.stack([xx, (weights * p * q).sum(0)], -1)] * 2, -2)
        J[..., 1, 0], J[..., 1, 1] = J[..., 0, 1], yy
        if coupling == "anisotropic":
            D = torch.matrix_exp(-J / (2 * contrast**2))
        else:
            trace = (xx + yy, xx + yy) if coupling == "isotropic" else (xx, yy)
            D = torch.diag_embed(torch.stack([torch.exp(-t / (2 * contrast**2)) for t in trace], -1))
        a, b, c = D[..., 0, 0], D[..., 0, 1], D[..., 1, 1]
        change = torch.zeros_like(u)
        for part, weight, scale, s in zip(v, beta, omega, sigma, strict=True):
            p1, q1, x1, y1 = part[:, :, 0].unbind(2)
            flux = torch.stack([a * p1 + b * q1, b * p1 + c * q1, a * x1, c * y1], 2).unsqueeze(2)
            change = change + scale * weight * Smoothing(s)(K.adjoint(flux))
        expected = expected - tau * change
    assert torch.allclose(network(u), expected, rtol=0, atol=1e-10 * 255)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_guarantees(spec):
    network, u = shaken(spec), picture()
    with torch.no_grad():
        v = network(u)
        assert torch.allclose(v.mean((-1, -2)), u.mean((-1, -2)), rtol=1e-12)
        assert (v - u).abs().max() > 1
        flat = torch.full_like(u, 0.1)
        assert torch.equal(network(flat), flat)
        turned = torch.rot90(network(torch.rot90(u, 1, (-2, -1))), -1, (-2, -1))
        assert torch.allclose(turned, v, rtol=0, atol=1e-10)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_values_rebuild_the_network(spec):
    network, u = shaken(spec), picture()
    again = build_network(spec).set_values(json.loads(json.dumps(network.values())))
    # tau and contrast are kept as such and trained as logarithms: one rounding
    assert torch.allclose(again(u), network(u), rtol=0, atol=1e-10)


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_every_parameter_is_trained(spec):
    network, u = shaken(spec), picture()
    (network(u) - u.mean()).square().mean().backward()
    for name, p in network.named_parameters():
        if p.requires_grad:
            assert p.grad is not None, name
            assert (p.grad != 0).all(), name


def test_options_change_the_result():
    u, base = picture(), shaken(NetworkSpec(**SMALL))
    for change in ({"omega_inside": True}, {"centred": True}, {"gamma": 1.0}, {"alpha": 0.2}):
        other = MultiscaleNetwork(NetworkSpec(**SMALL, **change)).set_values(base.values())
        assert (other(u) - base(u)).abs().max() > 1e-3, change


def test_own_steps_and_own_structure_contain_the_shared_ones():
    u, base = picture(), shaken(NetworkSpec(**SMALL))
    values = base.values()
    steps = MultiscaleNetwork(NetworkSpec(own_steps=True, **SMALL))
    steps.set_values({"tau": values["tau"] * 2, "contrast": values["contrast"] * 2, "beta": values["beta"]})
    structure = MultiscaleNetwork(NetworkSpec(own_structure=True, **SMALL))
    structure.set_values({**values, "structure_beta": values["beta"]})
    assert torch.equal(steps(u), base(u))
    assert torch.equal(structure(u), base(u))


def test_schedules_start_as_the_papers_network_does():
    u = picture()
    for degree in (0, 2):
        scheduled = build_network(NetworkSpec(scheduled=True, degree=degree, **SMALL))
        assert torch.allclose(scheduled(u), MultiscaleNetwork(NetworkSpec(**SMALL))(u), rtol=0, atol=1e-10)


def test_doubling_weights_and_contrast_changes_nothing():
    # (beta, lambda, tau) -> (c beta, c lambda, tau / c²): nine of the ten parameters are effective
    u, base = picture(), shaken(NetworkSpec(**SMALL))
    v = base.values()
    scaled = {"tau": [v["tau"][0] / 4], "contrast": [2 * v["contrast"][0]], "beta": [2 * b for b in v["beta"]]}
    assert torch.allclose(MultiscaleNetwork(base.spec).set_values(scaled)(u), base(u), rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "call",
    [
        lambda: NetworkSpec("both"),
        lambda: NetworkSpec(alpha=0.6),
        lambda: NetworkSpec(steps=0),
        lambda: NetworkSpec(sigma=-1.0),
        lambda: NetworkSpec(diffusivity="linear"),
        lambda: NetworkSpec(scheduled=True, centred=True),
        lambda: NetworkSpec(degree=2),
        lambda: NetworkSpec.from_dict({"depth": 3}),
        lambda: named("resnet"),
        lambda: load("resnet"),
        lambda: MultiscaleNetwork().set_values({"tau": [1.0]}),
        lambda: MultiscaleNetwork().set_values({"tau": [-1.0], "contrast": [1.0], "beta": [1.0] * 8}),
        lambda: MultiscaleNetwork().set_values({"tau": [1.0], "contrast": [1.0], "beta": [float("nan")] * 8}),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(ValueError, match=r"NetworkSpec|no network|set_values"):
        call()


@pytest.fixture
def card() -> ModelCard:
    spec = NetworkSpec(**SMALL)
    runs = tuple(Run(seed, shaken(spec).saved(), {"loss": 1.0 + seed}) for seed in (0, 4))
    return ModelCard("little", spec, runs, chosen=4, training={"rate": 1e-3})


def same(one: ModelCard, other: ModelCard) -> bool:
    return one.as_dict() == other.as_dict() and [r.values for r in one.runs] == [r.values for r in other.runs]


def test_a_card_gives_its_networks(card, tmp_path):
    path = tmp_path / "card.safetensors"
    card.write(str(path))
    assert same(load_card(path), card)
    assert torch.equal(load(path, seed=0)(picture()), card.build(0)(picture()))
    with pytest.raises(ValueError, match=r"seed 7; there are \(0, 4\)"):
        load(path, seed=7)


def rewritten(card: ModelCard, path: Path, change) -> None:
    """The card with something changed and the hash made anew, so that it is the damage that is found."""
    from safetensors.torch import save_file

    header = {"format": "whorl network", "version": "2"}
    values = card.as_dict()
    tensors = {f"{run.seed}/{name}": weight for run in card.runs for name, weight in run.weights.items()}
    change(header, values, tensors)
    text = json.dumps(values)
    save_file(tensors, path, {**header, "card": text, "sha256": cards._hash(tensors, text)})


DAMAGES = {
    "foreign": (lambda header, values, tensors: header.update(format="recipe"), "not a whorl model card"),
    "version": (lambda header, values, tensors: header.update(version="9"), "version 9"),
    "values": (lambda header, values, tensors: tensors.pop("4/beta"), "expected so many"),
    "chosen": (lambda header, values, tensors: values.update(chosen=3), "no run with seed 3"),
    "network": (lambda header, values, tensors: values.update(network={"a": 1}), "has no"),
    "kind": (lambda header, values, tensors: values.update(kind="tower"), "tower"),
    "no runs": (lambda header, values, tensors: values.pop("runs"), "runs"),
    "not a number": (lambda header, values, tensors: tensors["0/beta"].fill_(float("nan")), "'0/beta' hold NaN"),
    "infinite": (lambda header, values, tensors: tensors["4/tau"].fill_(float("inf")), "'4/tau' hold NaN or inf"),
}


@pytest.mark.parametrize("damage", [*DAMAGES, "cut", "missing"])
def test_broken_cards_are_refused_and_kept(card, tmp_path, damage):
    path = tmp_path / "card.safetensors"
    change, reason = DAMAGES.get(damage, (lambda *_: None, "cannot be read"))
    rewritten(card, path, change)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:50])
    if damage == "missing":
        path.unlink()
    with pytest.raises(FileError, match=rf"card\.safetensors: .*{reason}"):
        load_card(path)
    if damage != "missing":
        before = path.read_bytes()
        with pytest.raises(FileError):
            card.write(path)
        assert path.read_bytes() == before


def test_a_flipped_bit_in_a_card_is_never_accepted(card, tmp_path):
    path = tmp_path / "card.safetensors"
    card.write(path)
    whole = path.read_bytes()
    assert same(load_card(path), card)
    for place in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 7)
        path.write_bytes(damaged)
        try:
            found = load_card(path)
        except FileError as error:
            assert "card.safetensors" in str(error)
        else:
            assert same(found, card)  # white space, which JSON reads alike


def test_what_is_loaded_is_the_callers_own_and_the_package_builds_each_network_once():
    first, second = load("isotropic-0.41"), load("isotropic-0.41")
    assert cards.shared("isotropic-0.41") is cards.shared("isotropic-0.41")
    before = second.values()
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    assert second.values() == load("isotropic-0.41").values() == cards.shared("isotropic-0.41").values() == before
    with torch.inference_mode():
        load("isotropic-0.5")  # the first to ask for it
    assert not any(parameter.is_inference() for parameter in load("isotropic-0.5").parameters())
