"""How a benchmark ends as a command: what it cannot use is one line and an exit status."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

from engine import RuleError
from model.bot import BotError
from model.checkpoint import CheckpointError
from scripts.quiet import run_quietly
from scripts.replay import ReplayError
from scripts.settings import SettingsError
from selfplay.cluster import WORKER_ENVIRONMENT, ClusterError
from selfplay.records import RecordError
from selfplay.storage import StorageError


class BenchmarkError(Exception):
    """What cannot be measured; one line says what and why."""


#: What says in one line what was wrong with something that the command was given.
EXPLAINED = (
    BenchmarkError,
    BotError,
    CheckpointError,
    ClusterError,
    RecordError,
    ReplayError,
    RuleError,
    SettingsError,
    StorageError,
)


def run(main: Callable[[], bool | None]) -> int:
    """The exit status of a benchmark: 1, and a line, where it cannot be measured.

    `main` returns True, or nothing, where all went well; False is status 1 too. What nobody has
    foreseen keeps its traceback.
    """
    missed = False

    def work() -> None:
        nonlocal missed
        missed = main() is False

    try:
        return run_quietly(work) or int(missed)
    except EXPLAINED as error:
        message = str(error)
    except OSError as error:
        message = f"cannot use {error.filename}: {error.strerror}" if error.filename else str(error)
    print(f"{Path(sys.argv[0]).stem}: {message}", file=sys.stderr)
    return 1


def restart_as_worker() -> None:
    """Begin this program anew in the environment that workers have, unless it has one."""
    if not WORKER_ENVIRONMENT.keys() <= os.environ.keys():
        command = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, command, {**WORKER_ENVIRONMENT, **os.environ})


def whole(least: int) -> Callable[[str], int]:
    """Reads whole numbers of the command line; raises what argparse tells people of others."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return read


def positive(text: str) -> float:
    """A number of the command line that must be above 0. Raises what argparse tells people."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
