"""The halo is exact: a pixel just outside changes nothing, not one bit; a pixel just inside does."""

import pytest
import torch

from whorl import large, models

CONTRAST = 9.0


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
