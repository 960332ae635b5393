"""The figures of diffusion-shock beside other models are those that were measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_diffusion_shock_beside_other_models() -> None:
    text = (ROOT / "docs" / "filling.rst").read_text(encoding="utf-8")
    rows = json.loads((ROOT / "experiments" / "results" / "inpainting_shock.json").read_text())["psnr"]
    for name, row in rows.items():
        told = ", ".join(f"{row[model]:.2f}" for model in ("eed", "diffusion-shock", "homogeneous"))
        assert f'"{name}", {told}, {row["ahead of eed"]} of 12' in text
