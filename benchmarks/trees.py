"""Trees of a game, searched over and over: what `benchmarks.search` measures.

`python -m benchmarks.trees GAME SEARCHES TREES` searches so many trees so many times with 200
simulations and prints nothing: a counter of instructions can watch it. So this imports little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from engine import OPTIONS, Position, RuleSet
from engine._playout import retrace
from engine.evaluators import Floats, Keys, Planes
from engine.search import SearchBatch, SearchConfig
from engine.symmetry import canvas_actions

GAMES = {
    "gomoku 15x15": RuleSet.preset("gomoku"),
    "renju 15x15": RuleSet.preset("renju"),
    "irensei 19x19": RuleSet.preset("irensei"),
    "connect-go 19x19": RuleSet.preset("connect-go"),
}
TREES = 64
#: Random plies before the search, so that there are stones on the board.
PLIES = 10


class ConstantEvaluator:
    """Equal logits and the value 0, from memory that is made once."""

    def __init__(self, rules: RuleSet, rows: int) -> None:
        self._logits = np.zeros((rows, rules.points + len(OPTIONS)), np.float32)
        self._values = np.zeros(rows, np.float32)

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """The first rows of it."""
        return self._logits[: len(keys)], self._values[: len(keys)]


class Searched:
    """64 trees of a game after a few random plies, searched over and over again."""

    def __init__(self, rules: RuleSet, simulations: int, trees: int = TREES) -> None:
        self.roots = [_after_random_plies(rules, seed) for seed in range(trees)]
        self.batch = SearchBatch(
            trees,
            SearchConfig(simulations=simulations),
            height=rules.height,
            width=rules.width,
        )
        self._evaluator = ConstantEvaluator(rules, trees)

    def search(self) -> int:
        """One search of all trees; returns the simulations."""
        before = self.batch.statistics()["simulations"]
        for index, root in enumerate(self.roots):
            self.batch.start(index, root, seed=index)
        self.batch.run(self._evaluator)
        return self.batch.statistics()["simulations"] - before

    def without_tree(self) -> Callable[[], int]:
        """A task: moves, lists and features of all nodes of the trees; counts simulations."""
        tables = [self.batch.tree(index)[:, :2] for index in range(len(self.roots))]
        # Shorter trees end in nodes that are none.
        traces = np.full((2, max(map(len, tables)), len(tables)), -1, np.int32)
        for index, table in enumerate(tables):
            traces[:, : len(table), index] = table.T
        parents, actions = traces
        cores = [root._core for root in self.roots]
        rules = self.roots[0].rules
        canvas = canvas_actions(rules, rules.height, rules.width, 0)
        # Nodes have been visited once for each simulation below them and once for their own.
        simulations = sum(int(self.batch.tree(index)[0, 2]) for index in range(len(self.roots)))

        def task() -> int:
            retrace(cores, parents, actions, canvas)
            return simulations

        return task


def _after_random_plies(rules: RuleSet, seed: int) -> Position:
    rng = np.random.default_rng(seed)
    position = Position(rules)
    for _ in range(PLIES):
        position.play(int(rng.choice(position.legal_actions())))
    return position


if __name__ == "__main__":
    game, searches, trees = sys.argv[1:]
    watched = Searched(GAMES[game], 200, int(trees))
    for _ in range(int(searches)):
        watched.search()
