"""What the golden file keeps beside the plane: volumes, filling in, data terms, and windows of large pictures."""

from collections.abc import Iterator

import numpy as np
import torch
from cases import DTYPES, compiled, picture
from torch import Tensor

import whorl
from whorl.activations import Anisotropic, EdgeEnhancing
from whorl.diffusivities import by_name
from whorl.inpainting.images import method
from whorl.models import Model, build
from whorl.operators import CellGradient, Composed, Smoothing

VOXEL = (2.0, 1.0, 1.0)
IN_SPACE = {
    "perona-malik": {},
    "perona-malik, cubes": {"name": "perona-malik", "spacing": (1.0, 1.0, 1.0)},
    "gerig": {},
    "weickert-brox": {},
    "weickert-brox, charbonnier": {"name": "weickert-brox", "diffusivity": "charbonnier"},
    "uncoupled": {},
    "eed": {"sigma": 1.2},
    "ced": {"sigma": 0.7, "rho": 1.5},
    "you-kaveh": {},
}
FILLED = ("eed", "homogeneous", "biharmonic")
IN_WINDOWS = {"weickert-brox": {}, "eed": {"sigma": 1.0}, "multiscale-isotropic": {"scales": 2}}


def lines(spacing: tuple[float, ...]) -> Model:
    """Edge-enhancing diffusion that keeps lines in space, which ``build`` has no name for."""
    seen = Composed(CellGradient(0.5, spacing), Smoothing(1.0, spacing=spacing))
    law = EdgeEnhancing(by_name("exponential", 12.0), keep="lines")
    return Model(CellGradient(0.25, spacing), Anisotropic(law), structure=seen, name="eed, lines")


def models_in_space() -> Iterator[tuple[str, Model]]:
    for name, options in IN_SPACE.items():
        yield name, build(**{"name": name, "contrast": 12.0, "spacing": VOXEL, **options})
    yield "eed, lines", lines(VOXEL)


def of_volumes(engine: str) -> Iterator[tuple[str, Tensor]]:
    for name, model in models_in_space():
        tau = model.automatic_step(3)
        for dtype, kind in DTYPES.items():
            if engine != "reference" and dtype == "float64" and name != "weickert-brox":
                continue
            title = f"{engine} {dtype} volume {name}"
            for channels in (1, 3):
                u = picture(kind, 1, channels, 6, 7, 9)
                if not compiled(lambda v, e, m=model: m.step(v, engine=e), u, engine):
                    continue
                with torch.no_grad():
                    for scheme in ("explicit", "fsi"):
                        after = model(u, 3 * tau, scheme=scheme, engine=engine)
                        yield f"{title}, {channels} channels, {scheme}", after


def of_filling_in(engine: str) -> Iterator[tuple[str, Tensor]]:
    u = picture(torch.float32, 3, 14, 18).clamp(0, 255)
    hole = torch.rand(14, 18, generator=torch.Generator().manual_seed(5)) < 0.4
    hole[4:9, 5:11] = True
    for name in FILLED:
        for channels in (1, 3):
            grey = float(u[:channels, ~hole].max() - u[:channels, ~hole].min()) / 255
            model = method("eed", contrast=grey, sigma=1.0, rho=3.0) if name == "eed" else name
            filled = whorl.inpaint(u[:channels], hole, model, channel_axis=0, tolerance=0.5, engine=engine)
            yield f"{engine} float32 filling in by {name}, {channels} channels", filled
    volume, mask = picture(torch.float32, 5, 6, 8), torch.zeros(5, 6, 8, dtype=torch.bool)
    mask[1:4, 2:5, 2:6] = True
    yield (
        f"{engine} float32 filling in by eed, volume",
        whorl.inpaint(volume, mask, "eed", tolerance=0.5, engine=engine),
    )
    u = picture(torch.float32, 1, 2, 11, 17)
    model = build("weickert-brox", contrast=12.0)
    with torch.no_grad():
        near = model.with_data(picture(torch.float32, 1, 2, 11, 17, seed=6), 0.4)
        yield f"{engine} float32 model weickert-brox, data term", near(u, 2.0, engine=engine)
        kept = model.inpaint(u, hole[:11, :17])
        yield f"{engine} float32 model weickert-brox, known pixels", kept(u, 2.0, engine=engine)


def of_windows(engine: str) -> Iterator[tuple[str, Tensor]]:
    """Large pictures in windows and as a whole: the test of the golden file compares the two."""
    for dtype in (np.uint8, np.float32):
        u = picture(torch.float32, 40, 52).clamp(0, 255).numpy().astype(dtype)
        for name, options in IN_WINDOWS.items():
            title, settings = f"{engine} {u.dtype} {name}", {"contrast": 12.0, "engine": engine, **options}
            yield f"{title}, in windows", torch.from_numpy(whorl.large.map(u, name, time=1.5, tile=16, **settings))
            yield f"{title}, whole", torch.from_numpy(whorl.diffuse(u, name, time=1.5, **settings))
    u = picture(torch.float32, 8, 14, 18).numpy()
    settings = {"contrast": 12.0, "engine": engine, "spacing": VOXEL, "time": 1.0}
    title = f"{engine} float32 volume weickert-brox"
    yield f"{title}, in windows", torch.from_numpy(whorl.large.map(u, "weickert-brox", tile=6, **settings))
    yield f"{title}, whole", torch.from_numpy(whorl.diffuse(u, "weickert-brox", **settings))
    if engine == "numba":
        network, u = whorl.load("isotropic-0.41"), picture(torch.float32, 60, 80).numpy()
        title = "auto float32 isotropic-0.41"
        yield f"{title}, in windows", torch.from_numpy(whorl.large.map(u, network, noise=35.0, tile=32))
        yield f"{title}, whole", torch.from_numpy(network(u, 35.0))


def of_more(engine: str) -> Iterator[tuple[str, Tensor]]:
    yield from of_volumes(engine)
    yield from of_filling_in(engine)
    yield from of_windows(engine)
