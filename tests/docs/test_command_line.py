"""The reference of the command line is that of the program."""

import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import command_reference  # noqa: E402

sys.path.remove(str(DOCS))


def test_every_verb_and_option_is_explained() -> None:
    text = command_reference.reference()
    verbs = command_reference.verbs()
    assert set(verbs) >= {
        "filter",
        "denoise",
        "models",
        "invariance",
        "train",
        "evaluate",
        "reproduce",
        "export",
        "page",
    }
    for name, verb in verbs.items():
        _, _, section = text.partition(f"whorl {name}\n-")
        section = section.partition("\nwhorl ")[0]
        assert ".. code-block:: console" in section
        for parameter in verb.params:
            assert parameter.help, f"whorl {name}: {parameter.name} has no help"
            for option in parameter.opts:
                assert option in section or not option.startswith("-")


def test_defaults_are_shown() -> None:
    assert "Default: ``weickert-brox``." in command_reference.reference()
