"""Filling in: known pixels stay to the last bit, and the others are the steady state of the library's own model."""

import base64
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.sparse.linalg import spsolve

import whorl
from whorl import engines
from whorl.inpainting.images import following, method
from whorl.models import build
from whorl.schemes import fsi_steps
from whorl.steps import Numbers

SHAPE = (3, 40, 52)
TOLERANCE = 1e-3
"""Grey values that the last cycle of the page may still change."""


@pytest.fixture(scope="module")
def scratched() -> tuple[np.ndarray, np.ndarray]:
    """A colour picture with an edge and shading, and a mask: two scratches, a blot and single pixels."""
    y, x = np.mgrid[: SHAPE[1], : SHAPE[2]]
    edge = 120.0 * (x + 0.6 * y > 40)
    image = np.stack([40 + edge, 60 + 2 * y + 0.5 * edge, 200 - 1.5 * x]) + np.random.default_rng(2).normal(0, 2, SHAPE)
    mask = (np.abs(y - 12 - 0.3 * x) < 2) | (np.abs(x - 30) < 1) | (np.hypot(y - 28, x - 12) < 5)
    mask |= np.random.default_rng(3).random(mask.shape) < 0.1
    return image.astype(np.float32), mask


@pytest.fixture(scope="module")
def filled(browser: Any, scratched: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    return {}


def _filled(drive: Any, cache: dict[str, Any], image: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
    if not cache:
        hidden = np.where(mask, 0, image).astype(np.float32)  # the page must not see what is to be filled
        encoded = [base64.b64encode(plane.tobytes()).decode() for plane in (*hidden, mask.astype(np.float32))]
        answer = drive(
            "fillAll",
            planes=encoded[:-1],
            mask=encoded[-1],
            height=SHAPE[1],
            width=SHAPE[2],
            tolerance=TOLERANCE,
            lenient=True,
        )
        for name, found in answer.items():
            planes = [np.frombuffer(base64.b64decode(plane), np.float32) for plane in found["planes"]]
            cache[name] = (np.stack(planes).reshape(SHAPE), found["plan"])
    return cache


def test_known_pixels_stay_to_the_last_bit(drive: Any, scratched: Any, filled: dict[str, Any]) -> None:
    image, mask = scratched
    for result, _ in _filled(drive, filled, image, mask).values():
        assert np.array_equal(result[:, ~mask], image[:, ~mask])
        assert np.abs(result[:, mask]).min() > 1  # and the hidden ones are no longer the zeros the page was given


def test_homogeneous_filling_is_the_direct_solution(drive: Any, scratched: Any, filled: dict[str, Any]) -> None:
    image, mask = scratched
    result, plan = _filled(drive, filled, image, mask)["homogeneous"]
    count = mask.size
    # The matrix of the library's own right hand side, column by column.
    model = build("perona-malik", diffusivity="homogeneous", alpha=plan["alpha"])
    columns = model.rhs(torch.eye(count, dtype=torch.float64).view(count, 1, *SHAPE[1:]))
    matrix = sparse.csr_matrix(columns.view(count, count).numpy().T)
    inside = mask.ravel()
    for found, known in zip(result, image, strict=True):
        right = -matrix[inside][:, ~inside] @ known.ravel()[~inside].astype(np.float64)
        exact = spsolve(matrix[inside][:, inside].tocsc(), right)
        # A cycle still changes by less than the tolerance; what is left is of the same size.
        assert np.abs(found[mask] - exact).max() < 5 * TOLERANCE


def test_edge_enhancing_filling_is_a_steady_state(drive: Any, scratched: Any, filled: dict[str, Any]) -> None:
    image, mask = scratched
    result, plan = _filled(drive, filled, image, mask)["eed"]
    model = method("eed", **{key: plan[key] for key in ("contrast", "alpha", "gamma")}, **following(mask))
    assert model.settings["rho"] < plan["rho"]
    known, unknown = torch.from_numpy(image).double()[None], torch.from_numpy(mask)
    step = model.inpaint(known, unknown).description
    taus, mixes = fsi_steps((24,), model.step_limit())

    def advanced(u: torch.Tensor, cycles: int) -> torch.Tensor:
        for _ in range(cycles):
            u = engines.advance(step, u, [Numbers(tau) for tau in taus], "reference", mixes=mixes, frozen=True)
        return u

    start = torch.from_numpy(result).double()[None]
    # The library's own cycles, in double precision, lead nowhere else.
    assert float((advanced(start, 20) - start).abs().max()) < 20 * TOLERANCE
    # So do those of whorl.inpaint, from their own start.
    python = whorl.inpaint(np.where(mask, 0, image), mask, model, channel_axis=0, tolerance=TOLERANCE)
    assert np.abs(python - result).max() < 20 * TOLERANCE
    # They would if it were not the steady state: from the homogeneous one they travel far.
    other = torch.from_numpy(_filled(drive, filled, image, mask)["homogeneous"][0]).double()[None]
    assert float((advanced(other, 20) - other).abs().max()) > 5
