"""Time: how long a player may think about its next move, and what is left after it.

Protocols say what they allow in their own words; all of it becomes a `Clock`.
"""

from __future__ import annotations

import dataclasses

#: The answer is there this long before a limit, in seconds.
SAFETY = 0.05
#: Beyond that, a third of the limit up to this many seconds is kept for a machine under load.
LOAD = 0.1
#: What a move takes beyond what is counted here: pipes, and the other program.
UNSEEN = 0.002
#: The last of a game's clock, in seconds: for moves that only must be there.
LAST = 0.15
#: Fewest own moves that a game is expected to last from now on.
FEWEST_MOVES = 10

#: How fast the mean of what moves took beyond their plan follows the last one.
_FOLLOW = 0.25


@dataclasses.dataclass(slots=True, kw_only=True)
class Clock:
    """One player's time, in seconds; None where nothing limits it."""

    #: Most for one move; 0: at once.
    move: float | None = None
    #: What is left for the game, or for the next `stones` moves where that is not 0.
    left: float | None = None
    stones: int = 0
    #: What comes back to `left` after each move.
    increment: float = 0.0
    #: Byo-yomi: once `left` is used up, this is given for each `period_stones` moves.
    period: float = 0.0
    period_stones: int = 0
    #: What moves took lately beyond what `seconds` had said.
    overhead: float = 0.0
    _planned: float | None = None

    def seconds(self, moves_to_go: int, longest: int = 0, cost: float = 0.0) -> float | None:
        """How long to think about the next move; None: as long as one likes.

        `moves_to_go` is how many more moves the player expects to make, and `longest` how many in
        the longest games; the network is asked once in `cost` seconds. The limits' margins are
        taken off already, so that the move is there `SAFETY` before the first of them.
        """
        self._planned = self._plan(moves_to_go, max(longest, moves_to_go), cost)
        return self._planned

    def _plan(self, moves_to_go: int, longest: int, cost: float) -> float | None:
        hard = self._limit()
        if hard is None:
            return None
        share = hard if self.left is None else self._share(moves_to_go, longest, cost)
        return max(0.0, min(share, hard - margin(hard)))

    def _limit(self) -> float | None:
        """What the next move may take at most; a period's first move has what is left besides."""
        left = self.left
        if left is not None and not self.stones:
            left = max(0.0, left) + self._of_period()
        limits = [limit for limit in (self.move, left) if limit is not None]
        return max(0.0, min(limits)) if limits else None

    def _of_period(self) -> float:
        """A move's share of a byo-yomi period; 0 where none follows."""
        return self.period / self.period_stones if self.period_stones else 0.0

    def _share(self, moves_to_go: int, longest: int, cost: float) -> float:
        """This move's share of what is left but for one margin, which serves all moves.

        A long game must not be lost by moves that take no longer than they must. What they take
        beyond what comes back is kept: overheads for the longest games, and the network for games
        twice as long as expected, since it need not be asked where nothing is left.
        """
        left = max(0.0, self.left or 0.0)
        if self.stones:
            return left / self.stones - SAFETY
        again = (self._of_period() or self.increment) - UNSEEN
        moves = max(FEWEST_MOVES, moves_to_go)
        asking, lost = max(0.0, cost - again), max(0.0, self.overhead - again)
        kept = margin(left) + max(asking * 2 * moves, lost * longest)
        return (left - kept) / moves + again + max(asking, lost) - self.overhead

    def is_nearly_empty(self, longest: int, cost: float) -> bool:
        """Whether the network, which costs so many seconds, cannot be asked any more.

        So it is where twice would be too much, or the clock's last would not do for the moves of
        the longest games, and no period follows. A clock that is used up already is no reason.
        """
        if self.left is None or self.stones or self.period_stones:
            return False
        lost = max(0.0, cost - self.increment)
        return 0 < self.left < max(2 * cost, min(LAST, lost * longest))

    @property
    def patience(self) -> float | None:
        """How long the network may take over the next move in all; None: as long as it takes.

        That is `SAFETY` before the limit, or half of a limit that is nearly as short.
        """
        hard = self._limit()
        return max(hard - SAFETY, hard / 2) if hard else None

    def spend(self, seconds: float) -> None:
        """Take the time of a move off what is left, and give back what a move earns."""
        if self._planned is not None:
            late = max(0.0, seconds - self._planned)
            self.overhead += _FOLLOW * (late - self.overhead)
        if self.left is None:
            return
        self.left += self.increment - seconds - UNSEEN
        if not self.stones and self.left <= 0 and self.period_stones:
            # The move that used up the rest is the first of a period.
            self.left, self.stones = self.left + self.period, self.period_stones
        if self.stones:
            self.stones -= 1
            if not self.stones:
                self.left, self.stones = self.period, self.period_stones


def margin(limit: float) -> float:
    """What to keep of a limit of so many seconds: `SAFETY`, and something for a loaded machine."""
    return SAFETY + min(LOAD, limit / 3)


def moves_to_go(points: int, stones: int) -> int:
    """Own moves to expect: line games usually fill about a fifth of their boards' points."""
    return max(FEWEST_MOVES, (points // 5 - stones) // 2)


def longest_to_go(points: int, stones: int) -> int:
    """Own moves to be prepared for: two thirds of those that fill the board."""
    return max(FEWEST_MOVES, (points - stones) // 3)
