"""The analysis engine as a process that is treated badly: random input, floods, ends at any moment.

Written for many rounds; `slow` plays 200, and a few are played always.
"""

import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bots.loading import load_bot
from engine import Position

ROOT = Path(__file__).parents[2]

#: Nobody waits so long for an end that should come at once; searches here would take longer.
PATIENCE = 20

#: Seconds after which an end is no longer one at once, on a machine that does other things too.
AT_ONCE = 5.0

GARBAGE = [b"", b"   ", b"{", b"[1]", b"null", b"\xff\xfe", b'{"id": 1}', b"quit", b'{"id": "x"}',
           b'{"id": "x", "game": "go"}', b"{" * 5000, b'{"id": "' + b"y" * 3000 + b'"}',
           b'{"id": "x", "action": ["terminate"]}']  # fmt: skip


class Engine:
    """A process, and the answers that it still owes."""

    def __init__(self, bot: Path, seed: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scripts.play", str(bot), "--protocol", "json"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.games = load_bot(bot).games
        self.draw = random.Random(seed)
        self.owed: set[tuple[str, int]] = set()
        self.errors = 0
        self.number = 0

    def send(self, line: bytes | dict[str, Any]) -> None:
        self.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode())
        self.stdin.write(b"\n")
        self.stdin.flush()

    def ask(self, *, long: bool = False) -> None:
        """A random game's random plies, or an illegal action in it."""
        rules, opening = self.draw.choice(self.games)
        position = Position(rules, opening)
        while position.outcome is None and self.draw.random() < 0.8:
            position.play(self.draw.choice(position.legal_actions().tolist()))
        self.number += 1
        query: dict[str, Any] = {
            "id": f"q{self.number}",
            "game": rules.name,
            "rules": rules.to_json(),
            "opening": opening,
            "actions": [position.action_name(action) for action in position.actions],
            "priority": self.draw.randrange(3),
            "simulations": self.draw.choice([1, 5, 30]),
        }
        if self.draw.random() < 0.2:
            query["actions"] += [self.draw.choice(["a1", "zz", "pass", "12", "black"])] * 3
            self.send(query)
            self.errors += 1  # one of three equal actions, or the one after the end, is illegal
            return
        if long:
            query |= {"seconds": 600, "simulations": 10**9, "report_every": 0.01}
        plies = sorted({self.draw.randint(0, position.ply) for _ in range(3)})
        self.owed |= {(query["id"], ply) for ply in plies}
        self.send(query | {"plies": plies})

    def disturb(self) -> None:
        """A line that is answered by an error, or not at all where it is empty."""
        line = self.draw.choice(GARBAGE)
        self.errors += bool(line.strip())
        self.send(line)

    def hear(self) -> dict[str, Any]:
        """One answer, taken off what is owed."""
        return self.note(self.stdout.readline())

    def note(self, line: bytes) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(line)
        if "ply" in answer:
            assert "error" not in answer, answer
            if answer["final"]:
                self.owed.remove((answer["id"], answer["ply"]))
        elif "error" in answer:
            self.errors -= 1
        return answer

    def end(self) -> float:
        """Everything ends at once: how long that takes, in seconds."""
        began = time.monotonic()
        self.send({"id": "end", "action": "terminate_all"})
        said, complaint = self.process.communicate(timeout=PATIENCE)
        for line in said.splitlines():
            self.note(line)
        assert (complaint, self.process.returncode) == (b"", 0)
        assert not self.owed
        assert not self.errors
        return time.monotonic() - began


def play_rounds(bot: Path, rounds: int, seed: int) -> None:
    engine = Engine(bot, seed)
    for _ in range(rounds):
        for _ in range(engine.draw.randint(1, 6)):
            engine.draw.choice([engine.ask, engine.ask, engine.disturb])()
        engine.ask(long=True)
        for _ in range(engine.draw.choice([0, 0, 80])):
            engine.disturb()
        engine.send({"id": "t", "action": "terminate_all"})
        while engine.owed or engine.errors:
            engine.hear()
    engine.end()


def test_a_few_rounds(exported_bot: Path) -> None:
    play_rounds(exported_bot, 15, seed=1)


@pytest.mark.slow
def test_two_hundred_rounds(exported_bot: Path) -> None:
    play_rounds(exported_bot, 200, seed=2)


STATES = ("idle", "searching", "flooded", "reports unread")


@pytest.mark.parametrize("state", STATES)
def test_the_end_comes_at_once(exported_bot: Path, state: str) -> None:
    engine = Engine(exported_bot, seed=3)
    if state != "idle":
        for _ in range(20):
            engine.ask(long=True)
    if state == "flooded":
        for _ in range(1000):
            engine.ask(long=True)
            engine.disturb()
    if state == "reports unread":
        time.sleep(1.0)  # as many as the pipe holds, and more
    assert engine.end() < AT_ONCE


@pytest.mark.parametrize("state", STATES)
def test_nobody_listens(exported_bot: Path, state: str) -> None:
    engine = Engine(exported_bot, seed=4)
    if state != "idle":
        for _ in range(20):
            engine.ask(long=True)
    engine.stdout.close()
    engine.process.stdout = None
    engine.send({"id": "v", "action": "query_version"})
    _, complaint = engine.process.communicate(timeout=PATIENCE)
    assert (complaint, engine.process.returncode) == (b"", 1)


def test_what_is_under_way_is_finished_at_the_end_of_the_input(exported_bot: Path) -> None:
    engine = Engine(exported_bot, seed=5)
    for _ in range(100):
        engine.ask()
    said, complaint = engine.process.communicate(timeout=PATIENCE)
    for line in said.splitlines():
        engine.note(line)
    assert (complaint, engine.process.returncode) == (b"", 0)
    assert not engine.owed
    assert not engine.errors


def test_an_interrupt_ends_it(exported_bot: Path) -> None:
    engine = Engine(exported_bot, seed=6)
    engine.ask(long=True)
    engine.hear()
    engine.process.send_signal(2)
    _, complaint = engine.process.communicate(timeout=PATIENCE)
    assert (complaint, engine.process.returncode) == (b"", 130)


def test_a_seed_repeats_its_answers(exported_bot: Path) -> None:
    def answers() -> list[dict[str, Any]]:
        done = subprocess.run(
            [sys.executable, "-m", "scripts.play", str(exported_bot), "--protocol", "json"],
            cwd=ROOT,
            input="".join(
                json.dumps(
                    {
                        "id": str(n),
                        "game": "gomoku",
                        "rules": {"size": 6, "line_length": 4},
                        "simulations": 50 + n,
                    }
                )
                + "\n"
                for n in range(20)
            ),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        said = [json.loads(line) for line in done.stdout.splitlines()]
        for answer in said:
            del answer["seconds"]
        return sorted(said, key=lambda answer: int(answer["id"]))

    first = answers()
    assert len(first) == 20
    assert answers() == first
