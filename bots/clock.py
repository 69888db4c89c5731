"""Time: how long a player may think about its next move, and what is left after it.

Protocols say what they allow in their own words; all of it becomes a `Clock`.
"""

from __future__ import annotations

import dataclasses

#: The answer is there this long before a limit, in seconds.
SAFETY = 0.05
#: Beyond that, a third of the limit up to this many seconds is kept for a machine under load.
LOAD = 0.1
#: Fewest own moves that a game is expected to last from now on.
FEWEST_MOVES = 10


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

    def seconds(self, moves_to_go: int) -> float | None:
        """How long to think about the next move; None: as long as one likes.

        `moves_to_go` is how many more moves the player expects to make. The limits' margins are
        taken off already, so that the move is there `SAFETY` before the first of them.
        """
        limits = [limit for limit in (self.move, self.left) if limit is not None]
        if not limits:
            return None
        hard = max(0.0, min(limits))
        plan = hard if self.left is None else min(hard, self._share(moves_to_go))
        return max(0.0, min(plan, hard - margin(hard)))

    def _share(self, moves_to_go: int) -> float:
        left = max(0.0, self.left or 0.0)
        if self.stones:
            return left / self.stones - SAFETY
        again = self.period / self.period_stones if self.period_stones else self.increment
        return left / max(FEWEST_MOVES, moves_to_go) + again - SAFETY

    def spend(self, seconds: float) -> None:
        """Take the time of a move off what is left, and give back what a move earns."""
        if self.left is None:
            return
        self.left += self.increment - seconds
        if self.stones:
            self.stones -= 1
            renewed = self.stones == 0
        else:
            renewed = self.left <= 0 and self.period_stones > 0
        if renewed:
            self.left, self.stones = self.period, self.period_stones


def margin(limit: float) -> float:
    """What to keep of a limit of so many seconds: `SAFETY`, and something for a loaded machine."""
    return SAFETY + min(LOAD, limit / 3)


def moves_to_go(points: int, stones: int) -> int:
    """Own moves to expect: line games seldom fill more than half of their boards' points."""
    return max(FEWEST_MOVES, (points // 2 - stones) // 2)
