"""Threads for the compiled kernels, which hold no Python lock.

As many as torch uses: ``torch.set_num_threads`` governs both. The calling thread does its share of the work, so that
one thread needs no pool.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import torch

WORTHWHILE = 2**16
"""Steps of a pixel that take longer than waking another thread."""

_local = threading.local()
_lock = threading.Lock()
_users: list[int] = []
"""How many threads torch had when each of those who are alone now began."""


@contextmanager
def alone() -> Iterator[None]:
    """Leave all threads to kernels: an idle thread of torch spins, and takes a processor from a kernel."""
    with _lock:  # whoever comes while others are alone finds one thread, and must not leave it so
        own = _users[0] if _users else torch.get_num_threads()
        _users.append(own)
    before, _local.threads = getattr(_local, "threads", None), getattr(_local, "threads", None) or own
    torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _users.remove(own)
        if before is None:  # this thread was not alone already
            torch.set_num_threads(own)
        _local.threads = before


def _threads() -> int:
    return getattr(_local, "threads", None) or torch.get_num_threads()


def run(function: Callable[..., object], tasks: Sequence[tuple[Any, ...]]) -> None:
    """Call the function with every tuple of arguments, in any order, on all threads."""
    queue = iter(tasks)
    helpers = min(_threads(), len(tasks)) - 1
    waiting = [_pool(os.getpid()).submit(_work, function, queue) for _ in range(helpers)]
    _work(function, queue)
    for helper in waiting:
        helper.result()


def bands(height: int, images: int, shortest: int, work: int = WORTHWHILE) -> list[tuple[int, int]]:
    """Rows split so that all threads have work, into bands not shorter than ``shortest`` where possible.

    ``work`` says what a row takes, in steps of a pixel. Results do not depend on the bands; only time does.
    """
    threads = _threads()
    wanted = 1 if threads == 1 else -(-2 * threads // images)
    count = max(1, min(wanted, height // max(shortest, 1), height * work // WORTHWHILE))
    edges = [height * i // count for i in range(count + 1)]
    return list(pairwise(edges))


def batches(height: int, images: int, shortest: int, work: int) -> list[tuple[range, int, int]]:
    """Images and their rows, as parts that take long enough to be worth a call: several small images are one part."""
    together = max(1, min(images // (2 * _threads()), 4 * WORTHWHILE // (height * work)))
    groups = [range(i, min(i + together, images)) for i in range(0, images, together)]
    return [(group, *rows) for group in groups for rows in bands(height, images, shortest, work)]


def split(length: int, longest: int, multiple: int) -> list[tuple[int, int]]:
    """Equal parts, not longer than ``longest`` by much, with edges at multiples."""
    count = max(1, -(-length // longest))
    edges = [length * i // count // multiple * multiple for i in range(count)]
    return list(pairwise([*edges, length]))


def _work(function: Callable[..., object], queue: Iterable[tuple[Any, ...]]) -> None:
    # Taking the next item of a shared list iterator is one operation under Python's lock.
    for arguments in queue:
        function(*arguments)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """The pool of this process; a forked child inherits none of its parent's threads and makes its own."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="whorl")
