"""Kernels that are alone: several at once leave torch with the threads it had."""

import threading

import pytest
import torch

from whorl.automatic import automatic_settings
from whorl.engines.cpu import threads


@pytest.fixture
def three():
    """Torch with three threads, and with what it had before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def seen_by_a_new_thread() -> int:
    found: list[int] = []
    new = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    new.start()
    new.join()
    return found[0]


@pytest.mark.parametrize("first_leaves", [0, 1])
def test_two_that_overlap_leave_torch_as_it_was(three, first_leaves):
    """One comes while the other is alone; they leave in either order."""
    inside = [threading.Event(), threading.Event()]
    leave = [threading.Event(), threading.Event()]
    kernels, after = [0, 0], [0, 0]

    def work(number: int) -> None:
        with threads.alone():
            kernels[number] = threads._threads()
            inside[number].set()
            assert leave[number].wait(60)
        after[number] = torch.get_num_threads()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for number in range(2):
        workers[number].start()
        assert inside[number].wait(60)
    for number in (first_leaves, 1 - first_leaves):
        leave[number].set()
        workers[number].join(60)
    assert kernels == [3, 3]
    assert after == [3, 3]
    assert torch.get_num_threads() == 3
    assert seen_by_a_new_thread() == 3


def test_alone_within_alone(three):
    with threads.alone():
        with threads.alone():
            assert (torch.get_num_threads(), threads._threads()) == (1, 3)
        assert (torch.get_num_threads(), threads._threads()) == (1, 3)
    assert torch.get_num_threads() == 3
    assert seen_by_a_new_thread() == 3


def test_measuring_leaves_no_thread_of_torch_spinning(three):
    """A thread of torch that waits for work takes a processor from whoever else needs it."""
    noisy = 100 + 10 * torch.randn(1, 1, 96, 96, generator=torch.Generator().manual_seed(0))
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(torch.get_num_threads())
            return super().__torch_function__(function, types, args, kwargs or {})

    automatic_settings("perona-malik", [noisy.as_subclass(Watched)])
    assert len(seen) > 100
    assert set(seen) == {1}
    assert torch.get_num_threads() == 3
