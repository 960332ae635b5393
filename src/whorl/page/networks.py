"""The trained networks of the page: their numbers in the order in which the browser's kernel reads them.

``python -m whorl.page.catalogue`` writes a file for each into ``static/networks``, from the networks that the library
ships, and what each is made of into the catalogue.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.activations.gated import LARGEST, Gated
from whorl.denoising import COLOUR, GREY
from whorl.engines import REGISTRY
from whorl.networks import PhotoNetwork, load
from whorl.networks.denoiser import REFERENCE_LEVEL
from whorl.operators.orbits import factors, grouped
from whorl.operators.steerable import SteerableMap

FOLDER = Path(__file__).parent / "static" / "networks"

SMALL = "photo-8k"
OFFERED = {"small-network": {"grey": SMALL, "colour": SMALL}, "network": {"grey": GREY, "colour": COLOUR}}
"""The choices that the page offers, and the network behind each for grey and for colour pictures."""

Array = NDArray[np.float32]


def describe_networks() -> dict[str, Any]:
    """What the page offers, the architecture of each network, and the constants of all gates."""
    return {
        "offered": OFFERED,
        "structures": {name: _architecture(_photo(name)) for name in _names()},
        "gates": {"largest": LARGEST, "reference": REFERENCE_LEVEL},
    }


def write_networks(folder: Path = FOLDER) -> None:
    """Write the numbers of every network anew."""
    folder.mkdir(exist_ok=True)
    for name in _names():
        (folder / f"{name}.bin").write_bytes(numbers(_photo(name)).tobytes())


def numbers(network: PhotoNetwork) -> Array:
    """All numbers of a network, one after the other.

    First those of the lift and the projection: six coefficients for each stencil, then the weights, channel by channel
    and stencil by stencil. Then for each block: coefficients and three matrices of the analysis, the same transposed of
    the synthesis, the matrix of the gates; the biases of all repetitions, what the level adds to them, its power in the
    units of the invariants, and the logarithm of what these are divided by, each with a number for every field.
    """
    parts = [part for ends in (network.lift, network.projection) for part in _ends(ends)]
    for block in network.blocks:
        parts += _block(block)
    return np.concatenate([np.asarray(part, "<f4").reshape(-1) for part in parts])


def _photo(name: str) -> PhotoNetwork:
    network = load(name)
    assert isinstance(network, PhotoNetwork)
    return network


def _names() -> list[str]:
    return sorted({name for kinds in OFFERED.values() for name in kinds.values()})


def _architecture(network: PhotoNetwork) -> dict[str, Any]:
    spec, form = network.spec, network.each()[0].description().form
    lacking = REGISTRY["page"].lacks(form, torch.zeros(1, spec.width, 8, 8))
    if lacking or spec.alternate or spec.stable:
        lacking = lacking or "its blocks are stable, or take turns"
        raise ValueError(f"{spec}: the page's kernel has no loops for this architecture: {lacking}.")
    return {
        "channels": spec.channels,
        "width": spec.width,
        "fields": spec.fields,
        "blocks": spec.blocks,
        "repetitions": spec.repetitions,
        "rho": spec.rho,
        "noise": spec.noise,
        "reach": network.reach,
        "parameters": network.parameter_count,
    }


def _ends(ends: SteerableMap) -> Iterator[Array]:
    found = factors(ends)
    assert found is not None, "the stencils of a trained network have the symmetry of their order"
    yield found.taps
    yield found.mixing[0].permute(1, 2, 0).numpy()


def _block(block: Any) -> Iterator[Array]:
    form, gate = block.description().form, block.gate
    yield form.analysis.taps
    yield from (grouped(weight.flatten(1).numpy()) for weight in form.analysis.mixing)
    yield form.synthesis.taps
    yield from (grouped(weight.flatten(1).T.numpy()) for weight in form.synthesis.mixing)
    yield grouped(gate.matrix.detach().numpy())
    yield gate.bias.detach().numpy()
    yield from _levels(gate)


def _levels(gate: Gated) -> Iterator[Array]:
    """How the level enters: its part in the offsets and in the units; and the contrasts."""
    none = np.zeros(len(gate.orders), np.float32)
    yield gate.level.detach().numpy() if gate.levelled else none
    yield (gate.units * gate.get_buffer("powers")).detach().numpy() if gate.levelled else none
    yield np.concatenate([none[: gate.scalars], 2 * gate.log_contrast.detach().numpy()])
