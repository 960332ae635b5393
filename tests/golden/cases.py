"""What the golden file keeps of the plane: small pictures through every model, block and network, by public names only.

Volumes, filling in and windows stand in ``more.py``, exported files in ``exports.py``.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

import whorl
from whorl.blocks import diffusion_block, multichannel_block, multiscale_block
from whorl.inpainting.images import method
from whorl.models import Model, build, uncoupled_twin
from whorl.networks import NetworkSpec, available, build_network, load
from whorl.operators import sample_scales

DTYPES = {"float32": torch.float32, "float64": torch.float64}
SCHEMES = ("explicit", "fed", "fsi")

MODELS = {
    "perona-malik": {},
    "perona-malik, spacing": {"name": "perona-malik", "spacing": (0.5, 2.0), "alpha": 0.1},
    "perona-malik, tv": {"name": "perona-malik", "diffusivity": "tv"},
    "you-kaveh": {},
    "lysaker": {},
    "gerig": {},
    "gerig, charbonnier": {"name": "gerig", "diffusivity": "charbonnier"},
    "weickert-brox": {},
    "weickert-brox, gamma": {"name": "weickert-brox", "gamma": 0.8, "diffusivity": "rational"},
    "weickert-brox, weickert": {"name": "weickert-brox", "diffusivity": "weickert"},
    "weickert-brox, free form": {"name": "weickert-brox", "diffusivity": "free-form"},
    "multiscale-isotropic": {"scales": 4},
    "multiscale-anisotropic": {"scales": 4},
    "multiscale-anisotropic, printed": {
        "name": "multiscale-anisotropic",
        "scales": sample_scales(3, 0.4, 2.5),
        "beta": [0.7, 1.2, -0.4],
        "omega_inside": False,
        "gamma": 0.3,
    },
    "uncoupled": {},
    "eed": {},
    "eed, gamma": {"name": "eed", "gamma": 0.5, "sigma": 0.7},
    "weickert-integration": {},
    "ced": {},
    "ced, short lines": {"name": "ced", "sigma": 0.6, "rho": 1.2, "gamma": 0.3},
    "edge-continuing": {"sigma": 0.8, "rho": 1.5},
}
BLOCKS = {
    "diffusion": lambda: diffusion_block(9.0, 0.2, trainable=True),
    "multichannel": lambda: multichannel_block(11.0, 0.15, gamma=0.4, trainable=True),
    "multiscale": lambda: multiscale_block(13.0, 0.04, sampling=sample_scales(3, 0.3, 3.0), trainable=True),
}
SPECS = {
    "own steps": NetworkSpec("isotropic", steps=2, scales=2, own_steps=True),
    "own structure": NetworkSpec(steps=2, scales=2, own_structure=True, gamma=0.5),
    "centred": NetworkSpec(steps=2, scales=2, centred=True),
    "scheduled": NetworkSpec("uncoupled", steps=2, scales=2, scheduled=True, diffusivity="weickert"),
    "one scale": NetworkSpec("isotropic", steps=2, sigma=1.5, diffusivity="rational"),
}
PHOTO_NETWORKS = {"photo-8k": None, "photo-27k-stable": None, "photo-27k-strict": None, "photo-colour": 18.0}
"""Networks for photographs, with the noise level that one of them takes."""


def picture(dtype: torch.dtype, *shape: int, seed: int = 3) -> Tensor:
    return (110 + 35 * torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))).to(dtype)


def model(name: str, *, trainable: bool = False) -> Model:
    options = dict(MODELS[name])
    if name == "edge-continuing":
        return method("eed", contrast=12.0, **options)
    return build(options.pop("name", name), contrast=12.0, trainable=trainable, **options)


def compiled(build_one, u: Tensor, engine: str) -> bool:
    """Whether the engine takes the step at all; the golden file says which did."""
    try:
        with torch.no_grad():
            build_one(u, engine)
    except ValueError as error:
        assert f"engine {engine!r}" in str(error), error
        return False
    return True


def of_models(engine: str, dtype: str) -> Iterator[tuple[str, Tensor]]:
    kind = DTYPES[dtype]
    for name in MODELS:
        filtered, title = model(name), f"{engine} {dtype} model {name}"
        tau = filtered.automatic_step()
        for channels in (1, 3) if engine == "reference" or dtype == "float32" else (3,):
            u = picture(kind, 2, channels, 11, 17)
            if not compiled(lambda v, e, m=filtered: m.step(v, engine=e), u, engine):
                continue
            with torch.no_grad():
                yield f"{title}, {channels} channels, step", filtered.step(u, engine=engine)
                for scheme in SCHEMES:
                    yield f"{title}, {channels} channels, {scheme}", filtered(u, 5 * tau, scheme=scheme, engine=engine)
        learning = model(name, trainable=True)
        u = picture(kind, 1, 3, 9, 10).requires_grad_()
        try:
            after = learning(u, 1.8 * tau, engine=engine)
        except ValueError as error:
            assert f"engine {engine!r}" in str(error), error
            continue
        parameters = {key: p for key, p in learning.named_parameters() if p.requires_grad}
        found = torch.autograd.grad((after * picture(kind, *u.shape, seed=4)).sum(), (u, *parameters.values()))
        for key, value in zip(("u", *parameters), found, strict=True):
            yield f"{title}, gradient by {key}", value
    if engine == "reference" or dtype == "float32":
        twin = uncoupled_twin(model("multiscale-isotropic"))
        with torch.no_grad():
            yield f"{engine} {dtype} model twin", twin(picture(kind, 1, 2, 9, 8), 0.3, engine=engine)


def of_blocks(engine: str, dtype: str) -> Iterator[tuple[str, Tensor]]:
    kind = DTYPES[dtype]
    for name, make in BLOCKS.items():
        block, title = make(), f"{engine} {dtype} block {name}"
        block.engine = engine
        for channels in (1, 2):
            u = picture(kind, 2, channels, 9, 14).requires_grad_()
            after = block(u)
            yield f"{title}, {channels} channels", after.detach()
            names = ["u", *(key for key, _ in block.named_parameters())]
            found = torch.autograd.grad((after * picture(kind, *u.shape, seed=4)).sum(), (u, *block.parameters()))
            for key, value in zip(names, found, strict=True):
                yield f"{title}, {channels} channels, gradient by {key}", value


def of_networks(dtype: str) -> Iterator[tuple[str, Tensor]]:
    """Networks choose their engine themselves."""
    kind = DTYPES[dtype]
    networks = {name: load(name) for name in available()}
    for name, spec in SPECS.items():
        networks[name] = build_network(spec)
        with torch.no_grad():
            for p in networks[name].parameters():
                if p.requires_grad:
                    p.add_(picture(p.dtype, *p.shape).sub(110).div(200))
    for name, network in networks.items():
        u = picture(kind, 1, 1, 12, 16).requires_grad_()
        after = network(u)
        title = f"auto {dtype} network {name}"
        yield title, after.detach()
        parameters = {key: p for key, p in network.named_parameters() if p.requires_grad}
        found = torch.autograd.grad((after * picture(kind, *u.shape, seed=4)).sum(), (u, *parameters.values()))
        for key, value in zip(("u", *parameters), found, strict=True):
            yield f"{title}, gradient by {key}", value


def of_photo_networks(engine: str) -> Iterator[tuple[str, Tensor]]:
    """Networks for photographs by torch's own functions, with derivatives, or by compiled loops."""
    for name, noise in PHOTO_NETWORKS.items():
        network, title = whorl.load(name), f"{engine} float32 network {name}"
        network.engine = engine
        u = picture(torch.float32, 1, 3 if "colour" in name else 1, 24, 28)
        given = () if noise is None else (noise,)
        if engine == "numba":
            with torch.no_grad():
                yield title, network(u, *given)
            continue
        after = network(u.requires_grad_(), *given)
        yield title, after.detach()
        weight = next(p for p in network.parameters() if p.requires_grad)
        found = torch.autograd.grad((after * picture(u.dtype, *u.shape, seed=4)).sum(), (u, weight))
        for key, value in zip(("u", "first weight"), found, strict=True):
            yield f"{title}, gradient by {key}", value


def of_triton() -> Iterator[tuple[str, Tensor]]:
    """A few steps by the CUDA kernels; without a GPU in Triton's interpreter."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for name in ("perona-malik", "weickert-brox, gamma", "eed"):
        u = picture(torch.float32, 1, 2, 7, 9).to(device)
        with torch.no_grad():
            yield f"triton float32 model {name}", model(name).to(device).step(u, engine="triton").cpu()
    for name, make in BLOCKS.items():
        block = make().to(device)
        block.engine = "triton"
        u = picture(torch.float32, 1, 2, 7, 9).to(device).requires_grad_()
        after = block(u)
        weights = picture(torch.float32, *u.shape, seed=4).to(device)
        names = ["u", *(key for key, _ in block.named_parameters())]
        found = torch.autograd.grad((after * weights).sum(), (u, *block.parameters()))
        yield f"triton float32 block {name}", after.detach().cpu()
        for key, value in zip(names, found, strict=True):
            yield f"triton float32 block {name}, gradient by {key}", value.cpu()


def of_processor(engine: str) -> Iterator[tuple[str, Tensor]]:
    for dtype in DTYPES:
        yield from of_models(engine, dtype)
        yield from of_blocks(engine, dtype)
        if engine == "numba":
            yield from of_networks(dtype)
    yield from of_photo_networks(engine)
