"""This checkout's search against another's: is it as strong, and stronger in the same time?

`python -m benchmarks.versions OTHER` plays paired games from random openings, this checkout against
the one in the folder OTHER (built there with `python setup.py build_ext --inplace`), each in a
process of its own. `--checkpoint FILE` gives both a network, else both search without one.
With `--simulations N` a move both search alike; with `--seconds S` both have that time for each
move, with the fastest evaluator that their version offers for a network. Prints wins, draws and
losses of this checkout, Elo with a 95% interval, and the evaluations that either needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.command import BenchmarkError, positive, run, whole
from benchmarks.table import describe
from engine import PRESETS, Position, RuleSet
from model.checkpoint import read_meta
from selfplay.ratings import Score, rate

HERE = Path(__file__).parents[1]


class Side:
    """A checkout that plays, in a process of its own (`benchmarks/side.py`)."""

    def __init__(self, folder: Path, setting: dict[str, Any]) -> None:
        self.evaluations = 0
        self._folder, self._setting = folder, setting
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "benchmarks" / "side.py")],
            cwd=folder,
            env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._say(setting)

    def play(self, games: list[Position]) -> None:
        """Make its move in each of these games. Raises BenchmarkError where it cannot."""
        self._say(self._setting | {"games": [[int(a) for a in game.actions] for game in games]})
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._ended()
        answered = json.loads(line)
        self.evaluations += answered["evaluations"]
        for game, action in zip(games, answered["actions"], strict=True):
            game.play(action)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _say(self, what: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(what) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._ended() from error

    def _ended(self) -> BenchmarkError:
        return BenchmarkError(f"the checkout in {self._folder} cannot play; it says why above")


def match(sides: tuple[Side, Side], openings: list[Position]) -> list[float]:
    """Results of the first side, 1, 0.5 or 0: each opening twice, with seats exchanged."""
    games = [(opening.copy(), first) for opening in openings for first in (0, 1)]
    while any(game.outcome is None for game, _ in games):
        for number, side in enumerate(sides):
            due = [
                game
                for game, first in games
                if game.outcome is None and (first if game.seat == "A" else 1 - first) == number
            ]
            if due:
                side.play(due)
    results = []
    for game, first in games:
        assert game.outcome is not None
        results.append((1 + game.outcome.value("AB"[first])) / 2)
    return results


def random_opening(rules: RuleSet, plies: int, rng: np.random.Generator) -> Position:
    """A position after so many random plies that is not over."""
    while True:
        position = Position(rules)
        for _ in range(plies):
            if position.outcome is None:
                position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is None:
            return position


def fields(text: str) -> dict[str, Any]:
    """Fields of a rule set. Raises what argparse tells people."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f'{text!r} is no JSON object such as {{"size": 9}}')
    return found


def checkout(text: str) -> Path:
    """A folder of the command line that holds narabe. Raises what argparse tells people."""
    folder = Path(text).resolve()
    if not (folder / "engine" / "search.py").exists():
        raise argparse.ArgumentTypeError(f"{text} is no checkout of narabe")
    return folder


def main(arguments: list[str] | None = None) -> None:
    """Prints the result; `arguments` are the command line's where None. Raises RuleError."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("other", type=checkout, help="the other checkout")
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--game", default="gomoku", choices=sorted(PRESETS), metavar="GAME")
    parser.add_argument("--rules", type=fields, default={"size": 9}, help="fields, as JSON")
    parser.add_argument("--simulations", type=whole(1), default=200)
    parser.add_argument("--seconds", type=positive, help="a move, instead of simulations")
    parser.add_argument("--pairs", type=whole(1), default=200)
    parser.add_argument("--plies", type=whole(0), default=4, help="random ones before each game")
    asked = parser.parse_args(arguments)
    if asked.checkpoint:
        read_meta(asked.checkpoint)  # raises CheckpointError here, not in the sides
    setting = {
        "game": asked.game,
        "rules": asked.rules,
        "checkpoint": asked.checkpoint and str(asked.checkpoint.resolve()),
        "simulations": asked.simulations if asked.seconds is None else 100_000,
        "seconds": asked.seconds or 1e6,
    }
    rules, rng = RuleSet.preset(asked.game, **asked.rules), np.random.default_rng(0)
    if asked.plies > 2 * (most := rules.line_length - 1):
        raise BenchmarkError(f"--plies {asked.plies}: 0 to {2 * most} are sure to end no game")
    openings = [random_opening(rules, asked.plies, rng) for _ in range(asked.pairs)]
    with closing(Side(HERE, setting)) as this, closing(Side(asked.other, setting)) as other:
        results = match((this, other), openings)
    describe()
    won, drawn, lost = (results.count(result) for result in (1, 0.5, 0))
    score = Score(wins=won, draws=drawn, losses=lost)
    rating = rate({("this", "other"): score}, anchor="other")["this"]
    print(f"this checkout: {won}-{drawn}-{lost} (wins-draws-losses), Elo {rating}")
    print(f"evaluations: {this.evaluations:,} against {other.evaluations:,}")


if __name__ == "__main__":
    sys.exit(run(main))
