"""Seconds by name."""

import time

import pytest

from selfplay.stopwatch import Stopwatch, shares


def test_laps_add_up_to_the_whole() -> None:
    watch, began = Stopwatch(), time.perf_counter()
    for name in ("work", "waiting", "work"):
        time.sleep(0.002)
        watch.lap(name)
    whole = time.perf_counter() - began
    seconds = watch.take()
    assert set(seconds) == {"work", "waiting"}
    assert sum(seconds.values()) == pytest.approx(whole, abs=0.01)
    assert seconds["work"] >= 0.004
    assert watch.take() == {}


def test_shares_are_of_the_whole() -> None:
    assert shares({"work": 3.0, "waiting": 1.0}) == {"work": 0.75, "waiting": 0.25}
    assert shares({}) == {}
