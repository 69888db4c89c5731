"""`INFO` of the Gomocup protocol: what a manager says about limits and rules."""

from __future__ import annotations

import dataclasses

from bots.clock import Clock
from bots.levels import HIGHEST, LEVELS

#: A time of so many milliseconds or more is none (the specification's largest 32-bit integer).
NO_LIMIT_MS = 2_147_483_647

#: Keys with an integer, and where it goes; the others that are known are strings or do nothing.
_NUMBERS = {
    "timeout_turn": "timeout_turn",
    "timeout_match": "timeout_match",
    "time_left": "time_left",
    "time_increment": "increment",
    "max_memory": "max_memory",
    "hash_size": "hash_size",
    "max_node": "max_node",
    "rule": "rule",
    "game_type": "game_type",
    "show_detail": "show_detail",
    "suggest": "suggest",
    "level": "level",
    # Yixin-Board's, which have no counterpart in this search.
    "max_depth": "",
    "thread_num": "",
    "caution_factor": "",
    "pondering": "",
}


#: What only Yixin-Board and its kin send.
KIN = frozenset(
    ("thread_num", "caution_factor", "show_detail", "hash_size", "pondering", "max_node",
     "max_depth", "usedatabase", "vcthread", "checkmate")
)  # fmt: skip

#: Keys that limit the time of a move.
TIMES = frozenset(("timeout_turn", "timeout_match", "time_left", "time_increment"))


class InfoError(ValueError):
    """An `INFO` line that says nothing; the message tells key and value."""


@dataclasses.dataclass(slots=True)
class Info:
    """The values in force; None and 0 as the protocol's own defaults."""

    #: Milliseconds for one move; 0: as fast as possible.
    timeout_turn: int | None = None
    #: Milliseconds for the game; 0: no limit.
    timeout_match: int = 0
    #: Milliseconds left of the game's, when it was said last; it may be negative.
    time_left: int | None = None
    #: Milliseconds that come back after each move (Yixin-Board).
    increment: int = 0
    #: Bytes; 0: no limit.
    max_memory: int = 0
    #: KiB (Yixin-Board); 0: not said.
    hash_size: int = 0
    #: Simulations for one move (Yixin-Board); below 1: no limit.
    max_node: int = 0
    #: Sum of 1 exactly five, 2 continuous, 4 renju, 8 Caro; None: the bot's own game.
    rule: int | None = None
    #: 0 human, 1 brain, 2 tournament, 3 network tournament.
    game_type: int = 1
    #: Bits of Yixin-Board's live report.
    show_detail: int = 0
    #: Whether moves are suggested only, and played by `PLAY`.
    suggest: int = 0
    #: Strength, of `bots.levels`; None: the bot's own.
    level: int | None = None
    folder: str = ""

    def set(self, key: str, value: str) -> None:
        """Take a line's key (in lower case) and value over; keys not known are passed over.

        Raises `InfoError` where a number is none.
        """
        if key == "folder":
            self.folder = value
        if key not in _NUMBERS:
            return
        try:
            number = int(value)
        except ValueError as error:
            raise InfoError(f"INFO {key}: {value[:40]!r} is not an integer") from error
        if key == "level" and number not in LEVELS:
            raise InfoError(f"INFO level: {number} is not one of 1 to {HIGHEST}")
        if _NUMBERS[key]:
            setattr(self, _NUMBERS[key], number)

    def clock(self) -> Clock:
        """The clock at the start of a game, or as it was said last."""
        move = self.timeout_turn
        left = self.time_left if self.time_left is not None else self.timeout_match or None
        if left is not None and left >= NO_LIMIT_MS:
            left = None
        return Clock(
            move=None if move is None or move >= NO_LIMIT_MS else max(0, move) / 1000,
            left=None if left is None else left / 1000,
            increment=max(0, self.increment) / 1000,
        )

    def change(self, clock: Clock, key: str) -> None:
        """Take one limit over to a clock; what has been used up of another stays so."""
        said = self.clock()
        if key == "timeout_turn":
            clock.move = said.move
        elif key == "time_increment":
            clock.increment = said.increment
        elif key in TIMES:
            clock.left = said.left

    def memory(self) -> int | None:
        """Bytes that may be used; None: as many as one likes."""
        limits = [limit for limit in (self.max_memory, self.hash_size << 10) if limit > 0]
        return min(limits, default=None)
