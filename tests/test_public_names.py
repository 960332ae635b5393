"""The public surface is an inventory: changing it is a deliberate act, and every class has an instance."""

import importlib
import json
import pkgutil
from pathlib import Path

import pytest

import catalogue
import whorl
from whorl.activations import Activation
from whorl.diffusivities import Diffusivity
from whorl.operators import Operator

INVENTORY = json.loads((Path(__file__).parent / "public_names.json").read_text())


def surface() -> dict[str, list[str]]:
    """Two levels, as in ``whorl.operators.Hessian``: every module below whorl with the names it exports."""
    modules = [info.name for info in pkgutil.iter_modules(whorl.__path__) if not info.name.startswith("_")]
    exports = {name: getattr(importlib.import_module(f"whorl.{name}"), "__all__", []) for name in modules}
    return {name: sorted(names) for name, names in exports.items() if names}


def test_public_names_are_those_of_the_inventory():
    """If this fails on purpose: test the new name, then write the surface to tests/public_names.json."""
    assert surface() == INVENTORY


@pytest.mark.parametrize(
    ("base", "listed"),
    [
        (Operator, [*catalogue.OPERATORS.values(), *catalogue.CHANNEL_OPERATORS.values()]),
        (Diffusivity, catalogue.DIFFUSIVITIES.values()),
        (Activation, catalogue.ACTIVATIONS.values()),
    ],
    ids=["operators", "diffusivities", "activations"],
)
def test_every_class_has_an_instance_in_the_catalogue(base, listed):
    inside = {type(part) for instance in listed for part in instance.modules()}

    def concrete(cls):
        for child in cls.__subclasses__():
            yield from concrete(child)
            public = child.__module__.startswith("whorl.") and not child.__name__.startswith("_")
            if public and not getattr(child, "__abstractmethods__", None):
                yield child

    assert not set(concrete(base)) - inside


def test_every_model_is_in_the_catalogue():
    assert set(whorl.models.names()) <= set(catalogue.MODELS)


def test_the_table_has_five_columns_for_every_model():
    for row in whorl.models.ROWS:
        columns = row.as_dict()
        assert all(columns[key] for key in ("energy", "pde", "scheme", "activation", "reference"))
    assert [row.name for row in whorl.models.ROWS if row.in_table] == [
        "perona-malik",
        "you-kaveh",
        "lysaker",
        "gerig",
        "weickert-brox",
        "multiscale-isotropic",
        "multiscale-anisotropic",
    ]
    assert whorl.models.row("eed").equation == "(2)"


def test_the_package_lists_what_it_offers():
    assert "diffuse" in dir(whorl)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = whorl.nothing
