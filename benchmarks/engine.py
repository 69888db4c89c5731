"""Speeds of the engine's parts: playouts, forbidden points, superko, copies; loops in C.

`python -m benchmarks.engine` (or `make bench`) prints one table and stores it as JSON. Where an
outside library does the same, it is timed in the same run, taking turns; these libraries come with
the extra `bench`, and without them the table says "not installed".
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.command import run
from benchmarks.table import INSTALL, Row, Target, begin, library, rates, report
from engine import Position, RuleSet
from engine._playout import (
    list_fouls,
    list_legal,
    look_up,
    playout,
    playouts,
    remembered,
    repeat_copy,
)
from engine._position import PositionCore
from engine.position import rule_table

ORACLE = Path(__file__).parents[1] / "tests" / "data" / "renju" / "forbidden.jsonl.gz"

GAMES = {
    "gomoku 15x15": RuleSet.preset("gomoku"),
    "gomoku 19x19": RuleSet.preset("gomoku", size=19),
    "gomoku-standard 15x15": RuleSet.preset("gomoku-standard"),
    "caro 15x15": RuleSet.preset("caro"),
    "caro-overlines 15x15": RuleSet.preset("caro-overlines"),
    "mnk 3x3": RuleSet.preset("mnk"),
    "renju 15x15": RuleSet.preset("renju"),
    "connect-go 19x19": RuleSet.preset("connect-go"),
    "irensei 15x15": RuleSet.preset("irensei", size=15),
    "irensei 19x19": RuleSet.preset("irensei"),
}

#: Openings whose plies are timed, and so many plies: what an opening takes, or a little more.
OPENINGS = ("swap-2", "renju-swap", "yamaguchi", "soosorv-8", "taraguchi-10")
OPENING_PLIES = 12
#: What they are compared with: whole games without an opening, and the first plies of such games.
NORMAL = "normal play, renju 15x15"
BEGINNING = f"the first {OPENING_PLIES} plies without an opening, renju 15x15"

#: OpenSpiel's games by the name that the table gives them.
OPENSPIEL = {
    "OpenSpiel gomoku 15x15": "gomoku(size=15,connect=5)",
    "OpenSpiel gomoku 19x19": "gomoku(size=19,connect=5)",
    "OpenSpiel mnk 15x15": "mnk(m=15,n=15,k=5)",
    "OpenSpiel mnk 19x19": "mnk(m=19,n=19,k=5)",
    "OpenSpiel Go 15x15": "go(board_size=15)",
    "OpenSpiel Go 19x19": "go(board_size=19)",
}
#: Which of them stands beside a game of ours.
BESIDE = {
    "gomoku 15x15": "OpenSpiel gomoku 15x15",
    "gomoku 19x19": "OpenSpiel gomoku 19x19",
    "irensei 15x15": "OpenSpiel Go 15x15",
    "irensei 19x19": "OpenSpiel Go 19x19",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    seconds: float = 0.3
    """Of each repetition of each task."""
    repeats: int = 5
    oracle: int = 3000
    """Positions of the oracle, from the first."""
    random: int = 1000
    """Random positions."""
    slow: int = 12
    """Positions that the package renju is given, of either kind: it takes milliseconds for one."""


QUICK = Effort(seconds=0.02, repeats=2, oracle=200, random=60, slow=2)


TARGETS = (
    Target(what="playouts, gomoku 15x15", least=10, ratio=True),
    Target(what="playouts, gomoku 19x19", least=10, ratio=True),
    Target(what="playouts, irensei 19x19", least=5, ratio=True),
    *(Target(what=f"opening {name}, renju 15x15", least=1, ratio=True) for name in OPENINGS),
    Target(what="forbidden points, random 15x15", most=6),
    Target(what="forbidden points, oracle", most=15),
    Target(what="copy, irensei 19x19", most=150),
)


def lasting(seconds: float, work: Callable[[], int]) -> Callable[[], int]:
    """A task for `rates` that repeats `work` until so much time has passed; it adds up units."""

    def task() -> int:
        units, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            units += work()
        return units

    return task


def beside(row: Row, reference: str, ratio: float | None) -> Row:
    """The row with its ratio; a ratio of None: the library is not installed."""
    if ratio is None:
        reference = f"{reference}: not installed ({INSTALL})"
    return dataclasses.replace(row, reference=reference, ratio=ratio)


# --- playouts -----------------------------------------------------------------------------------


def playout_rows(effort: Effort, games: dict[str, RuleSet] = GAMES) -> list[Row]:
    """Thousand plies a second of random games, without and with full lists, and OpenSpiel's."""
    seeds = itertools.count(step=1000)
    tasks = {
        f"{kind}, {name}": lasting(effort.seconds, _playout_task(rules, lists, seeds))
        for name, rules in games.items()
        for kind, lists in (("playouts", False), ("playouts with lists", True))
    }
    wanted = {f"OpenSpiel {words}" for name in games for words in _words(name)}
    tasks |= openspiel_tasks(effort, {k: v for k, v in OPENSPIEL.items() if k in wanted})
    found = rates(tasks, effort.repeats)
    return [_playout_row(what, found) for what in found]


def _words(name: str) -> tuple[str, ...]:
    # What OpenSpiel calls the games that are like ours.
    game, size = name.split()
    like = {"gomoku": ("gomoku", "mnk"), "irensei": ("Go",)}.get(game, ())
    return tuple(f"{word} {size}" for word in like)


def _playout_task(rules: RuleSet, lists: bool, seeds: itertools.count[int]) -> Callable[[], int]:
    table, cap = rule_table(rules, "none"), 3 * rules.points
    return lambda: playouts(table, 4, next(seeds), lists, cap)[0]


def _playout_row(what: str, found: dict[str, tuple[float, float | None]]) -> Row:
    median, spread = found[what]
    row = Row(what=what, value=median / 1e3, unit="k plies/s", spread=spread)
    kind, _, name = what.partition(", ")
    if name == "from Python":
        return beside(row, "the same in C++", median / found[f"{kind}, in C++"][0])
    if reference := BESIDE.get(name):
        theirs = found.get(f"{reference}, in C++")
        return beside(row, f"{reference} in C++", None if theirs is None else median / theirs[0])
    return row


def openspiel_tasks(effort: Effort, games: dict[str, str]) -> dict[str, Callable[[], int]]:
    """OpenSpiel's random games, as a Python program plays them and in C++; units are plies.

    The wheel has one loop over random games in C++: the rollouts of its MCTS bot. A search of one
    simulation plays so many from the root. It does not say how long they were; so their number is
    multiplied by the mean length of the games, equally random, that Python played before.
    """
    spiel, tasks = library("pyspiel"), {}
    if spiel is None:
        return {}
    for name, text in games.items():
        game = spiel.load_game(text)
        lengths: list[int] = []
        tasks[f"{name}, from Python"] = lasting(effort.seconds, _from_python(game, lengths))
        tasks[f"{name}, in C++"] = lasting(effort.seconds, _in_cpp(spiel, game, lengths))
    return tasks


def _from_python(game: Any, lengths: list[int]) -> Callable[[], int]:
    draw = Random(1).random

    def play() -> int:
        state, plies = game.new_initial_state(), 0
        while not state.is_terminal():
            actions = state.legal_actions()
            state.apply_action(actions[int(draw() * len(actions))])
            plies += 1
        lengths.append(plies)
        return plies

    # For a mean length known to a few per cent before the first games in C++ are counted.
    while len(lengths) < 20:
        play()
    return play


def _in_cpp(spiel: Any, game: Any, lengths: list[int], rollouts: int = 4) -> Callable[[], int]:
    evaluator = spiel.RandomRolloutEvaluator(rollouts, 1)
    bot = spiel.MCTSBot(game, evaluator, 2.0, 1, 100, False, 1, False)
    state = game.new_initial_state()

    def play() -> int:
        bot.mcts_search(state)
        return round(rollouts * float(np.mean(lengths)))

    return play


# --- openings -----------------------------------------------------------------------------------


def opening_rows(effort: Effort) -> list[Row]:
    """The plies of renju's openings, with full lists, beside those of games without one."""
    rules, seeds = RuleSet.preset("renju"), itertools.count(step=1000)

    def task(name: str, cap: int) -> Callable[[], int]:
        table = rule_table(rules, name)
        return lambda: playouts(table, 16, next(seeds), True, cap)[0]

    tasks = {name: task(name, OPENING_PLIES) for name in OPENINGS}
    tasks[NORMAL] = task("none", 3 * rules.points)
    tasks[BEGINNING] = task("none", OPENING_PLIES)
    found = rates(
        {name: lasting(effort.seconds, work) for name, work in tasks.items()}, effort.repeats
    )
    return [
        Row(
            what=name if name == BEGINNING else f"opening {name}, renju 15x15",
            value=found[name][0] / 1e3,
            unit="k plies/s",
            reference=NORMAL,
            ratio=found[name][0] / found[NORMAL][0],
            spread=found[name][1],
        )
        for name in (*OPENINGS, BEGINNING)
    ]


# --- forbidden points ---------------------------------------------------------------------------


def oracle_positions(count: int) -> list[Position]:
    """The first positions of the oracle's; each has Black to move."""
    positions = []
    with gzip.open(ORACLE, "rt") as lines:
        for line in itertools.islice(lines, count):
            case = json.loads(line)
            rules = RuleSet.preset("renju", size=case["size"])
            positions.append(Position.from_setup(rules, black=case["black"], white=case["white"]))
    return positions


def random_positions(count: int, rng: np.random.Generator) -> list[Position]:
    """Renju on 15x15 after 10 to 120 random plies, Black to move."""
    rules, positions = RuleSet.preset("renju"), list[Position]()
    table = rule_table(rules, "none")
    while len(positions) < count:
        plies = 2 * int(rng.integers(5, 61))
        position = Position(rules)
        for action in playout(table, int(rng.integers(2**63)), False, plies):
            position.play(action)
        if position.outcome is None and position.to_play == "black":
            positions.append(position)
    return positions


def forbidden_rows(effort: Effort) -> list[Row]:
    """Microseconds for the list of all forbidden points of a position, beside package renju's."""
    groups = {
        "random 15x15": random_positions(effort.random, np.random.default_rng(2)),
        "oracle": oracle_positions(effort.oracle),
    }
    renju, tasks = library("renju"), dict[str, Callable[[], int]]()
    for name, positions in groups.items():
        tasks[name] = lasting(effort.seconds, _fouls_task(positions))
        if renju is not None:
            few = positions[:: -(-len(positions) // effort.slow)]
            tasks[f"{name}, some"] = lasting(effort.seconds, _fouls_task(few))
            tasks[f"{name}, renju"] = _renju_task(renju, few)
    found, rows = rates(tasks, effort.repeats), []
    for name in groups:
        row = _time_row(f"forbidden points, {name}", found[name], "us/position", 1e6)
        theirs, ratio = found.get(f"{name}, renju"), None
        if theirs is not None:
            ratio = found[f"{name}, some"][0] / theirs[0]
            what = f"forbidden points, {name}, renju from Python"
            rows.append(_time_row(what, theirs, "us/position", 1e6))
        rows.append(beside(row, "renju on some of them", ratio))
    return rows


def _fouls_task(positions: list[Position]) -> Callable[[], int]:
    cores = [position._core for position in positions]

    def work() -> int:
        list_fouls(cores)
        return len(cores)

    return work


def _renju_task(renju: Any, positions: list[Position]) -> Callable[[], int]:
    boards = [position.board.tolist() for position in positions]

    def task() -> int:
        for board in boards:
            renju_fouls(renju, board)
        return len(boards)

    return task


def renju_fouls(renju: Any, board: list[list[int]]) -> list[tuple[int, int]]:
    """The points (row, column) that package renju forbids to Black on a board [H, W] of 0, 1, 2."""
    return [
        (y, x)
        for y, row in enumerate(board)
        for x, stone in enumerate(row)
        if not stone and renju.get_foul_type(board, y, x)
    ]


def _time_row(what: str, found: tuple[float, float | None], unit: str, scale: float) -> Row:
    return Row(what=what, value=scale / found[0], unit=unit, spread=found[1])


# --- superko and copies -------------------------------------------------------------------------


def long_game(rules: RuleSet, plies: int) -> Position:
    """A random game that has gone on for so many plies."""
    position = Position(rules)
    for seed in itertools.count():
        actions = playout(rule_table(rules, "none"), seed, False, plies + 1)
        if len(actions) > plies:
            break
    for action in actions[:plies]:
        position.play(action)
    return position


def superko_rows(effort: Effort) -> list[Row]:
    """Lists of legal actions with many boards to compare with, and the comparisons alone."""
    # No line of 20 fits on the board, so the game lasts.
    rules = RuleSet.preset("irensei", line_length=20)
    position = long_game(rules, 3 * rules.points)
    free = Position(dataclasses.replace(rules, superko=False, ply_limit=100_000))
    for action in position.actions:
        free.play(action)
    core, empty = position._core, rules.points - int(np.count_nonzero(position.board))
    found = rates(
        {
            "list": lasting(effort.seconds, _list_task(core, empty)),
            "free": lasting(effort.seconds, _list_task(free._core, empty)),
            "look-up": lasting(effort.seconds, _look_up_task(core)),
        },
        effort.repeats,
    )
    boards = f"{remembered(core)} boards"
    row = _time_row(f"legal list under superko, {boards}", found["list"], "ns/empty point", 1e9)
    return [
        beside(row, "the same without superko", found["list"][0] / found["free"][0]),
        _time_row(f"look-up of a board, {boards}", found["look-up"], "ns", 1e9),
    ]


def _list_task(core: PositionCore, empty: int) -> Callable[[], int]:
    cores = 20 * [core]

    def work() -> int:
        list_legal(cores)
        return 20 * empty

    return work


def _look_up_task(core: PositionCore) -> Callable[[], int]:
    def work() -> int:
        look_up(core, 1000)
        return 1000

    return work


def copy_rows(effort: Effort) -> list[Row]:
    """Nanoseconds for a copy of a position in C, with its history, and as a Python object."""
    tasks: dict[str, Callable[[], int]] = {}
    for name in ("gomoku 15x15", "irensei 15x15", "irensei 19x19"):
        position = long_game(GAMES[name], GAMES[name].points // 2)
        for extra in (False, True):
            what = f"copy, {name}" + (", with history" if extra else "")
            tasks[what] = lasting(effort.seconds, _copy_task(position._core, extra))
    tasks["copy, irensei 19x19, as a Position"] = lasting(effort.seconds, _twin_task(position.copy))
    if (spiel := library("pyspiel")) is not None:
        state, rng = spiel.load_game("go(board_size=19)").new_initial_state(), Random(1)
        for _ in range(position.ply):
            state.apply_action(rng.choice(state.legal_actions()))
        tasks["clone, OpenSpiel Go 19x19, from Python"] = lasting(
            effort.seconds, _twin_task(state.clone)
        )
    found = rates(tasks, effort.repeats)
    theirs = found.get("clone, OpenSpiel Go 19x19, from Python")
    return [
        beside(row, "OpenSpiel's clone", None if theirs is None else found[row.what][0] / theirs[0])
        if row.what.endswith("as a Position")
        else row
        for row in (_time_row(what, rate, "ns", 1e9) for what, rate in found.items())
    ]


def _copy_task(core: PositionCore, with_history: bool) -> Callable[[], int]:
    def work() -> int:
        repeat_copy(core, 2000, with_history)
        return 2000

    return work


def _twin_task(copy: Callable[[], object]) -> Callable[[], int]:
    def work() -> int:
        for _ in range(100):
            copy()
        return 100

    return work


def measure(quick: bool) -> list[Row]:
    """All rows."""
    effort = QUICK if quick else Effort()
    return [
        *playout_rows(effort),
        *opening_rows(effort),
        *forbidden_rows(effort),
        *superko_rows(effort),
        *copy_rows(effort),
    ]


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="rough figures in a few seconds")
    quick = parser.parse_args(arguments).quick
    begin()
    report("engine-quick" if quick else "engine", "engine, one core", measure(quick), TARGETS)


if __name__ == "__main__":
    sys.exit(run(main))
