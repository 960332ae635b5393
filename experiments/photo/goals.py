"""The goals for real noise in one table, from what `whorl.denoise` makes of pictures with nothing told.

    PYTHONPATH=src:. python experiments/photo/goals.py DATA [--every 40]

Runs ``real_pictures.py`` on every so many photographs (all of FMD and PolyU), and prints what each goal asks for beside
what was found. ``--found FILE`` takes figures that were measured before.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Kind = dict[str, Any]
WEAK = ("white 0,", "white 0.5", "white 1,", "white 2,", "floats 0", "floats 1,", "16 bits 0", "16 bits 1,", " of 0,")
"""Beginnings or parts of the names of kinds that are clean, or nearly."""


def kinds(found: dict[str, Any], *sets: str) -> dict[str, Kind]:
    """The kinds of these sets by name."""
    return {name: kind for each in sets for name, kind in found.get(each, {}).items()}


def total(kinds: Iterable[Kind], *names: str) -> tuple[int, ...]:
    """The sums of counts over kinds."""
    every = list(kinds)
    return tuple(sum(kind[name] for kind in every) for name in names)


def table(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Goal, what is asked, what was found."""
    simulated = kinds(found, "simulated")
    weak = {name: kind for name, kind in simulated.items() if any(part in name for part in WEAK)}
    strong = [kind for name, kind in simulated.items() if name not in weak]
    mean: Callable[[Kind, str], str] = lambda kind, name: f"{kind[name]:.2f} dB"  # noqa: E731
    rows = []
    for name, kind in kinds(found, "FMD", "PolyU", "photons").items():
        asked = {"FMD": "34.5 dB or more", "PolyU": "+1.5 dB or more", "photons": "31.0 dB or more"}[name]
        rows.append(
            (f"{name}, {kind['pictures']} pictures", asked, mean(kind, "gain" if name == "PolyU" else "denoised"))
        )
        rows.append((f"{name}, worse than the picture", "none", str(kind["worse"])))
    for label, each in (("noise 0 to 2, JPEG", list(weak.values())), ("noise of 3 and more", strong)):
        count, worse, returned = total(each, "pictures", "worse", "returned")
        rows.append((f"{label}: worse, or clean and below 50 dB", "none", f"{worse} of {count}"))
        if each is strong:
            rows.append((f"{label}: returned", "1 of 10", f"{returned} of {count}"))
    every = [*strong, *kinds(found, "FMD", "PolyU", "photons").values()]
    told, right = total(every, "gain_told", "gain_right")
    rows.append(("expected gain within 0.5 dB, of those told", "9 of 10", f"{right} of {told}"))
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--every", type=int, default=40)
    parser.add_argument("--found", type=Path)
    given = parser.parse_args()
    file = given.found or Path("runs/goals.json")
    if given.found is None:
        script = Path(__file__).with_name("real_pictures.py")
        subprocess.run([sys.executable, script, given.data, "--every", str(given.every), "--out", file], check=True)
    for row in table(json.loads(file.read_text())):
        print("{:60} {:18} {}".format(*row))


if __name__ == "__main__":
    main()
