"""From a root's visit counts to a choice and a training target, for Gumbel search.

All arrays run over the root's k legal actions, ascending; values are expectations in [-1, 1] for
the seat to act.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

#: In `RootEdges.proofs`: the action's result is not proven.
UNPROVEN = 2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RootEdges:
    """What search knows of the root's actions."""

    #: [k] visit counts.
    visits: Ints
    #: [k] mean values, exact where proven, 0 where unvisited.
    q: Floats
    #: [k] logarithms of the network's priors, without noise.
    logits: Floats
    #: [k] +1, 0, -1 where proven, else UNPROVEN.
    proofs: NDArray[np.int8]

    def forced(self) -> Floats | None:
        """[k] all weight on the proven wins, or None where there are none."""
        wins = self.proofs == 1
        return normalised(wins.astype(np.float32)) if wins.any() else None

    def open(self) -> NDArray[np.bool_]:
        """[k] actions not proven lost; all of them where every action is."""
        open_: NDArray[np.bool_] = self.proofs != -1
        return open_ if open_.any() else np.ones(len(open_), np.bool_)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GumbelRoot:
    """A root as Gumbel search reads it (Danihelka et al. 2022, "Policy improvement ...")."""

    edges: RootEdges
    #: [k] the Gumbel noise of this search.
    gumbels: Floats
    #: Estimate of the value of unvisited actions (appendix D's mixed value).
    mixed_value: float
    c_visit: float
    c_scale: float

    def _sigma(self, q: Floats) -> Floats:
        """Values on the scale of logits: (c_visit + most visits) * c_scale * q, q in [0, 1]."""
        scale = (self.c_visit + int(self.edges.visits.max(initial=0))) * self.c_scale
        return (scale * (1 + q) / 2).astype(np.float32)

    def _completed(self) -> Floats:
        """[k] values, the mixed value standing in for those not known."""
        known = (self.edges.visits > 0) | (self.edges.proofs != UNPROVEN)
        return np.where(known, self.edges.q, np.float32(self.mixed_value))

    def value(self) -> float:
        """Value of the improved policy. The plain mean would count halving's discarded actions."""
        return float(self.policy() @ self._completed())

    def choice(self) -> int:
        """Index of the most visited action best by Gumbel + logit + q; a proven win before all."""
        if self.edges.forced() is not None:
            return int(np.flatnonzero(self.edges.proofs == 1)[0])
        open_, visits = self.edges.open(), self.edges.visits
        candidates = np.flatnonzero(open_ & (visits == visits[open_].max()))
        scores = self.gumbels + self.edges.logits + self._sigma(self.edges.q)
        return int(candidates[np.argmax(scores[candidates])])

    def policy(self) -> Floats:
        """[k] the improved policy: softmax of logits + completed q (section 4)."""
        forced = self.edges.forced()
        if forced is not None:
            return forced
        scores = self.edges.logits + self._sigma(self._completed())
        return softmax(np.where(self.edges.open(), scores, np.float32(-np.inf)))


@lru_cache(maxsize=4096)
def halving_schedule(considered: int, simulations: int) -> Ints:
    """[simulations]: how many visits the action simulated next must already have.

    Sequential halving (Karnin et al. 2013, as used by Danihelka et al. 2022): about
    log2(considered) rounds share the simulations equally; each round visits its actions in turn,
    and after it the better half goes on.
    """
    schedule: list[int] = []
    rounds = max(1, int(np.ceil(np.log2(considered))))
    remaining, visits = considered, [0] * considered
    while len(schedule) < simulations:
        for _ in range(max(1, simulations // (rounds * remaining))):
            schedule.extend(visits[:remaining])
            visits[:remaining] = [count + 1 for count in visits[:remaining]]
        remaining = max(min(2, considered), remaining // 2)
    return np.array(schedule[:simulations], np.int32)


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """[k] probabilities of logits."""
    return normalised(np.exp(logits - logits.max()))


def normalised(weights: NDArray[Any]) -> NDArray[Any]:
    """[k] weights scaled to the sum 1."""
    scaled: NDArray[Any] = weights / weights.sum()
    return scaled
