"""What networks for photographs cost."""

from whorl.networks import PhotoNetwork, PhotoSpec
from whorl.operators import SteerableMap


def test_multiplications_are_counted_as_they_are_carried_out():
    """Three stencils of order 0 with six taps, two of order 1 and two of order 2 with two components each."""
    K = SteerableMap(2, fields=(3, 2, 1))
    stencils = 2 * (3 * 6 + 2 * 2 * 6 + 2 * 2 * 3)
    mixing = 2 * (3 * 3 + 2 * 2 * 2 + 1 * 2 * 2)
    assert K.multiplications == stencils + mixing
    network = PhotoNetwork(PhotoSpec(width=2, fields=(3, 2, 1), blocks=1, repetitions=4))
    gates = 6**2 + 9 + 2 * 3
    ends = 2 * (3 * 6 + 2 * 3)
    assert network.multiplications == 4 * (2 * K.multiplications + gates) + ends
    stable = PhotoNetwork(PhotoSpec(width=2, fields=(3, 2, 1), blocks=1, repetitions=4, stable=True))
    assert stable.multiplications == 4 * (2 * K.multiplications + gates)


def test_zeros_of_a_guided_network_are_not_multiplied():
    """One channel of the picture, two of the guide: the picture's fields look at one, the guide's at all three."""
    spec = PhotoSpec(width=1, fields=(2, 1), blocks=1, repetitions=1, stable=True, guide=2, guide_fields=(3, 2))
    stencils = 3 * 6 + 2 * 2 * 6
    own, seen, taken = 2 * 3 + 1 * 2 * 2, 3 * (3 * 3 + 2 * 2 * 2), 2 * (3 * 3 + 2 * 2 * 2)
    gates, lift = 8**2 + 11 + 2 * 3, 1 * (3 * 6) + 2 * 3
    assert PhotoNetwork(spec).multiplications == 2 * (3 * stencils + own) + seen + taken + gates + lift
