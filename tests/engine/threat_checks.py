"""Checking claims of the threat search by replay, and positions worth searching."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine import Position, RuleSet
from engine.evaluators import UniformEvaluator
from engine.search import SearchBatch, SearchConfig
from engine.threats import ThreatSearch, Win

#: Enough for any search here: what is found once is found again one turn later.
PLENTY = 2_000_000


def confirm(search: ThreatSearch, position: Position, win: Win, kind: str) -> None:
    """Replay a claim: whatever the defender does, the attacker's next claim is a shorter one.

    All legal actions of the defender are tried, down to the line itself.
    """
    _confirm(search, position, win, kind, {})


def _confirm(
    search: ThreatSearch, position: Position, win: Win, kind: str, known: dict[int, int]
) -> None:
    seat = position.seat
    assert win.plies % 2 == 1
    if known.get(position.key, 1 << 20) <= win.plies:
        return
    known[position.key] = win.plies
    after = position.copy()
    after.play(win.actions[0])
    if after.outcome is not None:
        assert after.outcome.winner_seat == seat, (position.actions, win)
        return
    assert win.plies > 1, (position.actions, win)
    for action in after.legal_actions().tolist():
        answered = after.copy()
        answered.play(action)
        if answered.outcome is not None:
            assert answered.outcome.winner_seat == seat, (position.actions, win, action)
            continue
        again = search.win(answered, kind=kind, nodes=PLENTY)
        assert again is not None, (answered.actions, win)
        assert again.plies <= win.plies - 2, (answered.actions, win, again)
        _confirm(search, answered, again, kind, known)


def crowded_game(
    rules: RuleSet, rng: np.random.Generator, *, far: float = 0.2, passes: float = 0.02
) -> Iterator[Position]:
    """The positions of a game in which most stones are put beside others."""
    position = Position(rules)
    while position.outcome is None and position.ply < 3 * rules.points:
        yield position
        legal = position.legal_actions()
        points = legal[legal < rules.points]
        if not len(points) or (len(points) < len(legal) and rng.random() < passes):
            position.play(int(rng.choice(legal)))
            continue
        near = points[_beside_stones(position)[points]]
        choice = near if len(near) and rng.random() > far else points
        position.play(int(rng.choice(choice)))


def played_game(rules: RuleSet, rng: np.random.Generator, simulations: int) -> Iterator[Position]:
    """The positions of a game of plain tree search against itself, after a random beginning."""
    config = SearchConfig(simulations=simulations, fpu_reduction=0.0)
    batch = SearchBatch(1, config, height=rules.height, width=rules.width)
    position = Position(rules)
    while position.outcome is None and position.ply < rules.points:
        yield position
        if position.ply < 4:
            position.play(int(rng.choice(position.legal_actions())))
            continue
        batch.start(0, position, seed=int(rng.integers(1 << 30)))
        batch.run(UniformEvaluator())
        result = batch.result(0)
        best = result.actions[result.policy >= 0.8 * result.policy.max()]
        position.play(int(rng.choice(best)))


def _beside_stones(position: Position) -> np.ndarray:
    """[points] whether a stone stands on one of the eight neighbours."""
    stones = np.pad(position.board != 0, 1)
    height, width = position.board.shape
    shifted = [
        stones[y : y + height, x : x + width]
        for y in range(3)
        for x in range(3)
        if (x, y) != (1, 1)
    ]
    return np.logical_or.reduce(shifted).ravel()
