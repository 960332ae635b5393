"""Cards of the learned energies from the weights that training left, and what they reach.

``python -m experiments.energies cards FOLDER`` makes the cards; FOLDER holds KIND.safetensors and KIND.log of each run,
and KIND1.log of the run before where there was one. Then run ``python -m experiments.terms``.
``python -m experiments.energies measure BSD68/ [NAME...]`` denoises the middle of some test pictures, to the stated
tolerance; with names only these, beside what was measured before.
``python -m experiments.energies lipschitz [NAME...]`` estimates the Lipschitz constants of shipped networks.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import torch
from benchmarks.machine import origin
from safetensors.torch import load_file

import whorl
from whorl.foundations.provenance import versions
from whorl.networks import EnergySpec, ModelCard, load, photo_networks

RESULTS = Path(__file__).parent / "results" / "energies.json"
CARDS = Path(whorl.__file__).parent / "networks" / "energies"
KINDS = ("convex", "weak", "guided")
NAMES = {
    "E.weights": "energy.operator.weights",
    "E.taps_": "energy.operator.taps_",
    "E.theta": "energy.potentials.theta",
    "E.t": "energy.potentials.knots",
    "E.log_c": "energy.log_contrast",
    "E.log_a": "energy.log_factor",
    "G.": "guide.",
}
EVERY, SIDE, LEVELS = 12, 96, (5.0, 15.0, 25.0)


def cards(folder: Path) -> None:
    """One card for each run."""
    for kind in KINDS:
        log = (folder / f"{kind}.log").read_text()
        first = folder / f"{kind}1.log"  # of the run whose end a second one started from
        earlier = [first.read_text()] if first.exists() else []
        told = json.loads(re.search(r"\{.*\}", log.splitlines()[0])[0])
        network = EnergySpec(kind, tuple(told["fields"]), told["mu"]).build()
        weights = {}
        for name, tensor in load_file(folder / f"{kind}.safetensors").items():
            begin = next(begin for begin in NAMES if name.startswith(begin))
            weights[name.replace(begin, NAMES[begin], 1)] = tensor
        network.load_state_dict(weights)
        reached = json.loads(re.search(r"^valid (\{.*\})$", log, re.MULTILINE)[1])
        figures = {"validation": {level: psnr for level, (psnr, _) in reached.items()},
                   "validation_residual": {level: residual for level, (_, residual) in reached.items()},
                   "validation_steps": told["evalsteps"]}  # fmt: skip
        iterations = [int(re.findall(r"^it (\d+)", text, re.MULTILINE)[-1]) for text in (*earlier, log)]
        training = {"seed": 0, "iterations": sum(iterations), "runs": iterations,
                    "batch": told["batch"], "patch": told["patch"],
                    "method": f"implicit differentiation, {told['steps']} accelerated steps and {told['cg']} of "
                              "conjugate gradients each, in half precision",
                    "device": f"H200, {len(iterations)} x six minutes"}  # fmt: skip
        data = {"name": "Train400", "pictures": 384, "held back": 16, "noise": list(LEVELS)}
        about = f"A learned energy of coupled fields, {kind}; its minimiser removes white noise from grey pictures."
        ModelCard.of(f"energy-{kind}", network.eval(), figures, training=training, data=data, about=about).write(
            CARDS / f"energy-{kind}.safetensors"
        )
        print(kind, network.parameter_count, figures)


def kept(name: str, found: dict) -> None:
    """Write a part of the result file."""
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    old[name] = {"command": f"python -m experiments.energies {' '.join(Path(a).name for a in sys.argv[1:])}",
                 "versions": versions(), **found}  # fmt: skip
    old |= origin()
    RESULTS.write_text(json.dumps(old, indent=1) + "\n")


def plain(network: torch.nn.Module) -> torch.nn.Module:
    """The network with every block on the reference engine."""
    for block in network.modules():
        if hasattr(type(block), "engine"):
            block.engine = "reference"
    return network


@torch.no_grad()
def measure(path: Path) -> None:
    """The middle of every twelfth picture: these figures compare with each other, not with those of whole pictures."""
    pictures = [whorl.files.read(name).samples[..., 0] for name in sorted(path.glob("*.png"))[::EVERY]]
    crops = [p[(p.shape[0] - SIDE) // 2 :, (p.shape[1] - SIDE) // 2 :][:SIDE, :SIDE] for p in pictures]
    rows = json.loads(RESULTS.read_text())["measure"]["rows"] if sys.argv[3:] else {}
    for name in sys.argv[3:] or ("photo-grey", "energy-convex", "energy-weak", "energy-guided"):
        network = plain(load(name))
        for level in LEVELS[::-1]:
            got, steps, residual = [], [], []
            for number, crop in enumerate(crops):
                clean = torch.from_numpy(crop.astype(np.float32))[None, None]
                noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(number))
                f = clean + level * noise
                if name.startswith("energy"):
                    found = network.minimum(f, network.term(f, level))
                    u = found.u
                    steps.append(found.steps)
                    residual.append(found.residual)
                else:
                    u = network(f, level)
                got.append(float(10 * torch.log10(255**2 / (u - clean).square().mean())))
            rows.setdefault(name, {})[f"{level:g}"] = {"psnr": round(float(np.mean(got)), 3), "steps": steps,
                                                       "residual": max(residual, default=0.0)}  # fmt: skip
            print(name, level, rows[name][f"{level:g}"], flush=True)
            kept("measure", {"pictures": len(crops), "side": SIDE, "every": EVERY, "rows": rows})


@torch.no_grad()
def whole(path: Path, names: list[str]) -> None:
    """Every whole picture of the folder, to the stated tolerance."""
    torch.set_num_threads(1)
    files = sorted(path.glob("*.png"))
    rows = json.loads(RESULTS.read_text()).get("whole", {}).get("rows", {})
    for level in LEVELS[::-1]:
        for name in names or [f"energy-{kind}" for kind in KINDS]:
            network, got, steps, residual = load(name), [], [], 0.0
            for number, file in enumerate(files):
                clean = torch.from_numpy(whorl.files.read(file).samples[..., 0].astype(np.float32))[None, None]
                f = clean + level * torch.randn(clean.shape, generator=torch.Generator().manual_seed(number))
                found = network.minimum(f, network.term(f, level))
                got.append(round(float(10 * torch.log10(255**2 / (found.u - clean).square().mean())), 3))
                steps.append(found.steps)
                residual = max(residual, found.residual)
                print(name, level, file.name, got[-1], found.steps, flush=True)
            rows.setdefault(name, {})[f"{level:g}"] = {
                "psnr": round(float(np.mean(got)), 3), "steps": [min(steps), max(steps)], "residual": residual,
                "pictures": got,
            }  # fmt: skip
            print(name, level, rows[name][f"{level:g}"], flush=True)
            kept("whole", {"pictures": len(files), "rows": rows})


def lipschitz(side: int = 48, steps: int = 12) -> None:
    """A lower bound at one noisy picture: power iteration of J^T J, with exact products."""
    torch.manual_seed(0)
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    scene = (127.5 + 80 * torch.sin(x / 4) * torch.cos(y / 6) + 60.0 * (x > y)).float()[None, None]
    rows = json.loads(RESULTS.read_text())["lipschitz"]["rows"] if sys.argv[2:] else {}
    for name in sys.argv[2:] or (*photo_networks(), *(f"energy-{kind}" for kind in KINDS)):
        network = plain(load(name))
        f = (scene + 25 * torch.randn_like(scene)).expand(-1, network.channels or 1, -1, -1).clone()
        function = lambda u, network=network: network(u, 25.0)  # noqa: E731
        f.requires_grad_()
        out = function(f)
        probe = torch.zeros_like(out, requires_grad=True)
        (back,) = torch.autograd.grad(out, f, probe, create_graph=True) if not name.startswith("energy") else (None,)
        d, norm = torch.randn_like(f), 0.0
        for _ in range(steps):
            d = d / d.norm()
            if back is None:  # the Jacobian of a minimiser is symmetric, unless a guide looks at the data
                image = (function((f + 1.0 * d).detach()) - function((f - 1.0 * d).detach())).detach() / 2.0
                back_d = torch.autograd.grad(out, f, image, retain_graph=True)[0]
            else:
                (image,) = torch.autograd.grad(back, probe, d, retain_graph=True)
                back_d = torch.autograd.grad(out, f, image, retain_graph=True)[0]
            norm, d = float(image.detach().norm()), back_d.detach()
        rows[name] = round(norm, 3)
        print(name, rows[name], flush=True)
        kept("lipschitz", {"side": side, "steps": steps, "noise": 25, "rows": rows})


if __name__ == "__main__":
    {
        "cards": lambda: cards(Path(sys.argv[2])),
        "measure": lambda: measure(Path(sys.argv[2])),
        "whole": lambda: whole(Path(sys.argv[2]), sys.argv[3:]),
        "lipschitz": lipschitz,
    }[sys.argv[1]]()
