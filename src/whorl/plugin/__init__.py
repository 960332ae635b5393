"""The napari plugin: widgets that filter and denoise image layers."""

from whorl.plugin.layers import (
    Cancelled,
    Job,
    contrast_range,
    denoise_layer,
    fill_layer,
    filter_layer,
    noisy_scene,
    preview_plane,
)

__all__ = [
    "Cancelled", "Job", "contrast_range", "denoise_layer", "fill_layer", "filter_layer", "noisy_scene", "preview_plane",
]  # fmt: skip
