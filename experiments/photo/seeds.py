"""Keep what `whorl evaluate --seeds 3 --json` prints for a shipped network, and write the table of the documentation.

    whorl evaluate photo-27k --data BSD68 --noise 25 --seeds 3 --json | PYTHONPATH=. python experiments/photo/seeds.py

Only the means over the pictures are kept, one for each seed of the noise.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks.machine import origin
from figures import RESULTS, write

KEPT = RESULTS / "seeds.json"


def main() -> None:
    """Read one answer and bring file and table up to date."""
    answer = json.load(sys.stdin)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    means = {seed: round(value, 4) for seed, value in answer["by_seed"].items()}
    kept[answer["network"]] = {"data": Path(answer["data"]).name, "noise": answer["noise"], "by_seed": means}
    KEPT.write_text(json.dumps(dict(sorted(kept.items())) | origin(), indent=1) + "\n")
    rows = [("network", "seed 0", "seed 1", "seed 2", "mean")]
    for name, found in sorted(kept.items()):
        if name in origin():
            continue
        values = list(found["by_seed"].values())
        rows.append((name, *(f"{value:.3f}" for value in values), f"{sum(values) / len(values):.3f}"))
    write("seeds", rows)


if __name__ == "__main__":
    main()
