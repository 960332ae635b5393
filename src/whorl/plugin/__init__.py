"""The napari plugin: widgets that filter and denoise image layers."""

from whorl.plugin.layers import Cancelled, Job, contrast_range, denoise_layer, filter_layer, preview_plane

__all__ = ["Cancelled", "Job", "contrast_range", "denoise_layer", "filter_layer", "preview_plane"]
