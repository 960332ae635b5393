"""What `whorl.denoise` makes of pictures with nothing told: micrographs, photographs, photons, noise of many kinds.

    PYTHONPATH=src:. python experiments/photo/real_pictures.py DATA [--only FMD PolyU photons simulated] [--half 1]

DATA holds the folders FMD, PolyU, CBSD68 and CTrain400. Settings are chosen on the half 0 of CTrain400, on which the
measure is trained as well, and reported with the half 1. Prints a line for each picture and the means, and writes them
into ``experiments/photo/results/real_pictures.json``: PSNR before and after, and the gain that was expected.
"""

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import noisy_kinds
import numpy as np
import torch
from benchmarks.machine import origin
from PIL import Image

from whorl.automatic import samples_of
from whorl.automatic.answer import MOST
from whorl.denoising import Denoising

OUT = Path(__file__).parent / "results" / "real_pictures.json"
PEAK = 50  # photons where a picture is white
Case = tuple[str, str, np.ndarray, np.ndarray]


def read(path: Path) -> np.ndarray:
    """The picture as it is."""
    return np.asarray(Image.open(path))


def micrographs(given: argparse.Namespace) -> Iterator[Case]:
    """Noisy and clean pictures of every kind of FMD."""
    for clean in sorted((given.data / "FMD" / "gt").glob("*.png")):
        yield "FMD", clean.stem, read(given.data / "FMD" / "raw" / f"{clean.stem}_1.png"), read(clean)


def camera(given: argparse.Namespace) -> Iterator[Case]:
    """Noisy and clean photographs."""
    for clean in sorted((given.data / "PolyU").glob("*-clean.jpg")):
        noisy = clean.with_name(clean.name.replace("clean", "noisy"))
        yield "PolyU", clean.stem.removesuffix("-clean"), read(noisy), read(clean)


def photons(given: argparse.Namespace) -> Iterator[Case]:
    """Photographs of 256 pixels along a side with Poisson's noise, not cut off."""
    draw = np.random.default_rng(0)
    for number, path in enumerate(sorted((given.data / "CBSD68").iterdir())):
        clean = read(path)[:256, :256]
        noisy = draw.poisson(clean / 255 * PEAK).astype(np.float32) * 255 / PEAK
        if number % given.every == 0:
            yield "photons", path.stem, noisy, clean


def simulated(given: argparse.Namespace) -> Iterator[Case]:
    """Noise of many kinds on photographs and drawings."""
    return noisy_kinds.pictures(given.data, given.half, given.every)


SETS = {"FMD": micrographs, "PolyU": camera, "photons": photons, "simulated": simulated}


def denoised(noisy: np.ndarray) -> tuple[np.ndarray, float | None]:
    """The result of ``whorl.denoise``, and the gain that is told to the user, if one is."""
    u = torch.from_numpy(noisy.astype(np.float64 if noisy.itemsize > 2 else np.float32))
    u = (u.movedim(-1, 0) if u.dim() == 3 else u[None])[None]
    samples, policy, eight_bits = samples_of(u), Denoising(), noisy.dtype == np.uint8
    measured = policy.measured(lambda: samples)
    remover = policy.remover(measured, samples, eight_bits=eight_bits, device=u.device)
    if remover.apply is None:
        return noisy, 0.0
    found = remover.apply(u)[0]
    result = (found.movedim(0, -1) if noisy.ndim == 3 else found[0]).numpy()
    if np.issubdtype(noisy.dtype, np.integer):
        result = result.round().clip(0, np.iinfo(noisy.dtype).max).astype(noisy.dtype)
    assert remover.expected is not None
    return result, None if remover.doubt else remover.expected.told


def psnr(found: np.ndarray, clean: np.ndarray) -> float:
    """In dB, for the range of the clean picture's type or kind; a result that is all right has 99."""
    most = 255.0 if clean.max() > 1 else 1.0
    most = 4095.0 if clean.max() > 255 else most
    error = float(np.square(found.clip(0, most).astype(float) - clean).mean()) / most**2
    return min(-10 * math.log10(max(error, 1e-30)), 99.0)


def summary(rows: dict[str, Any]) -> dict[str, Any]:
    """The means of a kind: rows are PSNR before and after, the expected gain, and whether the picture came back."""
    before, after = np.array([row[:2] for row in rows.values()]).T
    told = [
        abs(row[2] - min(row[1] - row[0], MOST)) <= 0.5  # larger gains are told as "or more"
        for row in rows.values()
        if row[2] is not None and not row[3]
    ]
    clean = before >= 60
    return {
        "pictures": len(rows),
        "noisy": round(float(before.mean()), 3),
        "denoised": round(float(after.mean()), 3),
        "gain": round(float((after - before).mean()), 3),
        "least_gain": round(float((after - before).min()), 3),
        "worse": int(((after < before - 0.01) & ~(clean & (after >= 50))).sum()),
        "returned": int(sum(row[3] for row in rows.values())),
        "gain_told": len(told),
        "gain_right": int(sum(told)),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--every", type=int, default=1, help="of the photographs with photons and simulated noise")
    parser.add_argument("--half", type=int, default=1, help="of CTrain400")
    parser.add_argument("--kinds", default="", help="only simulated kinds whose name holds this")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    torch.set_num_threads(1)
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    warnings.simplefilter("ignore")
    for name in given.only:
        rows: dict[str, dict[str, list[Any]]] = defaultdict(dict)
        begun = time.process_time()
        for kind, picture, noisy, clean in SETS[name](given):
            if given.kinds not in kind:
                continue
            result, gain = denoised(noisy)
            before, after = psnr(noisy, clean), psnr(result, clean)
            told = None if gain is None else round(gain, 2)
            rows[kind][picture] = [round(before, 3), round(after, 3), told, bool(np.array_equal(result, noisy))]
            print(kind, picture, *rows[kind][picture], flush=True)
        for kind, each in rows.items():
            found.setdefault(name, {})[kind] = summary(each) | ({} if name == "simulated" else {"each": each})
            print(kind, {key: value for key, value in found[name][kind].items() if key != "each"}, flush=True)
        print(name, f"{time.process_time() - begun:.0f} s of processor time", flush=True)
        given.out.parent.mkdir(exist_ok=True)
        given.out.write_text(json.dumps(found | origin(), indent=1) + "\n")


if __name__ == "__main__":
    main()
