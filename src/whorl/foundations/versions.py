"""Whether a tensor was written to since something was computed from it."""

from collections.abc import Hashable

from torch import Tensor


def version(tensor: Tensor) -> Hashable:
    """What differs after every change of the tensor: how often it was written to.

    Torch does not count this for tensors that are made in inference mode. For such a tensor every answer differs, so
    that nothing computed from it is ever taken for up to date.

    >>> import torch
    >>> u = torch.zeros(2)
    >>> before = version(u)
    >>> before == version(u), before == version(u.add_(1))
    (True, False)
    """
    return object() if tensor.is_inference() else tensor._version
