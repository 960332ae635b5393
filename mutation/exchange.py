"""Put a fault into a package that is already imported, or have a module imported with it.

A fault inside a function is put there by exchanging the function's code, wherever the function is known by now. A fault
in what runs once, such as a default value or the body of a class, needs an import of its own.
"""

import ast
import gc
import importlib.abc
import importlib.machinery
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

__all__ = ["FaultyModule", "exchange", "faulty_functions", "functions_of"]


class FaultyModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with other source than its file has."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname, path, target=None):
        if fullname != self.name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self.path))
        spec.has_location = True
        return spec

    def exec_module(self, module) -> None:
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


def faulty_functions(path: Path, source: str) -> dict[tuple[str, int], CodeType] | None:
    """The code of each function that differs, by qualified name and place among those of its name.

    ``None`` where the difference is not inside a function.
    """
    plain = compile(ast.unparse(ast.parse(path.read_text(encoding="utf-8"))), str(path), "exec")
    faulty = compile(source, str(path), "exec")
    if [_frame(code) for code in _bodies(plain)] != [_frame(code) for code in _bodies(faulty)]:
        return None
    before, after = _functions(plain), _functions(faulty)
    return {key: code for key, code in after.items() if code != before[key]}


def functions_of(path: Path) -> dict[tuple[str, int], list[FunctionType]]:
    """The functions of an imported module as they are known by now, with the same keys."""
    plain = _functions(compile(path.read_text(encoding="utf-8"), str(path), "exec"))
    keys = {(code.co_qualname, code.co_firstlineno): key for key, code in plain.items()}
    found: dict[tuple[str, int], list[FunctionType]] = {}
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == str(path):
            key = keys.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if key is not None:
                found.setdefault(key, []).append(function)
    return found


def exchange(functions: dict[tuple[str, int], list[FunctionType]], codes: dict[tuple[str, int], CodeType]) -> None:
    """Give functions other code."""
    for key, code in codes.items():
        for function in functions[key]:
            function.__code__ = code


def _bodies(module: CodeType) -> Iterator[CodeType]:
    """The code of a module and of its classes: what runs at import."""
    yield module
    for code in module.co_consts:
        if isinstance(code, CodeType) and not _is_function(code):
            yield from _bodies(code)


def _functions(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of the functions of a module and its classes, those inside other functions left out."""
    found: dict[tuple[str, int], CodeType] = {}
    for body in _bodies(module):
        for code in body.co_consts:
            if isinstance(code, CodeType) and _is_function(code):
                place = sum(name == code.co_qualname for name, _ in found)
                found[code.co_qualname, place] = code
    return found


def _is_function(code: CodeType) -> bool:
    """Whether it is called with variables of its own; the body of a class is not."""
    optimised = 1
    return bool(code.co_flags & optimised)


def _frame(code: CodeType) -> tuple[bytes, tuple[object, ...], tuple[str, ...]]:
    """All of a body but the functions and classes in it."""
    constants = tuple(None if isinstance(c, CodeType) else (type(c), c) for c in code.co_consts)
    return code.co_code, constants, code.co_names
