"""What the study of networks for photographs trains: every trial by name."""

from dataclasses import dataclass, replace

from whorl.networks.photo import NAMED_PHOTO, PhotoSpec
from whorl.training import TrainingConfig
from whorl.training.recipe import PHOTO_TRAINING

ANNEALED = TrainingConfig(
    batch=32, rate=2e-3, schedule="annealed", warmup=200, loss="log", clip=0.5, precision="bfloat16",
    checkpoint_seconds=30,
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A network, how it is trained, how much longer than the others of its call, and how far its weights then move."""

    spec: PhotoSpec
    training: TrainingConfig = ANNEALED
    longer: float = 1.0
    plain: str = ""  # a plain network for comparison instead of ours
    origin: str = ""  # the network whose weights it begins with, where that is another one
    share: float = 1.0  # of the way from the weights at the beginning to those at the end


BASE = PhotoSpec()
SMOOTH = replace(BASE, rho=1)
SMALL = PhotoSpec(width=16, fields=(24, 16, 8), blocks=1, repetitions=12, rho=1)
THREE = PhotoSpec(width=32, fields=(32, 32, 16), size=3, rho=1)
LARGE = PhotoSpec(width=32, fields=(32, 32, 16), blocks=3, repetitions=5, rho=1)
STABLE = PhotoSpec(width=32, fields=(32, 32, 16), stable=True, rho=1)

EXPLORE = {
    "base": Trial(BASE),
    "mse": Trial(BASE, replace(ANNEALED, loss="mse", clip=0.1)),
    "rho1": Trial(SMOOTH),
    "rho2": Trial(replace(BASE, rho=2)),
    "three": Trial(THREE),
    "turn": Trial(SMOOTH, replace(ANNEALED, turn=10.0)),
    "turn-narrow": Trial(replace(SMOOTH, profiles=(3, 2, 1)), replace(ANNEALED, turn=30.0)),
    "small": Trial(SMALL),
    "stable": Trial(STABLE),
    "large": Trial(LARGE),
    "alternate": Trial(replace(SMOOTH, alternate=True)),
}

NORMALISED = PHOTO_TRAINING
BLIND = replace(NORMALISED, loss="log")

FINAL = {
    "photo-grey": Trial(NAMED_PHOTO["photo-grey"], BLIND, longer=1.3),
    "photo-colour": Trial(NAMED_PHOTO["photo-colour"], BLIND, longer=1.3),
    "photo-27k": Trial(NAMED_PHOTO["photo-27k"], NORMALISED, longer=1.2),
    "photo-27k-strict": Trial(NAMED_PHOTO["photo-27k-strict"], replace(NORMALISED, turn=1500.0)),
    "photo-27k-stable": Trial(STABLE, NORMALISED, longer=0.9),
    "photo-8k": Trial(NAMED_PHOTO["photo-8k"], NORMALISED, longer=1.6),
    "photo-66k": Trial(NAMED_PHOTO["photo-66k"], NORMALISED, longer=0.8),
    "resnet-27k": Trial(NAMED_PHOTO["photo-27k"], NORMALISED, longer=0.8, plain="resnet"),
    "dncnn-27k": Trial(NAMED_PHOTO["photo-27k"], NORMALISED, longer=0.8, plain="dncnn"),
}

AGAIN = {"rate": 1.2e-3, "warmup": 100}
LONGER = {
    "photo-colour": replace(FINAL["photo-colour"], training=replace(BLIND, **AGAIN), longer=1.0),
    "photo-grey": replace(FINAL["photo-grey"], training=replace(BLIND, **AGAIN), longer=1.0),
    "photo-8k": replace(FINAL["photo-8k"], training=replace(NORMALISED, **AGAIN), longer=1.3),
    "photo-27k-strict": replace(FINAL["photo-27k-strict"], training=replace(NORMALISED, **AGAIN), longer=1.0),
}

LARGER = {"batch": 32}
ALONE = {"photo-27k": Trial(NAMED_PHOTO["photo-27k"], replace(NORMALISED, **LARGER))}
ONWARD = {"photo-27k": replace(ALONE["photo-27k"], training=replace(NORMALISED, **LARGER, **AGAIN), longer=7)}
LAST = {
    "photo-66k": Trial(NAMED_PHOTO["photo-66k"], replace(NORMALISED, **LARGER), longer=8),
    "photo-27k-stable": Trial(STABLE, replace(NORMALISED, **LARGER), longer=4),
    "photo-8k": Trial(NAMED_PHOTO["photo-8k"], replace(NORMALISED, **LARGER), longer=8),
}
"""Longer calls in batches of 32: the first from random weights and alone on the device, the others go on
from shipped weights; ``longer`` is in thousands of steps, with ``--steps 1000``."""

TURNED = {
    "photo-27k-strict": Trial(
        NAMED_PHOTO["photo-27k"],
        replace(NORMALISED, batch=2, rate=3e-4, warmup=10, turn=5000.0, precision="float32"),
        origin="photo-27k",
        share=0.75,
    )
}
"""A short call on a processor: from the weights of ``photo-27k``, with the term on turns. At the end of the way the
turn error is smallest (0.016) and 0.12 dB are lost on pictures held back; three quarters of the way lose 0.07 dB."""

_EXPLORED = {"stable": True, "rho": 1}
GUIDED = {
    name: Trial(spec, replace(NORMALISED, **LARGER))
    for name, spec in {
        "unguided": STABLE,
        "deeper": PhotoSpec(width=24, fields=(28, 24, 12), blocks=3, **_EXPLORED),
        "guided-1": PhotoSpec(width=1, fields=(6, 6, 4), guide=22, guide_fields=(28, 20, 10), **_EXPLORED),
        "guided-8": PhotoSpec(width=8, fields=(12, 12, 6), guide=20, guide_fields=(24, 16, 8), **_EXPLORED),
        "guided-16": PhotoSpec(width=16, fields=(20, 20, 10), guide=12, guide_fields=(16, 12, 4), **_EXPLORED),
    }.items()
}
"""Stable networks with and without a guide, side by side."""

LEADING = {
    "photo-66k": Trial(NAMED_PHOTO["photo-66k"], replace(NORMALISED, **LARGER, **AGAIN)),
    "photo-27k-stable": Trial(NAMED_PHOTO["photo-27k-stable"], replace(NORMALISED, **LARGER)),
}
"""The best stable structure from random weights, and the largest network from its shipped weights, twice."""

CALLS = {
    "guided": GUIDED, "leading": LEADING,
    "explore": EXPLORE, "final": FINAL, "longer": LONGER, "alone": ALONE, "onward": ONWARD, "last": LAST,
    "turned": TURNED,
}  # fmt: skip
