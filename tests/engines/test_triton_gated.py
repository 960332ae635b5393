"""The CUDA kernels of learned blocks: right up to the rounding of float16, in their interpreter without a GPU."""

import pytest
import torch

from engines.interpreted import errors_of
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.operators import SteerableMap

pytest.importorskip("triton")

# Pixels, their sums, taps, responses, matrices and fields are rounded to 11 bits: some twenty roundings of 2^-12 on
# average, half of which go either way.
LIMIT = 2e-3


def test_blocks_agree_with_the_plain_ones_up_to_their_rounding() -> None:
    errors = errors_of("triton_gated.py", 300)
    # Equal to the bit on a device. The interpreter multiplies matrices by NumPy, which sums in an order of its own.
    exact = 0.0 if torch.cuda.is_available() else 4 * torch.finfo(torch.float32).eps
    assert errors.pop("quarter turn") <= exact
    assert errors.pop("mirror image") <= exact
    assert errors.pop("changed in inference mode") == 0.0
    # Numbers so large open and close gates at once: one that rounding turns over changes a field altogether.
    assert errors.pop("three applications, 1e+09") <= 0.2
    assert len(errors) == 7
    assert not {case: error for case, error in errors.items() if not 0 < error <= LIMIT}, errors


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch):
    """Why the engine refuses a block of 4 channels, as if kernels were interpreted here."""
    from whorl.engines import selection

    monkeypatch.setenv("TRITON_INTERPRET", "1")
    if torch.cuda.is_available():
        pytest.skip("on a CUDA device kernels are not interpreted")

    def asked(u, fields=(4, 2, 1), size=5, rho=0, level=None):
        K = SteerableMap(4, fields, size)
        step = GatedBlock(K, K, Gated(K.orders, rho, levelled=level is not None)).description(level)
        return selection._engine("triton").refusal(step, u)

    return asked


def test_what_has_no_kernels_is_refused(refusal) -> None:
    u = torch.randn(1, 4, 8, 8)
    assert refusal(u) == ""
    assert "map of noise levels" in refusal(u, level=torch.zeros(1, 1, 8, 8))
    assert "orders 0, 1, 2" in refusal(u, (4, 2))
    assert "orders 0, 1, 2" in refusal(u, (4, 2, 0))
    assert "larger than 5x5" in refusal(u, size=7)
    assert "rho = 2" in refusal(u, rho=2)
    assert "more than 64" in refusal(u, (65, 2, 1))
    assert "8 x 3 pixels, less than 4" in refusal(u[..., :3])  # mirrored more than once
    assert "float64" in refusal(u.double())


def test_rounding_is_left_out_where_torch_is_told_so(refusal) -> None:
    torch.backends.cudnn.allow_tf32 = False
    try:
        assert "allow_tf32" in refusal(torch.randn(1, 4, 8, 8))
    finally:
        torch.backends.cudnn.allow_tf32 = True
