"""The numbers of a step are made where they are needed."""

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from whorl import models
from whorl.steps import Numbers


class Watched(TorchDispatchMode):
    """Remembers the operations that run."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(function))
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", ["perona-malik", "multiscale-isotropic"])
def test_numbers_are_never_copied_to_a_device(name: str) -> None:
    # torch.tensor(0.2, device=...) copies, which no CUDA graph can record; it is seen as "lift_fresh".
    step = models.build(name, contrast=3.0).description
    with Watched() as watched:
        torch.tensor(0.2)
        step.complete(Numbers(0.2))
    assert [operation for operation in watched.seen if "lift_fresh" in operation] == ["aten.lift_fresh.default"]
