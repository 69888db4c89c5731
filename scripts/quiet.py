"""How programs at the end of a pipe, or before a person, end: without a traceback."""

import os
import sys
from collections.abc import Callable


def run_quietly(work: Callable[[], None]) -> int:
    """The exit status of `work`: 0 at its end, 1 when nobody reads its output, 130 on Ctrl-C."""
    try:
        work()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes once more at its end, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0
