"""Training targets: what self-play stores for a position, and the batch made of such samples."""

from dataclasses import dataclass

import numpy as np
from engine import RuleSet


@dataclass(slots=True, kw_only=True)
class Sample:
    """One position of a finished game with what search and the game said about it.

    It keeps the packed position, not planes, so that a change of features can reuse old games.
    """

    packed: bytes
    """`Position.pack()`: the position and its legal actions."""
    rules: RuleSet
    opening: str
    actions: np.ndarray
    """int32 [k]: game action indices that have a policy target, each at most once."""
    policy: np.ndarray
    """float32 [k]: target probability of each of `actions`; the sum is 1."""
    outcome: int
    """The game's result for the seat to act: +1 win, 0 draw, -1 loss."""
    root_value: float
    """Search's value of the position for the seat to act, in [-1, 1]."""
    policy_weight: float = 1.0
    """0 where search was too short to teach a policy."""
    value_weight: float = 1.0
