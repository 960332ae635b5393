"""Formulas of diffusivities, written once for tensors, mean the same in every language that they are written in."""

import math
import re

import numpy as np
import pytest
import torch

from whorl.activations import SymmetricMatrix
from whorl.activations.enhancing import SPECTRAL
from whorl.activations.tensors import upper
from whorl.diffusivities import CLASSICAL, Diffusivity
from whorl.engines.formulas import lowered, statements
from whorl.engines.leaves import SPECTRA, Leaf
from whorl.foundations.traced import Traced

CONTRAST = 1.7
LOW = torch.cat([torch.zeros(1), torch.logspace(-3, 3, 40)]).double()
WIDTHS = torch.tensor([0.0, 1e-9, 1e-3, 0.1, 2.0, 50.0], dtype=torch.float64)

NUMPY = {
    "number": "{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}", "neg": "-{}",
    "inverse": "1 / {}", "abs": "np.abs({})", "lt": "{} < {}", "gt": "{} > {}", "eq": "{} == {}", "and": "{} & {}",
    "or": "{} | {}", "where": "np.where({}, {}, {})", "fma": "{} * {} + {}", "sqrt": "np.sqrt({})",
    "rsqrt": "1 / np.sqrt({})", "exp2": "np.exp2({})", "fall": "-np.expm1(np.log(2) * {})",
    "decay_series": "-np.expm1(-{0}) / np.maximum({0}, 1e-300) + ({0} == 0)", "g": "g({})",
}  # fmt: skip


class Lorentzian(Diffusivity):
    """Somebody's own diffusivity: the square of the rational one."""

    name, closed_form = "lorentzian", True

    def forward(self, s2):
        return (1 + s2 / self._contrast_squared(s2)).square().reciprocal()

    def psi(self, s2):
        return s2 / (1 + s2 / self._contrast_squared(s2))

    def slope(self, s2):
        return -2 * self(s2) / (1 + s2 / self._contrast_squared(s2)) / self._contrast_squared(s2)


class Gaussian(Diffusivity):
    """One with its argument inside an exponential and outside of it."""

    name, closed_form = "gaussian", True

    def forward(self, s2):
        x = s2 / self._contrast_squared(s2)
        return (1 + x) * torch.exp(-x)

    def psi(self, s2):
        raise NotImplementedError

    def slope(self, s2):
        x = s2 / self._contrast_squared(s2)
        return -x * torch.exp(-x) / self._contrast_squared(s2)


def computed(node, shape=LOW.shape, **names):
    """The value of a node, by NumPy in float64."""
    lines, (found,) = statements(lambda name, *words: NUMPY[name].format(*words), node)
    names["np"] = np
    exec("\n".join([*lines, f"result = {found}"]), names)
    return np.broadcast_to(names["result"], shape)


@pytest.mark.parametrize("kind", [*CLASSICAL, Lorentzian, Gaussian], ids=lambda kind: kind.name)
def test_a_leaf_is_the_diffusivity_its_slope_and_its_secant(kind):
    g, leaf, unit = kind(CONTRAST), Leaf.of(kind), CONTRAST**-2
    rate = unit * (1 if leaf.exponent is None else leaf.exponent / math.log(2))
    front = CONTRAST**leaf.amplitude

    def at(s2):
        return computed(leaf.value, s2=s2.numpy(), rate=rate)

    slope = computed(leaf.slope, s2=LOW.numpy(), h=at(LOW), unit=unit)
    np.testing.assert_allclose(front * at(LOW), g(LOW), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(front * slope, g.slope(LOW), rtol=1e-11, atol=1e-15)
    for width in WIDTHS:
        names = {"low": LOW.numpy(), "width": width.numpy(), "h": at(LOW), "h_far": at(LOW + width), "unit": unit}
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = computed(leaf.secant, **names)
        # Values that differ by a width differ by their rounding, too, divided by the width.
        noise = 4e-16 / max(float(width), 0.05 * CONTRAST**2)
        np.testing.assert_allclose(front * secant, g.divided_difference(LOW, LOW + width), rtol=1e-9, atol=noise)


@pytest.mark.parametrize("name", SPECTRAL)
@pytest.mark.parametrize("dimension", [2, 3])
def test_a_spectrum_is_that_of_the_law(name, dimension):
    """Of diagonal structure tensors the diffusion tensor is diagonal: its entries are the eigenvalues."""
    law, spectrum = SPECTRAL[name], SPECTRA[dimension][name]
    mu = torch.tensor([[8.0, 5.0, 2.0], [3.0, 0.9, 0.0], [0.4, 0.2, 0.1], [60.0, 1.0, 0.5]], dtype=torch.float64)
    mu = mu[:, [0, 2]] if dimension == 2 else mu
    J = SymmetricMatrix(*(mu[:, i] if i == j else 0 * mu[:, i] for i, j in upper(dimension)))
    D = law.tensor(SymmetricMatrix(*(entry.view(1, 1, 1, 1, 1, -1) for entry in J)))
    expected = np.stack([D.entry(i, i).flatten().numpy() for i in range(dimension)])
    names = {f"mu{i + 1}": mu[:, i].numpy() for i in range(dimension)}
    names |= {"gap": (mu[:, 0] - mu[:, -1]).numpy(), "rate": 1.0, "floor": getattr(law, "across", 0.0)}
    g = law.diffusivity and (lambda s2: law.diffusivity(torch.as_tensor(s2)).numpy())
    found = np.stack([computed(node, (len(mu),), g=g, **names) for node in spectrum.eigenvalues])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)  # eigenvalues up to 1
    both = computed(spectrum.mean, (len(mu),), g=g, **names), computed(spectrum.rise, (len(mu),), g=g, **names)
    np.testing.assert_allclose(both[0], (expected[0] + expected[-1]) / 2, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(both[1], expected[0] - expected[-1], rtol=1e-9, atol=1e-15)


def test_arguments_inside_exponentials_alone_take_the_factor_into_the_rate():
    assert {kind.name for kind in CLASSICAL if Leaf.of(kind).exponent is not None} == {"exponential"}
    assert Leaf.of(Gaussian).exponent is None


def test_products_are_gathered_and_sums_fused():
    x, y = Traced("symbol", "x"), Traced("symbol", "y")
    assert lowered(-(x * x) / 4, front="unit") == lowered(-0.25 * Traced("symbol", "unit") * x * x)
    assert lowered(y + 3 * x)[0] == "fma"
    assert lowered(y - x) == ("sub", ("symbol", "y"), ("symbol", "x"))
    assert lowered(x.reciprocal().square()) == lowered(1 / (x * x))
    with pytest.raises(ValueError, match="power 5"):
        lowered(x**5)


def test_a_function_without_a_formula_is_named():
    with pytest.raises(ValueError, match=re.escape("torch.erf")):
        torch.erf(Traced("symbol", "x"))
    with pytest.raises(AttributeError, match="cumsum"):
        Traced("symbol", "x").cumsum()
