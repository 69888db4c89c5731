"""What a search has found, as remarks for an SGF file (`engine.sgf`)."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

from bots.analyst import Analysis, Analyst, Query
from engine import Position

if TYPE_CHECKING:
    from engine.sgf import Remark

#: Actions of a line of play that are written, at most.
LONGEST_LINE = 12


def review(position: Position, analyst: Analyst, simulations: int) -> dict[int, Remark]:
    """Remarks about all positions of a game, by the number of actions played before.

    Raises `RuntimeError` where a search fails.
    """
    said: queue.SimpleQueue[Analysis] = queue.SimpleQueue()
    names = [position.action_name(action) for action in position.actions]
    at = position.copy()
    while True:
        if at.outcome is None:
            analyst.submit(Query(position=at, simulations=simulations, report=said.put))
        if not at.actions:
            break
        at.undo()
    remarks = {}
    for _ in range(len(names) + (position.outcome is None)):
        analysis = said.get()
        if analysis.result is None:
            raise RuntimeError(analysis.error or "the search was cancelled")
        ply = analysis.query.position.ply
        remarks[ply] = remark_of(analysis, names[ply] if ply < len(names) else None)
    return remarks


def remark_of(analysis: Analysis, played: str | None = None) -> Remark:
    """The value for Black, a sentence, and the best line where it is not what was `played`.

    Raises `ValueError` where the analysis has found nothing.
    """
    # Only now: it needs the package sgfmill, and an analysis does without.
    from engine.sgf import Line, Remark

    result, position = analysis.result, analysis.query.position
    if result is None:
        raise ValueError("an analysis without a result")
    black = position.colour_of(position.seat) == "black"
    value = result.value if black else -result.value
    names = [position.action_name(node.action) for line in analysis.lines[:1] for node in line]
    names = names[:LONGEST_LINE] or [position.action_name(result.action)]
    comment = f"Black expects {value:+.2f} ({result.simulations} simulations). Best: {names[0]}"
    if result.proven is not None:
        comment += f". Proven: {_ENDS[round(value)]}"
    lines = () if names[0] == played else (Line(actions=tuple(names)),)
    return Remark(comment=comment, value=value, lines=lines)


_ENDS = {1: "Black wins", 0: "a draw", -1: "White wins"}
