"""Formulas that are noted down: the same function of tensors and of traced values, however arguments are mixed."""

import pytest
import torch

from whorl.foundations.traced import Traced, quotient

X = Traced("symbol", "x")


def test_a_function_of_its_own_is_noted_of_traced_values_and_computed_of_tensors() -> None:
    one = torch.ones(2, dtype=torch.float64)
    assert torch.equal(quotient(6.0, 3 * one), 2 * one)
    for arguments, words in (((1.0, X), "truediv(1.0, x)"), ((X, 2.0), "truediv(x, 2.0)"), ((X, X), "truediv(x, x)")):
        assert str(quotient(*arguments)) == words


@pytest.mark.parametrize(
    ("traced", "words"),
    [
        (X + 1, "add(x, 1)"), (1 + X, "add(1, x)"), (X - 1, "sub(x, 1)"), (1 - X, "sub(1, x)"), (2 * X, "mul(2, x)"),
        (X / 3, "truediv(x, 3)"), (3 / X, "truediv(3, x)"), (X**2, "pow(x, 2)"), (X < 1, "lt(x, 1)"),
        (-X, "neg(x)"), (torch.exp(X), "exp(x)"), (torch.rsub(X, 1), "sub(1, x)"), (X.clamp_min(0), "clamp_min(x, 0)"),
    ],
    ids=str,
)  # fmt: skip
def test_order_and_names_are_those_of_the_formula(traced: Traced, words: str) -> None:
    assert str(traced) == words


def test_what_no_language_has_is_refused() -> None:
    with pytest.raises(ValueError, match="torch.sin cannot be written as a formula"):
        torch.sin(X)
    with pytest.raises(AttributeError, match="cumsum cannot be written"):
        X.cumsum(0)
