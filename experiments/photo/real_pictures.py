"""What `whorl.denoise` makes of real pictures with nothing told: micrographs, photographs, photons.

    PYTHONPATH=src python experiments/photo/real_pictures.py DATA [--only FMD PolyU photons] [--every 4]

DATA holds the folders FMD, PolyU and CBSD68. Prints a line for each picture and the means, and writes them into
``experiments/photo/results/real_pictures.json``.
"""

import argparse
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

import whorl

OUT = Path(__file__).parent / "results" / "real_pictures.json"
PEAK = 50  # photons where a picture is white


def read(path: Path) -> np.ndarray:
    """The picture as it is."""
    return np.asarray(Image.open(path))


def micrographs(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Noisy and clean pictures of every kind of FMD."""
    for clean in sorted((data / "FMD" / "gt").glob("*.png")):
        yield clean.stem, read(data / "FMD" / "raw" / f"{clean.stem}_1.png"), read(clean)


def camera(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Noisy and clean photographs."""
    for clean in sorted((data / "PolyU").glob("*-clean.jpg")):
        yield (
            clean.stem.removesuffix("-clean"),
            read(clean.with_name(clean.name.replace("clean", "noisy"))),
            read(clean),
        )


def photons(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Photographs of 256 pixels along a side with Poisson's noise, not cut off."""
    draw = np.random.default_rng(0)
    for path in sorted((data / "CBSD68").iterdir()):
        clean = read(path)[:256, :256]
        yield path.stem, draw.poisson(clean / 255 * PEAK).astype(np.float32) * 255 / PEAK, clean


KINDS = {"FMD": micrographs, "PolyU": camera, "photons": photons}


def psnr(found: np.ndarray, clean: np.ndarray) -> float:
    """In dB, values from 0 to 255."""
    difference = np.clip(found.astype(float), 0, 255) - clean
    return float(10 * np.log10(255**2 / np.square(difference).mean()))


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", default=list(KINDS))
    parser.add_argument("--every", type=int, default=1, help="of the photographs with photons")
    given = parser.parse_args()
    found = json.loads(OUT.read_text()) if OUT.exists() else {}
    warnings.simplefilter("ignore")
    for kind in given.only:
        rows = {}
        for number, (name, noisy, clean) in enumerate(KINDS[kind](given.data)):
            if kind == "photons" and number % given.every:
                continue
            result = whorl.denoise(noisy, channel_axis=-1 if noisy.ndim == 3 else None)
            rows[name] = [round(psnr(noisy, clean), 3), round(psnr(result, clean), 3)]
            print(kind, name, *rows[name], flush=True)
        before, after = np.array(list(rows.values())).T
        found[kind] = {
            "pictures": len(rows),
            "noisy": round(float(before.mean()), 3),
            "denoised": round(float(after.mean()), 3),
            "least_gain": round(float((after - before).min()), 3),
            "each": rows,
        }
        print({key: value for key, value in found[kind].items() if key != "each"}, flush=True)
        OUT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
