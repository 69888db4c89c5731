"""All games of the server: who may have how many, and which are put away."""

from __future__ import annotations

import asyncio
import secrets

from bots.web.desks import Desks
from bots.web.game import Game, GameError
from bots.web.limits import Limits
from bots.web.messages import Record
from bots.web.table import Table


class Lounge:
    """The tables, by unguessable ids."""

    def __init__(self, desks: Desks, limits: Limits) -> None:
        self.desks, self.limits = desks, limits
        #: Files are read in threads, so many at a time.
        self.reading = asyncio.Semaphore(2)
        self._tables: dict[str, Table] = {}

    def __len__(self) -> int:
        """Number of games."""
        return len(self._tables)

    def find(self, id: str) -> Table | None:
        """The table with this id; None where there is none (any more)."""
        return self._tables.get(id)

    def open(self, record: Record, visitor: str) -> Table:
        """A new table for this visitor. Raises as `Game` does, `GameError` where there is no room.

        Where the visitor, or the server, has its most games, the one that nobody has watched for
        the longest time is put away. Its page has kept it, and takes it up again when it is shown.
        """
        game = Game(record)
        mine = [table for table in self._tables.values() if table.owner == visitor]
        if len(mine) >= self.limits.games_each:
            self._put_away(mine, f"you have {len(mine)} games open; close one of their pages first")
        if len(self._tables) >= self.limits.games:
            self._put_away(list(self._tables.values()), "this server is full; try again later")
        id = secrets.token_urlsafe(16)
        table = self._tables[id] = Table(id, game, visitor, self.desks, self.limits)
        return table

    def _put_away(self, tables: list[Table], otherwise: str) -> None:
        """Drop the table that was left first. Raises `GameError` where all are watched."""
        idle = [table for table in tables if not table.watchers]
        if not idle:
            raise GameError(otherwise)
        oldest = min(idle, key=lambda table: table.left_at)
        oldest.close()
        del self._tables[oldest.id]
