"""Lines from a stream, however it is cut."""

import io
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.lines import ANSWERED, GRACE, LONGEST_LINE, Lines


class Cut(io.RawIOBase):
    """A stream that gives its bytes in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = [piece for piece in pieces if piece]

    def read(self, _: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def lines(pieces: list[bytes]) -> Lines:
    return Lines(Cut(pieces), lambda text: text == "END", str.isupper)  # type: ignore[arg-type]


def arrived(pieces: list[bytes]) -> Lines:
    """Lines that have all arrived."""
    queue, deadline = lines(pieces), time.monotonic() + 20
    while not queue._ended and time.monotonic() < deadline:
        time.sleep(0.001)
    return queue


@given(st.lists(st.binary(max_size=12).map(lambda part: part.replace(b"a", b"\n")), max_size=12))
def test_cuts_do_not_matter(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    wanted = [part.decode(errors="replace").rstrip("\r") for part in whole.split(b"\n")]
    if wanted[-1] == "" and not whole.split(b"\n")[-1]:
        wanted.pop()
    assert [line.text for line in lines(pieces)] == wanted


def test_ends_of_lines() -> None:
    assert [line.text for line in lines([b"one\r\ntw", b"o\nthree"])] == ["one", "two", "three"]


def test_long_lines_are_cut() -> None:
    first, second = lines([b"x" * 3 * LONGEST_LINE, b"y\nEND\n"])
    assert len(first.text) <= LONGEST_LINE + 1
    assert second.text == "END"


def test_the_end_is_seen_behind_other_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bots.lines.GRACE", 0)
    queue = arrived([b"one\ntwo\nEND\n"])
    assert queue.hurried
    assert not arrived([b"one\ntwo\nENDS\n"]).hurried
    first = queue.peek()
    assert first is not None
    assert first.text == "one"
    assert queue.take() == first
    assert not queue.ended


class Hand:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


MANY = b"one\nTWO\n" * 100 + b"END\nmore\n"


def test_what_waits_too_long_before_the_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    monkeypatch.setattr("bots.lines.time", hand)
    queue = arrived([MANY])
    for number in range(4):
        line = queue.take()
        assert line is not None
        assert line.text == ("one", "TWO")[number % 2]
        assert queue.hurried == (number * 0.15 >= GRACE)
        hand.now += 0.15
    assert [line.text for line in queue] == ["END"], "however few lines were answered"
    assert queue.ahead() == []


def test_what_takes_no_time_before_the_end_is_answered_wholly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bots.lines.time", Hand())
    assert len(list(arrived([MANY]))) == 202


def test_a_script_does_not_pay_for_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = Hand()
    monkeypatch.setattr("bots.lines.time", hand)
    queue = arrived([MANY])
    queue.take()
    hand.now += 30
    queue.ready()
    hand.now += 0.9 * GRACE
    assert not queue.hurried
    assert [next(iter(queue)).text for _ in range(3)] == ["TWO", "one", "TWO"]
    queue.ready()
    hand.now += ANSWERED
    assert [line.text for line in queue] == ["END"], "a network is loaded once"


def test_the_end_is_told_once() -> None:
    told: list[bool] = []
    source = Cut([b"one\nEND\nEND\n", b"END\n"])
    queue = Lines(source, lambda text: text == "END", on_end=lambda: told.append(True))  # type: ignore[arg-type]
    assert len(list(queue)) == 4
    assert told == [True]


def test_heeded_lines_are_seen_in_order_behind_others() -> None:
    queue = arrived([b"one\nTWO\nthree\nFOUR\nTWO\n"])
    assert [line.text for line in queue.ahead()] == ["TWO", "FOUR", "TWO"]
    assert [line.text for line in queue.ahead(2)] == ["TWO"]
    assert queue.ahead(3) == []
    for left in (3, 2, 2, 1, 0):
        queue.take()
        assert len(queue.ahead()) == left


def test_a_closed_stream_is_its_end() -> None:
    class Broken(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            raise OSError("gone")

    queue = Lines(Broken(), lambda _: False)  # type: ignore[arg-type]
    queue.wait()
    assert queue.take() is None
    assert queue.ended
    assert threading.active_count() < 50
