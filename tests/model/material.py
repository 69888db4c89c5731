"""Networks and samples for the tests of this package."""

import numpy as np
import torch

from benchmarks.evaluators import random_network
from engine import Position, RuleSet
from model.network import Network, NetworkConfig
from model.targets import Sample

torch.set_num_threads(1)

TINY = NetworkConfig(blocks=2, channels=8, pool_every=2, pool_channels=4, head_channels=4, hidden=8)
IRENSEI = RuleSet.preset("irensei", size=9, line_length=5, gutter=1)
RECTANGLE = RuleSet.preset("mnk", width=7, height=5, line_length=4)
SMALL = RuleSet.preset("mnk", width=5, height=5, line_length=4)
GAMES = ((IRENSEI, "swap-1st"), (RECTANGLE, "none"), (SMALL, "swap-2"))


def wild_network(config: NetworkConfig = TINY, seed: int = 0) -> Network:
    """A network in which every weight and bias matters, none of them 0 as after initialisation."""
    return random_network(config, seed)


def some_positions(rules: RuleSet, opening: str, n: int, seed: int = 0) -> list[Position]:
    """Positions of random games, none of them over."""
    rng = np.random.default_rng(seed)
    positions: list[Position] = []
    position = Position(rules, opening)
    while len(positions) < n:
        if rng.random() < 0.3:
            positions.append(position.copy())
        position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is not None:
            position = Position(rules, opening)
    return positions


def some_samples(
    n: int, rules: RuleSet = SMALL, opening: str = "none", *, seed: int = 0
) -> list[Sample]:
    """Samples with random targets."""
    rng = np.random.default_rng(seed)
    return [
        sample_of(position, rng, weight=1.0) for position in some_positions(rules, opening, n, seed)
    ]


def sample_of(position: Position, rng: np.random.Generator, *, weight: float) -> Sample:
    """One sample with random targets on up to six legal actions."""
    legal = position.legal_actions()
    actions = rng.choice(legal, size=min(6, len(legal)), replace=False).astype(np.int32)
    return Sample(
        packed=position.pack(),
        rules=position.rules,
        opening=position.opening,
        actions=actions,
        policy=rng.dirichlet(np.ones(len(actions))).astype(np.float32),
        outcome=int(rng.integers(-1, 2)),
        root_value=float(rng.uniform(-1, 1)),
        policy_weight=weight,
    )
