"""Whether a bot's moves are there in time on a machine that has other things to do.

`python -m benchmarks.punctual` prints one table and stores it as JSON: how long before the limit
the moves of a large network came, as a program at the other end of the pipes sees it, while busy
processes take the cores. Beside it a process that does nothing but wait until 50 ms before the same
limit, and answer: what it is late is the machine's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np

from benchmarks.command import run
from benchmarks.evaluators import random_network
from benchmarks.table import Row, Target, begin, report
from bots.clock import SAFETY
from engine import Position, RuleSet
from engine.search import SearchConfig
from model.checkpoint import Checkpoint, CheckpointMeta
from model.export import export
from model.games import GameEntry
from model.network import PRESETS

RULES = RuleSet.preset("gomoku")
NETWORK = "b10c128"
#: Seconds a move.
LIMITS = (0.1, 0.2, 0.5, 1.0)
#: Plies of a game before the next one begins.
PLIES = 30

BUSY = "while True: pass"
WAITER = """
import sys, time
for line in sys.stdin:
    if line.startswith("INFO timeout_turn"):
        seconds = int(line.split()[-1]) / 1000 - {safety}
    elif not line.startswith("INFO"):
        time.sleep(seconds)
        print("0,0", flush=True)
"""


class Program:
    """A process that answers line by line."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send(self, line: str) -> None:
        """Send a line that gets no answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line: str) -> str:
        """Send a line, and return the first answer that is more than a remark."""
        assert self.process.stdout is not None
        self.send(line)
        while (answer := self.process.stdout.readline()).startswith("MESSAGE"):
            pass
        return answer.strip()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()


def make_bot(folder: Path) -> Path:
    """A bot with weights that mean nothing: its moves cost what any network's cost."""
    meta = CheckpointMeta(network=PRESETS[NETWORK], games=[GameEntry(rules=RULES)], version=1)
    network = random_network(PRESETS[NETWORK])
    checkpoint = Checkpoint(network=network, meta=meta).save(folder / "v000001")
    export(checkpoint, folder / "bot", SearchConfig())
    return folder / "bot"


def moves(bot: Program, seconds: float, count: int) -> list[float]:
    """How long before the limit each move of a bot was there, in ms."""
    rng = np.random.default_rng(0)
    early: list[float] = []
    position = Position(RULES)
    bot.ask(f"START {RULES.width}")
    bot.send(f"INFO timeout_turn {round(1000 * seconds)}")
    while len(early) < count:
        if position.outcome is not None or position.ply >= PLIES:
            position = Position(RULES)
            bot.ask("RESTART")
        ours = position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is not None:
            continue
        x, y = ours.action % RULES.width, ours.action // RULES.width
        began = time.perf_counter()
        answer = bot.ask(f"TURN {x},{y}")
        early.append(1000 * (began + seconds - time.perf_counter()))
        x, y = map(int, answer.split(","))
        position.play(y * RULES.width + x)
    return early


def waits(waiter: Program, seconds: float, count: int) -> list[float]:
    """As `moves`, of a program that only waits."""
    waiter.send(f"INFO timeout_turn {round(1000 * seconds)}")
    early = []
    for _ in range(count):
        began = time.perf_counter()
        waiter.ask("TURN 0,0")
        early.append(1000 * (began + seconds - time.perf_counter()))
    return early


def measure(limits: Sequence[float], count: int, processes: int) -> list[Row]:
    """The table's rows: `count` moves at each limit beside so many busy processes."""
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        command = f"-m scripts.play {make_bot(folder)} --protocol gomocup --simulations unlimited"
        bot = stack.enter_context(closing(Program(*command.split())))
        waiter = stack.enter_context(closing(Program("-c", WAITER.format(safety=SAFETY))))
        moves(bot, 1.0, 2)
        for _ in range(processes):
            stack.enter_context(closing(Program("-c", BUSY)))
        for limit in limits:
            rows += _rows(f"{limit:g} s", moves(bot, limit, count), waits(waiter, limit, count))
    return rows


def _rows(what: str, early: list[float], idle: list[float]) -> list[Row]:
    def row(name: str, value: float, other: float, unit: str) -> Row:
        return Row(
            what=f"{what}, {name}", value=value, unit=unit, reference=f"waiting: {other:.3g}"
        )

    return [
        row("last move before the limit", min(early), min(idle), "ms"),
        row("usual move before the limit", np.median(early), np.median(idle), "ms"),
        row("moves in the last 50 ms", _late(early), _late(idle), f"of {len(early)}"),
    ]


def _late(early: list[float]) -> int:
    return sum(each < 1000 * SAFETY for each in early)


def main() -> None:
    """Prints and stores the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, default=4, help="busy processes (%(default)s)")
    parser.add_argument("--moves", type=int, default=80, help="at each limit (%(default)s)")
    parser.add_argument("--limits", type=float, nargs="+", default=LIMITS, help="seconds a move")
    arguments = parser.parse_args()
    targets = (
        Target(what=f"{limit:g} s, last move before the limit", least=1000 * SAFETY)
        for limit in arguments.limits
    )
    begin()
    print(f"a bot of {NETWORK} on {RULES.name}, beside {arguments.busy} busy processes")
    rows = measure(arguments.limits, arguments.moves, arguments.busy)
    report("punctual", f"beside {arguments.busy} busy processes", rows, targets)


if __name__ == "__main__":
    sys.exit(run(main))
