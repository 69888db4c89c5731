"""What a search found, in the lines that Yixin-Board draws on its board.

`INFO PV k` to `INFO PV DONE` tells one line of play; `MESSAGE REALTIME` follows the search.
Coordinates are written by the session, so that they come as the session's moves do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

from bots.player import Player
from bots.tree import ranking
from engine.search import SearchResult

#: Bits of `INFO show_detail`.
REALTIME, DETAIL = 1, 2

#: Seconds between two reports.
INTERVAL = 0.25

#: The scale of `INFO EVAL`: points for each unit of the logarithm of the odds.
_EVAL_SCALE = 600
_MOST_EVAL = 9999


class LiveReport:
    """Reports a search while it goes on, and once at its end."""

    def __init__(
        self, player: Player, name: Callable[[int], str], detail: int, lines: int = 1
    ) -> None:
        """`name` writes an action's coordinates; `lines` of play are told."""
        self._player, self._name = player, name
        self._detail, self._lines = detail, lines
        self._points = player.position.rules.points
        self._began = self._last = time.monotonic()
        self._best: int | None = None
        self._lost = set[int]()

    def first(self) -> Iterator[str]:
        """What comes before the search."""
        if self._detail & REALTIME:
            yield "MESSAGE REALTIME REFRESH"

    def while_searching(self) -> Iterator[str]:
        """What is new; nothing before `INTERVAL` has gone by since the last time."""
        now = time.monotonic()
        if self._detail and now - self._last >= INTERVAL:
            yield from self.at_end()
            self._last = time.monotonic()

    def at_end(self) -> Iterator[str]:
        """All that is known now."""
        if not self._detail:
            return
        result = self._player.result()
        if self._detail & REALTIME:
            yield from self._realtime(result)
        if self._detail & DETAIL:
            yield from self._blocks(result)

    def _realtime(self, result: SearchResult) -> Iterator[str]:
        for action in result.actions[result.proofs == -1].tolist():
            if action not in self._lost and action < self._points:
                self._lost.add(action)
                yield f"MESSAGE REALTIME LOSE {self._name(action)}"
        if result.action != self._best and result.action < self._points:
            self._best = result.action
            yield f"MESSAGE REALTIME BEST {self._name(result.action)}"

    def _blocks(self, result: SearchResult) -> Iterator[str]:
        reading = self._player.read()
        lengths = reading.plies_to_end() if reading else {}
        ranked = ranking(result)[: self._lines]
        milliseconds = max(1, round(1000 * (time.monotonic() - self._began)))
        for number, index in enumerate(ranked):
            action, q = int(result.actions[index]), float(result.q[index])
            proof = int(result.proofs[index])
            moves = [node.action for node in self._player.line(action)] or [action]
            length = lengths.get(action, 1)
            score = f"{'+' if proof > 0 else '-'}M{length}" if abs(proof) == 1 else _score(q)
            yield f"INFO PV {number}"
            yield f"INFO NUMPV {len(ranked)}"
            yield f"INFO DEPTH {len(moves)}"
            yield f"INFO NODES {int(result.visits[index])}"
            yield f"INFO TOTALNODES {result.simulations}"
            yield f"INFO TOTALTIME {milliseconds}"
            yield f"INFO SPEED {1000 * result.simulations // milliseconds}"
            yield f"INFO EVAL {score}"
            yield f"INFO WINRATE {(1 + q) / 2:.4f}"
            on_board = (self._name(move) for move in moves if move < self._points)
            yield f"INFO BESTLINE {' '.join(on_board)}"
            yield "INFO PV DONE"


def _score(q: float) -> str:
    """An expectation in [-1, 1] as points."""
    bounded = max(-0.999999, min(0.999999, q))
    points = _EVAL_SCALE * math.log((1 + bounded) / (1 - bounded))
    return str(round(max(-_MOST_EVAL, min(_MOST_EVAL, points))))
