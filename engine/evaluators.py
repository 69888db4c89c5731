"""What search asks of a network, and two evaluators that need none."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.rules import OPTIONS

Planes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Keys = NDArray[np.uint64]


class Evaluator(Protocol):
    """Anything that judges positions in batches."""

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Judges n positions.

        `planes` [n, C, H, W] and `globals_` [n, G] are features (`engine.features`), `keys` [n]
        identify the positions. Returns policy logits [n, H*W + 16] (unmasked; the canvas points,
        then the options) and values [n] in [-1, 1]: the expected result for the seat to act. Both
        are valid until the next call, which may overwrite them: who keeps them longer copies them.
        """
        ...


class UniformEvaluator:
    """Knows nothing: equal logits and the value 0. With it, search is plain tree search."""

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Zeros of the shapes that `Evaluator.evaluate` states."""
        n, _, height, width = planes.shape
        actions = height * width + len(OPTIONS)
        return np.zeros((n, actions), np.float32), np.zeros(n, np.float32)


class HashEvaluator:
    """Reproducible noise: every output is a hash of the position's key, the action and a seed.

    Search with it visits varied trees that depend on nothing but the rules and the search itself,
    on any machine: tests compare such trees with stored ones.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Logits in [-2, 2) and values in [-1, 1), as `Evaluator.evaluate` states."""
        _, _, height, width = planes.shape
        actions = np.arange(height * width + len(OPTIONS) + 1, dtype=np.uint64)
        offset = np.array([self.seed], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        seeds: Keys = np.add(keys[:, None] + offset, actions * np.uint64(0xD1B54A32D192ED03))
        hashes = _mix(seeds)
        # 24 bits fit a float32 exactly, so the numbers are the same everywhere.
        units = (hashes >> np.uint64(40)).astype(np.float32) / np.float32(1 << 23) - np.float32(1)
        return np.ascontiguousarray(2 * units[:, :-1]), np.ascontiguousarray(units[:, -1])


def _mix(values: Keys) -> Keys:
    """splitmix64's output function, elementwise (Steele, Lea, Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
