"""What a manager sends while the bot thinks, and what of it cannot wait for its turn."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable

from bots.clock import Clock
from bots.gomocup_info import TIMES, Info, InfoError
from bots.lines import Lines
from bots.player import Limit

#: What ends a search with its move; extensions of the protocol, which do nothing else.
STOPS = frozenset(("YXSTOP", "STOP"))

#: What follows these is about another game.
_GAMES = frozenset(("START", "RECTSTART", "RESTART"))


def is_end(text: str) -> bool:
    """Whether a line ends the session."""
    return _words(text)[:1] == ["END"]


def is_heeded(text: str) -> bool:
    """Whether a line matters to a search that is going on."""
    words = _words(text)
    return words[:1] != [] and (words[0] in STOPS | _GAMES or _limits(words))


class Waiting:
    """The lines that wait during one search. They stay, and are answered in their turn.

    They are seen between evaluations: one that goes on is waited for as long as was said before.
    """

    def __init__(
        self, lines: Lines, info: Info, clock: Clock, limit: Callable[[Clock], Limit]
    ) -> None:
        """`info` and `clock` are those in force, and `limit` where a clock ends the search."""
        self._lines, self._limit = lines, limit
        self._info, self._clock = dataclasses.replace(info), dataclasses.replace(clock)
        self._seen = 0
        self._stopped = self._next_game = False
        self._until: float | None = None

    def ends_search(self) -> bool:
        """Whether the search ends now: for END, YXSTOP or a limit that was said meanwhile."""
        for line in self._lines.ahead(self._seen):
            self._seen += 1
            self._heed(_words(line.text))
        late = self._until is not None and time.monotonic() >= self._until
        return late or self._stopped or self._lines.hurried

    def _heed(self, words: list[str]) -> None:
        if words[0] in STOPS:
            self._stopped = True
        elif words[0] in _GAMES:
            self._next_game = True
        elif not self._next_game:
            key = words[1].lower()
            with contextlib.suppress(InfoError):  # told in its turn
                self._info.set(key, words[2])
                self._info.change(self._clock, key)
                self._until = self._limit(self._clock).until


def _words(text: str) -> list[str]:
    return text.upper().split()


def _limits(words: list[str]) -> bool:
    return len(words) == 3 and words[0] == "INFO" and words[1].lower() in TIMES
