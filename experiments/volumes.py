"""Networks for volumes beside a filter and BM4D: ``python -m experiments.volumes [WHAT ...]``.

``quality``: PSNR on a drawn tomogram and on a brain (the MNI152 average, which ships with nilearn), neither of which
anything was trained on or chosen by; Gaussian noise that everybody is told, and Rician noise. ``time``: processor
microseconds a voxel in the same runs, and what 512 x 512 x 256 voxels would take. ``turns``: the error under turns of
space, sheets with noise, nothing interpolated. ``spacing``: drawn volumes whose slices were averaged by twos, threes
and fives, taken for cubes, resampled to cubes, slice by slice, and with the spacing told. ``peers``: the two networks
for volumes of Topaz (0.3.20) on the drawn tomogram, at noise as strong as that of tomograms, too. BM4D is the package
bm4d (4.2.5); it is left out where it is missing.
Results go to results/volumes.json.
"""

import json
import platform
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from benchmarks.machine import origin
from benchmarks.quality_turn_volume import Rough
from experiments.volume_defaults import brain
from numpy.typing import NDArray

import whorl
from whorl.data import drawn_tissue, drawn_volumes
from whorl.data.tomogram import tomogram
from whorl.invariance import solid_turn_error

RESULT = Path(__file__).parent / "results" / "volumes.json"
SIZE, TURNED, LARGE = 40, 33, 512 * 512 * 256
Volume = NDArray[np.float32]


def methods() -> dict[str, Callable[[Volume, float], Volume]]:
    """Everybody is told the standard deviation of the noise."""
    found: dict[str, Callable[[Volume, float], Volume]] = {
        "eed": lambda u, noise: whorl.diffuse(u, "eed", noise=noise),
        "volume-5k": lambda u, noise: whorl.denoise(u, noise, network="volume-5k"),
        "volume-30k": lambda u, noise: whorl.denoise(u, noise, network="volume-30k"),
    }
    if find_spec("bm4d"):
        import bm4d

        found["bm4d"] = lambda u, noise: np.asarray(bm4d.bm4d(u, noise), np.float32)
    return found


def volumes() -> dict[str, Volume]:
    """Clean volumes in grey values from 0 to 255."""
    drawn = tomogram(SIZE, seed=3).clean
    found = {"tomogram": drawn, "MNI152": brain((70, 120, 70))[..., :SIZE, :SIZE, :SIZE]}
    return {name: u[0, 0].float().numpy().copy() for name, u in found.items()}


def psnr(u: Volume, clean: Volume) -> float:
    """dB, for grey values from 0 to 255."""
    return round(float(10 * np.log10(255**2 / np.square(u.astype(np.float64) - clean).mean())), 2)


def quality() -> dict[str, Any]:
    """PSNR of everybody; Rician noise of the brain is recognised by the networks where nothing is told."""
    told: dict[str, Any] = {}
    for name, clean in volumes().items():
        for level in (10.0, 20.0):
            noise = np.random.default_rng(5).normal(0, level, (2, *clean.shape)).astype(np.float32)
            noisy, row = clean + noise[0], {}
            for method, apply in methods().items():
                apply(noisy[:8, :8, :8], level)  # kernels are compiled, weights are read
                start = process_time()
                found = apply(noisy, level)
                row[method] = psnr(found, clean)
                row[f"{method}, microseconds a voxel"] = round(1e6 * (process_time() - start) / clean.size, 1)
            row["volume-5k, nothing told"] = psnr(whorl.denoise(noisy), clean)
            told[f"{name}, noise {level:g}"] = row
            print(name, level, row, flush=True)
            if name == "MNI152":
                rician = np.hypot(clean + noise[0], noise[1])
                row = {method: psnr(apply(rician, level), clean) for method, apply in methods().items()}
                row["volume-5k, Rician noise told"] = psnr(whorl.denoise(rician, "rician"), clean)
                row["volume-5k, nothing told"] = psnr(whorl.denoise(rician), clean)
                told[f"{name}, Rician noise {level:g}"] = {"noisy": psnr(rician, clean), **row}
                print("Rician", row, flush=True)
    return told


def peers() -> dict[str, Any]:
    """PSNR in dB of the networks of Topaz, which measure mean and deviation of the volume, beside ours.

    They take the volume whole: in pieces, as they would by themselves, their margins of zeros cost another 4 dB here.
    """
    from topaz.denoise import Denoise3D

    clean, told = volumes()["tomogram"], {}
    theirs = {name: Denoise3D(name, dims=3) for name in ("unet-3d-10a", "unet-3d-20a")}
    for level in (10.0, 20.0, 40.0):
        noisy = clean + np.random.default_rng(5).normal(0, level, (2, *clean.shape)).astype(np.float32)[0]
        row = {"noisy": psnr(noisy, clean)}
        row |= {name: psnr(whorl.denoise(noisy, level, network=name), clean) for name in ("volume-5k", "volume-30k")}
        row |= {name: psnr(each.denoise(noisy, patch_size=0), clean) for name, each in theirs.items()}
        told[f"tomogram, noise {level:g}"] = row
        print(level, row, flush=True)
    return told


def turns() -> dict[str, float]:
    """The worst of four turns."""

    def worst(apply: Callable[[Volume, float], Volume]) -> float:
        def filtered(u: torch.Tensor) -> torch.Tensor:
            return torch.from_numpy(apply(u[0, 0].float().numpy(), 8.0))[None, None].to(u.dtype)

        return round(max(error.relative for error in solid_turn_error(filtered, solid=Rough(), size=TURNED)), 4)

    return {name: worst(apply) for name, apply in methods().items()}


def resampled(u: Volume, times: int) -> Volume:
    """So many slices for each, from the waves of the mirrored volume, shifted to the middles of the new voxels."""
    waves = np.fft.rfft(np.concatenate([u, u[::-1]]), axis=0)
    shift = np.exp(-1j * np.pi * np.arange(len(waves)) / len(u) * (times - 1) / (2 * times))
    whole = np.fft.irfft(waves * shift[:, None, None], 2 * len(u) * times, axis=0)[: len(u) * times]
    return (times * whole).astype(np.float32)


def spacing() -> dict[str, Any]:
    """Mean PSNR in dB of six drawn volumes, noise 20, by how far slices are apart."""
    told: dict[str, Any] = {}
    each = [
        f([number], 60, "validation", 5)[0, 0].numpy() for number in (4, 6, 8) for f in (drawn_volumes, drawn_tissue)
    ]
    for apart in (1, 2, 3, 5):
        rows = []
        for volume in each:
            clean = volume.reshape(-1, apart, 60, 60).mean(1)[:40, :40, :40]
            noisy = (clean + 20 * np.random.default_rng(1).standard_normal(clean.shape)).astype(np.float32)
            fine = {
                "linear": np.asarray(torch.nn.functional.interpolate(
                    torch.from_numpy(noisy)[None, None], scale_factor=(float(apart), 1.0, 1.0), mode="trilinear"
                )[0, 0]),
                "band-limited": resampled(noisy, apart),
            }  # fmt: skip
            found = {name: whorl.denoise(u, 20.0).reshape(-1, apart, 40, 40).mean(1) for name, u in fine.items()}
            found["cubes"] = whorl.denoise(noisy, 20.0)
            found["slices"] = whorl.denoise(noisy, 20.0, network="photo-grey-real", page_axis=0)
            found["told"] = whorl.denoise(noisy, 20.0, spacing=(apart, 1, 1))
            rows.append({name: psnr(u, clean) for name, u in found.items()})
        told[str(apart)] = {name: round(float(np.mean([row[name] for row in rows])), 2) for name in rows[0]}
        print(apart, told[str(apart)], flush=True)
    return told


def main() -> None:
    """Measure what is asked for, and keep the rest."""
    told = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for name in sys.argv[1:] or ("quality", "turns"):
        told[name] = globals()[name]()
        print(name, told[name], flush=True)
        told["about"] = {
            "command": "python -m experiments.volumes",
            "versions": {"whorl": whorl.__version__, "torch": torch.__version__, "python": platform.python_version()},
            "size": SIZE,
            "threads": torch.get_num_threads(),
            "machine": "one of two cores that other programs used as well: processor time, not wall time",
        }
        told |= origin()
        RESULT.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
