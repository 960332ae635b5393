"""Every format opened through a pipe, through a link to a device, and as a bomb: one line each, little of anything."""

import gzip
import json
import os
import struct
from bz2 import compress as bz2_compress
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr
from safetensors.torch import save_file

from files.samples import noise
from files.test_bounds import png
from peak import GIGABYTE, run_alone
from whorl import files
from whorl.files.formats import READ_ONLY
from whorl.files.volume import VOLUME_SUFFIXES
from whorl.networks.cards import FORMAT, VERSION, load_card

mrcfile = pytest.importorskip("mrcfile")
nibabel = pytest.importorskip("nibabel")
nrrd = pytest.importorskip("nrrd")

CARDS = (".safetensors",)
NAMES = [f"a{suffix}" for suffix in (*files.SUFFIXES, *READ_ONLY, *VOLUME_SUFFIXES, *CARDS)]
LARGE = 3 * GIGABYTE  # bytes of sparse files: nobody may read them all

# One process opens all files, so that one that waits for ever, or fills memory or disk, is noticed.
OPEN = """
import json, resource, signal, sys, warnings
from pathlib import Path
from whorl import files
from whorl.errors import FileError
from whorl.files.volume import open_volume
from whorl.networks.cards import load_card
from whorl.data.photographs import photographs

warnings.simplefilter("ignore")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2**25, 2**25))

def volume(path):
    with open_volume(path, True) as file:
        file.read(0, file.whole())

cards = {".safetensors": load_card}
for word in sys.argv[1:]:
    path = Path(word)
    for open_it in [cards[path.suffix]] if path.suffix in cards else [photographs] if path.name == "data" else [
            volume, files.read_pages]:
        try:
            open_it(path)
            said = ""
        except FileError as error:
            said = str(error)
        print(json.dumps([open_it.__name__, path.name, said]), flush=True)
"""


def opened(*paths: Path) -> list[list[str]]:
    """What a process of its own says of each file: name of the function, name of the file, refusal."""
    ran = run_alone(OPEN, *paths, limit=6 * GIGABYTE, timeout=100)
    assert ran.code == 0, ran.err
    assert ran.peak < GIGABYTE
    said = [json.loads(line) for line in ran.out.splitlines()]
    assert all("\n" not in text for _, _, text in said)
    return said


def test_pipes_and_devices_are_no_files(tmp_path: Path) -> None:
    pipes, devices, data = (tmp_path / name for name in ("pipes", "devices", "data"))
    for folder in (pipes, devices, data):
        folder.mkdir()
    for name in NAMES:
        os.mkfifo(pipes / name)
        (devices / name).symlink_to("/dev/zero")
    os.mkfifo(data / "a.png")
    said = opened(*(folder / name for folder in (pipes, devices) for name in NAMES), data)
    assert len(said) == 2 * (2 * len(NAMES) - len(CARDS)) + 1
    assert [row for row in said if "is a pipe or a device, no file" not in row[2]] == []


def test_a_zarr_folder_with_pipes_inside(tmp_path: Path) -> None:
    for name in ("chunk.zarr", "whole.zarr"):
        array = zarr.create_array(tmp_path / name, shape=(8, 8), chunks=(8, 8), dtype="u1")
        array[...] = 1
    group = zarr.create_group(tmp_path / "group.zarr", zarr_format=3)
    group.create_array("0", shape=(8, 8), chunks=(8, 8), dtype="u1")
    levels = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 1.0]}]}]
    axes = [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": levels}]}
    assert files.read(tmp_path / "group.zarr").samples.shape == (8, 8, 1)
    for place in ("chunk.zarr/c/0/0", "whole.zarr/zarr.json", "group.zarr/0/zarr.json"):
        (tmp_path / place).unlink()
        os.mkfifo(tmp_path / place)
    for _, name, text in opened(*(tmp_path / name for name in ("chunk.zarr", "whole.zarr", "group.zarr"))):
        assert name in text


def sparse(path: Path, start: bytes, size: int = LARGE) -> None:
    """A file that begins so and goes on with zeros that take no room on the disk."""
    path.write_bytes(start)
    os.truncate(path, size)


def test_bombs_are_refused_or_opened_no_further_than_they_say(tmp_path: Path) -> None:
    small = np.ones((4, 4, 4), np.uint8)
    with mrcfile.new(tmp_path / "plain.mrc") as file:
        file.set_data(small.astype(np.int8))
    nibabel.save(nibabel.Nifti1Image(small, np.eye(4)), tmp_path / "plain.nii")
    nrrd.write(str(tmp_path / "plain.nrrd"), small, {"encoding": "raw"})
    plain = {kind: (tmp_path / f"plain.{kind}").read_bytes() for kind in ("mrc", "nii", "nrrd")}
    more = bytes(2**27)  # four times what the process may write into a file

    (tmp_path / "more.nii.gz").write_bytes(gzip.compress(plain["nii"] + more, 1))
    (tmp_path / "more.mrc.gz").write_bytes(gzip.compress(plain["mrc"] + more, 1))
    (tmp_path / "more.mrc.bz2").write_bytes(bz2_compress(plain["mrc"] + more, 1))
    head = plain["nrrd"].partition(b"\n\n")[0].replace(b"encoding: raw", b"encoding: gzip") + b"\n\n"
    (tmp_path / "more.nrrd").write_bytes(head + gzip.compress(small.tobytes() + more, 1))
    told = {name: text for _, name, text in opened(*sorted(tmp_path.glob("more.*")))[::2]}
    assert told == dict.fromkeys(["more.mrc.bz2", "more.mrc.gz", "more.nii.gz", "more.nrrd"], "")

    longer = bytearray(plain["mrc"])
    struct.pack_into("<i", longer, 92, 1_600_000_000)  # bytes of the extended header
    sparse(tmp_path / "header.mrc", bytes(longer))
    longer = bytearray(plain["nii"])
    struct.pack_into("<f", longer, 108, 1_600_000_000.0)  # where the samples begin
    sparse(tmp_path / "header.nii", bytes(longer))
    sparse(tmp_path / "header.nrrd", b"NRRD0004\n# ")
    sparse(tmp_path / "text.png", png((b"IHDR", bytes(13)))[:-4] + struct.pack(">4xI4s", 2**31, b"tEXt"))
    tifffile.imwrite(tmp_path / "tag.tif", noise(8, 8, 1, "u1")[..., 0], description="x" * 90)
    with tifffile.TiffFile(tmp_path / "tag.tif") as tif:
        at = tif.pages[0].tags[270].offset
    data = bytearray((tmp_path / "tag.tif").read_bytes())
    struct.pack_into("<I", data, at + 4, 2**31)
    sparse(tmp_path / "tag.tif", bytes(data))
    tifffile.imwrite(
        tmp_path / "samples.tif", np.zeros((2, 2, 65_535), np.uint8), photometric="minisblack", planarconfig="contig"
    )
    zarr.create_array(tmp_path / "long.zarr", shape=(8, 8), chunks=(8, 8), dtype="u1")
    sparse(tmp_path / "long.zarr" / "zarr.json", (tmp_path / "long.zarr" / "zarr.json").read_bytes())
    sparse(tmp_path / "long.safetensors", b"{")
    card = json.dumps(load_card("whorl-28").as_dict())
    texts = {
        "nested": "[" * 10**6,
        "steps": card.replace('"steps": ', '"steps": Infinity, "old": ', 1),
        "exponent": card.replace('"steps": ', '"steps": 1e999, "old": ', 1),
    }
    for name, text in texts.items():
        header = {"format": FORMAT, "version": VERSION, "card": text, "sha256": sha256(text.encode()).hexdigest()}
        save_file({}, tmp_path / f"{name}.safetensors", header)
    bombs = [path for path in sorted(tmp_path.iterdir()) if path.stem not in ("plain", "more", "more.nii", "more.mrc")]
    refusals = opened(*bombs)
    assert len(bombs) == 11
    assert [row for row in refusals if row[1] not in row[2]] == []
    words = {name: text for how, name, text in refusals if how != "read_pages" or name.endswith(".tif")}
    assert "declares a header of" in words["header.mrc"]
    assert "declares a header of" in words["header.nii"]
    assert "65535 samples a pixel" in words["samples.tif"]
    assert "nested too deeply" in words["nested.safetensors"]
    assert "no finite number" in words["steps.safetensors"]
    assert "no finite number" in words["exponent.safetensors"]
