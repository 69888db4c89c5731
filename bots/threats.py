"""Looking for wins by threats before a search: one's own, and those to be defended against."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping

import numpy as np

from bots.tree import WinReading
from engine import Position
from engine.roots import UNPROVEN
from engine.search import SearchResult
from engine.threats import ThreatSearch, Win

#: Share of the time to a search's end that looking takes, at most.
SHARE = 0.25
#: Seconds that it may take where the network needs all of the time: most wins that are found at all
#: are found within them.
LEAST = 0.001


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Threats:
    """What a look at a position has found; what it has not found may still be there."""

    #: The win of the seat to act.
    win: Win | None = None
    #: Where the other seat threatens to win: that win after each legal action, or None.
    left: Mapping[int, Win | None] | None = None

    @property
    def losses(self) -> dict[int, Win]:
        """The actions after which the other seat wins, where it threatens to."""
        return {action: win for action, win in (self.left or {}).items() if win is not None}

    @property
    def defences(self) -> list[int] | None:
        """The actions after which no win is found; None where the other seat threatens none."""
        return None if self.left is None else [a for a, win in self.left.items() if win is None]


class LookOut:
    """Knows of the last position that it looked at who wins there by threats."""

    def __init__(self) -> None:
        self._search: ThreatSearch | None = None
        self._seen: tuple[object, ...] = ()
        self._position: Position | None = None
        self.found = Threats()

    def look(
        self, position: Position, nodes: int, until: float | None = None, kept: float = 0.0
    ) -> None:
        """Look at a position; it takes `SHARE` of the time until then at most, or `LEAST`.

        Of that time, `kept` seconds are not shared: the search needs them. `nodes` positions are
        made at most for either question; 0: nothing is seen. What was seen before is remembered
        while the game stands where it did.
        """
        seen = (nodes, position.rules, position.opening, position.key, tuple(position.actions))
        if seen == self._seen:
            return
        self._seen, self._position = seen, position.copy()
        self.found = Threats()
        if until is not None:
            now = time.monotonic()
            if until <= now:
                return
            until = now + max(LEAST, SHARE * (until - now - kept))
        if nodes:
            self._look(position, nodes, until)

    def _look(self, position: Position, nodes: int, until: float | None) -> None:
        game = (position.rules, position.opening)
        if self._search is None or game != (self._search.rules, self._search.opening):
            self._search = ThreatSearch(*game)
        win = self._search.win(position, nodes=nodes, until=until)
        left = None
        if win is None:
            left = self._search.defences(position, nodes=nodes, until=until)
        self.found = Threats(win=win, left=left)

    def result(self) -> SearchResult | None:
        """The win as a search's result; None where none was found."""
        if self.found.win is None or self._position is None:
            return None
        return won(self._position, self.found.win)

    def reading(self) -> WinReading | None:
        """What there is to read of the win that was found."""
        if self.found.win is None or self._position is None:
            return None
        return WinReading(self._position, self.found.win)


def won(position: Position, win: Win, network: SearchResult | None = None) -> SearchResult:
    """A win by threats as a search's result.

    What the network says of the position is taken from `network`; without, its priors are even.
    """
    actions = position.legal_actions()
    chosen = actions == win.actions[0]
    even = np.full(len(actions), -np.log(len(actions)), np.float32)
    return SearchResult(
        actions=actions,
        visits=chosen.astype(np.int32),
        log_priors=even if network is None else network.log_priors,
        q=chosen.astype(np.float32),
        proofs=np.where(chosen, 1, UNPROVEN).astype(np.int8),
        policy=chosen.astype(np.float32),
        value=1.0,
        network_value=1.0 if network is None else network.network_value,
        proven=1,
        action=win.actions[0],
        simulations=0 if network is None else network.simulations,
    )
