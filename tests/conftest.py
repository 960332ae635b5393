"""Fixtures every test may use."""

import random

import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def seeds() -> None:
    """The same random numbers for every test, whatever ran before it."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - libraries may draw from it
    torch.manual_seed(0)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture
def rng() -> torch.Generator:
    return torch.Generator().manual_seed(20220131)


# Doctests are collected from every module; several files of this name would be taken for one.
collect_ignore_glob = ["conftest.py", "*/conftest.py"]


@pytest.fixture(autouse=True)
def denormals():
    """Commands that run inside the tests flush denormal numbers to zero; the next test has them again."""
    yield
    torch.set_flush_denormal(False)
