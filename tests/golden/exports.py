"""What the golden file keeps of exported files: written by the command, run by onnxruntime and by torch."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from cases import picture
from torch import Tensor

from whorl.cli.main import run

MODELS = {
    "perona-malik": (),
    "gerig": ("--diffusivity", "charbonnier"),
    "weickert-brox": ("--gamma", "0.6"),
    "eed": ("--sigma", "1.2", "--gamma", "0.3"),
    "you-kaveh": (),
    "lysaker": (),
    "multiscale-isotropic": (),
    "weickert-integration": (),
}
NETWORKS = {"anisotropic-0.41": None, "isotropic-0.41": None, "photo-8k": None, "photo-colour": 18.0}
PT2_MODELS = {"perona-malik": 1, "weickert-brox": 2}
"""With their channels; torch takes seconds for every file, and networks so long that they are left to the tests."""


def exported(folder: Path, ending: str, *words: str) -> Path:
    path = folder / f"file{ending}"
    with redirect_stdout(sys.stderr):
        try:
            run(["export", str(path), "--force", *words])
        except SystemExit as ended:
            assert not ended.code, words
    return path


def run_onnx(path: Path, u: Tensor, noise: float | None) -> Tensor:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    feed = {"image": u.numpy()} | ({} if noise is None else {"noise": np.array(noise, np.float32)})
    return torch.from_numpy(session.run(None, feed)[0])


def run_pt2(path: Path, u: Tensor) -> Tensor:
    with torch.no_grad():
        found: Tensor = torch.export.load(path).module()(u)
    return found


def small(channels: int) -> Tensor:
    return picture(torch.float32, 1, channels, 13, 18)


def of_exports() -> Iterator[tuple[str, Tensor]]:
    steps = ("--contrast", "12", "--steps", "3")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model, words in MODELS.items():
            path = exported(folder, ".onnx", "--model", model, *steps, *words)
            for channels in (1, 3) if model in ("gerig", "weickert-brox") else (1,):
                yield f"export float32 onnx {model}, {channels} channels", run_onnx(path, small(channels), None)
        for network, noise in NETWORKS.items():
            path = exported(folder, ".onnx", "--network", network)
            yield f"export float32 onnx {network}", run_onnx(path, small(3 if "colour" in network else 1), noise)
        for model, channels in PT2_MODELS.items():
            how = ("--model", model, *steps, *MODELS[model], "--channels", str(channels))
            path = exported(folder, ".pt2", *how)
            yield f"export float32 pt2 {model}, {channels} channels", run_pt2(path, small(channels))
