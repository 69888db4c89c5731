"""How far a faster network says the same as the network in float32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.evaluators import Evaluator
from model.positions import Positions

Floats = NDArray[np.float32]

POLICY_KL, VALUE_ERROR = 0.05, 0.1
"""A network beyond either bound is not played with."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Agreement:
    """Means over positions."""

    policy_kl: float
    """Divergence of its policy over the legal actions from the reference's, nats."""
    top1: float
    """Share of positions in which both like the same action best. It is low, too, where several
    actions are equally good: no bound is set on it."""
    value_error: float
    """Distance of the values, which lie in [-1, 1]."""

    @property
    def is_close(self) -> bool:
        """Whether it is within the bounds; not where it is no number."""
        return self.policy_kl <= POLICY_KL and self.value_error <= VALUE_ERROR

    def curves(self) -> dict[str, float]:
        """Under the names of the curves."""
        return {
            "evaluator/policy_kl": self.policy_kl,
            "evaluator/top1_agreement": self.top1,
            "evaluator/value_error": self.value_error,
        }


@dataclass(slots=True, frozen=True)
class Answers:
    """Policy over the legal actions, as logarithms [n, A] (0 where illegal), and values [n]."""

    logs: Floats
    best: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, evaluator: Evaluator, positions: Positions) -> Answers:
        """What an evaluator says. Raises ValueError where that is no finite number."""
        keys = np.zeros(len(positions), np.uint64)
        with np.errstate(all="ignore"):
            logits, values = evaluator.evaluate(positions.planes, positions.globals_, keys)
        if not (np.isfinite(logits[positions.legal]).all() and np.isfinite(values).all()):
            raise ValueError("its answers are no finite numbers")
        logits = np.where(positions.legal, logits, -np.inf)
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        best = logits.argmax(axis=1)
        return cls(np.where(positions.legal, logits, 0.0).astype(np.float32), best, values.copy())


def agreement(reference: Answers, found: Answers, positions: Positions) -> Agreement:
    """Compare answers about the same positions."""
    chances = np.where(positions.legal, np.exp(reference.logs), 0.0)
    divergence = (chances * (reference.logs - found.logs)).sum(axis=1)
    return Agreement(
        policy_kl=max(float(divergence.mean()), 0.0),  # rounding may make it less
        top1=float((reference.best == found.best).mean()),
        value_error=float(np.abs(reference.values - found.values).mean()),
    )
