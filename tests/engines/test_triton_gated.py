"""The CUDA kernels of learned blocks: right up to the rounding of float16, in their interpreter without a GPU."""

import pytest
import torch

from engines.interpreted import errors_of
from whorl.activations.gated import Gated
from whorl.operators import SteerableMap

pytest.importorskip("triton")

from whorl.engines.cuda.learned.gated import applied

# Pixels, their sums, taps, responses, matrices and fields are rounded to 11 bits: some twenty roundings of 2^-12 on
# average, half of which go either way.
LIMIT = 2e-3


def test_blocks_agree_with_the_plain_ones_up_to_their_rounding() -> None:
    errors = errors_of("triton_gated.py", 300)
    assert errors.pop("quarter turn") == 0.0
    assert errors.pop("mirror image") == 0.0
    assert errors.pop("changed in inference mode") == 0.0
    # Numbers so large open and close gates at once: one that rounding turns over changes a field altogether.
    assert errors.pop("three applications, 1e+09") <= 0.2
    assert len(errors) == 7
    assert not {case: error for case, error in errors.items() if not 0 < error <= LIMIT}, errors


@torch.no_grad()
def test_what_has_no_kernels_is_left_to_others() -> None:
    K, u = SteerableMap(4, (4, 2, 1)), torch.randn(1, 4, 8, 8)
    gate = Gated(K.orders, levelled=True)
    level = torch.zeros(1, 1, 8, 8)
    assert applied(u, K, K, gate, gate.bias[0], level, 1.0) is None  # a map of levels
    for fields, size, rho in (
        ((4, 2), 5, 0),
        ((4, 2, 0), 5, 0),
        ((4, 2, 1), 7, 0),
        ((4, 2, 1), 5, 2),
        ((65, 2, 1), 5, 0),
    ):
        K = SteerableMap(4, fields, size)
        gate = Gated(K.orders, rho)
        assert applied(u, K, K, gate, gate.bias[0], None, 1.0) is None
    K = SteerableMap(4, (4, 2, 1))
    gate = Gated(K.orders)
    assert applied(u[..., :3], K, K, gate, gate.bias[0], None, 1.0) is None  # mirrored more than once
    assert applied(u.double(), K, K, gate, gate.bias[0], None, 1.0) is None


def test_rounding_is_left_out_where_torch_is_told_so() -> None:
    K, u = SteerableMap(4, (4, 2, 1)), torch.randn(1, 4, 8, 8)
    gate = Gated(K.orders)
    torch.backends.cudnn.allow_tf32 = False
    try:
        assert applied(u, K, K, gate, gate.bias[0], None, 1.0) is None
    finally:
        torch.backends.cudnn.allow_tf32 = True
