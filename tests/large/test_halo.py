"""The halo is exact: a pixel just outside changes nothing, not one bit; a pixel just inside does."""

import pytest
import torch

from whorl import large, models
from whorl.denoising import Denoising
from whorl.large.stages import denoising_stages, network_stages
from whorl.networks import NetworkSpec, PhotoNetwork, PhotoSpec, build_network

CONTRAST = 9.0
NETWORKS = {
    "multiscale": build_network(NetworkSpec("anisotropic", steps=2, scales=3)),
    "scheduled": build_network(NetworkSpec("isotropic", steps=2, scales=2, scheduled=True)),
    "one scale": build_network(NetworkSpec("isotropic", steps=2, sigma=1.0)),
    "photographs": PhotoNetwork(PhotoSpec(width=3, fields=(3, 2, 1), repetitions=2, rho=1)),
    "photographs, stable": PhotoNetwork(PhotoSpec(width=3, fields=(3, 2, 1), repetitions=2, stable=True)),
    "photographs, 3x3": PhotoNetwork(PhotoSpec(width=3, fields=(2, 2), size=3, blocks=2, alternate=True)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_reach_of_networks_and_their_stages_is_exact(name):
    """By the derivative of one pixel of the result: where it is not zero. Rounding hides nothing there."""
    network = NETWORKS[name].double().eval()
    photo = isinstance(network, PhotoNetwork)
    if photo:  # takes its pictures in float32 and without derivatives otherwise
        steps = [
            large.Stage(network, stage.reach)
            for stage in denoising_stages(Denoising(network), 25.0, [torch.zeros(1, 1, 1, 1)], eight_bits=True)[0]
        ]
    else:
        steps = [stage for stage in network_stages(network) if stage.reach]
    whole = large.Stage(network, network.reach)
    for stage in [*steps, whole]:
        centre = stage.reach + 2
        draw = torch.Generator().manual_seed(4)
        u = 255 * torch.rand(1, 1, *[2 * centre + 1] * 2, generator=draw, dtype=torch.float64)
        u.requires_grad_()
        (slope,) = torch.autograd.grad(stage.apply(u)[..., centre, centre].sum(), u)
        assert (slope[0, 0].nonzero() - centre).abs().amax(0).tolist() == [stage.reach] * 2
    assert large.halo(steps) == network.reach


def near_and_far(model: models.Model, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What a change of one pixel at the end of the halo, and one pixel further, changes at the centre."""
    halo, tau = steps * model.reach, model.automatic_step()
    size = 2 * (halo + 1) + 1
    torch.manual_seed(3)
    u = 20 * torch.rand(1, 2, size, size, dtype=torch.float64)

    def centre(image: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            for _ in range(steps):
                image = model.step(image, tau)
        return image[..., halo + 1, halo + 1]

    before, changes = centre(u), []
    for distance in (halo, halo + 1):
        for row, column in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            changed = u.clone()
            changed[..., halo + 1 + row * distance, halo + 1 + column * distance] += 5.0
            changes.append((centre(changed) - before).abs().amax())
    return torch.stack(changes[:4]), torch.stack(changes[4:])


@pytest.mark.parametrize("name", models.names())
def test_reach_is_exact(name):
    # Noise has little coherence once its structure tensor is smoothed.
    near, far = near_and_far(models.build(name, contrast=0.5 if name == "ced" else CONTRAST), steps=1)
    assert (far == 0).all()
    assert (near > 0).all()


@pytest.mark.parametrize("name", [name for name in models.names() if "multiscale" not in name])
def test_halo_of_several_steps_is_exact(name):
    model = models.build(name, contrast=CONTRAST)
    near, far = near_and_far(model, steps=3)
    assert (far == 0).all()
    if model.structure is None:  # the outermost weight of a Gaussian, cubed, is lost in rounding
        assert (near > 0).all()


@pytest.mark.parametrize(
    ("name", "options"),
    [("eed", {"sigma": 2.5}), ("weickert-integration", {"sigma": 0.0}), ("multiscale-isotropic", {"scales": 4})],
)
def test_reach_follows_the_smoothing(name, options):
    model = models.build(name, contrast=CONTRAST, **options)
    near, far = near_and_far(model, steps=1)
    assert (far == 0).all()
    assert (near > 0).all()


def test_window_does_not_see_beyond_its_halo():
    steps = large.stages(models.build("weickert-brox", contrast=CONTRAST), time=1.0)
    torch.manual_seed(1)
    u = torch.rand(1, 1, 40, 50)
    window = large.Window(10, 20, 15, 30)
    grown = window.grown(large.halo(steps), 40, 50)
    cut = u[(..., *grown.slices)].contiguous()
    from whorl.large.run import in_window

    result = in_window(cut, steps, grown, window, (40, 50))
    top, _, _, right = grown
    u[..., :top, :] += 1
    u[..., :, right:] += 1
    whole = u
    for stage in steps:
        whole = stage.apply(whole)
    assert torch.equal(result, whole[window.inside(large.Window(0, 40, 0, 50))])
