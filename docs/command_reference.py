"""The reference of the command line, made from the program itself."""

import inspect
import re
from importlib import import_module

import typer.main

from whorl.cli import main as program


def verbs() -> dict:
    """Every verb of ``whorl`` with its options."""
    app = typer.main.get_command(program.build(list(program.VERBS)))
    return dict(app.commands)


def reference() -> str:
    """A section for each verb, in reStructuredText."""
    lines: list[str] = []
    for name, verb in verbs().items():
        title = f"whorl {name}"
        lines += [title, "-" * len(title), ""]
        lines += [*_paragraphs(inspect.getdoc(import_module(f"whorl.cli.{name}").command) or ""), ""]
        lines += [".. code-block:: console", ""]
        examples = import_module(f"whorl.cli.{name}").EXAMPLES
        lines += ["   $ " + re.sub(r"  +(\S.*)$", r"   # \1", example) for example in examples]
        lines += [
            "",
            ".. list-table::",
            "   :widths: 34 66",
            "   :header-rows: 1",
            "",
            "   * - option",
            "     - meaning",
        ]
        for parameter in verb.params:
            lines += [f"   * - {_names(parameter)}", f"     - {_meaning(parameter)}"]
        lines.append("")
    return "\n".join(lines)


def _paragraphs(text: str) -> list[str]:
    """The help text; what looks like an option is set as code."""
    return [re.sub(r"(?<![`\w-])(--[\w-]+)", r"``\1``", line) for line in text.splitlines()]


def _names(parameter) -> str:
    if parameter.param_type_name == "argument":
        return f"``{parameter.metavar or parameter.name.upper()}``"
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(f"``{option}{value}``" for option in parameter.opts)


def _meaning(parameter) -> str:
    text = (getattr(parameter, "help", "") or "").strip().replace("*", r"\*").replace("|", r"\|")
    text = re.sub(r"`([^`]+)`", r"``\1``", text)
    default = parameter.default
    shown = (
        default not in (None, False, True, "", ()) and not callable(default) and "UNSET" not in repr(default).upper()
    )
    return f"{text} Default: ``{default}``." if shown else text
