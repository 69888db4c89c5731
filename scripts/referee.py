"""The rules as a service: JSON lines in, one JSON line out for each, flushed at once.

    echo '{"game": "mnk", "actions": ["b2", "a1"]}' | python -m scripts.referee

`docs/referee.md` describes requests and answers. A line of a game record is a request as it is.
"""

import argparse
import json
import sys
import traceback
from collections.abc import Iterator
from typing import Any, BinaryIO

from engine.referee import RequestError, judge
from scripts.quiet import run_quietly

#: Longest line that is read, in bytes; the longest games need a few tens of thousands.
LONGEST_LINE = 1 << 20


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line of `requests` until they end. Raises OSError when nobody listens."""
    for number, line in enumerate(read_lines(requests), start=1):
        answer = {"line": number, **answer_line(line)}
        answers.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        answers.flush()


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """The lines of a stream; None in place of one that is longer than `LONGEST_LINE`."""
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)
        yield None


def answer_line(line: bytes | None) -> dict[str, Any]:
    """The answer to one line, or an object with only `error` for a line that cannot be judged."""
    try:
        return judge(_parse(line))
    except RequestError as error:
        reason = str(error)
    except Exception as error:
        # A fault of ours must not cost the client its other lines.
        traceback.print_exc()
        reason = f"internal error, please report it: {type(error).__name__}: {error}"[:300]
    return {"error": {"ply": None, "action": None, "reason": reason}}


def _parse(line: bytes | None) -> dict[str, Any]:
    """The request of a line. Raises `RequestError`."""
    if line is None:
        raise RequestError(f"longer than {LONGEST_LINE} bytes")
    try:
        request = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise RequestError(f"not UTF-8: byte {error.start} is {line[error.start]:#04x}") from error
    except json.JSONDecodeError as error:
        raise RequestError(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise RequestError("not JSON that can be read: nested too deeply") from error
    except ValueError as error:  # a number with thousands of digits
        raise RequestError(f"not JSON that can be read: {error}") from error
    if not isinstance(request, dict):
        raise RequestError("a request is a JSON object in braces")
    return request


def main() -> int:
    """Serve standard input; returns the exit status of `run_quietly`."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.referee",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args()
    return run_quietly(lambda: serve(sys.stdin.buffer, sys.stdout.buffer))


if __name__ == "__main__":
    sys.exit(main())
