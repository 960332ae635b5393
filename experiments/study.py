"""The study behind the experiment's numbers: trains every trial of ``trials.py`` and measures it on the test scenes.

    PYTHONPATH=src:. python experiments/study.py --out DIR --device cuda --budget-seconds 540

Results go to ``DIR/study.json``, rewritten after every trial. Trials that ``--resume FILE`` (or the file itself)
already holds are skipped, so the study can be done in several sittings. Needs torch and numpy, and Triton on a CUDA
device.
"""

import argparse
import dataclasses
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import torch
from benchmarks.machine import origin
from trials import Trial, trials

from whorl.data import ANGLES, RectangleSet
from whorl.evaluation import AngleTable, TestScenes, evaluate
from whorl.foundations.provenance import versions
from whorl.networks import NAMED, build_network
from whorl.training import TensorPairs
from whorl.training.checkpoint import write_atomically

VALIDATION = 20
TESTS = (("scene", "analytic"), ("rectangles", "analytic"), ("scene", "4x4"), ("scene", "hard"))


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", type=Path, nargs="*", default=[])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--budget-seconds", type=float, default=float("inf"))
    parser.add_argument("--only", nargs="*", default=[""], help="trials whose key contains one of these texts")
    parser.add_argument("--images", type=int, default=50, help="test images per angle")
    parser.add_argument("--size", type=int, default=256, help="for a dry run")
    parser.add_argument("--epochs", type=int, default=0, help="for a dry run")
    parser.add_argument("--train-images", type=int, default=100, help="for a dry run")
    study = Study(parser.parse_args())
    study.run()


class Study:
    """All trials, their pictures and their results."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.began = options, time.monotonic()
        self.path = options.out / "study.json"
        self.head: dict[str, Any] = {**origin(), "versions": versions(), "engine": "auto"}
        self.found: dict[str, Any] = {}
        for file in [*options.resume, self.path]:
            if file.exists():
                self.head = json.loads(file.read_text())  # of the first sitting; trials name their device
                self.found |= self.head.pop("trials")
        chosen = (self._adapted(trial) for trial in trials())
        self.trials = [t for t in chosen if any(text in t.key for text in options.only) and t.key not in self.found]
        self.tests = {
            (turning, edges): RectangleSet(options.images, "test", turning=turning, edges=edges, size=options.size)
            for turning, edges in TESTS
            if edges == "analytic" or any(trial.recipe.data.edges == edges for trial in self.trials)
        }
        self.validation = RectangleSet(VALIDATION, "validation", size=options.size)
        self.scenes: dict[RectangleSet, TestScenes] = {}
        self.pairs: dict[RectangleSet, TensorPairs] = {}

    def _adapted(self, trial: Trial) -> Trial:
        o, recipe = self.options, trial.recipe
        training = dataclasses.replace(recipe.training, epochs=o.epochs or recipe.training.epochs)
        data = dataclasses.replace(recipe.data, size=o.size, count=o.train_images)
        return dataclasses.replace(trial, recipe=dataclasses.replace(recipe, training=training, data=data))

    def run(self) -> None:
        """Draw all pictures, then one trial after the other while the time lasts."""
        self._draw()
        if self.options.device.startswith("cuda"):
            self._check_engine()
        print(f"pictures after {self._elapsed():.1f} s, {len(self.trials)} trials to do", flush=True)
        longest = 0.0
        for trial in self.trials:
            if self._elapsed() + 1.2 * longest > self.options.budget_seconds:
                print("time is up", flush=True)
                break
            start = time.monotonic()
            try:
                self.found[trial.key] = self._measure(trial)
            except ValueError as error:  # a diverging trial is a result, too
                self.found[trial.key] = {"error": str(error)}
            longest = max(longest, time.monotonic() - start)
            self._write()
            self._tell(trial)

    def _check_engine(self) -> None:
        """The compiled engine against the reference on two images, values and gradients."""
        pairs = next(iter(self.pairs.values()))
        for name, spec in NAMED.items():
            found = []
            for engine in ("reference", "auto"):
                network = build_network(spec).to(self.options.device)
                network.engine = engine
                result = network(pairs.noisy[:2])
                (result - pairs.clean[:2]).square().mean().backward()
                found.append((result.detach(), torch.cat([p.grad.flatten() for p in network.parameters()])))
            (u, g), (v, h) = found
            print(
                f"engine {name}: output {(u - v).abs().max():.1e}, gradient {(g - h).norm() / g.norm():.1e}", flush=True
            )

    def _draw(self) -> None:
        sets = [*self.tests.values(), self.validation]
        tasks = [(rectangles, angle) for rectangles in sets for angle in ANGLES]
        training = {trial.recipe.data: trial.recipe.angle for trial in self.trials}
        tasks += list(training.items())
        with multiprocessing.get_context("fork").Pool() as pool:  # before CUDA is touched
            drawn = pool.starmap(_render, tasks, chunksize=1)
        for (rectangles, angle), clean in zip(tasks, drawn, strict=True):
            if rectangles in training:
                clean = torch.from_numpy(clean)
                noisy = rectangles.noisy(clean)
                self.pairs[rectangles] = TensorPairs(noisy, clean).to(self.options.device)
            else:
                scenes = self.scenes.setdefault(rectangles, TestScenes(rectangles, device=self.options.device))
                scenes.give(angle, torch.from_numpy(clean))

    def _measure(self, trial: Trial) -> dict[str, Any]:
        start = time.monotonic()
        pairs = self.pairs[trial.recipe.data]
        network, history = trial.recipe.train(device=self.options.device, pairs=pairs)
        trained = time.monotonic()
        network.eval()
        found: dict[str, Any] = {
            "network": trial.recipe.network.as_dict(),
            "training": trial.recipe.training.as_dict(),
            "data": {**dataclasses.asdict(trial.recipe.data), "angle": trial.recipe.angle},
            "seed": trial.seed,
            "values": network.values(),
            "loss": [round(epoch.loss, 3) for epoch in history.epochs],
            "train_psnr": history.last.psnr,
            "stopped": history.stopped,
            "seconds": trained - start,
            "device": torch.cuda.get_device_name() if self.options.device.startswith("cuda") else "CPU",
        }
        keys = [("scene", "analytic"), ("rectangles", "analytic")]
        if trial.recipe.data.edges != "analytic":
            keys.append(("scene", trial.recipe.data.edges))
        for key in keys:
            table = evaluate(network, self.scenes[self.tests[key]], batch=self.options.images)
            found[" ".join(key)] = figures(table, trial.errors)
        found["validation"] = figures(evaluate(network, self.scenes[self.validation], batch=VALIDATION), False)
        found["evaluation_seconds"] = time.monotonic() - trained
        return found

    def _write(self) -> None:
        content = {**self.head, "trials": self.found}
        write_atomically(self.path, (json.dumps(content, indent=None, separators=(",", ":")) + "\n").encode())

    def _tell(self, trial: Trial) -> None:
        r = self.found[trial.key]
        if "error" in r:
            print(f"{self._elapsed():6.1f} s  {trial.key}: {r['error']}", flush=True)
            return
        scene, own, validation = r["scene analytic"], r["rectangles analytic"], r["validation"]
        print(
            f"{self._elapsed():6.1f} s  {trial.key}: {r['seconds']:.1f} + {r['evaluation_seconds']:.1f} s, "
            f"loss {r['loss'][-1]:.1f}, scene mean {scene['mean']:.2f} at 45 {scene['psnr'].get('45', 0):.2f} "
            f"variance {scene['variance']:.5f} (chance {scene['chance']:.5f}), rectangles at 45 "
            f"{own['psnr']['45']:.2f} variance {own['variance']:.4f}, "
            f"validation {validation['mean']:.2f} {validation['variance']:.5f}",
            flush=True,
        )

    def _elapsed(self) -> float:
        return time.monotonic() - self.began


def figures(table: AngleTable, errors: bool) -> dict[str, Any]:
    """Figures of one test, rounded to what is worth keeping."""
    mse = table.errors.double().mean(1)
    set_psnr = 10 * torch.log10(table.value_range**2 / mse)
    found: dict[str, Any] = {
        "psnr": {str(angle): round(value, 5) for angle, value in table.psnr.items()},
        "mean": table.mean,
        "variance": table.variance,
        "chance": table.expected_variance(),
        "variance_of_set_psnr": float(set_psnr.var(unbiased=False)),
        "mean_of_set_psnr": float(set_psnr.mean()),
    }
    if errors:
        found["errors"] = [[round(x, 3) for x in row] for row in table.errors.tolist()]
    return found


def _render(rectangles: RectangleSet, angle: int) -> Any:
    torch.set_num_threads(1)
    return rectangles.clean(angle).numpy()


if __name__ == "__main__":
    main()
