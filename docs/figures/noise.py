"""The sheet of docs/noise: ``python docs/figures/noise.py`` writes docs/images/noise-report.png."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image
from skimage import data

from whorl.cli.main import run

TARGET = Path(__file__).parents[1] / "images" / "noise-report.png"


def main() -> None:
    """Simulate photons on a photograph, and let the command draw its report."""
    clean = data.camera()[40:296, 120:376].astype(float)
    noisy = np.random.default_rng(0).poisson(clean / 5) * 5.0
    with TemporaryDirectory() as folder:
        source = Path(folder) / "camera.png"
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(source)
        run(["denoise", "-q", "--force", str(source), f"{folder}/clean.png", "--report", str(TARGET)])


if __name__ == "__main__":
    main()
