"""Strength levels, from 1, nearly random, to 10, all that the bot can.

A level is a few numbers: how far it searches, and how often it forgets to, and plays what first
comes to mind. Only the highest looks for wins by threats. The numbers were set so that each step is
about equally many Elo for a trained network, by `python -m benchmarks.levels BOT`, which says how
far that holds for any bot.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from engine.roots import normalised
from engine.search import SearchResult, choose


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How strong a bot plays; only actions that are legal, and openings that the network knows."""

    number: int
    #: Simulations a move, at most; None: all that the bot makes.
    simulations: int | None
    #: Share of actions that are drawn from the network's policy, whatever the search has found.
    careless: float
    #: Temperature of that policy: 1 is the network's own, much more is nearly even.
    softness: float

    def limit(self, simulations: int) -> int:
        """So many of a bot's simulations."""
        return simulations if self.simulations is None else min(simulations, self.simulations)

    def choose(self, result: SearchResult, temperature: float, rng: np.random.Generator) -> int:
        """An action: at times a careless one, else as `engine.search.choose`."""
        if self.careless and rng.random() < self.careless:
            weights = result.priors.astype(np.float64) ** (1 / self.softness)
            return int(rng.choice(result.actions, p=normalised(weights)))
        return choose(result, temperature, rng)


#: By number, from 1.
LEVELS = {
    number: Level(number=number, simulations=simulations, careless=careless, softness=softness)
    for number, simulations, careless, softness in (
        (1, 1, 1.0, 6.0),
        (2, 1, 1.0, 3.2),
        (3, 1, 1.0, 2.3),
        (4, 1, 1.0, 1.74),
        (5, 1, 1.0, 1.35),
        (6, 8, 0.92, 1.0),
        (7, 8, 0.6, 1.0),
        (8, 16, 0.36, 1.0),
        (9, 32, 0.17, 1.0),
        (10, None, 0.0, 1.0),
    )
}


#: The strongest; it is no level of the list's kind, but the bot as it is.
HIGHEST = max(LEVELS)


def find_level(number: int | None) -> Level | None:
    """A level below the highest; None for that. Raises `ValueError` where there is none."""
    if number in (None, HIGHEST):
        return None
    if number not in LEVELS:
        raise ValueError(f"level: {number} is not one of 1 to {HIGHEST}")
    return LEVELS[number]
