"""The rules as a service: JSON lines in, one JSON line out for each, flushed at once.

    echo '{"game": "mnk", "actions": ["b2", "a1"]}' | python -m scripts.referee

`docs/referee.md` describes requests and answers. A line of a game record is a request as it is.
"""

import argparse
import json
import sys
import traceback
from typing import Any, BinaryIO

from engine.json_lines import RequestError, parse, read_lines
from engine.referee import judge
from scripts.quiet import run_quietly


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line of `requests` until they end. Raises OSError when nobody listens."""
    for number, line in enumerate(read_lines(requests), start=1):
        answer = {"line": number, **answer_line(line)}
        answers.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
        answers.flush()


def answer_line(line: bytes | None) -> dict[str, Any]:
    """The answer to one line, or an object with only `error` for a line that cannot be judged."""
    try:
        return judge(parse(line))
    except RequestError as error:
        reason = str(error)
    except Exception as error:
        # A fault of ours must not cost the client its other lines.
        traceback.print_exc()
        reason = f"internal error, please report it: {type(error).__name__}: {error}"[:300]
    return {"error": {"ply": None, "action": None, "reason": reason}}


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
