"""The paper's printed numbers, and when ours agree with them."""

from dataclasses import dataclass

__all__ = ["FULL_TEST", "PAPER", "Claim", "verdict"]

FULL_TEST = 50
"""Images per angle in the paper's test; with fewer there is no verdict."""


@dataclass(frozen=True)
class Claim:
    """What the paper prints of a network, and the bound our variance must keep on whole scenes.

    The uncoupled network is the counter-example: its variance must be *large*.
    """

    label: str
    variance: float
    psnr_45: float | None
    bound: float
    at_least: bool = False


PAPER = {
    "uncoupled-0.41": Claim("uncoupled, α = 0.41", 1.25, 27.0, 0.5, at_least=True),
    "isotropic-0.41": Claim("coupled isotropic, α = 0.41", 0.035, 28.1, 0.035),
    "anisotropic-0.41": Claim("coupled anisotropic, α = 0.41, γ = 0", 0.014, 29.2, 0.014),
    "isotropic-0.5": Claim("coupled isotropic, α = 0.5", 0.013, None, 0.013),
    "anisotropic-0.5": Claim("coupled anisotropic, α = 0.5", 8.7e-4, None, 0.0009),
}
"""The five networks of the paper's figure, in its order. PSNRs are those of one picture."""


def verdict(name: str, variance: float, images: int) -> str:
    """``"met"`` or ``"missed"`` at the full test, and nothing with fewer images.

    >>> verdict("isotropic-0.41", 0.004, 50), verdict("isotropic-0.41", 0.004, 5)
    ('met', '')
    """
    if name not in PAPER or images < FULL_TEST:
        return ""
    claim = PAPER[name]
    kept = variance >= claim.bound if claim.at_least else variance <= claim.bound
    return "met" if kept else "missed"
