"""Laws that come from the user: a field of diffusion tensors, or a function written in Python."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from whorl.activations.laws import Law
from whorl.activations.tensors import Structure, SymmetricMatrix, upper
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.ordered import ordered_sum


class TensorField(nn.Module, Law):
    r"""A field of diffusion tensors that is given, whatever the image: linear anisotropic diffusion.

    Its energy is :math:`\frac12 \sum \operatorname{tr}(D J)`.

    Parameters
    ----------
    tensors : Tensor
        ``(entries, y+1, x+1)`` on the cells of an image ``(n, c, y, x)``, entries xx, xy, yy; in space
        ``(entries, z+1, y+1, x+1)`` with entries xx, xy, xz, yy, yz, zz. Use :meth:`on_pixels` for tensors at pixels.

    Examples
    --------
    >>> D = TensorField.on_pixels(torch.tensor([1.0, 0.0, 0.25])[:, None, None].expand(3, 8, 8))
    >>> D.maximum(), D.tensors.shape
    (1.0, torch.Size([3, 9, 9]))
    """

    name = "tensor field"

    def __init__(self, tensors: Tensor) -> None:
        super().__init__()
        shape = tuple(tensors.shape) if isinstance(tensors, Tensor) else type(tensors).__name__
        if not isinstance(tensors, Tensor) or (len(tensors.shape), tensors.shape[0]) not in ((3, 3), (4, 6)):
            raise ShapeError(
                "TensorField: expected a tensor (3, y+1, x+1) with entries xx, xy, yy, or in space (6, z+1, y+1, x+1), "
                f"got {shape}."
            )
        validation.finite(tensors, "TensorField")
        self.register_buffer("tensors", tensors.double())
        smallest = float(_eigvalsh(self._matrix(torch.float64)).min())
        if smallest < -1e-6 * max(1.0, self.maximum()):
            raise ValueError(
                f"TensorField: diffusion tensors must not have negative eigenvalues, got {smallest:g}. "
                "Make them positive semidefinite."
            )

    @classmethod
    def on_pixels(cls, tensors: Tensor) -> "TensorField":
        """The field from tensors at pixels, ``(entries, y, x)`` or ``(entries, z, y, x)``: means over each cell."""
        d = tensors.dim() - 1
        places = upper(d)
        if len(tensors) != len(places):
            raise ShapeError(f"TensorField: expected {len(places)} entries in {d} dimensions, got {len(tensors)}.")
        cells = []
        for (i, j), entry in zip(places, tensors, strict=True):
            for axis in range(d):
                # A mixed entry changes its sign in the mirror behind the border; directions are counted x, y, z.
                sign = -1 if i != j and d - 1 - axis in (i, j) else 1
                first, last = entry.narrow(axis, 0, 1), entry.narrow(axis, entry.shape[axis] - 1, 1)
                entry = torch.cat([sign * first, entry, sign * last], dim=axis)
                count = entry.shape[axis] - 1
                entry = 0.5 * (entry.narrow(axis, 0, count) + entry.narrow(axis, 1, count))
            cells.append(entry)
        return cls(torch.stack(cells))

    def tensor(self, J: Structure) -> SymmetricMatrix:
        like = J.trace()
        D = self._matrix(like.dtype)
        if like.shape[4:] != D[0].shape:
            raise ShapeError(
                f"TensorField: the tensors lie on {tuple(D[0].shape)} cells, the image has {tuple(like.shape[4:])}. "
                "An image of y x x pixels has (y+1) x (x+1) cells."
            )
        return D

    def psi(self, J: Structure) -> Tensor:
        D, A = self.tensor(J), J.matrix()
        d = A.dimensions
        return ordered_sum(D.entry(i, j) * A.entry(i, j) for i in range(d) for j in range(d))

    def maximum(self) -> float:
        return max(float(_eigvalsh(self._matrix(torch.float64)).max()), 1e-30)

    def no_energy(self) -> str:
        return ""

    def _matrix(self, dtype: torch.dtype) -> SymmetricMatrix:
        return SymmetricMatrix(*self.get_buffer("tensors").to(dtype).unbind())


class CustomLaw(nn.Module, Law):
    r"""A law written in Python: a function from structure tensors to diffusion tensors.

    Parameters
    ----------
    function : callable
        From :class:`SymmetricMatrix` to :class:`SymmetricMatrix`; a module may bring parameters to train.
    maximum : float
        A bound on the eigenvalues of the result, on which the step limits rest. A result beyond it is refused.
    name : str
        What the law is called in messages.

    Examples
    --------
    >>> J = SymmetricMatrix(*torch.tensor([3.0, 0.0, 0.0]).view(3, 1, 1, 1, 1, 1, 1))
    >>> law = CustomLaw(lambda J: J.scaled(0 * J.a).shifted(0.5 + 0 * J.a))
    >>> [entry.item() for entry in law.tensor(J)]
    [0.5, 0.0, 0.5]
    """

    def __init__(
        self, function: Callable[[SymmetricMatrix], SymmetricMatrix], maximum: float = 1.0, name: str = "custom"
    ) -> None:
        super().__init__()
        if not callable(function):
            raise ValueError(f"CustomLaw: expected a function on structure tensors, got {function!r}.")
        self.function, self.name = function, name
        self._maximum = validation.number(maximum, "maximum", "CustomLaw", 0.0, open_low=True)

    def tensor(self, J: Structure) -> SymmetricMatrix:
        D = self.function(J.matrix())
        if not isinstance(D, SymmetricMatrix):
            raise ValueError(f"{self.name}: a law must return a SymmetricMatrix, got {type(D).__name__}.")
        self._check(D)
        return D

    def maximum(self) -> float:
        return self._maximum

    def _check(self, D: SymmetricMatrix) -> None:
        if torch.compiler.is_compiling() or any(torch._C._functorch.is_functorch_wrapped_tensor(e) for e in D):
            return
        values = _eigvalsh(SymmetricMatrix(*(e.detach() for e in D)))
        low, high = float(values.min()), float(values.max())
        slack = 1e-3 * self._maximum
        if not (low >= -slack and high <= self._maximum + slack):
            raise ValueError(
                f"{self.name}: the law gave eigenvalues from {low:g} to {high:g}, outside [0, {self._maximum:g}]. "
                "Mend the law, or give CustomLaw the right maximum."
            )


def _eigvalsh(D: SymmetricMatrix) -> Tensor:
    """The eigenvalues with their signs, the smallest first, along a new last axis."""
    full, d = SymmetricMatrix(*torch.broadcast_tensors(*D)), D.dimensions
    rows = [torch.stack([full.entry(i, j) for j in range(d)], dim=-1) for i in range(d)]
    values: Tensor = torch.linalg.eigvalsh(torch.stack(rows, dim=-2))
    return values
