"""Training targets: what self-play stores for a position, and the batch made of such samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine import RuleSet
from engine.features import FeatureBatch, decode_into, empty_batch
from engine.symmetry import all_canvas_actions, count

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
    size = len(samples)
    planes, globals_, legal = features = empty_batch(size, height, width)
    policy = np.zeros(legal.shape, np.float32)
    for rows in _by_game(samples):
        _write_game([samples[row] for row in rows], np.array(rows), turns[rows], features, policy)
    columns = {
        name: np.array([getattr(sample, name) for sample in samples], np.float32)
        for name in ("outcome", "root_value", "policy_weight", "value_weight")
    }
    _check_targets(columns, policy, legal)
    outcome = np.zeros((size, 3), np.float32)
    outcome[np.arange(size), 1 - columns["outcome"].astype(np.int64)] = 1.0
    return Batch(
        planes=torch.from_numpy(planes),
        globals_=torch.from_numpy(globals_),
        legal=torch.from_numpy(legal),
        policy=torch.from_numpy(policy),
        outcome=torch.from_numpy(outcome),
        root_value=torch.from_numpy(columns["root_value"]),
        policy_weight=torch.from_numpy(columns["policy_weight"]),
        value_weight=torch.from_numpy(columns["value_weight"]),
    )


def _write_game(
    samples: Sequence[Sample],
    rows: NDArray[np.int64],
    turns: NDArray[np.int64],
    features: FeatureBatch,
    policy: NDArray[np.float32],
) -> None:
    """Write features and policies of samples of one game into their rows of a batch.

    `turns` has each sample's symmetry, `policy` is [B, A].
    """
    rules, (height, width) = samples[0].rules, features[0].shape[2:]
    packed = [sample.packed for sample in samples]
    decode_into(features, rows, rules, samples[0].opening, packed, turns)
    taught = [len(sample.actions) for sample in samples]
    actions = np.concatenate([sample.actions for sample in samples])
    where = all_canvas_actions(rules, height, width)[np.repeat(turns, taught), actions]
    policy[np.repeat(rows, taught), where] = np.concatenate([sample.policy for sample in samples])


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


def _by_game(samples: Sequence[Sample]) -> Iterable[list[int]]:
    """The rows that share a rule set and an opening, in order of first appearance."""
    groups: dict[tuple[int, str], list[int]] = {}
    for row, sample in enumerate(samples):
        # By identity, as hashing a rule set takes longer than all else here.
        groups.setdefault((id(sample.rules), sample.opening), []).append(row)
    return groups.values()


def _check_targets(
    columns: Mapping[str, NDArray[np.float32]],
    policy: NDArray[np.float32],
    legal: NDArray[np.bool_],
) -> None:
    """Raise ValueError naming a row whose targets are wrong.

    `columns` are [B], `policy` and `legal` are [B, A]. A wrong target trains a wrong network in
    silence: the checks cost little beside one training step.
    """
    outcome, value, sums = columns["outcome"], columns["root_value"], policy.sum(1)
    unlike = (columns["policy_weight"] > 0) & ~(np.abs(sums - 1) <= POLICY_SUM_TOLERANCE)
    for wrong, said, values in (
        (~np.isin(outcome, (-1, 0, 1)), "outcome {:g} is not -1, 0 or 1", outcome),
        (~(np.abs(value) <= 1), "root value {:g} is outside [-1, 1]", value),
        (unlike, "policy sums to {:.6f}, not 1", sums),
        (((policy != 0) & ~legal).any(1), "policy target on an illegal action", sums),
        (~legal.any(1), "position without a legal action", sums),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(f"sample {row}: {said.format(values[row])}")
