"""Games in progress: what most of a worker's time is spent on, and where its measuring begins.

On empty boards the evaluation cache answers more, and nothing is near its end.
"""

from __future__ import annotations

import dataclasses
import statistics

import numpy as np

from engine import RuleSet
from selfplay.worker import SelfPlay

#: More games than a worker ever gets through.
ENDLESS = 10_000
#: Simulations a ply while games are brought to plies of their own.
AHEAD = 8


class Silent:
    """An evaluator that costs nothing."""

    def __init__(self, rules: RuleSet) -> None:
        self._actions = rules.num_actions

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Zeros."""
        return np.zeros((len(keys), self._actions), np.float32), np.zeros(len(keys), np.float32)


def play_ahead(worker: SelfPlay) -> float:
    """Bring a worker's games to plies that are spread evenly over a game; returns a game's length.

    With eight simulations a ply, so that it takes less time than what is measured: as many games as
    there are slots are played to their ends, which says how long they are; then one game after
    another begins, each a slot's share of that length later.
    """
    usual, slots = worker.config, worker.config.games
    worker.config = dataclasses.replace(
        usual, full_fraction=0.0, fast_simulations=min(AHEAD, usual.fast_simulations)
    )
    worker.add_indices(range(slots))
    finished, _ = worker.play(games=slots)
    length = statistics.mean(game.statistics.plies for game in finished)
    owed = 0.0
    for index in range(slots):
        worker.add_indices([slots + index])
        owed += length / slots * (1 + len(plies_of(worker)))
        while owed > 0 and (worker.indices_left or plies_of(worker)):
            owed -= worker.play(games=slots, seconds=0)[1].plies
    worker.config = usual
    return length


def plies_of(worker: SelfPlay) -> list[int]:
    """The plies that the games under way have come to."""
    plies = (worker.ply(slot) for slot in range(worker.config.games))
    return [ply for ply in plies if ply is not None]
