"""What a search found, as the page shows it."""

from __future__ import annotations

from typing import Any

from bots.analyst import Analysis
from engine import IllegalAction, Position

#: Plies of a line of play that are told.
PLIES = 12


def for_seat_a(position: Position, value: float) -> float:
    """A value for the seat to act as seat A sees it."""
    return value if position.seat == "A" else -value


def analysis_view(analysis: Analysis) -> dict[str, Any]:
    """The candidates with visits, values for the seat to act in [-1, 1], and lines of play."""
    position, result = analysis.query.position, analysis.result
    assert result is not None
    return {
        "value": for_seat_a(position, float(result.value)),
        "seat": position.seat,
        "simulations": result.simulations,
        "proven": result.proven,
        "final": analysis.final,
        "moves": [
            {
                "action": int(result.actions[index]),
                "name": position.action_name(int(result.actions[index])),
                "visits": int(result.visits[index]),
                "prior": round(float(result.priors[index]), 4),
                "value": round(float(result.q[index]), 4),
                "proof": int(result.proofs[index]) if result.proofs[index] != 2 else None,
                "line": line_view(position, [node.action for node in line]),
            }
            for index, line in zip(analysis.ranking, analysis.lines, strict=False)
            if result.visits[index]
        ],
    }


def line_view(position: Position, line: list[int]) -> list[dict[str, Any]]:
    """The actions of a line with the colour of the stone that each one places, if any."""
    twin, shown = position.copy(), []
    for action in line[:PLIES]:
        colour, stones = twin.to_play, int((twin.board != 0).sum())
        try:
            twin.play(action)
        except IllegalAction:
            break
        on_board = action < position.rules.points
        shown.append({"name": twin.action_name(action), "point": action if on_board else None})
        placed = on_board and (twin.to_play != colour or int((twin.board != 0).sum()) != stones)
        shown[-1]["colour"] = colour if placed else None
    return shown
