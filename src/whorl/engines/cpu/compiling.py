"""How kernels are compiled and kept: nothing is reordered, names say what is inside, and each has a file of its own."""

import hashlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NoReturn, TypeVar

import numba
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime import rtsys
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

COMPILED = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Without Python's lock, and with divisions that never raise: a branch for the error would stop vectorisation. No C
function is made of it, as none is called from C."""


class _OneFileEach(IndexDataCacheFile):  # type: ignore[misc]
    """One file for each kernel, named by what the kernel is for, which stands in the file as well.

    Numba numbers the files in an index. Of two processes that compile at once both may take the same number; then one
    kernel lies where another is looked for, and runs in its place.
    """

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), (self._version, self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        try:
            *made_for, data = self._load_data(self._name(key))
        except OSError:
            return None
        return data if made_for == [self._version, self._source_stamp, key] else None

    def _name(self, key: Any) -> str:
        name: str = self._data_name(int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:8], "big"))
        return name


class _Kept(FunctionCache):  # type: ignore[misc]
    """Numba's cache, which looks before it loads all that compiling needs, a third of a second of registries."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _OneFileEach(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """What a kernel is for. Numba counts in random names of the compiled functions that it closes over."""
        return sig, codegen.magic_tuple(), self._py_func.__qualname__

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except (AttributeError, TypeError):  # a version of Numba whose inner parts are others: its own, slower way
            return super().load_overload(sig, target_context)


def named_by_contents(function: Callable[..., Any]) -> None:
    """Give a function a name that says what it is made of: its code, and the values that it closes over.

    Numba tells functions of one name apart by numbers that it gives in each process. Machine code from several
    processes meets in one, and of two functions of one name, such as closures over two formulas, one would run for the
    other.
    """
    function.__qualname__ += "_" + hashlib.sha256(_made_of(function).encode()).hexdigest()[:12]


def _made_of(value: Any) -> str:
    """Words that are the same in all processes, and differ for functions that compute something else."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_made_of, value))})"
    if isinstance(value, CodeType):
        return f"{value.co_code.hex()} {value.co_names} {_made_of(value.co_consts)}"
    if isinstance(value, FunctionType):
        closed_over = tuple(cell.cell_contents for cell in value.__closure__ or ())
        return f"{value.__module__}.{value.__qualname__} {_made_of(value.__code__)} {_made_of(closed_over)}"
    if hasattr(value, "_defn"):  # an intrinsic
        return _made_of(value._defn)
    if hasattr(value, "py_func"):
        return f"{value.py_func.__module__}.{value.py_func.__qualname__}"  # compiled before, and named by its contents
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def compiled(*, cache: bool = False, inside: bool = False) -> Callable[[F], F]:
    """Compile with Numba: no Python lock, no reordering; ``cache`` keeps the machine code on disk.

    Python calls functions with ``cache`` alone. The others are parts of those, and compile in less time without the way
    from Python into them.

    ``inside`` makes the function part of its callers whatever its size: a loop with a call in it is not vectorised.
    """

    def decorate(function: F) -> F:
        named_by_contents(function)
        result: F = numba.njit(**COMPILED, forceinline=inside, no_cpython_wrapper=not cache)(function)
        if cache:
            result.enable_caching()  # type: ignore[attr-defined]
            result._cache = _Kept(function)  # type: ignore[attr-defined]
        else:  # Python would jump to a way that is not there
            result._insert = lambda *arguments: None  # type: ignore[attr-defined]
            result._compile_for_args = _part_of_kernels  # type: ignore[attr-defined]
        return result

    return decorate


def _part_of_kernels(*arguments: Any) -> NoReturn:
    raise TypeError("this function can be called in compiled kernels only")


def by_literal(*implementations: Callable[..., Any], inside: bool = False) -> Callable[..., Any]:
    """A function for kernels that takes a literal number first and is then the implementation of that index.

    The choice falls when a kernel is compiled, so that only what is needed is compiled. ``inside`` as above.
    """
    for implementation in implementations:
        named_by_contents(implementation)

    def stub(*arguments: Any) -> NoReturn:
        _part_of_kernels()

    stub.__qualname__ = " or ".join(implementation.__qualname__ for implementation in implementations)

    def typed(*arguments: Any) -> Any:
        index = arguments[0]
        return implementations[index.literal_value] if isinstance(index, types.IntegerLiteral) else None

    typed.__signature__ = inspect.signature(implementations[0])  # type: ignore[attr-defined]
    options = {**COMPILED, "forceinline": inside}
    overload(stub, prefer_literal=True, jit_options=options, strict=False)(typed)
    return stub


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's ``intrinsic``: a function of the types that says how to generate the code; kernels call it on values.

    Constants come as literal types.
    """
    result: Callable[..., Any] = numba_intrinsic(prefer_literal=True)(function)
    return result


@cache
def source_stamp() -> int:
    """A number that changes with any source file of this folder, its rooms, and the formulas written for it.

    Numba's cache looks at one file only; kernels are built with this stamp among their constants, so that a change in
    a function they call is noticed too.
    """
    here = Path(__file__).parent
    folders = [here.parents[1] / name for name in ("activations", "diffusivities", "engines", "foundations")]
    files = [*here.rglob("*.py"), *(path for folder in folders for path in folder.glob("*.py"))]
    text = b"".join(path.read_bytes() for path in sorted(files))
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")
