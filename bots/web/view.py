"""What the page is told about a game: all that it draws, and no rule for it to know."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from bots.web import words
from bots.web.catalogue import heading
from bots.web.game import Game, Move
from engine import Position
from engine.position import SEATS

_SYMBOLS = ".XO"


def game_view(game: Game) -> dict[str, Any]:
    """The position shown, everything that may be done there, and the course of the game."""
    position = game.position
    last = game.moves[game.ply - 1] if game.ply else None
    return {
        "heading": heading(position),
        "rules": position.rules.to_json(),
        "stars": star_points(position.rules.width, position.rules.height, position.rules.gutter),
        "ply": game.ply,
        "moves": [_move_view(move) for move in game.moves],
        "board": "".join(_SYMBOLS[stone] for stone in position.board.flat),
        "numbers": _numbers(game),
        "last": _last_point(game),
        "captured": last.captured if last else [],
        "switched": last.switched if last else [],
        "said": words.move_text(last) if last else "",
        "seats": {seat: _seat_view(game, seat) for seat in SEATS},
        "at_end": game.at_end,
        "record": msgspec.to_builtins(game.record()),
        **_turn(game, position),
    }


def _turn(game: Game, position: Position) -> dict[str, Any]:
    """What may be done now, or how the game ended."""
    turn: dict[str, Any] = {
        "seat": position.seat,
        "colour": position.to_play,
        "phase": position.phase,
        "offers": position.offers,
        "legal": [],
        "options": [],
        "blocked": {},
        "fouls": {},
        "narrow": False,
        "line": [],
        "result": None,
        "prompt": "",
    }
    if game.is_over:
        return turn | _end(game, position)
    points = position.rules.points
    actions = position.legal_actions().tolist()
    legal = [action for action in actions if action < points]
    fouls = position.forbidden()
    blocked, elsewhere = _blocked(position, set(legal), fouls) if legal else ({}, "")
    return turn | {
        "legal": legal,
        "options": [
            {"name": name, "label": words.option_label(position, name)}
            for name in (position.action_name(action) for action in actions if action >= points)
        ],
        "blocked": blocked,
        "elsewhere": elsewhere,
        "fouls": {point: ", ".join(kinds) for point, kinds in fouls.items()},
        # Where an opening leaves few points, the page shows which.
        "narrow": bool(elsewhere),
        "prompt": words.prompt(position),
    }


def _blocked(
    position: Position, legal: set[int], fouls: dict[int, list[str]]
) -> tuple[dict[int, str], str]:
    """Empty points that cannot be played, with the reasons.

    What an opening's phase shuts out is told once, in the second value.
    """
    blocked, elsewhere = {}, ""
    for point, stone in enumerate(position.board.flat):
        if stone or point in legal:
            continue
        reason = position.why_illegal(point)
        if reason == "not-in-this-phase":
            elsewhere = elsewhere or words.why_not(position, reason, [])
        elif reason is not None:
            blocked[point] = words.why_not(position, reason, fouls.get(point, []))
    return blocked, elsewhere


def _end(game: Game, position: Position) -> dict[str, Any]:
    outcome = position.outcome
    if outcome is not None:
        seat, reason, line = outcome.winner_seat, outcome.reason, list(outcome.line)
    else:
        assert game.result is not None
        seat, reason, line = game.result.winner_seat, game.result.reason, []
    colour = None if seat is None else position.colour_of(seat)
    text = words.result_text(colour, reason)
    return {
        "phase": "over",
        "line": line,
        "result": {"winner_seat": seat, "winner_colour": colour, "reason": reason, "text": text},
        "prompt": text,
    }


def _move_view(move: Move) -> list[Any]:
    """Name, seat, colour, effect, and how many stones were captured and switched."""
    return [
        move.name,
        move.seat,
        move.colour,
        move.effect,
        len(move.captured),
        len(move.switched),
    ]


def _seat_view(game: Game, seat: str) -> dict[str, Any]:
    setup = game.seats[seat]
    return {
        "bot": setup.bot,
        "level": setup.level,
        "name": setup.name,
        "colour": game.position.colour_of(seat),
    }


def _last_point(game: Game) -> int | None:
    """The point that was played, or offered, last."""
    shown = reversed(game.moves[: game.ply])
    return next((move.action for move in shown if move.effect != "option"), None)


def _numbers(game: Game) -> dict[int, int]:
    """Point -> number of the stone that was placed there last."""
    placed = [move.action for move in game.moves[: game.ply] if move.effect == "place"]
    return {point: number for number, point in enumerate(placed, start=1)}


@functools.lru_cache(maxsize=64)
def star_points(width: int, height: int, gutter: int) -> list[int]:
    """The centre and four points inside the corners of the region in which lines count."""
    inner = (width - 2 * gutter, height - 2 * gutter)
    if min(inner) < 7:
        return []
    # A board without a middle line has no centre point.
    has_centre = all(side % 2 for side in inner)
    edge = [gutter + (3 if side > 11 else 2) for side in inner]
    columns, rows = (edge[0], width - 1 - edge[0]), (edge[1], height - 1 - edge[1])
    stars = [row * width + column for row in rows for column in columns]
    return sorted(stars + [height // 2 * width + width // 2] * has_centre)
