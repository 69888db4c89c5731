"""Positions as networks see them, to compare what networks say about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine import Position
from engine.features import features
from model.games import GameEntry
from model.targets import Batch

KEPT = 0.25
"""Share of a random game's positions that are kept: neighbours are nearly the same."""


@dataclass(slots=True, frozen=True)
class Positions:
    """n positions on one canvas."""

    planes: NDArray[np.uint8]
    """[n, C, H, W]"""
    globals_: NDArray[np.float32]
    """[n, G]"""
    legal: NDArray[np.bool_]
    """[n, H*W + 16]"""

    def __len__(self) -> int:
        return len(self.planes)

    def part(self, rows: slice) -> Positions:
        """Some of them."""
        return Positions(self.planes[rows], self.globals_[rows], self.legal[rows])

    @classmethod
    def of(cls, batch: Batch) -> Positions:
        """Those of a training batch."""
        return cls(batch.planes.numpy(), batch.globals_.numpy(), batch.legal.numpy())


def random_positions(
    games: Sequence[GameEntry], n: int, height: int, width: int, rng: np.random.Generator
) -> Positions:
    """Positions of random play, none of them over, of games drawn from a list."""
    rows: list[tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.bool_]]] = []
    while len(rows) < n:
        game = games[int(rng.integers(len(games)))]
        position = Position(game.rules, game.opening)
        for _ in range(2 * game.rules.points):
            if rng.random() < KEPT:
                rows.append(features(position, height, width))
            position.play(int(rng.choice(position.legal_actions())))
            if position.outcome is not None or len(rows) == n:
                break
    planes, globals_, legal = (np.stack(parts) for parts in zip(*rows, strict=True))
    return Positions(planes, globals_, legal)
