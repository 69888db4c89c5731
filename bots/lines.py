"""Lines that arrive while a session is busy: a thread reads them as they come."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import BinaryIO, NamedTuple

#: Bytes of a line beyond this many are dropped.
LONGEST_LINE = 1 << 16

#: Seconds after the arrival of the line that ends the session, or after the session is ready where
#: that comes later: so long may be searched for what was asked before it, and so long is it
#: answered at all. A script that is sent at once gets its answers in between, which take no more
#: than an evaluation each; that is all that comes on top of the time, whatever the network costs.
GRACE, ANSWERED = 0.3, 0.5

_CHUNK = 1 << 16


class Line(NamedTuple):
    """A line without its end, and when it arrived (`time.monotonic()`)."""

    text: str
    at: float


class Lines:
    """The lines of a stream, in order. A line ends with LF, CR LF or the end of the stream."""

    def __init__(
        self,
        source: BinaryIO,
        is_end: Callable[[str], bool],
        is_heeded: Callable[[str], bool] = lambda _: False,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin to read. `is_end` says which line ends the session, wherever it waits.

        `ahead` tells the lines that `is_heeded` picks. `on_end` is called, in the reading thread,
        when the line that ends the session arrives. `source.read(n)` should return what there is,
        as an unbuffered file does: a buffered one would wait for n bytes, and hold a lock that the
        interpreter wants at its end.
        """
        self._is_end, self._is_heeded, self._on_end = is_end, is_heeded, on_end
        self._waiting: deque[Line] = deque()
        self._heeded: deque[Line] = deque()
        self._end: Line | None = None
        #: When the session was ready; None: it is not yet.
        self._ready: float | None = None
        self._ended = False
        self._changed = threading.Condition()
        threading.Thread(target=self._read, args=(source,), daemon=True).start()

    def __iter__(self) -> Iterator[Line]:
        """Each line as it arrives, to the end of the stream."""
        while (line := self.take()) is not None:
            yield line

    def take(self) -> Line | None:
        """The next line, waited for; None at the end of the stream.

        Once the line that ends the session has been there for `ANSWERED`, what still waits before
        it is dropped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)
            line = self._pop()
            if self._has_ended_for(ANSWERED):
                while line is not None and line is not self._end:
                    line = self._pop()
            return line

    def _pop(self) -> Line | None:
        line = self._waiting.popleft() if self._waiting else None
        if line is not None and self._heeded and line is self._heeded[0]:
            self._heeded.popleft()
        return line

    def peek(self) -> Line | None:
        """The next line if it is there already; it stays."""
        return self._waiting[0] if self._waiting else None

    def ahead(self, start: int = 0) -> list[Line]:
        """The waiting lines that `is_heeded` picks, from the `start`-th of them; they stay."""
        if len(self._heeded) <= start:
            return []
        with self._changed:
            return list(islice(self._heeded, start, None))

    def wait(self) -> None:
        """Wait until a line is there or the stream has ended."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended)

    def ready(self) -> None:
        """The session has loaded its network. Only the first time counts.

        A script that is sent at once does not pay for the loading.
        """
        if self._ready is None:
            self._ready = time.monotonic()

    @property
    def hurried(self) -> bool:
        """Whether the line that ends the session has been there for `GRACE`: no more searching."""
        return self._has_ended_for(GRACE)

    def _has_ended_for(self, seconds: float) -> bool:
        end = self._end
        return end is not None and time.monotonic() >= max(end.at, self._ready or 0.0) + seconds

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
        heeded = [line for line in lines if self._is_heeded(line.text)]
        end = next((line for line in lines if self._is_end(line.text)), None)
        with self._changed:
            self._waiting.extend(lines)
            self._heeded.extend(heeded)
            first, self._end = self._end is None, self._end or end
            self._changed.notify_all()
        if first and end is not None:
            self._on_end()
