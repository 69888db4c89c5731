"""Where the time of a program goes: seconds by name, measured with little effort."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping


class Stopwatch:
    """Time since the last lap belongs to what the lap is called.

    `watch = Stopwatch(); work(); watch.lap("work"); wait(); watch.lap("waiting")`
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._last = time.perf_counter()

    def lap(self, name: str) -> float:
        """All time since the last lap, or since the start, was spent on this; returns it."""
        now = time.perf_counter()
        spent, self._last = now - self._last, now
        self.seconds[name] += spent
        return spent

    def take(self) -> dict[str, float]:
        """The seconds of each name so far; counts anew from now on."""
        seconds, self.seconds = dict(self.seconds), defaultdict(float)
        return seconds


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """Each name's share of the whole."""
    whole = sum(seconds.values())
    return {name: part / whole for name, part in seconds.items()} if whole else {}
