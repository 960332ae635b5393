"""Two steerable maps as one."""

import pytest
import torch

from whorl.operators import JoinedMap, SteerableMap


@pytest.mark.parametrize("channels", [2, 3, 4, 5])
def test_fields_of_both_stand_side_by_side_order_by_order(channels, rng):
    """The second map takes all channels, some of the first's, or only those that the first does not take."""
    first, second = SteerableMap(2, (2, 1, 0)).double(), SteerableMap(min(channels, 3), (1, 2, 1)).double()
    joined = JoinedMap(first, second, channels)
    u = torch.randn(1, channels, 9, 8, generator=rng, dtype=torch.float64)
    a, b = first(u[:, :2])[0, 0, 0], second(u[:, channels - second.channels :])[0, 0, 0]
    expected = torch.cat([a[:2], b[:1], a[2:4], b[1:5], b[5:]])
    torch.testing.assert_close(joined(u)[0, 0, 0], expected, rtol=1e-12, atol=1e-12)
    assert joined.fields == (3, 3, 1)
    assert joined.orders == (0, 0, 0, 1, 1, 1, 2)


def test_maps_that_do_not_fit_are_named():
    first = SteerableMap(2, (2, 1))
    with pytest.raises(ValueError, match="same orders and stencils"):
        JoinedMap(first, SteerableMap(2, (2,)), 3)
    with pytest.raises(ValueError, match="same orders and stencils"):
        JoinedMap(first, SteerableMap(2, (2, 1), size=7), 3)
    for channels in (1, 5):
        with pytest.raises(ValueError, match=rf"channels={channels}\): maps of 2 and 2 channels"):
            JoinedMap(first, SteerableMap(2, (2, 1)), channels)
