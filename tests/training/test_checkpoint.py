"""A checkpoint is whole or not there, and what is not ours is left alone."""

import json
import os

import pytest
import torch
from safetensors.torch import save

from whorl.errors import FileError
from whorl.training import Checkpoint, read_checkpoint, write_checkpoint

STATE = {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor(1.5, dtype=torch.float64)}


@pytest.fixture
def path(tmp_path):
    write_checkpoint(tmp_path / "run.safetensors", Checkpoint(STATE, {"note": "ü"}))
    return tmp_path / "run.safetensors"


def test_what_is_written_is_read_back(path):
    found = read_checkpoint(path, like=STATE)
    assert all(torch.equal(found.tensors[name], STATE[name]) for name in STATE)
    assert found.meta["note"] == "ü"
    assert "torch" in found.meta["versions"]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def header(path, **change):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + length])
    table["__metadata__"].update(change)
    text = json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])


def damage(path, how):
    raw = path.read_bytes()
    if how == "truncated":
        path.write_bytes(raw[:-5])
    elif how == "truncated header":
        path.write_bytes(raw[:40])
    elif how == "longer":
        path.write_bytes(raw + b"more")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "text":
        path.write_text("my thesis")
    elif how == "foreign safetensors":
        path.write_bytes(save({"a": torch.zeros(3)}))
    elif how == "version":
        header(path, version="99")
    elif how == "meta":
        header(path, meta="{")
    elif how == "NaN":
        raw = bytearray(raw)
        raw[-4:] = b"\xff\xff\xff\xff"
        path.write_bytes(bytes(raw))
    elif how == "pickle":
        torch.save(STATE, path)


WAYS = ["truncated", "truncated header", "longer", "empty", "text", "foreign safetensors", "version", "pickle"]


@pytest.mark.parametrize("how", [*WAYS, "meta", "NaN"])
def test_broken_files_are_refused_and_left_as_they_are(path, how):
    damage(path, how)
    before = path.read_bytes()
    with pytest.raises(FileError, match=str(path)):
        read_checkpoint(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("how", WAYS)
def test_files_that_are_not_ours_are_never_replaced(path, how):
    damage(path, how)
    before = path.read_bytes()
    with pytest.raises(FileError, match=str(path)):
        write_checkpoint(path, Checkpoint(STATE))
    assert path.read_bytes() == before


def test_another_shape_is_refused(path):
    with pytest.raises(FileError, match=r"a: \(2, 3\) for \(3, 2\)"):
        read_checkpoint(path, like={"a": torch.zeros(3, 2), "b": torch.zeros(())})
    with pytest.raises(FileError, match="c: None for"):
        read_checkpoint(path, like={**STATE, "c": torch.zeros(1)})


def test_non_finite_values_are_not_written(path):
    before = path.read_bytes()
    with pytest.raises(FileError, match="NaN"):
        write_checkpoint(path, Checkpoint({"a": torch.tensor([1.0, float("nan")])}))
    assert path.read_bytes() == before


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileError, match="cannot be read"):
        read_checkpoint(tmp_path / "none")


def test_a_crash_while_writing_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def crash(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(FileError, match="run.safetensors.*disk full"):
        write_checkpoint(path, Checkpoint({"a": torch.zeros(9)}))
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_flipped_bit_is_never_accepted(path):
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(FileError, match=str(path)):
            read_checkpoint(path)


def test_checkpoints_of_the_first_version_are_still_read(path):
    header(path, version="1")
    assert read_checkpoint(path).meta["note"] == "ü"
