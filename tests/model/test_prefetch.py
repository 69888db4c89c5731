"""Values are made one ahead, in order, and never behind the caller's back."""

import sys
import threading
import time

import pytest

from model.prefetch import ahead


def test_values_come_in_order_and_one_ahead() -> None:
    begun: list[int] = []

    def make(key: int) -> int:
        begun.append(key)
        return 10 * key

    values = ahead(make, range(4))
    for i in range(4):
        assert next(values) == 10 * i
        deadline = time.monotonic() + 10
        while len(begun) < min(i + 2, 4) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert begun == list(range(min(i + 2, 4)))
    assert list(values) == []
    assert list(ahead(make, [])) == []


def test_who_stops_early_finds_nothing_under_way() -> None:
    going = threading.Event()
    ended: list[int] = []

    def make(key: int) -> int:
        if key == 1:
            going.set()
            time.sleep(0.05)
        ended.append(key)
        return key

    values = ahead(make, range(10))
    assert next(values) == 0
    going.wait(10)
    values.close()  # type: ignore[attr-defined]
    assert ended == [0, 1]


def test_an_exception_comes_in_its_place() -> None:
    def make(key: int) -> float:
        return 1 / (2 - key)

    values = ahead(make, range(5))
    assert next(values) == 0.5
    assert next(values) == 1.0
    with pytest.raises(ZeroDivisionError):
        next(values)


def test_the_interpreter_changes_hands_quickly_meanwhile() -> None:
    usual = sys.getswitchinterval()
    values = ahead(lambda key: sys.getswitchinterval(), range(3))
    assert next(values) < usual / 5
    values.close()  # type: ignore[attr-defined]
    assert sys.getswitchinterval() == usual
