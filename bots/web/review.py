"""The review of a whole game: what each position was worth, and which moves lost the most."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from bots.analyst import Analysis, Ticket
from bots.web.desks import REVIEW, Desks
from bots.web.game import Game
from bots.web.report import for_seat_a

#: Mistakes that are marked, at most, and the least that each lost: a value in [-1, 1], where 0.1 is
#: five in a hundred games.
MOST_MISTAKES, LEAST_LOSS = 5, 0.1
#: Reports of a review's progress, about.
STEPS = 50


class Review:
    """Searches all positions of a game, a few at a time; `tell` gets progress and the end."""

    def __init__(
        self,
        game: Game,
        desks: Desks,
        bot: str,
        tell: Callable[[dict[str, Any]], None],
        *,
        simulations: int,
        width: int,
    ) -> None:
        self._game, self._desks, self._bot, self._tell = game, desks, bot, tell
        self._simulations = simulations
        self._moves = list(game.moves)
        self._best: list[int | None] = [None] * (len(self._moves) + 1)
        self._values: list[float | None] = [None] * (len(self._moves) + 1)
        self._next_ply = 0
        self._walker = game.at(0)
        self._searches: dict[int, Ticket] = {}
        self._done = 0
        self.over = False
        for _ in range(width):
            self._next()

    @property
    def is_stale(self) -> bool:
        """Whether the game has gone another way meanwhile."""
        return self._game.moves[: len(self._moves)] != self._moves

    def stop(self) -> None:
        """End the review; nothing more is told."""
        self.over = True
        for search in self._searches.values():
            search.cancel()
        self._searches.clear()

    def _next(self) -> None:
        """Begin the next search. Raises as `Desks.search` does."""
        while self._next_ply <= len(self._moves) and not self.over:
            ply, position = self._next_ply, self._walker.copy()
            self._next_ply += 1
            if ply < len(self._moves):
                self._walker.play(self._moves[ply].action)
            if position.outcome is not None:
                self._note(ply, position.outcome.value("A"), None)
                continue
            self._searches[ply] = self._desks.search(
                self._bot,
                position,
                functools.partial(self._report, ply),
                simulations=self._simulations,
                priority=REVIEW,
            )
            return

    def _report(self, ply: int, analysis: Analysis) -> None:
        if self.over or not analysis.final:
            return
        del self._searches[ply]
        if analysis.result is None or self.is_stale:
            self.stop()
            text = "the game has changed" if self.is_stale else f"{analysis.error}"
            self._tell({"type": "review", "stopped": f"the review has ended: {text}"})
            return
        result = analysis.result
        value = for_seat_a(analysis.query.position, float(result.value))
        self._note(ply, value, int(result.action))
        self._next()

    def _note(self, ply: int, value: float, best: int | None) -> None:
        self._values[ply], self._best[ply] = value, best
        self._game.values[ply] = round(value, 4)
        self._done += 1
        total = len(self._values)
        if self._done == total:
            self.over = True
            self._tell({"type": "review", "done": total, "total": total, **self._findings()})
        elif self._done % max(1, total // STEPS) == 0:
            self._tell({"type": "review", "done": self._done, "total": total})

    def _findings(self) -> dict[str, Any]:
        """Values and the largest mistakes, worst first."""
        mistakes = []
        for ply, move in enumerate(self._moves):
            before, after, best = self._values[ply], self._values[ply + 1], self._best[ply]
            assert before is not None
            assert after is not None
            loss = before - after if move.seat == "A" else after - before
            if loss >= LEAST_LOSS and best is not None and best != move.action:
                mistakes.append(
                    {
                        "ply": ply,
                        "name": move.name,
                        "seat": move.seat,
                        "loss": round(loss, 4),
                        "better": self._game.position.action_name(best),
                        "point": best if best < self._game.position.rules.points else None,
                    }
                )
        mistakes.sort(key=lambda mistake: -float(str(mistake["loss"])))
        return {
            "values": [round(value, 4) for value in self._values if value is not None],
            "mistakes": mistakes[:MOST_MISTAKES],
        }
