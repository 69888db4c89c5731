"""Wins by threats: how fast they are looked for, how many are found, and what they add to a player.

`python -m benchmarks.threats` plays games of plain tree search against itself, gathers positions in
which some method proves a win, and prints which share of them each method finds, and how fast.
`--gauntlet` lets a player meet itself, with the look-out at its root and with that at its leaves
too, each against without, in paired games from random openings: at equal simulations, or with
`--seconds S` at equal time a move. `--bot FOLDER` gives both a network, else both have none.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.command import run
from benchmarks.table import describe
from benchmarks.versions import random_opening
from bots.loading import load_bot
from bots.player import THREAT_NODES, UNLIMITED, Limit, Player
from engine import Position, RuleSet
from engine.evaluators import Evaluator, UniformEvaluator
from engine.search import SearchBatch, SearchConfig
from engine.threats import ThreatSearch
from selfplay.ratings import Score, rate

#: (preset, fields) of the games whose positions are searched.
GAMES: tuple[tuple[str, dict[str, object]], ...] = (
    ("gomoku", {}),
    ("gomoku-standard", {}),
    ("caro", {}),
    ("renju", {}),
    ("irensei", {"size": 9, "line_length": 5, "gutter": 0}),
    ("connect-go", {"size": 9}),
)

#: Simulations of the games that positions are taken from.
PLAYED = 300

#: Positions made by the search that tells which wins there are.
MOST = 2_000_000

#: Positions made at each leaf by the player that looks there too.
LEAF_NODES = 200

Method = Callable[[Position], bool]


def play(player: SearchBatch, position: Position, seed: int) -> Iterator[Position]:
    """The positions of a game of plain tree search against itself."""
    rng = np.random.default_rng(seed)
    while position.outcome is None and position.ply < position.rules.points:
        yield position
        player.start(0, position, seed=seed)
        player.run(UniformEvaluator())
        result = player.result(0)
        best = result.actions[result.policy >= 0.9 * result.policy.max()]
        position.play(int(rng.choice(best)))


def positions_of(rules: RuleSet, count: int) -> list[Position]:
    """Positions of such games, from near the games' ends, where wins are."""
    config = SearchConfig(simulations=PLAYED, fpu_reduction=0.0)
    player = SearchBatch(1, config, height=rules.height, width=rules.width)
    rng, seed = np.random.default_rng(0), 0
    found: list[Position] = []
    while len(found) < count:
        game = [p.copy() for p in play(player, random_opening(rules, 4, rng), seed)]
        found += [game[-back] for back in range(3, min(16, len(game)), 2)]
        seed += 1
    return found[:count]


def by_threats(rules: RuleSet, kind: str, nodes: int) -> Method:
    """Whether the threat search finds a win."""
    search = ThreatSearch(rules, table_bits=20)
    return lambda position: search.win(position, kind=kind, nodes=nodes) is not None


def by_tree(rules: RuleSet, simulations: int, threat_nodes: int = 0) -> Method:
    """Whether plain tree search proves a win."""
    config = SearchConfig(simulations=simulations, fpu_reduction=0.0, threat_nodes=threat_nodes)
    batch = SearchBatch(1, config, height=rules.height, width=rules.width)

    def proves(position: Position) -> bool:
        batch.start(0, position, seed=0)
        batch.run(UniformEvaluator())
        return batch.result(0).proven == 1

    return proves


def solved(name: str, fields: dict[str, object], count: int) -> None:
    """Print how many known wins of a game each method finds, and in what time."""
    rules = RuleSet.preset(name, **fields)
    methods: dict[str, Method] = {
        "fours, 1,000": by_threats(rules, "fours", 1000),
        "fours, 50,000": by_threats(rules, "fours", 50_000),
        "threes, 5,000": by_threats(rules, "threes", 5000),
        f"threes, {THREAT_NODES:,}": by_threats(rules, "threes", THREAT_NODES),
        f"threes, {MOST:,}": by_threats(rules, "threes", MOST),
        "tree, 400": by_tree(rules, 400),
        "tree, 6,400": by_tree(rules, 6400),
        f"tree, 400, leaves {LEAF_NODES}": by_tree(rules, 400, LEAF_NODES),
    }
    positions = positions_of(rules, count)
    found: dict[str, list[bool]] = {}
    seconds = {}
    for method, proves in methods.items():
        began = time.perf_counter()
        found[method] = [proves(position) for position in positions]
        seconds[method] = (time.perf_counter() - began) / len(positions)
    known = np.any(list(found.values()), axis=0)
    print(f"\n{name} {rules.width}x{rules.height}: {known.sum()} known wins in {count} positions")
    for method, each in found.items():
        share = np.sum(each) / max(1, known.sum())
        print(f"  {method:22} {share:6.1%}  {1000 * seconds[method]:8.2f} ms a position")
    search = ThreatSearch(rules)
    began = time.perf_counter()
    for position in positions:
        search.win(position)
    rate_ = search.nodes / (time.perf_counter() - began)
    print(f"  {rate_ / 1e6:.2f} million positions a second")


def meet(
    players: tuple[Player, Player], openings: list[Position], limit: Callable[[], Limit]
) -> list[float]:
    """Results of the first player, 1, 0.5 or 0: each opening twice, with seats exchanged."""
    results = []
    for opening in openings:
        for first in (0, 1):
            for player in players:
                player.forget()
                player.reset(opening)
            position = players[0].position
            while position.outcome is None:
                mover = players[first if position.seat == "A" else 1 - first]
                action = mover.choose(limit())
                for player in players:
                    player.play(action)
            results.append((1 + position.outcome.value("AB"[first])) / 2)
    return results


def gauntlet(asked: argparse.Namespace) -> None:
    """Print results of players that look out for threats against one that does not."""
    evaluator: Evaluator = UniformEvaluator()
    rules, search = RuleSet.preset(asked.game, **asked.rules), SearchConfig(fpu_reduction=0.0)
    if asked.bot:
        bot = load_bot(asked.bot)
        evaluator, search, rules = bot.evaluator, SearchConfig(), bot.games[0][0]
    budget = UNLIMITED if asked.seconds else asked.simulations
    search = dataclasses.replace(search, simulations=budget)

    def player(threats: int, leaf: int) -> Player:
        return Player(
            evaluator,
            dataclasses.replace(search, threat_nodes=leaf),
            Position(rules),
            height=rules.height,
            width=rules.width,
            threats=threats,
        )

    def limit() -> Limit:
        until = time.monotonic() + asked.seconds if asked.seconds else None
        return Limit(simulations=budget, until=until)

    rng = np.random.default_rng(0)
    openings = [random_opening(rules, asked.plies, rng) for _ in range(asked.pairs)]
    limited = f"{asked.seconds} s" if asked.seconds else f"{asked.simulations} simulations"
    network = f"network {asked.bot.name}" if asked.bot else "no network"
    print(
        f"{rules.name} {rules.width}x{rules.height}, {limited} a move, {network}, against without:"
    )
    for name, threats, leaf in (
        ("at the root", THREAT_NODES, 0),
        ("at the leaves", 0, LEAF_NODES),
        ("at both", THREAT_NODES, LEAF_NODES),
    ):
        results = meet((player(threats, leaf), player(0, 0)), openings, limit)
        won, drawn, lost = (results.count(result) for result in (1, 0.5, 0))
        score = Score(wins=won, draws=drawn, losses=lost)
        rating = rate({("with", "without"): score}, anchor="without")["with"]
        print(f"  {name:14} {won}-{drawn}-{lost} (wins-draws-losses), Elo {rating}", flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--positions", type=int, default=100, help="of each game (%(default)s)")
    parser.add_argument("--gauntlet", action="store_true", help="games instead of positions")
    parser.add_argument("--bot", type=Path, help="folder of an exported bot")
    parser.add_argument("--game", default="gomoku")
    parser.add_argument("--rules", type=json.loads, default={"size": 9}, help="fields, as JSON")
    parser.add_argument("--simulations", type=int, default=200, help="a move (%(default)s)")
    parser.add_argument("--seconds", type=float, help="a move, instead of simulations")
    parser.add_argument("--pairs", type=int, default=50, help="of games (%(default)s)")
    parser.add_argument("--plies", type=int, default=4, help="random ones before each game")
    asked = parser.parse_args()
    describe()
    if asked.gauntlet:
        gauntlet(asked)
        return
    for name, fields in GAMES:
        solved(name, fields, asked.positions)


if __name__ == "__main__":
    sys.exit(run(main))
