"""Pictures and volumes filtered with nothing told: turned, mirrored, in other units, by other engines, in other types.

What is measured and chosen must follow: the noise, the contrast, the time.
"""

import math
from itertools import permutations, product

import numpy as np
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

import whorl
from whorl import diffusivities, models
from whorl.schemes import SCHEMES

fewer = settings(max_examples=max(8, settings.default.max_examples // 10))
"""Each case takes many steps: those that are searched for the time, and those of the flow."""

MODELS = [name for name in models.names() if models.row(name).rule is not None]
PLANE_ALONE = ("weickert-integration", "multiscale-isotropic", "multiscale-anisotropic")
"""Without a form in space, or with one that takes minutes where contrasts are searched for."""
TYPES = ("uint8", "uint16", "int32", "float16", "float32", "float64")
SYMMETRIES = {
    space: [(order, ends) for order in permutations(range(space)) for ends in product((1, -1), repeat=space)]
    for space in (2, 3)
}
"""Of the square and of the cube: an order of the axes, and the sense of each."""


@st.composite
def cases(draw) -> dict:
    name = draw(st.sampled_from(MODELS))
    space = draw(st.sampled_from([2] if name in PLANE_ALONE else [2, 2, 3]))
    options = models.row(name).options
    laws = [law for law in diffusivities.names() if (name, law) != ("eed", "tv")] if "diffusivity" in options else []
    side = st.integers(9, 40) if space == 2 else st.integers(6, 10)
    return {
        "model": name,
        "space": space,
        "law": draw(st.sampled_from([None, *laws])),
        "shape": tuple(draw(side) for _ in range(space)),
        "channels": draw(st.sampled_from([0, 0, 1, 3])),
        "spacing": draw(st.sampled_from([None, (1.0, 2.0, 1.0), (0.3, 0.7, 0.5)])),
        "scheme": draw(st.sampled_from(SCHEMES)),
        "engine": draw(st.sampled_from(["auto", "reference"])),
        "type": draw(st.sampled_from(TYPES)),
        "noise": draw(st.sampled_from([2.0, 10.0, 25.0])),
        "seed": draw(st.integers(0, 2**31)),
    }


def picture(case: dict) -> np.ndarray:
    """Two grey values, a slope and noise, 0 to 255, in float64; channels come first."""
    rng = np.random.default_rng(case["seed"])
    shape = (max(case["channels"], 1), *case["shape"])
    places = np.stack(np.meshgrid(*[np.arange(size) / size for size in case["shape"]], indexing="ij"))
    normal = rng.normal(size=case["space"])
    away = np.tensordot(normal, places - rng.uniform(0.3, 0.7, (case["space"], *[1] * case["space"])), 1)
    clean = 90 + 70 * (away > 0) + 20 * away + rng.uniform(-20, 20, (shape[0], *[1] * case["space"]))
    noisy = clean + case["noise"] * rng.normal(size=shape)
    return noisy if case["channels"] else noisy[0]


def stored(u: np.ndarray, kind: str) -> np.ndarray:
    """As samples of that type; of 16 and more bits most are used."""
    if kind.startswith("float"):
        return u.astype(kind)
    return np.rint(u * ((int(np.iinfo(kind).max) + 1) // 256)).clip(0, np.iinfo(kind).max).astype(kind)


def filtered(case: dict, u: np.ndarray, **others: object) -> np.ndarray:
    """With nothing told but how and with what."""
    spacing = others.pop("spacing", case["spacing"])
    told = {"spacing": (1.0,) * case["space"] if spacing is None else spacing[: case["space"]]}
    if case["law"] is not None:
        told["diffusivity"] = case["law"]
    how = {"scheme": case["scheme"], "engine": case["engine"], **others}
    return whorl.diffuse(u, case["model"], channel_axis=0 if case["channels"] else None, **told, **how)


STEPS = 100
"""About as many as the longest flows take: time 20 in steps of 0.2."""


def roundings(case: dict) -> float:
    r"""How far apart two computations of the same may be, in roundings u of the largest value L.

    *The flow.* Each of s steps rounds a value some 40 times, in a direction as good as random, and enlarges nothing:
    four standard deviations are 4 sqrt(40 s) u, 250 u for s = 100.

    *The settings.* The noise itself is measured in float64. Stein's estimate of the error is a mean over n samples that
    carry r = sqrt(s) u L each. What was removed, about the noise σ, is squared: 2 r / σ. The divergence is a
    difference of two flows that begin σ / 10 apart, times 2: 28 r / σ. Together the estimate is off by
    η = 30 (r / σ) / sqrt(n) in units of σ². Pairs of settings weigh exp(-R / 0.0025), and their logarithms
    span 1.2: a mean of them moves by at most 400 η x 1.2 / 4 = 120 η. The best time is the vertex of a parabola
    through three steps of a curve that rises by c = 0.3 of σ² where the time is off by a factor of e: it moves by
    0.35 (s / c) η, about 100 η. A relative change of the settings by 1 changes the result by what it removes, 3
    σ where most. The noise cancels: 220 x 30 x 3 sqrt(s / n) u L.
    """
    samples = max(case["channels"], 1) * math.prod(case["shape"])
    return 4 * math.sqrt(40 * STEPS) + 19_800 * math.sqrt(STEPS / samples)


def close(found: np.ndarray, expected: np.ndarray, case: dict) -> None:
    """Within so many roundings of the largest value; whole samples may fall to the other side of a half."""
    kind = case["type"]
    unit = np.finfo(np.float64 if kind in ("float64", "int32") else np.float32).eps / 2
    gap = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    largest = float(np.abs(expected.astype(np.float64)).max())
    note(f"off by {gap / largest / unit:.0f} roundings of {largest:g}, {roundings(case):.0f} allowed")
    step = 0.0 if kind in ("float32", "float64") else 2.0**-10 * largest if kind == "float16" else 1.0
    assert gap <= roundings(case) * unit * largest + step


def turned(u: np.ndarray, case: dict, symmetry: tuple) -> np.ndarray:
    first = u.ndim - case["space"]
    order, ends = symmetry
    moved = u.transpose(*range(first), *(first + axis for axis in order))
    return np.ascontiguousarray(moved[(slice(None),) * first + tuple(slice(None, None, end) for end in ends)])


@fewer
@given(cases(), st.data())
def test_the_result_turns_with_the_picture(case: dict, data: st.DataObject) -> None:
    symmetry = data.draw(st.sampled_from(SYMMETRIES[case["space"]]))
    u = stored(picture(case), case["type"])
    spacing = case["spacing"] and tuple(case["spacing"][axis] for axis in symmetry[0])
    found = filtered(case, turned(u, case, symmetry), spacing=spacing)
    close(found, turned(filtered(case, u), case, symmetry), case)


@fewer
@given(cases(), st.integers(-9, 9))
def test_the_unit_of_the_values_does_not_matter(case: dict, magnitude: int) -> None:
    assume(case["type"] in ("float32", "float64"))
    u, unit = picture(case), 10.0**magnitude
    found = filtered(case, stored(unit * u, case["type"])) / unit
    close(found, filtered(case, stored(u, case["type"])), case)


@fewer
@given(cases(), st.sampled_from([0.01, 0.5, 3.0, 1000.0]))
def test_the_unit_of_length_does_not_matter(case: dict, unit: float) -> None:
    spacing = case["spacing"] or (1.0,) * case["space"]
    u = stored(picture(case), case["type"])
    found = filtered(case, u, spacing=tuple(unit * size for size in spacing))
    close(found, filtered(case, u), case)


@fewer
@given(cases())
def test_engines_and_types_give_one_answer(case: dict) -> None:
    u = stored(picture(case), case["type"])
    expected = filtered(case, u.astype(np.float64), engine="reference")
    close(filtered(case, u), expected, case)
