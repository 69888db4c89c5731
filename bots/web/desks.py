"""The bots of the server: each thinks for all games at once, in one analyst's batches."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bots.analyst import Analysis, Analyst, Query, Ticket
from bots.levels import HIGHEST, LEVELS
from bots.loading import Bot
from engine import Position

#: Priorities of searches, the most urgent first.
MOVE, ANALYSIS, REVIEW = 2, 1, 0

#: Searches of one bot that are batched at a time; others wait.
SLOTS = 16
#: Evaluations and trees that one bot keeps for boards of one size, in MiB, and so many sizes.
CACHE_MIB, TREES_MIB, CANVASES = 32, 128, 4
#: Positions made for wins by threats before a search, at most: all games wait for these
#: milliseconds.
THREAT_NODES = 20_000
#: Candidates of a position that are told with their lines.
CANDIDATES = 12

Report = Callable[[Analysis], None]


class UnknownBotError(ValueError):
    """A bot that this server does not have."""


class Desks:
    """The bots by their names. To be used from one event loop's thread."""

    def __init__(self, bots: Mapping[str, Bot]) -> None:
        self.bots = dict(bots)
        self._analysts: dict[str, Analyst] = {}
        self._random = np.random.default_rng()

    def check(self, bot: str) -> None:
        """Raise `UnknownBotError` where there is no such bot."""
        if bot not in self.bots:
            raise UnknownBotError(f"this server has no bot {bot!r}; choose another one")

    def search(
        self,
        bot: str,
        position: Position,
        report: Report,
        *,
        simulations: int | None = None,
        level: int = HIGHEST,
        priority: int = ANALYSIS,
        every: float | None = None,
    ) -> Ticket:
        """Search a position; `report` is called in the event loop, the last time when it is done.

        `simulations` None: the bot's own at this level, for choosing a move. The highest level
        looks for wins by threats first. Raises `UnknownBotError`, and `BotError` for a network that
        cannot be loaded.
        """
        self.check(bot)
        analyst = self._analyst(bot)
        loop = asyncio.get_running_loop()
        own = self.bots[bot].search.simulations
        query = Query(
            position=position,
            simulations=simulations or LEVELS[level].limit(own),
            settle=simulations is None,
            threats=THREAT_NODES if level == HIGHEST else 0,
            priority=priority,
            every=every,
            lines=CANDIDATES,
            report=lambda analysis: _call(loop, report, analysis),
        )
        return analyst.submit(query)

    def _analyst(self, bot: str) -> Analyst:
        if bot not in self._analysts:
            self._analysts[bot] = self.bots[bot].analyst(
                slots=SLOTS, cache_mib=CACHE_MIB, trees_mib=TREES_MIB, canvases=CANVASES
            )
        return self._analysts[bot]

    def choice(self, analysis: Analysis, level: int) -> int:
        """The action that a bot of this level plays after its search."""
        result = analysis.result
        assert result is not None
        if level < HIGHEST:
            return LEVELS[level].choose(result, 0.0, self._random)
        return int(result.action)

    def catalogue(self) -> list[dict[str, Any]]:
        """Each bot's name and the games that it was trained on."""
        return [
            {
                "name": name,
                "games": [
                    {"rules": rules.to_json(), "opening": opening} for rules, opening in bot.games
                ],
            }
            for name, bot in self.bots.items()
        ]

    def close(self) -> None:
        """End all searches."""
        for analyst in self._analysts.values():
            analyst.close()


def _call(loop: asyncio.AbstractEventLoop, report: Report, analysis: Analysis) -> None:
    """From the analyst's thread into the event loop; into nothing once that has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(report, analysis)
