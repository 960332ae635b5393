"""Machine code is kept on disk: a second process compiles nothing and stores nothing, whatever kernels it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

import numba
from kernel_kinds import KINDS
from numba.core.caching import Cache as IndexedCache

import whorl
from whorl.engines import cpu
from whorl.engines.cpu import arithmetic, compiling


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """Of two processes, one after the other: how often Numba compiled, and the files of its cache afterwards."""
    folder = tmp_path_factory.mktemp("numba")
    source = str(Path(whorl.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "NUMBA_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, Path(__file__).with_name("kernel_kinds.py")]
    found = []
    for _ in range(2):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        files = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
        found.append((json.loads(done.stdout), files))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_process_compiles_nothing(twice, kind):
    (first, _), (second, _) = twice
    assert first[kind] > 0
    assert second[kind] == 0


def test_a_second_process_stores_nothing(twice):
    (_, first), (_, second) = twice
    assert len(first) >= len(KINDS)  # one file each
    assert second == first


def test_every_kernel_that_is_kept_takes_part(twice):
    (_, files), _ = twice
    homes = (path for path in Path(cpu.__file__).parent.rglob("*.py") if "@compiled(cache=True)" in path.read_text())
    kept = {(path.parent.name.rpartition("_")[0], path.name.partition(".")[0]) for path in files}
    assert kept == {(path.parent.name, path.stem) for path in homes}


@pytest.mark.parametrize("missing", ["_guard_against_spurious_io_errors", "_load_overload", "initialize"])
def test_another_numba_without_these_inner_parts_loads_in_its_own_way(missing, monkeypatch):
    kept = compiling._Kept(test_another_numba_without_these_inner_parts_loads_in_its_own_way)
    owner = type(compiling.rtsys) if missing == "initialize" else IndexedCache
    monkeypatch.setattr(IndexedCache, "load_overload", lambda self, *arguments: arguments)
    monkeypatch.delattr(owner, missing)
    assert kept.load_overload("signature", "context") == ("signature", "context")


def files_of(stamp, folder):
    return compiling._OneFileEach(str(folder), "kernel", stamp)


def test_processes_that_compile_at_once_keep_their_kernels_apart(tmp_path, monkeypatch):
    first, second = files_of("stamp", tmp_path), files_of("stamp", tmp_path)
    write = type(first)._dump

    def while_the_second_saves(self, obj):
        monkeypatch.setattr(type(first), "_dump", write)
        second.save(("signature", 2), "machine code 2")
        return write(self, obj)

    monkeypatch.setattr(type(first), "_dump", while_the_second_saves)
    first.save(("signature", 1), "machine code 1")
    assert [files_of("stamp", tmp_path).load(("signature", n)) for n in (1, 2)] == ["machine code 1", "machine code 2"]


def test_a_kernel_of_another_source_or_under_a_wrong_name_is_not_run(tmp_path):
    files = files_of("stamp", tmp_path)
    files.save("one", "machine code")
    (kept,) = tmp_path.iterdir()
    kept.rename(tmp_path / files._name("another"))
    assert files.load("another") is None
    files.save("one", "machine code")
    assert files.load("one") == "machine code"
    assert files_of("another stamp", tmp_path).load("one") is None


AS_COMPILED = """
import sys, torch
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.operators import SteerableMap
with torch.no_grad():
    for rho in map(int, sys.argv[1:]):
        torch.manual_seed(0)
        maps = [SteerableMap(2, (4, 4, 4)) for _ in range(2)]
        block, u = GatedBlock(*maps, Gated(maps[0].orders, rho)).eval(), torch.rand(1, 2, 12, 13)
        block.engine = "reference"
        expected = block(u)
        block.engine = "numba"
        print(float((block(u) - expected).abs().max()) < 1e-5)
"""


def test_kernels_that_two_processes_compiled_meet_in_a_third(tmp_path):
    source = str(Path(whorl.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "NUMBA_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    for asked in (["0"], ["1"], ["0", "1"], ["1", "0"]):
        command = [sys.executable, "-c", AS_COMPILED, *asked]
        answer = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        assert answer.split() == ["True"] * len(asked)


def test_closures_over_other_values_have_other_names():
    def closure(value):
        def function(x):
            return x + value

        compiling.named_by_contents(function)
        return function.__qualname__

    assert closure(1) != closure(2)
    assert closure((1, 2)) == closure((1, 2))
    assert closure(closure) != closure(files_of)
    assert closure(arithmetic.zero) != closure(arithmetic.one)


def test_parts_of_kernels_are_refused_in_a_sentence_by_python():
    """They have no way from Python into them; one that was compiled for a kernel has none either."""
    part = compiling.compiled()(lambda x: x + 1)
    assert numba.njit(lambda x: part(x))(2) == 3
    for called in (part, compiling.compiled()(lambda x: x + 2)):
        with pytest.raises(TypeError, match="in compiled kernels only"):
            called(2)
