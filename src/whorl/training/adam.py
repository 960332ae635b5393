"""First-order training: Adam on mini-batches, also along the principal directions of the gradients."""

import math
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from whorl.training.config import TrainingConfig
from whorl.training.distributed import Team
from whorl.training.method import Begun, Method, Scores, Watch, image_losses, image_order, trainable
from whorl.training.pairs import Pairs
from whorl.training.turning import turn_penalty
from whorl.training.whitened import WhitenedAdam

TURNED_SHARE = 8  # one in so many images of a batch is also turned, where turning is trained


class AdamMethod(Method):
    r"""Adam with its standard settings on the mean loss of a batch; by default the squared error.

    .. math:: \frac{1}{|B|} \sum_{i \in B} \frac{1}{|\Omega|} \|N(f_i) - u_i\|^2 .

    With ``capture`` (CUDA, one process) a whole step is recorded once as a CUDA graph and replayed: the same kernels in
    the same order without the time to launch them. The network must not look at values on the way.
    """

    def __init__(
        self, network: nn.Module, pairs: Pairs, config: TrainingConfig, team: Team, *, capture: bool = False
    ) -> None:
        self.network, self.pairs, self.config, self.team = network, pairs, config, team
        self.named = trainable(network)
        parameters = list(self.named.values())
        self.on_gpu = parameters[0].is_cuda
        whitened = config.optimiser == "whitened"
        if capture and (not self.on_gpu or team.size > 1 or whitened):
            raise ValueError("capture: only of Adam, on a CUDA device and with one process.")
        self.capture = capture
        self.graph: torch.cuda.CUDAGraph | None = None
        rate = torch.tensor(config.rate, device=parameters[0].device) if self.on_gpu else config.rate
        self.optimiser: torch.optim.Optimizer
        if whitened:
            self.optimiser = WhitenedAdam(parameters, config.rate)
        else:
            self.optimiser = torch.optim.Adam(parameters, lr=rate, capturable=self.on_gpu, foreach=self.on_gpu)
        for p in parameters:  # from the beginning, so that a checkpoint has the same entries at any time
            steps = torch.zeros((), device=p.device if self.on_gpu else "cpu")
            begun = {"step": steps, "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
            self.optimiser.state[p] = self.optimiser.state[p] or begun
            p.grad = torch.zeros_like(p)
        self.rate = config.rate
        self.totals = torch.zeros(2, dtype=torch.float64, device=parameters[0].device)

    def epoch(self, number: int, begun: Begun | None = None, watch: Watch | None = None) -> Scores:
        """Visit every image once, in an order fixed by seed and epoch."""
        begun = begun or Begun()
        # Sums over the team are kept by its leader alone when an epoch is taken up again.
        self.totals.copy_(torch.tensor([begun.loss, begun.psnr] if self.team.leads else [0.0, 0.0]))
        visited = begun.images
        self.network.train()
        batches = image_order(len(self.pairs), self.config.seed, number).split(self.config.batch)
        for position, indices in enumerate(batches):
            if position < begun.steps:
                continue
            self._set_rate(number, position, len(batches))
            mine = self.team.share(indices)
            noisy, clean = self.pairs.batch(mine, number)
            if self.capture and len(indices) == self.config.batch:
                self._replay(noisy, clean)
            else:
                self._step(noisy, clean, len(indices))
            visited += len(indices)
            if watch is not None:
                watch(partial(self._done, position + 1, visited), position + 1, len(batches))
        loss, psnr = (self.team.add(self.totals) / len(self.pairs)).tolist()
        return Scores(loss, psnr)

    def _done(self, steps: int, images: int) -> Begun:
        loss, psnr = self.totals.tolist()
        return Begun(steps, loss, psnr, images)

    def state(self) -> dict[str, Tensor]:
        """Moments and step counts."""
        return {
            f"{kind}.{name}": self.optimiser.state[p][kind]
            for name, p in self.named.items()
            for kind in self.optimiser.state[p]
        }

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Moments and step counts, in place: a recorded graph keeps its addresses."""
        with torch.no_grad():
            for name, tensor in self.state().items():
                tensor.copy_(state[name])

    @property
    def converged(self) -> bool:
        """Never: Adam runs its epochs."""
        return False

    def _set_rate(self, number: int, position: int, steps: int) -> None:
        rate = self.config.rate
        if self.config.schedule == "cosine":
            rate *= 0.5 * (1 + math.cos(math.pi * number / self.config.epochs))
        elif self.config.schedule == "annealed":
            done = number * steps + position
            rate *= 0.5 * (1 + math.cos(math.pi * done / (self.config.epochs * steps)))
            rate *= min(1.0, (done + 1) / (self.config.warmup + 1))
        if rate == self.rate:
            return
        self.rate = rate
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def _step(self, noisy: Tensor, clean: Tensor, batch: int) -> None:
        for p in self.named.values():
            p.grad.zero_()  # type: ignore[union-attr]
        if len(noisy):  # a small last batch may leave nothing for this process
            difference = self.network(noisy) - clean
            loss = image_losses(self.config.loss, difference, self.config.peak).sum() / batch
            if self.config.turn:
                few = noisy[: max(1, len(noisy) // TURNED_SHARE)]
                loss = loss + self.config.turn * turn_penalty(self.network, few, clean.shape[1])
            loss.backward()
            found = difference.detach().square().flatten(1).mean(1).double()
            self.totals += torch.stack([found.sum(), -10 * torch.log10(found / self.config.peak**2).sum()])
        if self.team.size > 1:
            gradients = torch.cat([p.grad.flatten() for p in self.named.values()])  # type: ignore[union-attr]
            self.team.add(gradients)
            for p, part in zip(
                self.named.values(), gradients.split([p.numel() for p in self.named.values()]), strict=True
            ):
                p.grad.copy_(part.view_as(p))  # type: ignore[union-attr]
        if self.config.clip:
            torch.nn.utils.clip_grad_norm_(self.named.values(), self.config.clip)
        self.optimiser.step()

    def _replay(self, noisy: Tensor, clean: Tensor) -> None:
        if self.graph is None:
            self.graph = self._record(noisy, clean)
        self.noisy.copy_(noisy)
        self.clean.copy_(clean)
        self.graph.replay()

    def _record(self, noisy: Tensor, clean: Tensor) -> torch.cuda.CUDAGraph:
        self.noisy, self.clean = noisy.clone(), clean.clone()
        kept = {name: tensor.clone() for name, tensor in self.state().items()}
        parameters = {name: p.detach().clone() for name, p in self.named.items()}
        totals = self.totals.clone()
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):  # lets every lazy initialisation happen before recording
                self._step(self.noisy, self.clean, self.config.batch)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step(self.noisy, self.clean, self.config.batch)
        with torch.no_grad():
            for name, p in self.named.items():
                p.copy_(parameters[name])
            self.totals.copy_(totals)
        self.load(kept)
        return graph
