"""Draw what networks for photographs cost, what angles do to them, and tables beside other methods, from the results.

PYTHONPATH=src python experiments/photo/costs.py

Reads experiments/photo/results and the results of ``python -m benchmarks speed_photo``; run it after figures.py.
"""

import json
from statistics import mean

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from figures import IMAGES, INK, OTHERS, OURS, PAGES, RESULTS, ROOT, THIRD, write

from whorl.networks import PhotoNetwork, PhotoSpec, load_card, photo_networks

# Multiplications per pixel that follow from the published structures: a 3x3 network uses every weight once, FFDNet at a
# quarter of the pixels, TNRD applies 48 filters of 7x7 and their transposes in five stages.
COUNTED = {
    "DnCNN-S": (9 * (2 * 64 + 15 * 64**2), 29.23),
    "DnCNN-small": (66_000, 29.05),
    "FFDNet": (485_000 // 4, 29.19),
    "TNRD 7×7": (2 * 5 * 48 * 49, 28.92),
}
STYLES = {"photo-27k": (OURS, "-"), "photo-27k-strict": (OURS, "--"), "photo-8k": (OURS, ":"),
          "resnet-27k": (THIRD, "-"), "dncnn-27k": (THIRD, "--"), "BM3D": (OTHERS, "-")}  # fmt: skip
LEVELS = ("15", "25", "50")


def main() -> None:
    """Draw everything there are results for."""
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "whorl",
         "axes.grid": True, "grid.color": "#e3e7ea", "axes.axisbelow": True, "text.color": INK, "axes.labelcolor": INK}
    )  # fmt: skip
    multiplications()
    angles()
    others()
    speed()


def multiplications() -> None:
    """PSNR over multiplications per pixel."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for label, (count, value) in COUNTED.items():
        axes.plot(count, value, "o", color=OTHERS, ms=4)
        axes.annotate(label, (count, value), (5, 3), textcoords="offset points", color=OTHERS, fontsize=7.5)
    rows = [("network", "parameters", "multiplications per pixel", "as dense convolutions")]
    for name in photo_networks():
        card = load_card(name)
        network = card.build()
        rows.append(
            (f"``{name}``", f"{network.parameter_count:,}", f"{network.multiplications:,}", f"{dense(network):,}")
        )
        if card.network.channels == 1:
            place = {"photo-grey": (6, -3)}.get(name, (6, 2))
            axes.plot(network.multiplications, card.figures["test_25"], "D", color=OURS, ms=5)
            axes.annotate(name, (network.multiplications, card.figures["test_25"]), place, textcoords="offset points",
                          color=OURS, fontsize=7.5)  # fmt: skip
    axes.set(
        xscale="log",
        xlabel="multiplications per pixel",
        ylabel="PSNR in dB",
        title="BSD68, noise 25",
        xlim=(16e3, 1.1e6),
    )
    axes.set_xticks([20_000, 50_000, 100_000, 200_000, 500_000], ["20k", "50k", "100k", "200k", "500k"])
    axes.minorticks_off()
    axes.margins(x=0.12)
    figure.savefig(IMAGES / "photo-multiplications.svg", metadata={"Date": None})
    write("multiplications", rows)


def dense(network: PhotoNetwork) -> int:
    """Multiplications per pixel of the same network with its operators as 5x5 convolutions."""
    spec: PhotoSpec = network.spec
    responses = sum(count * (1 if order == 0 else 2) for order, count in enumerate(spec.fields))
    block = 2 * spec.width * responses * spec.size**2 + sum(spec.fields) ** 2
    ends = 0 if spec.stable else 2 * spec.channels * spec.width * spec.size**2
    return ends + len(network.schedule()) * block


def angles() -> None:
    """PSNR over the angle of the picture."""
    found = json.loads((RESULTS / "angles.json").read_text())
    whole = {method: by for method, by in found["psnr"].items() if by}
    common = set.intersection(*(set(by) for by in whole.values()))
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    rows = [("method", "mean in dB", "spread over angles", "spread of the distance to ``photo-27k``")]
    first: list[float] = []
    for method, by in whole.items():
        curve = [mean(values) for values in zip(*(by[name] for name in sorted(common)), strict=True)]
        colour, line = STYLES[method]
        axes.plot(
            found["angles"], [value - mean(curve) for value in curve], line, color=colour, label=method, marker="."
        )
        first = first or curve
        apart = [a - b for a, b in zip(curve, first, strict=True)]
        spreads = [f"{max(values) - min(values):.3f} dB" for values in (curve, apart)]
        rows.append((method, f"{mean(curve):.2f}", spreads[0], spreads[1] if method != "photo-27k" else ""))
    axes.set(xlabel="angle of the picture in degrees", ylabel="PSNR minus its mean, in dB", xticks=found["angles"],
             title=f"{len(common)} pictures of BSD68, noise 25")  # fmt: skip
    figure.legend(frameon=False, fontsize=7.5, ncols=3, loc="outside lower center")
    figure.savefig(IMAGES / "photo-angles.svg", metadata={"Date": None})
    write("angles", rows)
    with (PAGES / "angles.inc").open("a") as page:
        page.write("\n.. image:: images/photo-angles.svg\n")
        page.write("   :alt: PSNR over the angle of the picture, each minus its mean.\n")


def others() -> None:
    """photo-colour beside BM3D, non-local means and total variation."""
    peers = json.loads((RESULTS / "peers.json").read_text())
    ours = json.loads((RESULTS / "compare.json").read_text())
    names = [name for name in ours["psnr"]["25"] if all(name in peers["psnr"][level] for level in LEVELS)]
    rows = [("method", *(f"noise {level}" for level in LEVELS))]
    methods = [(ours, method) for method in ours["psnr"]["25"][names[0]]]
    methods += [(peers, method) for method in peers["psnr"]["25"][names[0]]]
    for results, method in methods:
        rows.append(
            (method, *(f"{mean(results['psnr'][level][name][method] for name in names):.2f}" for level in LEVELS))
        )
    ahead = [
        sum(ours["psnr"][level][n]["photo-colour"] > peers["psnr"][level][n]["BM3D"] for n in names) for level in LEVELS
    ]
    rows.append((f"pictures of {len(names)} on which photo-colour is ahead of BM3D", *map(str, ahead)))
    write("others", rows)


def speed() -> None:
    """Times beside DnCNN-S, from the benchmark."""
    files = sorted((ROOT / "benchmarks" / "results").rglob("speed_photo--*.json"))
    if not files:
        (PAGES / "speed.inc").write_text("These times have not been measured yet.\n")
        return
    rows = [("method", "size", "threads", "seconds", "over DnCNN-S")]
    for name, case in json.loads(files[-1].read_text())["cases"].items():
        for row in case if "memory" not in name else []:
            times = (f"{row['best_s']:.2f}", f"{row['over_dncnn']:.2f}")
            rows.append((row["method"], f"{row['size']}²", str(row["threads"]), *times))
    write("speed", rows)


if __name__ == "__main__":
    main()
