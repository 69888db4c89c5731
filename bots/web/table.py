"""A game with those who watch it, and the bots that play it."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

from bots.analyst import Analysis, Ticket
from bots.web.desks import MOVE, Desks, UnknownBotError
from bots.web.game import Game, GameError
from bots.web.limits import Limits
from bots.web.report import for_seat_a
from bots.web.view import game_view
from model.bot import BotError


class Watcher(Protocol):
    """A connection that shows a table."""

    def show(self, table: Table) -> None:
        """The table has changed."""

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message."""


class Table:
    """A game that connections watch. Bots think only while somebody does."""

    def __init__(self, id: str, game: Game, owner: str, desks: Desks, limits: Limits) -> None:
        self.id, self.game, self.owner = id, game, owner
        self.watchers = set[Watcher]()
        #: When the last watcher left (`time.monotonic()`), or the table was made.
        self.left_at = time.monotonic()
        self._desks, self._limits = desks, limits
        self._search: Ticket | None = None
        self._later: asyncio.TimerHandle | None = None
        #: Counts changes: what belongs to an earlier one is out of date.
        self.turn = 0

    # --- who watches ---

    def join(self, watcher: Watcher) -> None:
        """Somebody watches from now on, and is shown the game."""
        self.watchers.add(watcher)
        if not self.thinking:
            self._let_bot_move()
        watcher.show(self)

    def leave(self, watcher: Watcher) -> None:
        """Somebody is gone; bots rest when nobody is left."""
        self.watchers.discard(watcher)
        if not self.watchers:
            self.left_at = time.monotonic()
            self.close()

    def close(self) -> None:
        """End what bots are doing here."""
        self.turn += 1
        if self._search is not None:
            self._search.cancel()
            self._search = None
        if self._later is not None:
            self._later.cancel()
            self._later = None

    # --- the game ---

    @property
    def thinking(self) -> bool:
        """Whether a bot is choosing its move."""
        return self._search is not None or self._later is not None

    def changed(self) -> None:
        """To be called after each change of the game: all see it, and a bot may have to move."""
        self.close()
        self._let_bot_move()
        self._show()

    def nudge(self, bot: str, level: int) -> None:
        """A bot plays the next action, whoever sits there. Raises `GameError`, and as a search."""
        if self.game.is_over:
            raise GameError("the game is over")
        self._desks.check(bot)
        self.close()
        self._think(bot, level)
        self._show()

    def view(self) -> dict[str, Any]:
        """What the page draws."""
        return {
            "type": "view",
            "id": self.id,
            "turn": self.turn,
            "thinking": self.thinking,
            "pause": self._limits.pause(len(self.game.moves)),
            **game_view(self.game),
        }

    def _show(self) -> None:
        for watcher in list(self.watchers):
            watcher.show(self)

    # --- bots ---

    def _let_bot_move(self) -> None:
        seat = self.game.bot_to_act
        if seat is None or seat.bot is None or not self.watchers:
            return
        try:
            self._think(seat.bot, seat.level)
        except (BotError, UnknownBotError) as error:
            self._complain(str(error))

    def _think(self, bot: str, level: int) -> None:
        turn, began = self.turn, time.monotonic()

        def report(analysis: Analysis) -> None:
            if turn == self.turn and analysis.final:
                self._search = None
                self._answer(analysis, level, began)

        self._search = self._desks.search(
            bot, self.game.position, report, level=level, priority=MOVE
        )

    def _answer(self, analysis: Analysis, level: int, began: float) -> None:
        """Play what the search chose, not before the game's pace allows it."""
        if analysis.error is not None or analysis.result is None:
            self._complain(f"the bot has failed: {analysis.error}")
            self._show()
            return
        turn, action = self.turn, self._desks.choice(analysis, level)
        value = for_seat_a(analysis.query.position, float(analysis.result.value))

        def play() -> None:
            if turn != self.turn:
                return
            self._later = None
            self.game.values[self.game.ply] = round(value, 4)
            try:
                self.game.play(action)
            except GameError as error:  # the game is too long
                self._complain(str(error))
                self._show()
            else:
                self.changed()

        wait = max(0.0, began + self._limits.pace - time.monotonic())
        self._later = asyncio.get_running_loop().call_later(wait, play)

    def _complain(self, text: str) -> None:
        for watcher in list(self.watchers):
            watcher.tell({"type": "error", "text": text})
