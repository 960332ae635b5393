"""Results of models, blocks, networks and exported files, kept so that a change of the code cannot change them unseen.

``python tests/golden/record.py check numba`` compares, ``python tests/golden/record.py write`` writes everything anew,
``python tests/golden/record.py mend 'PATTERN' 'REASON'`` writes the cases whose names match a pattern and adds the
reason to the list of fixes in the file: results change on purpose only. A pattern is one of ``fnmatch``; it starts with
the name of an engine, or with ``*`` for all.

Of every result the file holds a hash of its bits and a few of its values. The bits are compared on processors of the
same kind with the same versions of torch, numba and onnxruntime: vectorised functions differ in the last place from
one kind to the next. Elsewhere the values must agree within ``ULPS`` units in the last place of the largest.
"""

import fnmatch
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import whorl

HERE = Path(__file__).parent
FILE = HERE / "golden.json"
ENGINES = ("reference", "numba", "triton", "export")
ULPS = 64
KEPT = 3


def kind() -> dict[str, str]:
    """What the bits depend on beside the code."""
    found = {
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__.split("+")[0],
    }
    for package in ("numba", "onnxruntime"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def entry(result: Tensor) -> dict[str, Any]:
    plain = result.detach().contiguous()
    values = plain.double().flatten()
    chosen = values[torch.linspace(0, len(values) - 1, min(KEPT, len(values))).long()]
    return {
        "bits": hashlib.sha256(plain.numpy().tobytes()).hexdigest()[:16],
        "values": [float(f"{value:.17g}") for value in chosen.tolist()],
        "largest": float(f"{values.abs().max():.4g}"),
        "dtype": str(plain.dtype).removeprefix("torch."),
    }


def cases(engine: str) -> Iterator[tuple[str, Tensor]]:
    """All cases of an engine; ``triton`` needs ``TRITON_INTERPRET=1`` in the environment where there is no GPU."""
    if engine == "export":
        from exports import of_exports

        return of_exports()
    from cases import of_processor, of_triton
    from more import of_more

    assert engine != "triton" or torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET") == "1"
    return of_triton() if engine == "triton" else chain(of_processor(engine), of_more(engine))


def measured(engine: str) -> dict[str, dict[str, Any]]:
    """The entries of one engine, computed in a process of its own: Triton is told at its import to interpret."""
    environment = {**os.environ, "PYTHONPATH": str(Path(whorl.__file__).parents[1])}
    if engine == "triton" and not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    program = [sys.executable, str(HERE / "record.py"), "measure", engine]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


def differences(kept: dict[str, Any], found: dict[str, dict[str, Any]], engine: str) -> list[str]:
    """What differs from the file, in words."""
    expected = {name: one for name, one in kept["cases"].items() if name.split()[0] in _of(engine)}
    lost = [f"{name}: missing" for name in expected if name not in found]
    fresh = [f"{name}: not in the file" for name in found if name not in expected]
    same = kept["kind"] == kind()
    changed = []
    for name in expected.keys() & found.keys():
        one, other = expected[name], found[name]
        if same:
            if one["bits"] != other["bits"]:
                changed.append(f"{name}: other bits; {one['values']} became {other['values']}")
            continue
        kept_as = getattr(torch, one["dtype"])
        # Of whole numbers, a value that lies between two may be rounded to either.
        near = ULPS * torch.finfo(kept_as).eps * one["largest"] if kept_as.is_floating_point else 1
        if max(abs(a - b) for a, b in zip(one["values"], other["values"], strict=True)) > near:
            changed.append(f"{name}: {one['values']} became {other['values']}")
    return sorted(lost + fresh + changed)


def _of(engine: str) -> tuple[str, ...]:
    return ("numba", "auto") if engine == "numba" else (engine,)


def write(kept: dict[str, Any]) -> None:
    lines = [f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in sorted(kept["cases"].items())]
    head = {key: value for key, value in kept.items() if key != "cases"}
    text = json.dumps(head, indent=1)[:-2] + ',\n "cases": {\n' + ",\n".join(lines) + "\n }\n}\n"
    FILE.write_text(text)


def main(verb: str, *rest: str) -> None:
    if verb == "measure":
        torch.set_num_threads(1)
        print(json.dumps({name: entry(result) for name, result in cases(rest[0])}))
        return
    if verb == "check":
        found = differences(json.loads(FILE.read_text()), measured(rest[0]), rest[0])
        print("\n".join(found) or "as in the file")
        sys.exit(bool(found))
    first = rest[0].split()[0] if verb == "mend" else ""
    chosen = [engine for engine in ENGINES if first.startswith("*") or first in ("", *_of(engine))]
    everything = {name: one for engine in chosen for name, one in measured(engine).items()}
    kept = {"kind": kind(), "fixes": {}, "cases": everything}
    if verb == "mend":
        pattern, reason = rest
        kept = json.loads(FILE.read_text())
        if kept["kind"] != kind():
            sys.exit(f"The file was written on {kept['kind']}, this is {kind()}: mend it there.")
        kept["fixes"][pattern] = reason
        old = {name: one for name, one in kept["cases"].items() if not fnmatch.fnmatch(name, pattern)}
        kept["cases"] = old | {name: one for name, one in everything.items() if fnmatch.fnmatch(name, pattern)}
    write(kept)


if __name__ == "__main__":
    main(*sys.argv[1:])
