"""The figure of the tutorial: its commands, run in order, and the pictures they leave, as ``images/tutorial.png``."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import skimage

DOCS = Path(__file__).parents[1]
SHOWN = {"photo.png": "photograph", "noisy.png": "with noise", "smooth.png": "filter", "tuned.png": "filter, tuned"}
SHOWN |= {"denoised.png": "denoise"}


def commands() -> list[str]:
    """The commands of the tutorial, in order."""
    text = (DOCS / "tutorial.rst").read_text(encoding="utf-8")
    return re.findall(r"^   \$ (.*)$", text, flags=re.MULTILINE)


def main() -> None:
    environment = {**os.environ, "PYTHONPATH": str(DOCS.parent / "src")}
    with tempfile.TemporaryDirectory() as folder:
        for command in commands():
            words = shlex.split(command)
            if words[:2] in (["whorl", "invariance"], ["whorl", "train"]):
                continue  # leave no picture
            if "mine" in command:
                continue
            start = [sys.executable, "-m", "whorl"] if words[0] == "whorl" else [sys.executable]
            subprocess.run([*start, *words[1:]], cwd=folder, env=environment, check=True)
        pictures = {name: skimage.io.imread(Path(folder) / name).astype(float) for name in SHOWN}
    figure, axes = plt.subplots(1, len(SHOWN), figsize=(15, 3.5))
    for axis, (name, title) in zip(axes, SHOWN.items(), strict=True):
        error = np.mean((pictures[name] - pictures["photo.png"]) ** 2)
        quality = "" if error == 0 else f", {10 * np.log10(255**2 / error):.1f} dB"
        axis.imshow(pictures[name].astype(np.uint8))
        axis.set_title(title + quality, fontsize=13)
        axis.axis("off")
    figure.tight_layout()
    figure.savefig(DOCS / "images" / "tutorial.png", dpi=100)


if __name__ == "__main__":
    main()
