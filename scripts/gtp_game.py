"""One whole game over GTP between two programs, each in a process of its own."""

import json
import subprocess
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any


class GtpGameError(RuntimeError):
    """A program ended or answered with an error; the message says which and what."""


class GtpProgram:
    """A program that speaks GTP on its standard input and output."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        # In a group of its own, since a terminal's Ctrl-C would end it in the middle of a word; it
        # ends with its input.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def ask(self, command: str) -> str:
        """Send a command and wait for its answer. Raises `GtpGameError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise GtpGameError(f"{self.name} has ended before {command!r}") from None
        lines = []
        while (line := self._process.stdout.readline()) not in ("\n", ""):
            lines.append(line.rstrip("\n"))
        answer = "\n".join(lines)
        if not answer.startswith("="):
            raise GtpGameError(f"{self.name}: {command!r} was answered by {answer or 'nothing'!r}")
        return answer[1:].removeprefix(" ").rstrip()

    def __enter__(self) -> "GtpProgram":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the program, by asking if it still listens."""
        try:
            if error is None:
                self.ask("quit")
                self._process.wait(timeout=10)
        except (GtpGameError, subprocess.TimeoutExpired):
            pass
        finally:
            self._process.kill()
            self._process.wait()


def play_game(
    first: GtpProgram,
    second: GtpProgram,
    on_ply: Callable[[str, str], None] = lambda who, what: None,
) -> dict[str, Any]:
    """Play a game, `first` at seat A. Returns the final state of `narabe-state`.

    `on_ply` is told who has played what. Raises `GtpGameError`, also when the two programs disagree
    about the result.
    """
    seats = {"A": first, "B": second}
    while True:
        state: dict[str, Any] = json.loads(first.ask("narabe-state"))
        if state["result"] is not None:
            break
        mover = seats[state["seat"]]
        other = second if mover is first else first
        if state["choice"]:
            action = mover.ask("narabe-choose")
            other.ask(f"narabe-choose {action}")
        else:
            action = mover.ask(f"genmove {state['colour']}")
            other.ask(f"play {state['colour']} {action}")
        on_ply(mover.name, action)
    if json.loads(second.ask("narabe-state")) != state:
        raise GtpGameError(f"{first.name} and {second.name} disagree about the end of the game")
    return state
