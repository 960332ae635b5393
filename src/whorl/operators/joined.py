"""Two steerable maps as one: each takes some of the channels, and its fields stand beside those of the other."""

import torch
from torch import Tensor

from whorl.operators.steerable import SteerableMap


class JoinedMap(SteerableMap):
    r"""The fields of one map of the first channels, and of another map of the last.

    .. math:: K u = (F u_1, S u_2)

    :math:`u_1` are the first channels, as many as :math:`F` takes, :math:`u_2` the last, as many as :math:`S` takes; a
    map that takes all channels sees those of the other, too. Of each order, fields of :math:`F` come first.

    Parameters
    ----------
    first, second : SteerableMap
        :math:`F` and :math:`S`, with the same orders and stencils.
    channels : int
        How many there are in all.

    Guarantees
    ----------
    Those of :class:`SteerableMap`.

    Examples
    --------
    >>> K = JoinedMap(SteerableMap(1, (2, 1)), SteerableMap(3, (4, 2)), channels=4)
    >>> K(torch.zeros(1, 4, 16, 16)).shape, K.orders
    (torch.Size([1, 1, 1, 12, 16, 16]), (0, 0, 0, 0, 0, 0, 1, 1, 1))
    """

    def __init__(self, first: SteerableMap, second: SteerableMap, channels: int) -> None:
        super(SteerableMap, self).__init__()  # an operator without weights of its own
        if first.stencil_shapes != second.stencil_shapes:
            raise ValueError(f"JoinedMap: both maps must have the same orders and stencils, got {first} and {second}.")
        if not max(first.channels, second.channels) <= channels <= first.channels + second.channels:
            raise ValueError(
                f"JoinedMap(channels={channels}): maps of {first.channels} and {second.channels} channels "
                "do not make up so many."
            )
        self.first, self.second, self.channels = first, second, channels
        self.fields = tuple(a + b for a, b in zip(first.fields, second.fields, strict=True))
        self.size, self.frequency, self._stencils = first.size, first.frequency, first._stencils
        self._dimension = first._dimension

    @property
    def mixing(self) -> list[Tensor]:
        """The numbers of both maps, and zeros for channels that a map does not take."""
        after, before = self.channels - self.first.channels, self.channels - self.second.channels
        pad = torch.nn.functional.pad
        return [
            torch.cat([pad(a, (0, 0, 0, after)), pad(b, (0, 0, before, 0))])
            for a, b in zip(self.first_mixing, self.second.mixing, strict=True)
        ]

    @property
    def first_mixing(self) -> list[Tensor]:
        """The numbers of the first map."""
        return self.first.mixing

    @property
    def mixing_multiplications(self) -> int:
        """The multiplications of both maps; zeros are not multiplied."""
        return self.first.mixing_multiplications + self.second.mixing_multiplications

    def taps(self, order: int) -> Tensor:
        return self.first.taps(order)
