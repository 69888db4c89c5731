"""Samples and records of short random games, for the tests of what stores them."""

import numpy as np

from engine import Position, RuleSet
from model.targets import Sample
from selfplay.records import GameRecord

IRENSEI = RuleSet.preset("irensei", size=9, line_length=5, gutter=1)
RECTANGLE = RuleSet.preset("mnk", width=7, height=5, line_length=4)


def some_samples(
    n: int, *, rules: RuleSet = IRENSEI, opening: str = "swap-1st", seed: int = 0
) -> list[Sample]:
    """Positions of random games, with random targets; no two are the same."""
    rng = np.random.default_rng(seed)
    samples: dict[bytes, Sample] = {}
    position = Position(rules, opening)
    while len(samples) < n:
        if position.outcome is not None:
            position = Position(rules, opening)
        legal = position.legal_actions()
        actions = rng.choice(legal, size=min(len(legal), int(rng.integers(1, 20))), replace=False)
        sample = Sample(
            packed=position.pack(),
            rules=rules,
            opening=opening,
            actions=actions.astype(np.int32),
            policy=rng.dirichlet(np.ones(len(actions))).astype(np.float32),
            outcome=int(rng.integers(-1, 2)),
            root_value=float(np.float32(rng.uniform(-1, 1))),
            policy_weight=float(rng.integers(2)),
            value_weight=float(np.float32(rng.random())),
        )
        samples.setdefault(sample.packed, sample)
        position.play(int(rng.choice(legal)))
    return list(samples.values())


def some_record(index: int = 0, *, plies: int = 6) -> GameRecord:
    """The record of a short game, as if it had been given up."""
    rng = np.random.default_rng(index)
    position = Position(IRENSEI, "swap-1st")
    for _ in range(plies):
        position.play(int(rng.choice(position.legal_actions())))
    return GameRecord(
        game="irensei",
        rules=IRENSEI,
        opening="swap-1st",
        actions=[position.action_name(action) for action in position.actions],
        seats={"A": "v000001", "B": "v000001"},
        versions=[(0, 1), (4, 2)],
        result={"winner_seat": "B", "winner_colour": position.colour_of("B"), "reason": "resign"},
        seed={"run": 7, "game": index},
    )
