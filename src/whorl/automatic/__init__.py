"""Settings measured on the picture itself: its noise, and from that the contrast and the diffusion time."""

from whorl.automatic.noise import noise_level, noise_present
from whorl.automatic.noise_model import NoiseModel
from whorl.automatic.policy import Filtering, noise_to_remove
from whorl.automatic.samples import sample_slices, samples_of
from whorl.automatic.settings import DEFAULT_TIME, RULES, AutomaticSettings, automatic_settings, rule
from whorl.models.catalogue import Rule

__all__ = [
    "DEFAULT_TIME", "RULES", "AutomaticSettings", "Filtering", "NoiseModel", "Rule", "automatic_settings",
    "noise_level", "noise_present", "noise_to_remove", "rule", "sample_slices", "samples_of",
]  # fmt: skip
