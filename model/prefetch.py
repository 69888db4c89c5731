"""Batches are made in a thread while the one before is trained on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

#: Seconds for which the thread that makes batches keeps the interpreter while the other one waits
#: for it, as training does after each operation of the network. Python's own 5 ms take some per
#: cent of training's time.
SWITCH_SECONDS = 0.0005


def ahead(make: Callable[[Key], Value], keys: Iterable[Key]) -> Iterator[Value]:
    """`make(key)` for each key, in order; each is begun when the one before is handed out.

    Where the caller stops early, what was begun is finished before control returns, so that
    nothing is made behind the caller's back. An exception of `make` is raised in its place.
    """
    usual = sys.getswitchinterval()
    with ThreadPoolExecutor(1, thread_name_prefix="batches") as thread:
        future: Future[Value] | None = None
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            for key in keys:
                before, future = future, thread.submit(make, key)
                if before is not None:
                    yield before.result()
            if future is not None:
                yield future.result()
        finally:
            if future is not None:
                wait([future])
            sys.setswitchinterval(usual)
