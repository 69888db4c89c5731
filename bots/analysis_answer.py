"""What the analysis engine says about a position, as JSON; `docs/analysis.md` describes it."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from bots.analyst import Analysis
from bots.threats import Threats
from bots.tree import lower_bound
from engine import Position
from engine.referee import describe, result_of
from engine.search import SearchResult


def to_line(answer: dict[str, Any]) -> bytes:
    """An answer as a line."""
    return json.dumps(answer, separators=(",", ":")).encode() + b"\n"


def about_position(position: Position, want: Collection[str]) -> dict[str, Any]:
    """What the rules say: whose turn it is, forbidden points, points that complete a line."""
    wanted = [each for each in ("legal", "forbidden") if each == "forbidden" or each in want]
    said = {"ply": position.ply, **describe(position, wanted)}
    fives = {
        colour: [position.action_name(point) for point in points]
        for colour in ("black", "white")
        if (points := position.winning_points(colour))
    }
    if fives:
        said["fives"] = fives
    if "board" in want:
        said["board"] = position.rows()
    if position.outcome is not None:
        said["result"] = result_of(position)
    return said


def about_threats(position: Position, found: Threats) -> dict[str, Any]:
    """Whether the seat to act wins by threats, or what it can do where the other one does."""
    if found.win is not None:
        actions, plies = found.win.actions, found.win.plies
        return {"win": list(map(position.action_name, actions)), "plies": plies}
    if found.defences is not None:
        return {"defences": list(map(position.action_name, found.defences))}
    return {}


def about_search(analysis: Analysis, most: int | None, want: Collection[str]) -> dict[str, Any]:
    """What the search has found; empty where it has not begun."""
    result, position = analysis.result, analysis.query.position
    if result is None:
        return {}
    said: dict[str, Any] = {
        "root": {
            "value": _rounded(result.value),
            "network_value": _rounded(result.network_value),
            "simulations": result.simulations,
            "proven": result.proven,
        },
        "moves": _moves(analysis, result, most),
        "seconds": round(analysis.seconds, 3),
    }
    if "policy" in want:
        names = (position.action_name(action) for action in result.actions.tolist())
        said["policy"] = dict(zip(names, map(_rounded, result.priors.tolist()), strict=True))
    return said


def _moves(analysis: Analysis, result: SearchResult, most: int | None) -> list[dict[str, Any]]:
    """The best actions, the first one in any case."""
    name = analysis.query.position.action_name
    moves = []
    for order, k in enumerate(analysis.ranking[:most]):
        action, visits = int(result.actions[k]), int(result.visits[k])
        proof = int(result.proofs[k])
        if order and not visits:
            break
        value = float(result.q[k]) if visits else result.value
        proven = abs(proof) <= 1
        line = analysis.lines[order] if order < len(analysis.lines) else ()
        move = {
            "action": name(action),
            "order": order,
            "visits": visits,
            "prior": _rounded(float(result.priors[k])),
            "value": _rounded(value),
            "lower_bound": _rounded(value if proven else lower_bound(value, visits)),
            "line": [name(node.action) for node in line] or [name(action)],
        }
        if proven:
            move["proven"] = proof
            if action in analysis.plies_to_end:
                move["plies_to_end"] = analysis.plies_to_end[action]
        moves.append(move)
    return moves


def _rounded(value: float) -> float:
    """Six digits after the point: more is noise, and costs bytes."""
    return round(value, 6)
