"""The loop trains, repeats itself, resumes exactly, and stops where it must."""

import math

import pytest
import torch
from torch import nn

from whorl.errors import FileError, StabilityError
from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.spec import NetworkSpec
from whorl.training import PROTOCOLS, TensorPairs, TrainingConfig, read_checkpoint, train
from whorl.training.adam import AdamMethod
from whorl.training.checkpoint import claimed
from whorl.training.distributed import Team
from whorl.training.history import Lines, Reporter, show
from whorl.training.method import image_order

QUICK = TrainingConfig(epochs=4, batch=4, rate=0.05, checkpoint_seconds=0)


def fresh() -> MultiscaleNetwork:
    return MultiscaleNetwork(NetworkSpec("anisotropic", steps=2, scales=3), tau=0.1, contrast=100.0)


def parameters(network: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


class Interrupt(Reporter):
    """Ctrl-C after some epochs."""

    def __init__(self, after: int) -> None:
        self.after, self.closed = after, False

    def epoch(self, done, total, row, remaining):
        if done == self.after:
            raise KeyboardInterrupt

    def close(self):
        self.closed = True


@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_training_lowers_the_loss(pairs, network, schedule):
    history = train(network, pairs, TrainingConfig(epochs=12, batch=4, rate=0.05, schedule=schedule))
    assert history.stopped == "epochs"
    assert len(history.epochs) == 12
    assert history.last.loss < 0.8 * history.epochs[0].loss
    assert history.last.psnr > history.epochs[0].psnr


@pytest.mark.parametrize("optimiser", ["adam", "gauss-newton"])
def test_loss_and_psnr_are_those_of_the_outputs(pairs, network, optimiser):
    if optimiser == "gauss-newton":  # tells of the network after its step
        history = train(network, pairs, TrainingConfig(optimiser=optimiser, epochs=1))
    with torch.no_grad():
        errors = (network(pairs.noisy) - pairs.clean).square().flatten(1).mean(1).double()
    if optimiser == "adam":
        history = train(network, pairs, TrainingConfig(epochs=1, batch=6, rate=1e-9))
    assert history.last.loss == pytest.approx(float(errors.mean()), rel=1e-6)
    assert history.last.psnr == pytest.approx(float((10 * torch.log10(255**2 / errors)).mean()), rel=1e-6)


def test_the_same_run_twice_gives_the_same_bits(pairs):
    first, second, other = fresh(), fresh(), fresh()
    train(first, pairs, QUICK)
    train(second, pairs, QUICK)
    train(other, pairs, TrainingConfig(epochs=4, batch=4, rate=0.05, seed=1))
    assert torch.equal(parameters(first), parameters(second))
    assert not torch.equal(parameters(first), parameters(other))


@pytest.mark.parametrize("optimiser", ["adam", "whitened", "gauss-newton"])
def test_an_interrupted_run_ends_where_the_undisturbed_one_does(pairs, tmp_path, optimiser):
    config = TrainingConfig(optimiser=optimiser, epochs=4, batch=4, rate=0.05, tolerance=0, schedule="cosine")
    whole = fresh()
    train(whole, pairs, config)
    path = tmp_path / "run.safetensors"
    stop = Interrupt(2)
    with pytest.raises(KeyboardInterrupt):
        train(fresh(), pairs, config, checkpoint=path, progress=stop)
    assert stop.closed
    resumed = fresh()
    history = train(resumed, pairs, config, checkpoint=path)
    assert len(history.epochs) == 4
    assert torch.equal(parameters(whole), parameters(resumed))


def test_a_finished_run_is_only_read(pairs, tmp_path):
    path = tmp_path / "run.safetensors"
    first, again = fresh(), fresh()
    train(first, pairs, QUICK, checkpoint=path)
    stamp = path.stat().st_mtime_ns
    history = train(again, pairs, QUICK, checkpoint=path)
    assert history.stopped == "epochs"
    assert torch.equal(parameters(first), parameters(again))
    assert path.stat().st_mtime_ns == stamp


def test_a_time_limit_stops_cleanly(pairs, tmp_path):
    path = tmp_path / "run.safetensors"
    history = train(fresh(), pairs, QUICK, checkpoint=path, seconds=0)
    assert len(history.epochs) == 1
    assert not history.stopped
    resumed, whole = fresh(), fresh()
    train(resumed, pairs, QUICK, checkpoint=path)
    train(whole, pairs, QUICK)
    assert torch.equal(parameters(resumed), parameters(whole))


def test_nan_stops_and_keeps_the_last_good_state(pairs, tmp_path):
    class Explodes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.tensor(0.5, dtype=torch.float64))

        def forward(self, u):
            # infinite once the weight has moved far enough
            return u * torch.where(self.weight > 0.53, math.inf, self.weight).to(u.dtype)

    network, path = Explodes(), tmp_path / "run.safetensors"
    config = TrainingConfig(epochs=20, batch=6, rate=0.02, checkpoint_seconds=0)
    with pytest.raises(StabilityError, match=r"the loss became inf in epoch \d of 20.*last good state"):
        train(network, pairs, config, checkpoint=path)
    kept = read_checkpoint(path)
    assert torch.equal(kept.tensors["parameter.weight"], network.weight.detach())
    assert network.weight < 0.56
    assert kept.meta["history"]["epochs"]


@pytest.mark.parametrize(
    ("config", "identity"),
    [(TrainingConfig(epochs=4, batch=4, rate=0.01), {"data": "a"}), (QUICK, {"data": "b"})],
)
def test_a_checkpoint_of_another_run_is_refused(pairs, tmp_path, config, identity):
    path = tmp_path / "run.safetensors"
    train(fresh(), pairs, QUICK, checkpoint=path, identity={"data": "a"}, seconds=0)
    before = path.read_bytes()
    with pytest.raises(FileError, match="other settings"):
        train(fresh(), pairs, config, checkpoint=path, identity=identity)
    assert path.read_bytes() == before


def test_a_network_without_parameters_is_refused(pairs):
    with pytest.raises(ValueError, match="no trainable parameter"):
        train(nn.Identity(), pairs, QUICK)


def test_every_image_is_visited_once():
    assert sorted(image_order(10, 0, 3).tolist()) == list(range(10))
    assert image_order(10, 0, 3).tolist() != image_order(10, 0, 4).tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": 0},
        {"rate": math.nan},
        {"optimiser": "luck"},
        {"batch": 0},
        {"tolerance": -1.0},
        {"colour": 1},
        {"epochs": "many"},
        {"rate": True},
    ],
)
def test_senseless_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="TrainingConfig"):
        TrainingConfig.from_dict(wrong)


def test_settings_survive_json():
    for config in PROTOCOLS.values():
        assert TrainingConfig.from_dict(config.as_dict()) == config


def test_pairs_must_match():
    with pytest.raises(ValueError, match="equal, non-empty"):
        TensorPairs(torch.zeros(2, 1, 8, 8), torch.zeros(2, 1, 8, 9))


def test_progress_tells_loss_psnr_and_remaining_time(pairs, network, capsys):
    train(network, pairs, QUICK, progress=Lines("little"))
    said = capsys.readouterr().err
    assert "little: epoch 4/4  loss " in said
    assert "dB" in said
    assert "0:00 left" in said


def test_the_time_that_remains_falls_to_nothing(pairs, network):
    told = []

    class Listener(Reporter):
        def epoch(self, done, total, row, remaining):
            told.append((done, total, row.seconds, remaining))

    train(network, pairs, QUICK, progress=Listener())
    assert [row[:2] for row in told] == [(n, 4) for n in range(1, 5)]
    # As long as the epochs so far took in the mean, times those that are left.
    for number in range(4):
        seconds = [row[2] for row in told[: number + 1]]
        assert told[number][3] == pytest.approx((3 - number) * sum(seconds) / len(seconds), rel=1e-9, abs=1e-12)


def test_lines_are_written_now_and_then_and_at_the_end(pairs, network, capsys):
    train(network, pairs, QUICK, progress=Lines("little", every=3600.0))
    first, last = (line.split()[1:3] for line in capsys.readouterr().err.splitlines())
    assert (first[0], last) == ("step", ["epoch", "4/4"])


def test_progress_bar(pairs, network, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    train(network, pairs, QUICK, progress=show("little"))
    assert "PSNR" in capsys.readouterr().err


def test_two_runs_cannot_share_a_checkpoint(network, pairs, tmp_path):
    path = tmp_path / "runs" / "run.safetensors"
    with claimed(path), pytest.raises(FileError, match="another training"):
        train(network, pairs, TrainingConfig(epochs=1), checkpoint=path)
    train(network, pairs, TrainingConfig(epochs=1), checkpoint=path)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_training_in_vain_says_so(network, pairs):
    """From good parameters, one long step leads far away from them."""
    train(network, pairs, TrainingConfig(epochs=30, batch=6, rate=0.05))
    with pytest.warns(UserWarning, match="worse than it began"):
        train(network, pairs, TrainingConfig(epochs=2, batch=6, rate=4.0))


def test_no_better_than_the_noisy_pictures_says_so(network, pairs):
    clean = TensorPairs(pairs.clean + 0.1, pairs.clean)
    with pytest.warns(UserWarning, match="worse than the noisy pictures themselves"):
        train(network, clean, TrainingConfig(epochs=1, rate=1e-9))


def test_the_cosine_schedule_begins_at_the_rate_and_ends_near_zero(network, pairs):
    """Epoch k of n has the share (1 + cos(pi k / n)) / 2: all of it in the first, none after the last."""
    method = AdamMethod(network, pairs, TrainingConfig(epochs=4, rate=0.5, schedule="cosine"), Team())
    rates = []
    for number in range(4):
        method.epoch(number)
        rates.append(method.optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([0.5 * (2 + 2**0.5 * side) / 4 for side in (2**0.5, 1, 0, -1)])


@pytest.mark.filterwarnings("ignore:the training ended")
def test_the_time_left_is_told_when_it_has_been_measured(monkeypatch, capsys):
    """The first step takes long, as kernels are compiled in it: nothing is made of that."""
    real, told = AdamMethod.epoch, []

    class Listener(Lines):
        def step(self, done, total, words, remaining):
            told.append((done, total, remaining))
            super().step(done, total, words, remaining)

    def epoch(self, number, begun, watch):
        def slow(done, step, steps):
            now[0] += 300.0 if not told else 1.0
            watch(done, step, steps)

        return real(self, number, begun, slow)

    now = [0.0]
    monkeypatch.setattr("whorl.training.loop.WATCHED", 0.0)
    monkeypatch.setattr("whorl.training.loop.time.monotonic", lambda: now[0])
    monkeypatch.setattr(AdamMethod, "epoch", epoch)
    network, pairs = small_run()
    train(network, pairs, TrainingConfig(epochs=2, batch=2), progress=Listener("little", every=0.0))
    assert told == [(1, 8, None), (2, 8, None), *((n, 8, 8.0 - n) for n in range(3, 9))]
    lines = capsys.readouterr().err.splitlines()
    assert all(line.endswith("dB  measuring the time left") for line in lines[:2])
    assert lines[2].endswith("1 steps/s  0:05 left")


class Interrupting(Reporter):
    """Ctrl-C in the middle of an epoch, at its third step."""

    def step(self, done, total, words, remaining):
        if done % 4 == 3:
            raise KeyboardInterrupt


def small_run():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 1, 3, padding=1))
    clean = torch.rand(8, 1, 8, 8) * 255
    return network, TensorPairs(clean + 20 * torch.randn(clean.shape), clean)


@pytest.mark.filterwarnings("ignore:the training ended")
def test_a_run_stopped_within_an_epoch_goes_on_from_its_last_step(tmp_path, monkeypatch):
    monkeypatch.setattr("whorl.training.loop.WATCHED", 0.0)
    config = TrainingConfig(epochs=2, batch=2, schedule="annealed", checkpoint_seconds=1e9)
    whole, pairs = small_run()
    expected = train(whole, pairs, config)
    network, pairs = small_run()
    place = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(network, pairs, config, checkpoint=place, progress=Interrupting())
    steps = read_checkpoint(place).tensors["optimiser.step.0.weight"]
    assert int(steps) == 3  # of the first epoch, which has four
    again, pairs = small_run()
    history = train(again, pairs, config, checkpoint=place)
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), whole.parameters(), strict=True))
    assert [row.loss for row in history.epochs] == pytest.approx([row.loss for row in expected.epochs])
    longer, pairs = small_run()
    more = TrainingConfig(epochs=3, batch=2, schedule="annealed", checkpoint_seconds=1e9)
    assert len(train(longer, pairs, more, checkpoint=place).epochs) == 3


@pytest.mark.filterwarnings("ignore:the training ended")
def test_a_run_without_gain_ends_early():
    network, pairs = small_run()
    config = TrainingConfig(epochs=50, batch=4, patience=2)
    history = train(network, pairs, config, check=lambda: 20.0)
    assert (len(history.epochs), history.stopped) == (3, "no gain")
