"""Compare photo-colour with BM3D, non-local means and total variation on colour photographs.

    PYTHONPATH=src:. python experiments/photo/compare.py FOLDER --peers --pictures 12 --size 192 --minutes 5
    PYTHONPATH=src:. python experiments/photo/compare.py FOLDER --deepinv --pictures 18 --size 192 --minutes 60
    PYTHONPATH=src:. python experiments/photo/compare.py FOLDER

Needs the packages bm3d and scikit-image for ``--peers``, which goes on where it was until the minutes are over; results
go to experiments/photo/results/peers.json. ``--deepinv`` does the same for the denoisers of deepinv that need no
download, and for photo-colour beside them, into deepinv.json. Both note the processor seconds of each method and
picture; of the best of several strengths, those of all strengths. Without both photo-colour denoises the pictures of
the peers, into compare.json. All see the same noise, which is not clipped, and are told its level; total variation and
the denoisers of deepinv take the best of five strengths for each picture. Pictures are taken at even distances from the
folder's list; of each a square of ``--size`` pixels from (32, 32) on is used, or the whole picture.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from benchmarks.machine import origin

import whorl
from whorl.data.photographs import photographs
from whorl.evaluation.angles import noisy_picture
from whorl.foundations.provenance import versions

RESULTS = Path(__file__).resolve().parent / "results"
LEVELS = (25.0, 15.0, 50.0)
Pictures = dict[str, np.ndarray]
Methods = Callable[[np.ndarray, float, np.ndarray], Iterator[tuple[str, np.ndarray]]]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--deepinv", action="store_true")
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--size", type=int)
    parser.add_argument("--minutes", type=float, default=5.0)
    given = parser.parse_args()
    pictures = photographs(given.folder, 3)
    if given.deepinv:
        peers(given, pictures, "deepinv", denoisers, ("deepinv",))
    elif given.peers:
        peers(given, pictures, "peers", methods, ("scikit-image", "bm3d"))
    else:
        ours(given, pictures)


def peers(
    given: argparse.Namespace, pictures: Pictures, name_of_all: str, methods: Methods, packages: tuple[str, ...]
) -> None:
    """The other methods, picture by picture."""
    out, until = RESULTS / f"{name_of_all}.json", time.monotonic() + 60 * given.minutes
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
            seconds = kept.setdefault("seconds", {}).setdefault(f"{noise:g}", {}).setdefault(name, {})
            found[name], start = {}, time.process_time()
            for method, result in methods(noisy, noise, clean):
                found[name][method], seconds[method] = psnr(result, clean), round(time.process_time() - start, 2)
                start = time.process_time()
            print(noise, name, found[name], seconds, flush=True)
            kept["command"] = f"experiments/photo/compare.py {given.folder.name} --{name_of_all}"
            kept["command"] += f" --pictures {given.pictures}" + (f" --size {given.size}" if given.size else "")
            kept["versions"] = {package: version(package) for package in packages} | versions()
            kept |= origin()
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
    about = {"command": command, **origin(), "versions": versions(), "psnr": found}
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


def methods(noisy: np.ndarray, noise: float, clean: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The denoised picture by each method."""
    import bm3d
    from skimage.restoration import denoise_nl_means, denoise_tv_chambolle

    unit, level = noisy / 255, noise / 255
    yield "BM3D", 255 * bm3d.bm3d_rgb(unit, level)
    yield (
        "non-local means",
        255 * denoise_nl_means(unit, 5, 6, h=0.6 * level, sigma=level, fast_mode=True, channel_axis=-1),
    )
    total = [255 * denoise_tv_chambolle(unit, weight=w * level, channel_axis=-1) for w in (0.6, 0.9, 1.2, 1.5, 1.8)]
    yield "total variation", nearest(total, clean)


def nearest(results: list[np.ndarray], clean: np.ndarray) -> np.ndarray:
    """The result with the highest PSNR."""
    return max(results, key=lambda u: psnr(u, clean))


def denoisers(noisy: np.ndarray, noise: float, clean: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """photo-colour, and what of deepinv needs no download: total generalised variation, and thresholds of wavelets."""
    import torch
    from deepinv.models import TGVDenoiser, WaveletDictDenoiser

    yield "photo-colour", whorl.denoise(noisy, noise, channel_axis=-1)
    unit, level = torch.from_numpy(noisy.transpose(2, 0, 1)[None] / 255), noise / 255
    makes = {
        "deepinv TGV": (TGVDenoiser, (3.0, 4.5, 6.0, 8.0, 11.0)),
        "deepinv wavelets": (lambda: WaveletDictDenoiser(list_wv=["db2", "db4", "db8"]), (0.4, 0.6, 0.8, 1.1, 1.5)),
    }
    for name, (made, strengths) in makes.items():  # made anew each time: some begin with their last result
        results = [255 * made()(unit, strength * level)[0].numpy().transpose(1, 2, 0) for strength in strengths]
        yield name, nearest(results, clean)


if __name__ == "__main__":
    main()
