"""Training targets: what self-play stores for a position, and the batch made of such samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine import OPTIONS, RuleSet
from engine.features import GLOBALS, PLANES, decode
from engine.symmetry import canvas_actions, count

POLICY_SUM_TOLERANCE = 1e-3
"""How far the sum of a sample's policy may be from 1 (stored as 16-bit floats by replay)."""


@dataclass(slots=True, kw_only=True)
class Sample:
    """One position of a finished game with what search and the game said about it.

    It keeps the packed position, not planes, so that a change of features can reuse old games.
    """

    packed: bytes
    """`Position.pack()`: the position and its legal actions."""
    rules: RuleSet
    opening: str
    actions: NDArray[np.int32]
    """int32 [k]: game action indices that have a policy target, each at most once."""
    policy: NDArray[np.float32]
    """float32 [k]: target probability of each of `actions`; the sum is 1."""
    outcome: int
    """+1 win, 0 draw, -1 loss of the seat to act: what search proved, else the game's result."""
    root_value: float
    """Search's value of the position for the seat to act, in [-1, 1]."""
    policy_weight: float = 1.0
    """0 where search was too short to teach a policy."""
    value_weight: float = 1.0


@dataclass(slots=True, kw_only=True)
class Batch:
    """Samples as the network and the losses want them; A is H*W + 16 (`engine.features`)."""

    planes: Tensor
    """uint8 [B, C, H, W]"""
    globals_: Tensor
    """float32 [B, G]"""
    legal: Tensor
    """bool [B, A]: at least one in each row."""
    policy: Tensor
    """float32 [B, A]: 0 where illegal; each row sums to 1, or is 0 where `policy_weight` is 0."""
    outcome: Tensor
    """float32 [B, 3]: one-hot win, draw, loss of the game for the seat to act."""
    root_value: Tensor
    """float32 [B]: search's value for the seat to act, in [-1, 1]."""
    policy_weight: Tensor
    """float32 [B]"""
    value_weight: Tensor
    """float32 [B]"""

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on a device; tensors that are there already are shared."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors().items()}
        return Batch(**moved)

    def tensors(self) -> dict[str, Tensor]:
        """Field name -> tensor, for storing."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __len__(self) -> int:
        """B, the number of samples."""
        return self.planes.shape[0]


def make_batch(
    samples: Sequence[Sample],
    height: int,
    width: int,
    rng: np.random.Generator | None = None,
    *,
    symmetries: Sequence[int] | None = None,
) -> Batch:
    """Build a batch on a canvas of `height` x `width`, each sample turned by a symmetry.

    With `rng` every sample gets one of its board's symmetries at random; `symmetries` fixes them
    (ids of `engine.symmetry`); with neither, nothing is turned. Samples of several rule sets and
    sizes may be mixed. Raises ValueError for a sample that is no position of its rules, does not
    fit the canvas, or whose targets are wrong.
    """
    if not samples:
        raise ValueError("make_batch: no samples")
    turns = _symmetries(samples, rng, symmetries)
    size, actions = len(samples), height * width + len(OPTIONS)
    planes = np.empty((size, len(PLANES), height, width), np.uint8)
    globals_ = np.empty((size, len(GLOBALS)), np.float32)
    legal = np.empty((size, actions), np.bool_)
    policy = np.zeros((size, actions), np.float32)
    for (rules, opening), rows in _by_game(samples):
        planes[rows], globals_[rows], legal[rows] = decode(
            rules, opening, [samples[row].packed for row in rows], turns[rows], height, width
        )
    for row, sample in enumerate(samples):
        where = canvas_actions(sample.rules, height, width, int(turns[row]))
        policy[row, where[sample.actions]] = sample.policy
    _check_targets(samples, policy, legal)
    outcome = np.zeros((size, 3), np.float32)
    outcome[np.arange(size), [1 - sample.outcome for sample in samples]] = 1.0
    return Batch(
        planes=torch.from_numpy(planes),
        globals_=torch.from_numpy(globals_),
        legal=torch.from_numpy(legal),
        policy=torch.from_numpy(policy),
        outcome=torch.from_numpy(outcome),
        root_value=torch.tensor([sample.root_value for sample in samples]),
        policy_weight=torch.tensor([sample.policy_weight for sample in samples]),
        value_weight=torch.tensor([sample.value_weight for sample in samples]),
    )


def _symmetries(
    samples: Sequence[Sample],
    rng: np.random.Generator | None,
    symmetries: Sequence[int] | None,
) -> NDArray[np.int64]:
    """Symmetry id of each sample, [B]."""
    if symmetries is not None:
        return np.asarray(symmetries, np.int64)
    if rng is None:
        return np.zeros(len(samples), np.int64)
    return rng.integers([count(sample.rules) for sample in samples])


def _by_game(
    samples: Sequence[Sample],
) -> Iterator[tuple[tuple[RuleSet, str], list[int]]]:
    """(rules, opening) with the rows that share them, in order of first appearance."""
    groups: dict[tuple[RuleSet, str], list[int]] = {}
    for row, sample in enumerate(samples):
        groups.setdefault((sample.rules, sample.opening), []).append(row)
    yield from groups.items()


def _check_targets(
    samples: Sequence[Sample], policy: NDArray[np.float32], legal: NDArray[np.bool_]
) -> None:
    """Raise ValueError naming the first row whose targets are wrong.

    `policy` and `legal` are [B, A]. A wrong target trains a wrong network in silence: the checks
    cost little beside one training step.
    """
    sums = policy.sum(1)
    for row, sample in enumerate(samples):
        if sample.outcome not in (-1, 0, 1):
            raise ValueError(f"sample {row}: outcome {sample.outcome} is not -1, 0 or 1")
        if not -1.0 <= sample.root_value <= 1.0:
            raise ValueError(f"sample {row}: root value {sample.root_value} is outside [-1, 1]")
        if sample.policy_weight > 0 and not abs(sums[row] - 1) <= POLICY_SUM_TOLERANCE:
            raise ValueError(f"sample {row}: policy sums to {sums[row]:.6f}, not 1")
    wrong = np.flatnonzero(((policy != 0) & ~legal).any(1))
    if wrong.size:
        raise ValueError(f"sample {wrong[0]}: policy target on an illegal action")
    stuck = np.flatnonzero(~legal.any(1))
    if stuck.size:
        raise ValueError(f"sample {stuck[0]}: position without a legal action")
