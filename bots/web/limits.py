"""What strangers may use up."""

from __future__ import annotations

import dataclasses
import time

#: Characters of a message, and moves of the game, that count as another message.
_LENGTH, _MOVES = 1 << 14, 400


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The server's bounds. A visitor is an address."""

    #: Games in memory, and those of one visitor; the one that was left first makes room.
    games: int = 500
    games_each: int = 32
    #: Open connections. Each has at most one analysis, one review and one bot's move under way.
    connections: int = 300
    connections_each: int = 16
    #: Messages of one connection: so many at once, and so many a second in the long run.
    burst: int = 100
    rate: float = 25.0
    #: A connection is closed after so many messages that were refused.
    patience: int = 200
    #: Simulations of an analysis and of each position of a review.
    analysis: int = 3000
    review: int = 160
    #: Positions of one review that are searched at a time.
    review_width: int = 8
    #: Seconds between two moves of bots, so that they can be followed.
    pace: float = 0.5

    def pause(self, moves: int) -> float:
        """Seconds between two messages about a game, of a page that goes through it steadily.

        A little more than `rate` asks for, so that other messages are taken meanwhile.
        """
        return 1.25 * cost(0, moves) / self.rate


def cost(length: int, moves: int) -> float:
    """How many messages one counts as, that has so many characters and is about such a game."""
    return 1 + length / _LENGTH + moves / _MOVES


class Bucket:
    """A budget of messages that fills up again with time."""

    def __init__(self, burst: int, rate: float) -> None:
        self._most, self._rate = float(burst), rate
        self._left, self._at = float(burst), time.monotonic()

    def take(self, cost: float) -> bool:
        """Whether there was enough; nothing is taken otherwise."""
        now = time.monotonic()
        self._left = min(self._most, self._left + self._rate * (now - self._at))
        self._at = now
        if self._left < cost:
            return False
        self._left -= cost
        return True
