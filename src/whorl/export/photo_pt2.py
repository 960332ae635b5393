"""Networks for photographs as files of ``torch.export``: pictures of any size, the noise level as an input."""

import copy
import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from whorl import __version__
from whorl.blocks.gated import StableGatedBlock
from whorl.blocks.guided import SteppedMap
from whorl.export.pt2 import METADATA, written_out
from whorl.networks.photo import PhotoNetwork
from whorl.networks.photo_cards import PhotoCard

__all__ = ["photo_program", "write_photo_pt2"]


def photo_program(card: PhotoCard) -> ExportedProgram:
    """The network for float32 pictures ``image`` and, where it takes a level, the number ``noise``.

    The number of pictures and their height and width are free, from 8 pixels on.
    """
    probe = torch.zeros(2, card.spec.channels, 20, 26)  # different numbers, so that none is taken for another
    free = {0: Dim.DYNAMIC, 2: Dim("height", min=8), 3: Dim("width", min=8)}
    program: nn.Module = _Blind(card.build()) if card.spec.blind else _Known(card.build())
    given = (probe, torch.tensor(25.0)) if card.spec.blind else (probe,)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # about torch's own parts, nothing the caller can act on
        shapes = (free, None) if card.spec.blind else (free,)
        return written_out(torch.export.export(program.eval(), given, dynamic_shapes=shapes))


def write_photo_pt2(card: PhotoCard, path: Path) -> None:
    """Write the network as a ``.pt2`` archive; it loads without whorl."""
    about = {"whorl": __version__, "card": card.as_dict()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.export.save(photo_program(card), path, extra_files={METADATA: json.dumps(about, default=str)})


class _Known(nn.Module):
    """A network that is made for one noise level; step sizes that follow from a norm are computed beforehand."""

    def __init__(self, network: PhotoNetwork) -> None:
        super().__init__()
        self.network = copy.deepcopy(network)
        for part in self.network.modules():
            if isinstance(part, StableGatedBlock):
                sizes = [float(part.tau(repetition).detach()) for repetition in range(len(part.step))]
                part.__dict__["tau"] = partial(_step_size, sizes)
            elif isinstance(part, SteppedMap):
                part.__dict__["tau"] = partial(_step_size, [float(part.tau().detach())])

    def forward(self, image: Tensor) -> Any:
        """The denoised picture."""
        return self.network(image)


class _Blind(_Known):
    """A network that takes the noise level."""

    def forward(self, image: Tensor, noise: Tensor) -> Any:  # type: ignore[override]
        """The denoised picture."""
        return self.network(image, noise)


def _step_size(sizes: list[float], repetition: int = 0) -> Tensor:
    return torch.tensor(sizes[repetition])
