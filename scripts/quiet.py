"""How programs at the end of a pipe, or before a person, end: without a traceback."""

import errno
import io
import os
import sys
import threading
import time
from collections.abc import Callable

#: Seconds after which a process that was told to end waits no more for a reader of its answers
#: (managers kill programs after one), and how long a reader takes that reads.
LAST, SLOW = 0.5, 0.1

#: What it is called when output, which has no name, cannot be written.
UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Answers(io.BufferedWriter):
    """Standard output, whose reader a process's end need not wait for."""

    def __init__(self) -> None:
        super().__init__(io.FileIO(sys.stdout.fileno(), "wb", closefd=False), 1 << 16)
        self._since: float | None = None

    def flush(self) -> None:
        """As a file's."""
        self._since = time.monotonic()
        super().flush()
        self._since = None

    def end_soon(self) -> None:
        """End the process, with status 0, where it waits after `LAST` seconds to be read."""
        threading.Thread(target=self._end_if_stuck, daemon=True).start()

    def _end_if_stuck(self) -> None:
        time.sleep(LAST)
        while (since := self._since) is None or time.monotonic() < since + SLOW:
            time.sleep(SLOW / 2)
        os._exit(0)


def run_quietly(work: Callable[[], None]) -> int:
    """The exit status of `work`: 0 at its end, 1 when nobody reads its output, 130 on Ctrl-C.

    Where its output cannot be written otherwise, as on a full disk, 1 and one line that says so.
    """
    try:
        work()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            raise
        if error.errno != errno.EPIPE:
            print(f"cannot go on: {error.strerror}", file=sys.stderr)
        # Python flushes once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
