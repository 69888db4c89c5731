"""Lines from a stream, however it is cut."""

import io
import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from bots.lines import LONGEST_LINE, Lines


class Cut(io.RawIOBase):
    """A stream that gives its bytes in these pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = [piece for piece in pieces if piece]

    def read(self, _: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


def lines(pieces: list[bytes]) -> Lines:
    return Lines(Cut(pieces), lambda text: text == "END")  # type: ignore[arg-type]


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


def test_urgent_lines_are_seen_behind_others() -> None:
    queue = lines([b"one\ntwo\nEND\n"])
    deadline = time.monotonic() + 20
    while queue.urgent_at is None and time.monotonic() < deadline:
        time.sleep(0.001)
    first = queue.peek()
    assert queue.urgent_at is not None
    assert first is not None
    assert first.text == "one"
    assert queue.take() == first
    assert not queue.ended


def test_a_closed_stream_is_its_end() -> None:
    class Broken(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            raise OSError("gone")

    queue = Lines(Broken(), lambda _: False)  # type: ignore[arg-type]
    queue.wait()
    assert queue.take() is None
    assert queue.ended
    assert threading.active_count() < 50
