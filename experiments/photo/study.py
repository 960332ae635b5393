"""Train and measure the trials of one call, all side by side on one device, within a given time.

    PYTHONPATH=src:. python experiments/photo/study.py explore --train CTrain400 --test BSD68 --out DIR --device cuda
        --seconds 420

Every trial runs in a process of its own. All of them first take a few steps together, which tells how many steps fit
into the time; then each trains. OUT receives ``results.json`` and ``weights.safetensors``, brought up to date all the
time, so that a call that is cut short has lost nothing it had finished.
"""

import argparse
import dataclasses
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchmarks.machine import origin
from peers import plain_network
from trials import CALLS, Trial

from whorl.data.photographs import photographs, set_aside
from whorl.evaluation.angles import denoised_psnr, noisy_picture
from whorl.foundations.atomic import write_bytes
from whorl.foundations.provenance import versions
from whorl.invariance.coincidence import noisy_turn_error
from whorl.networks.photo import PhotoNetwork
from whorl.training import train
from whorl.training.history import Lines
from whorl.training.pairs import LevelInput, NoisyPatches

PROBE = int(os.environ.get("PROBE", 40))  # steps that tell the speed
EPOCH = 250  # steps per epoch


def main() -> None:
    """Start the trials, or run one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("call", choices=sorted(CALLS))
    parser.add_argument("--train", required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument(
        "--held", default="", help="folder of the pictures held back, where that to train on has small ones"
    )
    parser.add_argument("--colour-test", default="")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=Path("build/photo"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=400.0)
    parser.add_argument("--steps", type=int, default=0, help="steps of a trial; by default what fits the time")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--batch", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=int, default=0, help="test pictures; all by default")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--start", default="", help="weights.safetensors of an earlier call to go on from")
    parser.add_argument("--trial", default="")
    given = parser.parse_args()
    if given.trial:
        run(given.trial, CALLS[given.call][given.trial], given)
    else:
        lead(given)


def lead(given: argparse.Namespace) -> None:
    """Start a process for every trial, tell them how many steps to take, and gather what they find."""
    began = time.monotonic()
    given.work.mkdir(parents=True, exist_ok=True)
    given.out.mkdir(parents=True, exist_ok=True)
    names = [name for name in CALLS[given.call] if not given.only or name in given.only]
    started = {}
    for name in names:
        log = open(given.work / f"{name}.log", "w")  # noqa: SIM115
        command = [sys.executable, *sys.argv, "--trial", name]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        environment["TORCHINDUCTOR_COMPILE_THREADS"] = "2"
        started[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment)

    def wait_for(kind: str) -> None:
        while any(p.poll() is None and not (given.work / f"{n}.{kind}").exists() for n, p in started.items()):
            time.sleep(0.05)

    wait_for("ready")
    probed = time.monotonic()
    (given.work / "probe").touch()
    wait_for("probed")
    total = (time.monotonic() - probed) / PROBE  # seconds for one step of every trial
    left = given.seconds - (time.monotonic() - began)
    shares = sum(CALLS[given.call][name].longer for name in names) / len(names)
    steps = given.steps or max(EPOCH, int(left / total / shares / EPOCH) * EPOCH)
    print(f"ready after {probed - began:.0f} s; {1000 * total:.1f} ms for a step of all; {steps} steps", flush=True)
    write_bytes(given.work / "steps", str(steps).encode())
    while any(p.poll() is None for p in started.values()):
        time.sleep(5)
        gather(given, names)
    gather(given, names)
    for name, process in started.items():
        if process.returncode:
            print(name, "failed:", (given.work / f"{name}.log").read_text()[-1500:], flush=True)


def gather(given: argparse.Namespace, names: list[str]) -> None:
    """Bring the results under OUT up to date."""
    from safetensors.torch import load_file, save

    found, tensors = {}, {}
    for name in names:
        if (given.work / f"{name}.json").exists():
            found[name] = json.loads((given.work / f"{name}.json").read_text())
            weights = load_file(given.work / f"{name}.safetensors")
            tensors |= {f"{name}/{key}": value for key, value in weights.items()}
    head = {"call": given.call, "command": " ".join(sys.argv), **origin(), "versions": versions()}
    head["device"] = device_name(given)
    lines = [f"{json.dumps(name)}: {json.dumps(result)}" for name, result in found.items()]
    text = json.dumps(head)[:-1] + ', "trials": {\n' + ",\n".join(lines) + "\n}}\n"
    write_bytes(given.out / "results.json", text.encode())
    if tensors:
        write_bytes(given.out / "weights.safetensors", save(tensors))
    logs = [f"== {name}\n{(given.work / f'{name}.log').read_text()}" for name in names]
    write_bytes(given.out / "log.txt", "\n".join(logs).encode())


def run(name: str, trial: Trial, given: argparse.Namespace) -> None:
    """Train and measure one trial."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.manual_seed(given.seed)
    device = torch.device(given.device)
    network = (plain_network(trial.plain) if trial.plain else PhotoNetwork(trial.spec)).to(device)
    mine: dict[str, torch.Tensor] = {}
    if given.start:
        from safetensors.torch import load_file

        earlier = load_file(given.start)
        mine = {key.removeprefix(f"{name}/"): value for key, value in earlier.items() if key.startswith(f"{name}/")}
        if mine:
            network.load_state_dict(mine)
    network.low_precision = trial.training.precision == "bfloat16" and device.type == "cuda"
    learner = LevelInput(network) if trial.spec.blind else network
    pictures = photographs(given.train, trial.spec.channels, given.size)
    learned, held = set_aside(pictures)
    config = dataclasses.replace(trial.training, seed=given.seed, batch=given.batch or trial.training.batch)
    capture = False
    # The probe: everything is compiled and measured before the clock of the study starts.
    patches = NoisyPatches(
        list(learned.values()), trial.spec.noise, size=given.size, count=PROBE * config.batch, seed=given.seed,
        device=device,
    )  # fmt: skip
    start = {key: value.clone() for key, value in learner.state_dict().items()}
    probing = dataclasses.replace(config, epochs=1)
    if device.type == "cuda" and not trial.plain:
        try:
            network.compiled()
            train(learner, patches, probing)
        except Exception as error:  # whatever stops the compiler, the plain way remains
            print(f"{name}: not compiled ({error})", flush=True)
            network.compiled(False)
        try:
            train(learner, patches, probing, capture=True)
            capture = True
        except Exception as error:  # the same steps, launched one by one
            print(f"{name}: not recorded as a graph ({error})", flush=True)
            learner.load_state_dict(start)
    train(learner, patches, probing, capture=capture)
    (given.work / f"{name}.ready").touch()
    while not (given.work / "probe").exists():
        time.sleep(0.02)
    train(learner, patches, probing, capture=capture)
    synchronise(device)
    (given.work / f"{name}.probed").touch()
    while not (given.work / "steps").exists():
        time.sleep(0.05)
    learner.load_state_dict(start)
    steps = int(int((given.work / "steps").read_text()) * trial.longer)
    patches.count = min(EPOCH, steps) * config.batch
    config = dataclasses.replace(config, epochs=math.ceil(steps / EPOCH))
    result: dict[str, Any] = {
        "spec": trial.spec.as_dict(),
        "plain": trial.plain,
        "training": config.as_dict(),
        "steps": steps,
        "parameters": sum(p.numel() for p in network.parameters()),
        "pictures": len(learned),
        "started_from": given.start if mine else "",
        "origin": trial.origin,
        "train": Path(given.train).name,
    }
    began = time.monotonic()
    history = train(
        learner, patches, config, checkpoint=given.work / f"{name}.checkpoint", identity={"spec": trial.spec.as_dict()},
        capture=capture, progress=Lines(name, every=20),
    )  # fmt: skip
    result["seconds"] = max(time.monotonic() - began, sum(epoch.seconds for epoch in history.epochs))
    result["train_psnr"] = [round(epoch.psnr, 4) for epoch in history.epochs]
    if trial.share < 1:
        result["share"] = trial.share
        end = learner.state_dict()
        learner.load_state_dict({key: start[key] + trial.share * (end[key] - start[key]) for key in end})
    if given.held:
        held = set_aside(photographs(given.held, trial.spec.channels, given.size))[1]
    keep(given, name, network, result)
    measure(given, name, trial, network, {n: held[n] for n in list(held)[:12]}, result)


def measure(
    given: argparse.Namespace, name: str, trial: Trial, network: torch.nn.Module, held: Any, result: dict[str, Any]
) -> None:
    """PSNR on the held-back and test pictures, and the errors under turns; kept after every one of them."""
    network.low_precision = False
    network.eval()
    if not trial.plain:
        network.compiled(False)
    torch.backends.cudnn.benchmark = False
    low, high = trial.spec.noise
    levels = [15.0, 25.0, 50.0] if low < high else [low]
    tests = photographs(given.test if trial.spec.channels == 1 else given.colour_test, trial.spec.channels)
    tests = {n: tests[n] for n in list(tests)[: given.pictures or None]}
    began = time.monotonic()
    for level in levels:

        def denoise(u: torch.Tensor, level: float = level) -> torch.Tensor:
            return network(u, level)

        for label, group in (("held", held), ("test", tests)):
            found = denoised_psnr(denoise, group, level, given.seed, device=given.device)
            result[f"{label}_{level:g}"] = sum(found.values()) / len(found)
            if label == "test":
                result[f"pictures_{level:g}"] = [round(value, 3) for value in found.values()]
        noisy = [
            noisy_picture(picture[:, :192, :192], number, level)[0]
            for number, picture in enumerate(list(held.values())[:4])
        ]
        errors = noisy_turn_error(denoise, noisy, device=given.device)
        result[f"turn_{level:g}"] = {f"{error.angle:.1f}": error.relative for error in errors}
        keep(given, name, network, result)
    result["measured_in"] = time.monotonic() - began
    keep(given, name, network, result)
    print(name, {key: value for key, value in result.items() if key.startswith(("held", "test", "turn"))}, flush=True)


def keep(given: argparse.Namespace, name: str, network: torch.nn.Module, result: dict[str, Any]) -> None:
    """Write weights and results."""
    from safetensors.torch import save

    tensors = {key: value.detach().cpu().contiguous() for key, value in network.state_dict().items()}
    write_bytes(given.work / f"{name}.safetensors", save(tensors))
    write_bytes(given.work / f"{name}.json", json.dumps(result).encode())


def synchronise(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def device_name(given: argparse.Namespace) -> str:
    """What computed."""
    return torch.cuda.get_device_name() if given.device.startswith("cuda") else "CPU"


if __name__ == "__main__":
    main()
