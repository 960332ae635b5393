"""Compare photo-colour with BM3D, non-local means and total variation on colour photographs.

    PYTHONPATH=src python experiments/photo/compare.py FOLDER --peers --pictures 12 --size 192 --minutes 5
    PYTHONPATH=src python experiments/photo/compare.py FOLDER

Needs the packages bm3d and scikit-image for ``--peers``, which goes on where it was until the minutes are over; results
go to experiments/photo/results/peers.json. Without it photo-colour denoises the same pictures, into compare.json. All
see the same noise, which is not clipped, and are told its level; total variation takes the best of five weights for
each picture. Pictures are taken at even distances from the folder's list; of each a square of ``--size`` pixels from
(32, 32) on is used, or the whole picture.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import whorl
from whorl.data.photographs import photographs
from whorl.evaluation.angles import noisy_picture
from whorl.foundations.provenance import versions

RESULTS = Path(__file__).resolve().parent / "results"
LEVELS = (25.0, 15.0, 50.0)
Pictures = dict[str, np.ndarray]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--size", type=int)
    parser.add_argument("--minutes", type=float, default=5.0)
    given = parser.parse_args()
    pictures = photographs(given.folder, 3)
    if given.peers:
        peers(given, pictures)
    else:
        ours(given, pictures)


def peers(given: argparse.Namespace, pictures: Pictures) -> None:
    """The other methods, picture by picture."""
    out, until = RESULTS / "peers.json", time.monotonic() + 60 * given.minutes
    kept = json.loads(out.read_text()) if out.exists() else {"size": given.size, "psnr": {}}
    if kept["size"] != given.size:
        raise SystemExit(f"{out} holds results for --size {kept['size']}; go on with that, or move the file away.")
    chosen = [int(k) for k in np.linspace(0, len(pictures) - 1, given.pictures).round()]
    for number in chosen:
        name = list(pictures)[number]
        for noise in LEVELS:
            found = kept["psnr"].setdefault(f"{noise:g}", {})
            if name in found:
                continue
            if time.monotonic() > until:
                return
            clean, noisy = pair(pictures[name], number, noise, given.size)
            found[name] = {method: psnr(result, clean) for method, result in methods(noisy, noise, clean).items()}
            print(noise, name, found[name], flush=True)
            import bm3d
            import skimage

            kept["command"] = f"experiments/photo/compare.py {given.folder.name} --peers --pictures {given.pictures}"
            kept["command"] += f" --size {given.size}" if given.size else ""
            kept["versions"] = {"skimage": skimage.__version__, "bm3d": getattr(bm3d, "__version__", "4"), **versions()}
            out.write_text(json.dumps(kept, indent=1) + "\n")


def ours(given: argparse.Namespace, pictures: Pictures) -> None:
    """photo-colour on the pictures of the peers, with the noise known and measured."""
    others = json.loads((RESULTS / "peers.json").read_text())
    measured = others["psnr"]
    names = [name for name in measured["25"] if all(name in measured[f"{noise:g}"] for noise in LEVELS)]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for noise in LEVELS:
        for name in names:
            clean, noisy = pair(pictures[name], list(pictures).index(name), noise, others["size"])
            ways: dict[str, Callable[[], np.ndarray]] = {
                "photo-colour": lambda u=noisy, s=noise: whorl.denoise(u, s, channel_axis=-1),
                "photo-colour, noise measured": lambda u=noisy: whorl.denoise(u, channel_axis=-1),
            }
            found.setdefault(f"{noise:g}", {})[name] = {way: psnr(run(), clean) for way, run in ways.items()}
            print(noise, name, found[f"{noise:g}"][name], flush=True)
    command = f"experiments/photo/compare.py {given.folder.name}"
    about = {"command": command, "versions": versions(), "psnr": found}
    (RESULTS / "compare.json").write_text(json.dumps(about, indent=1) + "\n")


def pair(picture: np.ndarray, number: int, noise: float, size: int | None) -> tuple[np.ndarray, np.ndarray]:
    """A picture ``(y, x, 3)`` without noise and with noise."""
    if size is not None:
        picture = picture[:, 32 : 32 + size, 32 : 32 + size]
    clean = picture.transpose(1, 2, 0).astype(np.float32)
    return clean, noisy_picture(picture, number, noise)[0].numpy().transpose(1, 2, 0)


def psnr(result: np.ndarray, clean: np.ndarray) -> float:
    """In dB with peak 255; the result is clipped."""
    return round(10 * float(np.log10(255**2 / np.mean((np.clip(result, 0, 255) - clean) ** 2))), 3)


def methods(noisy: np.ndarray, noise: float, clean: np.ndarray) -> dict[str, np.ndarray]:
    """The denoised picture by each method."""
    import bm3d
    from skimage.restoration import denoise_nl_means, denoise_tv_chambolle

    unit, level = noisy / 255, noise / 255
    total = [255 * denoise_tv_chambolle(unit, weight=w * level, channel_axis=-1) for w in (0.6, 0.9, 1.2, 1.5, 1.8)]
    means = denoise_nl_means(unit, 5, 6, h=0.6 * level, sigma=level, fast_mode=True, channel_axis=-1)
    return {
        "BM3D": 255 * bm3d.bm3d_rgb(unit, level),
        "non-local means": 255 * means,
        "total variation": min(total, key=lambda u: float(np.mean((np.clip(u, 0, 255) - clean) ** 2))),
    }


if __name__ == "__main__":
    main()
