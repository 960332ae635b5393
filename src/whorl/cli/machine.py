"""Where and with how many threads to compute."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["prepare"]


def prepare(device: str = "cpu", threads: int | None = None) -> "torch.device":
    """The device of that name, checked; and the number of threads set for all engines of this process."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)  # the compiled engines take as many
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in ("cpu", "cuda"):
        raise ValueError(f"device {device!r} is unknown. Use cpu, cuda or cuda:0.")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {device!r}: this machine or this build of PyTorch has no CUDA. Use --device cpu.")
    return found
