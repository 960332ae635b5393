"""Turn the results of the study into the networks of the package.

    PYTHONPATH=src python experiments/photo/ship.py RESULTS... --weights WEIGHTS...

Each RESULTS (results.json of a call) comes with its WEIGHTS; where a trial is in several, the last one counts. Then
``python -m experiments.terms`` writes the terms of the pictures into the cards.
"""

import argparse
import json
from pathlib import Path

from safetensors.torch import load_file

from whorl.networks import PhotoSpec
from whorl.networks.cards import ENDING, ModelCard, Run, load_card

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "whorl" / "networks" / "photographs"
SHIPPED = ("photo-grey", "photo-colour", "photo-8k", "photo-27k", "photo-27k-strict", "photo-27k-stable", "photo-66k")

ABOUT = {
    "photo-grey": "Grey photographs with noise of any level from 5 to 55, which is an input.",
    "photo-colour": "Colour photographs with noise of any level from 5 to 55, which is an input.",
    "photo-8k": "Grey photographs with noise 25; the smallest.",
    "photo-27k": "Grey photographs with noise 25; invariants are not smoothed.",
    "photo-27k-strict": "Grey photographs with noise 25; from photo-27k by a short training with a term for turns.",
    "photo-27k-stable": "Grey photographs with noise 25; its L2 norm never grows, whatever the picture.",
    "photo-66k": "Grey photographs with noise 25; the largest.",
}


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+")
    parser.add_argument("--weights", type=Path, nargs="+", required=True)
    given = parser.parse_args()
    PACKAGE.mkdir(exist_ok=True)
    cards: dict[str, ModelCard] = {}
    for results, weights in zip(given.results, given.weights, strict=True):
        found, tensors = json.loads(results.read_text()), load_file(weights)
        for name, trial in found["trials"].items():
            if name not in SHIPPED or not any(key.startswith("test_") for key in trial):
                continue
            origin = trial.get("origin") or name
            earlier = cards.get(origin) or load_card(origin)
            before = earlier.training["calls"] if trial.get("started_from") else []
            call = {
                "call": found["call"],
                **{key: trial[key] for key in ("train", "share") if key in trial},
                "steps": trial["steps"],
                "seconds": round(trial["seconds"]),
                **trial["training"],
            }
            weights = {k.removeprefix(f"{name}/"): v for k, v in tensors.items() if k.startswith(f"{name}/")}
            figures = {k: trial[k] for k in trial if k.startswith(("held_", "test_", "turn_"))}
            cards[name] = ModelCard(
                name=name,
                network=PhotoSpec.from_dict(trial["spec"]),
                runs=(Run(0, weights, figures),),
                chosen=0,
                training={"calls": [*before, call]},
                data={
                    "train": "CTrain400 (388 of its 400 pictures), patches of 64 x 64 pixels",
                    "held": "12 pictures of CTrain400",
                    "test": "CBSD68" if trial["spec"]["channels"] == 3 else "BSD68",
                    "turn": "error under turns by 36.9 and 22.6 degrees, noisy pictures up to 0.35 cycles per pixel",
                },
                about=ABOUT[name],
                versions={**found["versions"], "device": found["device"]},
            )
    for name, card in cards.items():
        path = PACKAGE / f"{name}{ENDING}"
        path.unlink(missing_ok=True)
        card.write(path)
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB, {card.figures}")


if __name__ == "__main__":
    main()
