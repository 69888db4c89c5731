"""Proof that the loop learns: four in a row on 6x6, from nothing, against exact values.

`python -m benchmarks.solve` trains `experiment=solve` with `scripts.train` for at most 15 minutes
and asks, at 64 simulations a move (Gumbel roots as in the experiment, and new leaves searched for
continuous fours, `search.threat_nodes`):

- does the first player win 100 games against the best defence? Each game begins with an opening of
  its own: random moves of both, those of the first player chosen among the moves that keep the
  win. The defence is exact: it takes a win or a draw where there is one, else it resists longest,
  ties broken at random.
- has the root's value the right sign in 1,000 distinct random positions (2 to 20 random plies)
  whose exact value is a win or a loss?

Beside these targets it tells how often the action that search prefers keeps a position's exact
value, and the signs in positions near play: of games between plain tree searches, which know no
network.

It prints all along the training and at its end, stores them as JSON, and exits with 1 where a
target is missed. Exact values come from `engine.solver`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.command import run
from benchmarks.table import RESULTS, begin, machine
from engine import Position, RuleSet
from engine.evaluators import Evaluator, UniformEvaluator
from engine.search import SearchBatch, SearchConfig, SearchResult, choose
from engine.solver import Solver
from model.checkpoint import Checkpoint
from model.evaluator import evaluator_for

RULES = RuleSet.preset("mnk", size=6, line_length=4)
SIMULATIONS = 64
#: Positions made at most at each new leaf for a win by continuous fours.
THREAT_NODES = 100
GAMES, POSITIONS, NEAR_PLAY = 100, 1000, 200
#: Targets: games won, share of signs that are right.
ALL_WON, SIGNS_RIGHT = 1.0, 0.98
#: Games and positions of the points of the curve.
CURVE_GAMES, CURVE_POSITIONS = 20, 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a checkpoint reaches."""

    minutes: float
    version: int
    #: Share of games that the first player wins against the best defence.
    won: float
    #: Share of right signs: of the root's value after search, and of the network's own value.
    search_sign: float
    network_sign: float
    #: Share of random positions where the searched action keeps the exact value.
    keeps_value: float
    #: As `search_sign`, in positions near play.
    near_play_sign: float


def random_positions(solver: Solver, count: int, rng: np.random.Generator) -> list[Position]:
    """Distinct positions after 2 to 20 random plies that are won or lost for the seat to act."""
    found: dict[int, Position] = {}
    drawn = 0
    while len(found) < count:
        position = Position(RULES)
        for _ in range(int(rng.integers(2, 21))):
            if position.outcome is None:
                position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is None and position.key not in found:
            if solver.solve(position):
                found[position.key] = position
            else:
                drawn += 1
    print(f"{count} random positions; {drawn} drawn ones were left out")
    return list(found.values())


def near_play_positions(solver: Solver, count: int, rng: np.random.Generator) -> list[Position]:
    """Distinct decisive positions: 2 to 20 plies of plain searches that draw their actions."""
    found: dict[int, Position] = {}
    while len(found) < count:
        games = [(Position(RULES), int(rng.integers(2, 21))) for _ in range(64)]
        while games:
            running = [game for game, _ in games]
            results = _search(UniformEvaluator(), running)
            for (game, _), result in zip(games, results, strict=True):
                game.play(choose(result, 1.0, rng))
            games = [(game, end) for game, end in games if game.outcome is None]
            ended = [game for game, end in games if game.ply == end]
            games = [(game, end) for game, end in games if game.ply < end]
            found |= {game.key: game for game in ended if solver.solve(game)}
    return list(found.values())[:count]


def winning_openings(solver: Solver, count: int, rng: np.random.Generator) -> list[Position]:
    """Distinct openings of 0, 2 or 4 plies in which the first player still wins and is to act."""
    found = {Position(RULES).key: Position(RULES)}
    while len(found) < count:
        position = Position(RULES)
        for _ in range(int(rng.choice([2, 4]))):
            moves = [int(move) for move in rng.permutation(position.legal_actions())]
            if position.seat == "A":
                moves = [next(move for move in moves if _after(solver, position, move)[0] < 0)]
            position.play(moves[0])
        if position.outcome is None:
            found.setdefault(position.key, position)
    return list(found.values())


def _after(solver: Solver, position: Position, action: int) -> tuple[int, int]:
    """Exact value for the seat to act after an action, and plies to the end (0 for a draw)."""
    position = position.copy()
    position.play(int(action))
    if position.outcome is not None:
        return position.outcome.value(position.seat), 0
    verdict = solver.examine(position)
    assert verdict is not None
    return verdict.value, verdict.plies or 0


def best_defence(solver: Solver, position: Position, rng: np.random.Generator) -> int:
    """A win (soon) before a draw before a loss (late); ties are broken at random."""
    ranks = {}
    for action in position.legal_actions():
        value, plies = _after(solver, position, action)
        ranks[int(action)] = (-value, plies if value > 0 else -plies)
    best = max(ranks.values())
    return int(rng.choice([action for action, rank in ranks.items() if rank == best]))


def games_won(
    solver: Solver, evaluator: Evaluator, openings: Sequence[Position], rng: np.random.Generator
) -> float:
    """Share of games that the first player wins from these openings, searching each move afresh."""
    games = [opening.copy() for opening in openings]
    while running := [game for game in games if game.outcome is None]:
        for game, action in zip(running, _best_actions(evaluator, running), strict=True):
            game.play(action)
            if game.outcome is None:
                game.play(best_defence(solver, game, rng))
    outcomes = [game.outcome for game in games]
    return sum(outcome is not None and outcome.winner_seat == "A" for outcome in outcomes) / len(
        games
    )


def _search(evaluator: Evaluator, positions: Sequence[Position]) -> list[SearchResult]:
    batch = SearchBatch(
        len(positions),
        SearchConfig(kind="gumbel", simulations=SIMULATIONS, threat_nodes=THREAT_NODES),
        height=RULES.height,
        width=RULES.width,
        batch_size=64,
    )
    for index, position in enumerate(positions):
        batch.start(index, position, seed=index)
    batch.run(evaluator)
    return [batch.result(index) for index in range(len(positions))]


def _best_actions(evaluator: Evaluator, positions: Sequence[Position]) -> list[int]:
    return [result.action for result in _search(evaluator, positions)]


def signs_right(results: Sequence[SearchResult], values: Sequence[int]) -> tuple[float, float]:
    """Shares of right signs: the root's value after search, the network's own value."""
    search = np.sign([result.value for result in results])
    network = np.sign([result.network_value for result in results])
    return float(np.mean(search == values)), float(np.mean(network == values))


class Judge:
    """The positions, the openings and their exact values; the same for every checkpoint."""

    def __init__(self, seed: int) -> None:
        self.solver = Solver(RULES, table_bits=22)
        rng = np.random.default_rng(seed)
        self.positions = random_positions(self.solver, POSITIONS, rng)
        self.values = [self.solver.solve(position) or 0 for position in self.positions]
        self.near = near_play_positions(self.solver, NEAR_PLAY, np.random.default_rng([seed, 1]))
        self.near_values = [self.solver.solve(position) or 0 for position in self.near]
        self.openings = winning_openings(self.solver, GAMES, rng)
        self.seed = seed

    def score(self, path: Path, minutes: float, games: int, positions: int) -> Score:
        """Judge a checkpoint with so many of the games and positions."""
        checkpoint = Checkpoint.load(path)
        evaluator = evaluator_for(checkpoint.network, batch_size=64)
        rng = np.random.default_rng(self.seed)
        values = self.values[:positions]
        results = _search(evaluator, self.positions[:positions])
        search, network = signs_right(results, values)
        kept = [
            -_after(self.solver, position, result.action)[0] == value
            for position, result, value in zip(self.positions, results, values, strict=False)
        ]
        return Score(
            minutes=minutes,
            version=checkpoint.meta.version,
            won=games_won(self.solver, evaluator, self.openings[:games], rng),
            search_sign=search,
            network_sign=network,
            keeps_value=float(np.mean(kept)),
            near_play_sign=signs_right(_search(evaluator, self.near), self.near_values)[0],
        )


def train(folder: Path, minutes: float, seed: int) -> None:
    """One run of the product's own training command."""
    command = [sys.executable, "-m", "scripts.train", "experiment=solve"]
    command += [f"run={folder.name}", f"runs={folder.parent}", f"seed={seed}"]
    subprocess.run([*command, f"stop.minutes={minutes:g}"], check=True)


def curve(folder: Path) -> list[tuple[float, Path]]:
    """(minutes since the first, path) of about one checkpoint a minute."""
    paths = sorted((folder / "checkpoints").glob("*.json"))
    began, chosen = paths[0].stat().st_mtime, [(0.0, paths[0])]
    for path in paths[1:]:
        minutes = (path.stat().st_mtime - began) / 60
        if minutes >= chosen[-1][0] + 1:
            chosen.append((minutes, path))
    last = ((paths[-1].stat().st_mtime - began) / 60, paths[-1])
    return [*chosen, last] if chosen[-1] != last else chosen


def show(score: Score) -> None:
    """One line of the curve."""
    print(
        f"{score.minutes:7.1f} min  version {score.version:4d}  first player wins {score.won:6.1%}"
        f"  sign: search {score.search_sign:6.1%}  network {score.network_sign:6.1%}"
        f"  near play {score.near_play_sign:6.1%}  action keeps value {score.keeps_value:6.1%}",
        flush=True,
    )


def main() -> bool:
    """Command line; False where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=15, help="of training (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=Path("runs/solve"), help="the run's folder")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    begin()
    train(arguments.folder, arguments.minutes, arguments.seed)
    started = time.perf_counter()
    judge = Judge(arguments.seed)
    points = curve(arguments.folder)
    scores = [judge.score(path, at, CURVE_GAMES, CURVE_POSITIONS) for at, path in points]
    for score in scores:
        show(score)
    last = judge.score(points[-1][1], points[-1][0], GAMES, POSITIONS)
    seconds = time.perf_counter() - started
    print(f"\nall {GAMES} games and {POSITIONS} positions (judged in {seconds:.0f} s)")
    show(last)
    stored = {
        "machine": machine(),
        "curve": [dataclasses.asdict(score) for score in scores],
        "result": dataclasses.asdict(last),
    }
    (RESULTS / "solve.json").write_text(json.dumps(stored, indent=2) + "\n")
    reached = last.won >= ALL_WON and last.search_sign >= SIGNS_RIGHT
    said = "reached" if reached else "MISSED"
    print(f"targets {said}: {ALL_WON:.0%} of games, {SIGNS_RIGHT:.0%} of signs")
    return reached


if __name__ == "__main__":
    sys.exit(run(main))
