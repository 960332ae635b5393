"""The training loop: one for every network and optimiser."""

import math
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from whorl.errors import FileError, StabilityError
from whorl.training.adam import AdamMethod
from whorl.training.checkpoint import Checkpoint, claimed, read_checkpoint, write_checkpoint
from whorl.training.config import TrainingConfig
from whorl.training.distributed import Team
from whorl.training.gauss_newton import GaussNewtonMethod
from whorl.training.history import Epoch, History, Reporter
from whorl.training.method import Begun, Method, sums, trainable
from whorl.training.pairs import Pairs

WATCHED = 1.0
"""Seconds between two looks at a running epoch: Ctrl-C loses no more, and no step that takes longer."""

TIMED = 2
"""Steps that are timed, after the first one, before the time that is left is told."""


def train(
    network: nn.Module,
    pairs: Pairs,
    config: TrainingConfig,
    *,
    checkpoint: Path | None = None,
    identity: Mapping[str, Any] | None = None,
    team: Team | None = None,
    capture: bool = False,
    seconds: float = math.inf,
    progress: Reporter | None = None,
    check: Callable[[], float] | None = None,
) -> History:
    """Train ``network`` in place to map noisy to clean images.

    The same network, pairs, configuration and number of threads give the same parameters, bit for bit on a CPU.
    Network and pairs are expected on the same device.

    Parameters
    ----------
    network : nn.Module
        Its trainable parameters are changed.
    pairs : Pairs
        Noisy and clean images.
    config : TrainingConfig
        How to train.
    checkpoint : Path, optional
        Where the run's state is kept. If the file exists the run goes on from it, and ends with the parameters it would
        have had without the interruption. A checkpoint of other settings or another network is refused.
    identity : mapping, optional
        Plain values that must agree between the checkpoint and this run: what the data and the network are.
    team : Team, optional
        The processes training together, from :func:`~whorl.training.distributed.join_team`.
    capture : bool
        Record an Adam step as a CUDA graph.
    seconds : float
        Stop cleanly after the first epoch that ends later than this; the run can be resumed.
    progress : Reporter, optional
        Receives every finished epoch.
    check : callable, optional
        Gives the PSNR on pictures that are held back, after every epoch.

    Raises
    ------
    FileError
        When another process is training into the same checkpoint.
    StabilityError
        When the loss or a parameter is no longer finite. The network (and the checkpoint) then hold the state before
        the epoch in which this happened.

    Examples
    --------
    >>> from whorl.training import TensorPairs, TrainingConfig
    >>> u = torch.full((2, 1, 8, 8), -100.0)
    >>> network = torch.nn.PReLU(init=1.0)  # a slope that has to become one half
    >>> history = train(network, TensorPairs(2 * u, u), TrainingConfig(epochs=2, batch=2, rate=0.01))
    >>> history.epochs[1].loss < history.epochs[0].loss
    True
    """
    began = time.monotonic()
    team, progress = team or Team(), progress or Reporter()
    with ExitStack() as held:
        if checkpoint is not None and team.leads:
            held.enter_context(claimed(checkpoint))
        held.callback(progress.close)
        for p in trainable(network).values():
            team.copy_from_leader(p.data)
        method = _method(network, pairs, config, team, capture)
        history = History()
        meta = {"config": config.as_dict(), "identity": dict(identity or {})}
        if checkpoint is not None and checkpoint.exists():
            history = _resume(checkpoint, network, method, meta)
        good, written, begun = _snapshot(network, method), time.monotonic(), history.begun
        taken, counted = written, (written, 0)

        def keep() -> None:
            if checkpoint is not None and team.leads:
                kept = {"history": history.as_dict(), "begun": list(begun)}
                write_checkpoint(checkpoint, Checkpoint(good, {**meta, **kept}))

        def watch(done: Callable[[], Begun], step: int, steps: int) -> None:
            """Tell of a step, and keep its state where some time has passed: a second, or a step that takes longer."""
            nonlocal good, written, begun, taken, counted
            now, reached = time.monotonic(), len(history.epochs) * steps + step
            if not counted[1]:
                counted = now, reached  # kernels are compiled in the first step, which tells nothing of the next ones
            if now - taken < WATCHED and step > 1:
                return
            taken, so_far = now, done()
            state = _snapshot(network, method) if team.size == 1 and math.isfinite(so_far.loss) else {}
            if state and all(bool(torch.isfinite(t).all()) for t in state.values()):
                good, begun = state, so_far
                if now - written >= config.checkpoint_seconds:
                    keep()
                    written = now
            pace = (now - counted[0]) / (reached - counted[1]) if reached - counted[1] >= TIMED else None
            words = f"loss {so_far.loss / so_far.images:.2f}  PSNR {so_far.psnr / so_far.images:.2f} dB"
            words += f"  {1 / max(pace, 1e-9):.2g} steps/s" if pace is not None else ""
            every = config.epochs * steps
            progress.step(reached, every, words, None if pace is None else (every - reached) * pace)

        try:
            while not history.stopped:
                start = time.monotonic()
                found = method.epoch(len(history.epochs), begun, watch)
                state = _snapshot(network, method)
                if not math.isfinite(found.loss) or not all(bool(torch.isfinite(t).all()) for t in state.values()):
                    _restore(network, method, good)
                    keep()
                    raise StabilityError(_diverged(found.loss, len(history.epochs), config, checkpoint))
                good, begun = state, Begun()
                held_back = None if check is None or not team.leads else check()
                history.epochs.append(Epoch(found.loss, found.psnr, time.monotonic() - start, held_back))
                done = len(history.epochs)
                history.stopped = "converged" if method.converged else "epochs" if done >= config.epochs else ""
                history.stopped = history.stopped or ("no gain" if history.idle(config.patience) else "")
                progress.epoch(done, config.epochs, history.last, _remaining(history, config))
                late = time.monotonic() - began > seconds
                if history.stopped or late or time.monotonic() - written >= config.checkpoint_seconds:
                    keep()
                    written = time.monotonic()
                if late:
                    break
        except KeyboardInterrupt:
            keep()
            raise
    if history.stopped and team.leads:
        _judge(history, pairs, config)
    return history


def _judge(history: History, pairs: Pairs, config: TrainingConfig) -> None:
    """Warn of a training that was in vain."""
    noisy, clean = pairs.batch(torch.arange(min(len(pairs), 16)), 0)
    untouched = float(sums(noisy[:, : clean.shape[1]] - clean, config.peak)[1]) / len(clean)
    first, last = history.epochs[0].psnr, history.last.psnr
    if last < first:
        what = f"worse than it began: {last:.2f} dB in the last epoch, {first:.2f} dB in the first"
    elif last < untouched:
        what = f"at {last:.2f} dB, worse than the noisy pictures themselves at {untouched:.2f} dB"
    else:
        return
    warnings.warn(f"the training ended {what}. Lower the rate, or start from other values.", stacklevel=3)


def _method(network: nn.Module, pairs: Pairs, config: TrainingConfig, team: Team, capture: bool) -> Method:
    if config.optimiser == "gauss-newton":
        return GaussNewtonMethod(network, pairs, config, team)
    return AdamMethod(network, pairs, config, team, capture=capture)


def _snapshot(network: nn.Module, method: Method) -> dict[str, Tensor]:
    named = {f"parameter.{name}": p for name, p in trainable(network).items()}
    own = {f"optimiser.{name}": tensor for name, tensor in method.state().items()}
    return {name: tensor.detach().clone() for name, tensor in {**named, **own}.items()}


def _restore(network: nn.Module, method: Method, state: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, p in trainable(network).items():
            p.copy_(state[f"parameter.{name}"])
    prefix = "optimiser."
    method.load({name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)})


def _resume(path: Path, network: nn.Module, method: Method, meta: Mapping[str, Any]) -> History:
    found = read_checkpoint(path, like=_snapshot(network, method))
    try:
        config, identity = dict(found.meta["config"]), found.meta["identity"]
        history = History.from_dict(found.meta["history"])
        history.begun = Begun(*found.meta.get("begun", ()))
    except (KeyError, TypeError):
        raise FileError(f"{path}: holds no training run. It is left untouched; choose another name.") from None
    config, wanted = {**TrainingConfig().as_dict(), **config}, dict(meta["config"])
    config["checkpoint_seconds"] = wanted["checkpoint_seconds"]  # changes nothing of the run
    if wanted["epochs"] > config["epochs"]:  # prolonged
        config["epochs"], history.stopped = wanted["epochs"], ""
    if wanted["patience"] != config["patience"]:
        config["patience"] = wanted["patience"]
        history.stopped = "" if history.stopped == "no gain" else history.stopped
    differing = [f"{n}: {config.get(n)!r} for {v!r}" for n, v in wanted.items() if config.get(n) != v]
    differing += [f"{n}: {identity.get(n)!r} for {v!r}" for n, v in meta["identity"].items() if identity.get(n) != v]
    if differing:
        raise FileError(f"{path}: was written by a run with other settings ({', '.join(differing)}). Use another name.")
    _restore(network, method, found.tensors)
    return history


def _remaining(history: History, config: TrainingConfig) -> float:
    recent = [epoch.seconds for epoch in history.epochs[-10:]]
    return (config.epochs - len(history.epochs)) * sum(recent) / len(recent)


def _diverged(loss: float, epoch: int, config: TrainingConfig, checkpoint: Path | None) -> str:
    kept = f"; {checkpoint} and the network hold" if checkpoint is not None else "; the network holds"
    return (
        f"train: the loss became {loss} in epoch {epoch + 1} of {config.epochs}{kept} the last good state, "
        f"{epoch} epochs old. Lower the rate ({config.rate:g}), or start from a smaller tau."
    )
