"""The search trees that bots grow: in slices, so that a clock can be looked at in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from engine import Position
from engine.evaluators import Evaluator
from engine.search import SearchBatch, SearchConfig, SearchResult, TreeNode
from engine.threats import Win

#: Simulations of a slice. Those that need no network take microseconds, and no clock is looked at
#: until the next one that does, or the slice's end.
SLICE = 64

#: Trees of more nodes than this are not read out: it would take a move's time.
READABLE_NODES = 50_000

_NODE_BYTES = 186  # with its edges, about

#: Normal deviate of 95%, both sides.
_Z = 1.96


class Trees(SearchBatch):
    """A `SearchBatch` whose roots need not search what is known to lose to threats."""

    def __init__(
        self, games: int, config: SearchConfig, *, height: int, width: int, cache_mib: int
    ) -> None:
        super().__init__(games, config, height=height, width=width, cache_mib=cache_mib)
        self._losses: list[Mapping[int, Win]] = [{}] * games

    def losses(self, index: int) -> Mapping[int, Win]:
        """Actions of a root that are not searched, and the other seat's wins after them."""
        return self._losses[index]

    def give_up(self, index: int, losses: Mapping[int, Win]) -> None:
        """Search none of these actions of the root, until the root is another one.

        Of trees without noise, which a root gets once.
        """
        self._losses[index] = losses
        if self._core.root_is_expanded(index):
            self._prepare_root(index)

    def line(self, index: int, action: int) -> list[TreeNode]:
        """As `SearchBatch.line`; how an action loses that is not searched."""
        losses = self._losses[index]
        if action in losses:
            return _told(self.position(index), (action, *losses[action].actions))
        return super().line(index, action)

    def _begin(self, index: int, simulations: int | None, noise: bool) -> None:
        self._losses[index] = {}
        super()._begin(index, simulations, noise)

    def _prepare_root(self, index: int) -> None:
        if self._losses[index]:
            self._core.give_up(index, np.array(sorted(self._losses[index]), np.int32))
        super()._prepare_root(index)


class Tree(Trees):
    """The tree of one game, whose simulations are asked for little by little."""

    def __init__(self, config: SearchConfig, *, height: int, width: int, cache_mib: int) -> None:
        super().__init__(1, config, height=height, width=width, cache_mib=cache_mib)
        self._target = 0

    def plant(self, position: Position, seed: int, budget: int) -> None:
        """Begin anew at a position. Raises `ValueError` for a finished game."""
        self._target = self._slice(0, budget)
        self.start(0, position, seed, simulations=self._target)

    def descend(self, action: int, budget: int) -> None:
        """Make the position after an action the root, and keep what is known below it."""
        self._target = self._slice(0, budget)
        self.advance(0, action, simulations=self._target)

    def ask(self, budget: int) -> None:
        """Go on at the same root."""
        self._target = self._slice(self.simulations(0), budget)
        self.extend(0, self._target)

    def grow(self, evaluator: Evaluator, budget: int, stop: Callable[[], bool]) -> None:
        """Search until the root has `budget` simulations, is proven, or the tree is full.

        `stop` is asked after each evaluation and each slice, and ends the search. One evaluation is
        made whatever it says where the root has none yet, so that there is a result.
        """
        if self._core.root_is_expanded(0) and stop():
            return
        while True:
            while self.step(evaluator):
                if stop():
                    return
            done = self.simulations(0)
            if done < self._target or done >= budget:
                return
            self._target = self._slice(done, budget)
            self.extend(0, self._target)
            if stop():
                return

    def _slice(self, done: int, budget: int) -> int:
        # Gumbel's schedule divides the whole budget.
        return budget if self.config.kind == "gumbel" else min(budget, done + SLICE)


def read(trees: Trees, index: int = 0) -> Reading | None:
    """A tree's nodes, or None where there are too many to read."""
    small = trees.used_bytes(index) < READABLE_NODES * _NODE_BYTES
    return Reading(trees, index) if small else None


class Reading:
    """A tree's nodes as they were when it was read."""

    def __init__(self, trees: Trees, index: int) -> None:
        self._position = trees.position(index)
        self._losses = dict(trees.losses(index))
        self._table, self._threat_plies = trees.tree(index), trees.threat_plies(index)
        self._children: dict[int, list[int]] = {}
        for node, parent in enumerate(self._table[1:, 0].astype(int).tolist(), start=1):
            self._children.setdefault(parent, []).append(node)

    def plies_to_end(self) -> dict[int, int]:
        """Proven actions of the root, and in how many plies each ends the game as far as is known.

        The winner takes the quickest proven way and the loser the slowest one.
        """
        lengths = {}
        for child in self._children.get(0, []):
            if self._table[child, 5]:
                position = self._position.copy()
                position.play(self._action(child))
                over = position.outcome is not None
                lengths[self._action(child)] = 1 if over else 1 + self._length(child)
        return lengths | {action: 1 + win.plies for action, win in self._losses.items()}

    def _length(self, node: int) -> int:
        """Plies from a proven node to the end of the game."""
        table = self._table
        wins = int(table[node, 5]) - 1 == int(table[node, 4])
        lengths = [
            1 + self._length(child)
            for child in self._children.get(node, [])
            if table[child, 5] == table[node, 5]
        ]
        if not lengths and self._threat_plies[node]:
            return self._threat_plies[node]
        if not lengths:
            # Seen without a search: a line can be completed at once, or two cannot both be stopped.
            return 1 if wins else 2
        return min(lengths) if wins else max(lengths)

    def _action(self, node: int) -> int:
        return int(self._table[node, 1])


def lower_bound(value: float, visits: int) -> float:
    """What an action is worth at least, with a confidence of 95%, in [-1, 1].

    Its visits count as games won or lost, as Leela Zero and KataGo count them for their `lcb`.
    """
    return max(-1.0, value - _Z * math.sqrt(max(0.0, 1 - value * value) / max(1, visits)))


def ranking(result: SearchResult) -> list[int]:
    """Indices of the result's actions, the best one first, then by visits and priors."""
    order: list[int] = np.lexsort(
        (-result.priors, -result.visits, result.actions != result.action)
    ).tolist()
    return order


def best_proven(result: SearchResult, lengths: dict[int, int]) -> int:
    """The action that wins the quickest, or loses the slowest, of those that are proven.

    `lengths` are `Reading.plies_to_end`. Where nothing is won or lost: the best action.
    """
    known = [
        (-result.proven * lengths[action], visits, -action)
        for action, visits, proof in zip(
            result.actions.tolist(), result.visits.tolist(), result.proofs, strict=True
        )
        if result.proven and proof == result.proven and action in lengths
    ]
    return -max(known)[2] if known else result.action


class WinReading(Reading):
    """What there is to read of a win by threats, for which no tree was grown."""

    def __init__(self, position: Position, win: Win) -> None:
        self._position, self._win = position.copy(), win

    def line(self, action: int) -> list[TreeNode]:
        """The line of the win, if the action begins it."""
        ours = action == self._win.actions[0]
        return _told(self._position, self._win.actions) if ours else []

    def plies_to_end(self) -> dict[int, int]:
        """The winning action, and in how many plies it ends the game at most."""
        return {self._win.actions[0]: self._win.plies}


def _told(position: Position, actions: tuple[int, ...]) -> list[TreeNode]:
    """A line proven without visits, whose last action wins."""
    seats = []
    position = position.copy()
    for action in actions:
        seats.append(position.seat)
        position.play(action)
    value = 1.0 if seats[-1] == "A" else -1.0
    return [TreeNode(action, 0, value) for action in actions]


def is_settled(result: SearchResult, remaining: float) -> bool:
    """Whether so many more simulations cannot make another action the most visited one."""
    open_ = result.proofs != -1
    if result.proven is not None or np.count_nonzero(open_) <= 1:
        return True
    first, second = np.partition(result.visits[open_], -2)[[-1, -2]]
    return bool(int(first) - int(second) > remaining)
