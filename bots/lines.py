"""Lines that arrive while a session is busy: a thread reads them as they come."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

#: Bytes of a line beyond this many are dropped.
LONGEST_LINE = 1 << 16

#: Seconds that what came before an urgent line may still take.
GRACE = 0.3

_CHUNK = 1 << 16


class Line(NamedTuple):
    """A line without its end, and when it arrived (`time.monotonic()`)."""

    text: str
    at: float


class Lines:
    """The lines of a stream, in order. A line ends with LF, CR LF or the end of the stream."""

    def __init__(self, source: BinaryIO, is_urgent: Callable[[str], bool]) -> None:
        """Begin to read. `is_urgent` says which lines set `urgent_at` as soon as they arrive.

        `source.read(n)` should return what there is, as an unbuffered file does: a buffered one
        would wait for n bytes, and hold a lock that the interpreter wants at its end.
        """
        #: When the first urgent line arrived, or None.
        self.urgent_at: float | None = None
        self._is_urgent = is_urgent
        self._waiting: deque[Line] = deque()
        self._ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def __iter__(self) -> Iterator[Line]:
        """Each line as it arrives, to the end of the stream."""
        while (line := self.take()) is not None:
            yield line

    def take(self) -> Line | None:
        """The next line, waited for; None at the end of the stream."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            return self._waiting.popleft() if self._waiting else None

    def peek(self) -> Line | None:
        """The next line if it is there already; it stays."""
        return self._waiting[0] if self._waiting else None

    def wait(self) -> None:
        """Wait until a line is there or the stream has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)

    @property
    def hurried(self) -> bool:
        """Whether an urgent line has been waiting for `GRACE`."""
        return self.urgent_at is not None and time.monotonic() >= self.urgent_at + GRACE

    @property
    def ended(self) -> bool:
        """Whether nothing is waiting and nothing more will come."""
        return self._ended and not self._waiting

    def _read(self, source: BinaryIO) -> None:
        rest = b""
        try:
            while chunk := source.read(_CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                rest = rest[:LONGEST_LINE]
                self._add(whole)
        except (OSError, ValueError):
            pass  # the other side is gone, or the stream was closed: that is its end
        self._add([rest] if rest else [])
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _add(self, raw: list[bytes]) -> None:
        now = time.monotonic()
        lines = [
            Line(each[:LONGEST_LINE].decode(errors="replace").rstrip("\r"), now) for each in raw
        ]
        if self.urgent_at is None and any(self._is_urgent(line.text) for line in lines):
            self.urgent_at = now
        with self._changed:
            self._waiting.extend(lines)
            self._changed.notify_all()
