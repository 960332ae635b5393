"""whorl itself, called as a user would: an array in, an array out, the engine chosen by the library.

``variant`` makes a method of any model and any of its options, which the quality search and the scaling suite use; the
plain models are in :data:`METHODS`.
"""

from typing import Any

import numpy as np

from benchmarks.peers.base import Image, Method, Run

__all__ = ["METHODS", "variant"]

# name, channels coupled?, step, why, range of contrasts for the search
_MODELS: tuple[tuple[str, str, float, str, tuple[float, float]], ...] = (
    ("perona-malik", "any", 0.4, "automatic step", (10.0, 160.0)),
    ("you-kaveh", "any", 0.056, "automatic step", (10.0, 320.0)),
    ("lysaker", "any", 0.1, "automatic step", (10.0, 320.0)),
    ("gerig", "any", 0.4, "automatic step", (10.0, 160.0)),
    ("weickert-brox", "any", 0.4, "automatic step", (10.0, 160.0)),
    ("multiscale-isotropic", "any", 0.75, "automatic step", (5.0, 160.0)),
    ("multiscale-anisotropic", "any", 0.75, "automatic step", (5.0, 160.0)),
    ("uncoupled", "any", 0.4, "automatic step", (10.0, 160.0)),
    ("eed", "any", 0.4, "automatic step", (2.0, 40.0)),
    ("ced", "any", 0.4, "automatic step", (0.5, 16.0)),
    ("weickert-integration", "any", 0.3, "automatic step", (2.0, 40.0)),
)


def variant(
    model: str, scheme: str | None = None, contrast_range: tuple[float, float] | None = None, **options: Any
) -> Method:
    """The method ``whorl-<model>`` with options of ``whorl.models.build``, written into its name."""
    _, layout, tau, reason, search = next(entry for entry in _MODELS if entry[0] == model)

    def load() -> Run:
        import whorl

        extra = dict(options) if scheme is None else {**options, "scheme": scheme}
        in_space = len(np.atleast_1d(options.get("spacing", 1.0))) == 3

        def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
            axis = -1 if image.ndim == 3 and not in_space else None
            out = whorl.diffuse(image, model, contrast=contrast, time=steps * tau, tau=tau, channel_axis=axis, **extra)
            return np.asarray(out)

        return run

    suffix = "".join(f" {key}={value}" for key, value in options.items()) + (f" {scheme}" if scheme else "")
    return Method(
        name=f"whorl-{model}{suffix}",
        library="whorl",
        distribution="whorl",
        model=model,
        layout=layout,
        tau=tau,
        tau_reason=reason,
        contrast="lambda",
        contrast_range=contrast_range or search,
        boundary="no flux",
        precision="float32",
        settings=f"diffuse(model={model!r}{''.join(f', {k}={v!r}' for k, v in options.items())})",
        load=load,
    )


METHODS = [variant(entry[0]) for entry in _MODELS]
