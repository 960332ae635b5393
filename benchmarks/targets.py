"""What whorl set out to reach, against the result files: ``python -m benchmarks.targets``.

Each target is a statement with a number, read off the committed results of one machine; misses are printed like hits.
"""

import argparse
import datetime
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, documents
from whorl.models import names

__all__ = ["TAKEN_BACK", "TARGETS", "Target", "ages", "as_rows", "report", "verdicts"]

Cases = dict[str, list[dict[str, Any]]]

EXPERIMENTS = sorted(FOLDER.parents[1].glob("experiments/**/results"))
"""Folders of result files that have no targets."""


@dataclass(frozen=True)
class Target:
    """``measure`` returns the figure; it must be at least (or at most) ``bound``."""

    text: str
    suite: str
    bound: float
    at_least: bool
    measure: Callable[[Cases], float]

    def met(self, value: float) -> bool:
        return value >= self.bound if self.at_least else value <= self.bound


def _per_step(cases: Cases, case: str) -> dict[str, float]:
    return {r["method"]: r["ms_per_mpix_step"] for r in cases[case]}


def _lead(case: str, ours: str, rivals: Callable[[str], bool]) -> Callable[[Cases], float]:
    """How many times faster ``ours`` is than the fastest of its rivals."""

    def measure(cases: Cases) -> float:
        times = _per_step(cases, case)
        return min(t for name, t in times.items() if rivals(name)) / times[ours]

    return measure


def _copies(case: str, ours: str) -> Callable[[Cases], float]:
    return lambda cases: _per_step(cases, case)[ours] / _per_step(cases, case)["copy"]


def _library(name: str) -> bool:
    return not name.startswith(("whorl", "copy", "numpy", "torch"))


def _loop(name: str) -> bool:
    return name == "numpy-loop"


def _best(case: str, key: str, least: bool = False) -> Callable[[Cases], float]:
    """Best figure of any whorl method."""

    def measure(cases: Cases) -> float:
        found = [r[key] for r in cases[case] if r["method"].startswith("whorl")]
        return min(found) if least else max(found)

    return measure


def _turn_of_best_above_peers(cases: Cases) -> float:
    """Least turn error among whorl's methods that also have a higher PSNR than every peer."""
    rows = next(iter(cases.values()))
    peers = max(r["psnr"] for r in rows if not r["method"].startswith("whorl"))
    return min(r["turn_error"] for r in rows if r["method"].startswith("whorl") and r["psnr"] > peers)


def _least_lead(cases: Cases) -> float:
    """By how many dB the best of whorl's filters leads the best diffusion filter of others, where it leads least."""
    leads = []
    for rows in cases.values():
        ours, theirs = (
            [r["psnr"] for r in rows if r.get("diffusion") and r["method"].startswith("whorl") == mine]
            for mine in (True, False)
        )
        leads.append(max(ours) - max(theirs))
    return min(leads)


def _turn_beside_best_peer(case: str) -> Callable[[Cases], float]:
    """Least error under turns of space among whorl's models, over the least of the peers."""

    def measure(cases: Cases) -> float:
        errors = {r["method"]: r["turn_error"] for r in cases[case]}
        peers = [error for name, error in errors.items() if not name.startswith("whorl")]
        return float(min(e for name, e in errors.items() if name.startswith("whorl")) / min(peers))

    return measure


def _turn_beside_diplib(cases: Cases) -> float:
    errors = {r["library"]: r["turn_error"] for r in cases["3-4-5 turn, noisy whorl"]}
    return float(errors["whorl"] / errors["diplib"])


def _seconds(case: str, name: str) -> Callable[[Cases], float]:
    return lambda cases: next(r["best_s"] for r in cases[case] if r["method"] == name)


def _scheme_gain(model: str, time: float) -> Callable[[Cases], float]:
    """Explicit time over the time of the fastest scheme whose error is at most twice the explicit one's."""

    def measure(cases: Cases) -> float:
        rows = {r["method"].rsplit(" ", 1)[1]: r for r in cases[f"{model}, t = {time:g}"]}
        good = [r["best_s"] for r in rows.values() if r["error"] <= 2 * rows["explicit"]["error"]]
        return float(rows["explicit"]["best_s"] / min(good))

    return measure


def _slowest_epoch(cases: Cases) -> float:
    return float(max(rows[0]["best_s"] for rows in cases.values()))


def _newton_epochs(cases: Cases) -> float:
    """Of the slower network; without end where the goal was not reached."""
    spent = [row["epochs"] for rows in cases.values() for row in rows if row["method"] == "Gauss–Newton"]
    return max(float("inf") if epochs is None else float(epochs) for epochs in spent)


def _five_minutes(cases: Cases) -> float:
    return float(cases["five networks, Gauss–Newton"][0]["best_s"] / 60)


def _fields_for_each_step(cases: Cases) -> float:
    first, *_, last = cases["training memory"]
    return float((last["fields"] - first["fields"]) / (last["x"] - first["x"]))


_SPACE = "256³, 2 threads"


def _space(ours: str, theirs: str = "") -> Callable[[Cases], float]:
    """Nanoseconds per voxel and step, or how many times faster than a peer."""

    def measure(cases: Cases) -> float:
        times = {r["method"]: r["ns_per_voxel_step"] for r in cases[_SPACE]}
        return float(times[theirs] / times[ours] if theirs else times[ours])

    return measure


def _gpu_share(cases: Cases) -> float:
    """Of the copy of the same batch in the same run."""
    return float(max(row["share_of_copy"] for row in cases["one step"] if row["method"] == "whorl, perona-malik"))


def _gpu_volume(law: str) -> Callable[[Cases], float]:
    """Of the copy of the same volume in the same run, best tiling."""
    rows = "one step in space"
    return lambda cases: float(max(r["share_of_copy"] for r in cases[rows] if r["method"] == f"whorl, {law}"))


def _gpu_epoch(coupling: str) -> Callable[[Cases], float]:
    """Milliseconds, by the route of ``whorl train``."""
    return lambda cases: 1e3 * next(r["best_s"] for r in cases["epoch"] if r["method"] == f"epoch, {coupling}-0.41")


def _gpu_first(cases: Cases) -> float:
    return next(float(r["best_s"]) for r in cases["first epoch"] if r["method"] == "first epoch, empty cache")


def _gpu_five(cases: Cases) -> float:
    return float(cases["five models"][-1]["best_s"])


def _gpu_photo(cases: Cases) -> float:
    return next(float(r["share"]) for r in cases["one picture"] if r["method"] == "photo-27k, float32")


def _page(case: str, key: str = "median_s", name: str | None = None) -> Callable[[Cases], float]:
    """Seconds that a visitor of the page waits: by name, or for the slowest."""
    return lambda cases: max(float(r[key]) for r in cases[case] if name in (None, r["method"]))


_FILLED = "512² grey, 5 % of pixels"


def _filled(method: str, key: str) -> Callable[[Cases], float]:
    return lambda cases: next(float(r[key]) for r in cases[_FILLED] if r["method"] == method)


def _over_skimage(method: str) -> Callable[[Cases], float]:
    """How many times faster than scikit-image's biharmonic filling."""
    return lambda cases: _filled("skimage-biharmonic", "best_s")(cases) / _filled(method, "best_s")(cases)


def _fill_growth(cases: Cases) -> float:
    """Time per pixel at 4096² over that at 512²."""
    small, large = (cases[f"{size}², whorl-eed"][0]["ms_per_mpix"] for size in (512, 4096))
    return float(large / small)


def _fill_memory(cases: Cases) -> float:
    return float(cases["4096², whorl-eed"][0]["peak_mib"]) / 1000


def _fill_lead(gap: str, rivals: Callable[[str], bool]) -> Callable[[Cases], float]:
    """By how many dB edge-enhancing filling leads, on the set of pictures where it leads least."""

    def measure(cases: Cases) -> float:
        found = []
        for name in ("Set12", "CBSD68"):
            rows = {r["method"]: r["psnr"] for r in cases[f"{name}, {gap}"]}
            found.append(rows["whorl-eed"] - max(v for k, v in rows.items() if rivals(k) and "pictures" not in k))
        return min(found)

    return measure


def _fill_turn(cases: Cases) -> float:
    """The smallest error of ours over the smallest of the others."""
    rows = {r["method"]: r["turn_error"] for r in cases["3-4-5 turn"]}
    ours, theirs = ([v for k, v in rows.items() if k.startswith("whorl") == own] for own in (True, False))
    return float(min(ours) / min(theirs))


def _photo(case: str, name: str = "photo-27k") -> Callable[[Cases], float]:
    """The time of a network for photographs over that of DnCNN-S."""
    return lambda cases: next(float(r["over_dncnn"]) for r in cases[case] if r["method"] == name)


def _photo_memory(cases: Cases) -> float:
    return float(cases["4096² grey in windows, memory"][0]["peak_mib"]) / 1024


def _exponent(axis: str) -> Callable[[Cases], float]:
    return lambda cases: next(r["exponent"] for r in cases[axis] if r["method"].startswith("whorl"))


_G2, _G4, _C2, _C4 = (
    "1024² grey, 2 threads",
    "4096² grey, 2 threads",
    "1024² colour, 2 threads",
    "4096² colour, 2 threads",
)

TARGETS: tuple[Target, ...] = (
    Target("Perona–Malik step over the fastest library, 1024²", "speed_grey", 5, True,
           _lead(_G2, "whorl-perona-malik", _library)),
    Target("Perona–Malik step over the NumPy loop, 1024²", "speed_grey", 5, True,
           _lead(_G2, "whorl-perona-malik", _loop)),
    Target("single Perona–Malik step over the fastest library, 1024²", "speed_grey", 5, True,
           _lead(_G2, "whorl-perona-malik, single step", _library)),
    Target("single Perona–Malik step over the NumPy loop, 1024²", "speed_grey", 5, True,
           _lead(_G2, "whorl-perona-malik, single step", _loop)),
    Target("Perona–Malik step in copies of the image, 4096²", "speed_grey", 3, False,
           _copies(_G4, "whorl-perona-malik")),
    Target("single Perona–Malik step in copies of the image, 4096²", "speed_grey", 3, False,
           _copies(_G4, "whorl-perona-malik, single step")),
    Target("colour step (Gerig) over the fastest library, 1024²", "speed_colour", 5, True,
           _lead(_C2, "whorl-gerig", _library)),
    Target("colour step (Gerig) over the NumPy loop, 1024²", "speed_colour", 5, True, _lead(_C2, "whorl-gerig", _loop)),
    Target("colour step (Gerig) in copies of the image, 4096²", "speed_colour", 3, False, _copies(_C4, "whorl-gerig")),
    Target("EED over DIPlib's and ITK's tensor filters, 1024²", "speed_tensor", 10, True,
           _lead(_G2, "whorl-eed", _library)),
    Target("Weickert–Brox over DIPlib's and ITK's tensor filters, 1024²", "speed_tensor", 10, True,
           _lead(_G2, "whorl-weickert-brox", _library)),
    Target("Weickert–Brox over ITK's vector filter, 1024² colour", "speed_tensor", 10, True,
           _lead(_C2, "whorl-weickert-brox", _library)),
    Target("photo-27k over DnCNN-S, 512² grey", "speed_photo", 0.5, False, _photo("512² grey, 2 threads")),
    Target("photo-27k over DnCNN-S, 1024² grey", "speed_photo", 0.5, False, _photo("1024² grey, 2 threads")),
    Target("GB of memory that 4096² takes in windows", "speed_photo", 1, False, _photo_memory),
    Target("CED over DIPlib's coherence filter, 512²", "speed_coherence", 50, True,
           _lead("512² grey, 2 threads", "whorl-ced", _library)),
    Target("CED's error under the 3-4-5 turn over DIPlib's", "speed_coherence", 1, False, _turn_beside_diplib),
    Target("Perona–Malik step over SimpleITK's gradient filter, 256³", "speed_volume", 20, True,
           _space("whorl-perona-malik", "simpleitk-gradient")),
    Target("Perona–Malik step over the NumPy loop, 256³", "speed_volume", 10, True,
           _space("whorl-perona-malik", "numpy-loop")),
    *(
        target
        for name in ("eed", "ced")
        for target in (
            Target(f"{name} step over DIPlib's coherence filter, 256³", "speed_volume", 50, True,
                   _space(f"whorl-{name}", "diplib-coherence")),
            Target(f"{name} step on 256³, nanoseconds per voxel", "speed_volume", 60, False, _space(f"whorl-{name}")),
        )
    ),
    Target("peak memory of a call in volumes, input and output included, 256³", "speed_volume", 3, False,
           lambda cases: max(r["volumes"] for r in cases["memory"])),
    Target("lead over the best other diffusion filter on noisy volumes, dB, at least", "quality_volume", 0, True,
           _least_lead),
    *(
        Target(f"error under turns of space over the best peer's, {case}", "quality_turn_volume", 1, False,
               _turn_beside_best_peer(case))
        for case in ("smooth sheets", "sheets with noise 8 up to 0.4 cycles")
    ),
    Target("growth exponent in space over voxels and steps", "speed_volume", 1.1, False,
           lambda cases: max(r["exponent"] for r in cases["growth"])),
    *(
        Target(f"t = {time} with FED or FSI over explicit steps, {model}", "speed_time", 5, True,
               _scheme_gain(model, time))
        for time in (50, 500)
        for model in ("perona-malik", "gerig", "weickert-brox", "eed")
    ),
    Target("best PSNR on camera", "quality_denoise", 28.2, True, _best("camera, noise 30", "psnr")),
    Target("best PSNR on astronaut", "quality_denoise", 28.6, True, _best("astronaut, noise 30", "psnr")),
    Target("error under the 3-4-5 turn, with a PSNR above every peer's", "quality_turn", 0.03, False,
           _turn_of_best_above_peers),
    Target("filling 512² from 5 % by EED, seconds", "speed_fill", 2, False, _filled("whorl-eed", "best_s")),
    Target("its distance from the converged result, grey values", "speed_fill", 0.1, False,
           _filled("whorl-eed", "distance")),
    Target("filling 512² from 5 % by homogeneous diffusion, seconds", "speed_fill", 0.1, False,
           _filled("whorl-homogeneous", "best_s")),
    *(
        Target(f"filling 512² by {name} over scikit-image's biharmonic", "speed_fill", 20, True, _over_skimage(name))
        for name in ("whorl-eed", "whorl-biharmonic")
    ),
    Target("time per pixel of filling 4096² over that of 512²", "speed_fill", 1.25, False, _fill_growth),
    Target("peak memory of filling 4096², gigabytes", "speed_fill", 1, False, _fill_memory),
    *(
        Target(f"EED over the best other filling, {share} % of pixels, dB", "quality_fill", 0, True,
               _fill_lead(f"{share} % of pixels", lambda k: k != "whorl-eed" and not k.startswith("skimage")))
        for share in (1, 2, 5, 10)
    ),
    Target("EED over biharmonic, 5 % of pixels, dB", "quality_fill", 0.7, True,
           _fill_lead("5 % of pixels", lambda k: k == "whorl-biharmonic")),
    Target("turn error of the best of ours over the best of others, filling", "quality_fill", 1, False, _fill_turn),
    Target("growth exponent over pixels", "scaling", 1.1, False, _exponent("pixels")),
    Target("growth exponent over steps", "scaling", 1.05, False, _exponent("steps")),
    Target("fields kept in training for each step more", "scaling", 1.1, False, _fields_for_each_step),
    Target("training epoch of the paper's experiment, seconds", "training", 10, False, _slowest_epoch),
    Target("Gauss–Newton to the loss of 250 Adam epochs, in epochs' time", "training_long", 12, False, _newton_epochs),
    Target("five networks by Gauss–Newton and their evaluation, minutes", "training_long", 20, False, _five_minutes),
    Target("isotropic step on 64 megapixels, share of a copy, GPU", "gpu", 0.6, True, _gpu_share),
    Target("Perona–Malik step on 512³ voxels, share of a copy, GPU", "gpu_volume", 0.5, True, _gpu_volume("isotropic")),
    Target("EED step on 512³ voxels, share of a copy, GPU", "gpu_volume", 0.25, True, _gpu_volume("edge-enhancing")),
    *(
        Target(f"training epoch, {coupling}, milliseconds, GPU", "gpu", 25, False, _gpu_epoch(coupling))
        for coupling in ("uncoupled", "isotropic", "anisotropic")
    ),
    Target("five models trained and evaluated, seconds, GPU", "gpu", 60, False, _gpu_five),
    Target("first epoch of whorl train with nothing compiled, seconds, GPU", "gpu", 20, False, _gpu_first),
    Target("photo-27k on 1024² in the time of DnCNN-S, GPU", "gpu_photo", 1, False, _gpu_photo),
    Target("page: slowest first answer to a slider, 500² colour, seconds", "page", 0.1, False,
           _page("slider 500x500 colour")),
    *(
        Target(f"page: whole picture after a slider, {name}, seconds", "page", 0.1, False,
               _page("slider 500x500 colour", "full_best_s", name))
        for name in names()
    ),
    Target("page: slowest curves, seconds", "page", 2, False, _page("curves 256x256")),
    Target("page: small network on 512² grey, seconds", "page", 1, False,
           _page("network 512x512 grey", name="small-network")),
    Target("page: the same in processor time of one core", "page", 1, False,
           _page("network 512x512 grey, processor time", name="small-network")),
    Target("import whorl, seconds", "latency", 0.3, False, _seconds("start", "import whorl")),
    Target("whorl --help, seconds", "latency", 0.5, False, _seconds("start", "whorl --help")),
    Target("whorl filter 512² on a fresh machine, seconds", "latency", 8, False,
           _seconds("first use", "whorl filter 512² weickert-brox, fresh machine")),
    Target("whorl filter 512² again, seconds", "latency", 3, False,
           _seconds("first use", "whorl filter 512² weickert-brox, again")),
)  # fmt: skip


_EARLY = "Explicit steps are 125 here; with 2.4 times fewer the error is 2 to 3 times as large, with a fifth larger."
_LATE = "With 6.5 times fewer steps the error is 3 times as large by Perona–Malik, and 14 times by EED."
_ON_PAGES = "It takes 40 to 130 steps, 0.2 to 0.6 s of one core; the middle of the picture comes first."
_NETWORK_ON_PAGES = "33 billion multiplications are 3 s of one core in a browser; the workers divide them."

TAKEN_BACK: dict[str, str] = {
    "Perona–Malik step in copies of the image, 4096²": "Arithmetic and caches take 3.2 copies one after the other.",
    "single Perona–Malik step in copies of the image, 4096²": "A lone step waits for the memory.",
    "colour step (Gerig) over the fastest library, 1024²": "OpenCV gains more by the second thread; on one it is 4.8.",
    "colour step (Gerig) in copies of the image, 4096²": "Channels that lie side by side are laid out in planes first.",
    "error under turns of space over the best peer's, smooth sheets":
        "One of six peers errs less, DIPlib's filter by derivatives of Gaussians: 0.0006 beside 0.002.",
    **{f"t = 50 with FED or FSI over explicit steps, {name}": _EARLY
       for name in ("perona-malik", "gerig", "weickert-brox", "eed")},
    **{f"t = 500 with FED or FSI over explicit steps, {name}": _LATE for name in ("perona-malik", "eed")},
    "time per pixel of filling 4096² over that of 512²":
        "It is the same from 1024² to 4096², to 7 %; 512² is quicker, since all of it stays in the caches.",
    "page: slowest first answer to a slider, 500² colour, seconds": "It is missed by 4 ms, which nobody sees.",
    **{f"page: whole picture after a slider, {name}, seconds": _ON_PAGES
       for name in ("you-kaveh", "lysaker", "weickert-integration")},
    "page: whole picture after a slider, ced, seconds": "It is missed by 5 ms; the middle of the picture comes first.",
    "page: small network on 512² grey, seconds": _NETWORK_ON_PAGES,
    "page: the same in processor time of one core": _NETWORK_ON_PAGES,
}  # fmt: skip
"""Targets that were missed and are given up, and why; the other missed ones are still wanted."""

_GROUPS = {
    "One explicit step": ("speed_grey", "speed_colour", "speed_tensor", "speed_coherence"),
    "Photographs": ("speed_photo",),
    "Volumes": ("speed_volume", "quality_volume", "quality_turn_volume"),
    "The same stopping time": ("speed_time",),
    "Quality": ("quality_denoise", "quality_turn"),
    "Filling in": ("speed_fill", "quality_fill"),
    "Growth of cost": ("scaling",),
    "Training": ("training", "training_long"),
    "GPU": ("gpu", "gpu_volume", "gpu_photo"),
    "Waiting": ("latency",),
    "The page": ("page",),
}


def verdicts(folder: Path = FOLDER) -> Iterator[tuple[str, Target, float | None]]:
    """(machine, target, value) for every target and machine with results; None where the case is missing."""
    found: dict[str, dict[str, Cases]] = {}
    for path, content in documents(folder):
        machine = path.stem.split("--")[1]
        found.setdefault(machine, {})[content["suite"]] = content["cases"]
    for machine, suites in found.items():
        for target in TARGETS:
            if target.suite.startswith("gpu") != any(name.startswith("gpu") for name in suites):
                continue
            try:
                yield machine, target, target.measure(suites[target.suite])
            except (KeyError, ValueError, StopIteration):
                yield machine, target, None


def as_rows(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Verdicts as rows of a table."""
    rows, dates = [], {content["suite"]: content.get("date", "") for _, content in documents(folder)}
    for _, target, value in verdicts(folder):
        word = _word(target, value).lower()
        bound = f"{'≥' if target.at_least else '≤'} {target.bound:g}"
        row = {"method": target.text, "bound": bound, "figure": value, "verdict": word}
        rows.append({**row, "date": dates.get(target.suite, "")})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.targets", description=__doc__)
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of the result files")
    folder = parser.parse_args().results
    print(report(list(verdicts(folder))))
    for each in (folder, *EXPERIMENTS) if folder == FOLDER else (folder,):
        print(ages(each))


def ages(folder: Path = FOLDER) -> str:
    """When and at which commit each file was measured, and whether the package has changed since."""
    lines, here = ["", f"How old the files in {folder.parent.name}/{folder.name} are"], _package("HEAD")
    for path, content in documents(folder):
        date, commit = content.get("date", "no date"), content.get("commit", "")
        then = "" if commit.endswith("+") else _package(commit)
        word = "of this package" if then and then == here else "OLD: src/whorl has changed since"
        word = word if then and here else "OLD, perhaps: no such commit here, or changes beside it"
        days = f"{(datetime.date.today() - datetime.date.fromisoformat(date)).days} d" if date[0].isdigit() else ""
        lines.append(f"    {path.stem:<48} {date} {days:>5}  {commit or 'no commit':<9} {word}")
    if folder == FOLDER:
        lines.append("  A graphics card is at hand now and then only: its files lag.")
    return "\n".join(lines)


def _package(commit: str) -> str:
    """What git calls the package's folder at a commit; nothing where there is no such commit here."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--verify", "--quiet", f"{commit}:src/whorl"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip() if commit else ""


def report(found: list[tuple[str, Target, float | None]]) -> str:
    """Machine by machine, group by group, and how many were met at the end."""
    lines = []
    width = max((len(target.text) for _, target, _ in found), default=0)
    for machine in dict.fromkeys(machine for machine, _, _ in found):
        here = [(target, value) for name, target, value in found if name == machine]
        lines += ["", f"Targets on {machine}"]
        for group, suites in _GROUPS.items():
            rows = [(target, value) for target, value in here if target.suite in suites]
            lines += ["", f"  {group}"] * bool(rows)
            for target, value in rows:
                lines.append(f"    {target.text:<{width}}  {_verdict(target, value)}")
                if _word(target, value) == "MISSED" and target.text in TAKEN_BACK:
                    lines.append(f"      taken back: {TAKEN_BACK[target.text]}")
        words = [_word(target, value) for target, value in here]
        lines += ["", "  " + ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))]
    return "\n".join(lines)


def _verdict(target: Target, value: float | None) -> str:
    figure = "" if value is None else f"{value:.3g}"
    return f"{'>=' if target.at_least else '<='} {target.bound:<5g} {figure:>8}  {_word(target, value)}"


def _word(target: Target, value: float | None) -> str:
    return "not measured" if value is None else "met" if target.met(value) else "MISSED"


if __name__ == "__main__":
    main()
