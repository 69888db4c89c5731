"""A game's state: set up from a board, and as text for controllers of openings with choices."""

from __future__ import annotations

import json

import numpy as np

from bots.repertoire import Game
from engine import Position


def may_place(position: Position) -> bool:
    """Whether the seat to act may place or offer a stone, or pass; else it chooses by a word."""
    legal = position.legal_actions()
    return legal.size > 0 and int(legal[0]) <= position.rules.points


def set_up(game: Game, board: np.ndarray, to_play: str) -> Position:
    """A position with these stones [H*W], its opening over and without history.

    Lines may stand: a controller may set up their stones before those that spoil them. Raises
    `RuleError` where stones cannot stand so.
    """
    blacks, whites = (np.flatnonzero(board == stone).tolist() for stone in (1, 2))
    rules, opening = game
    return Position.from_setup(
        rules, black=blacks, white=whites, to_play=to_play, opening=opening, allow_lines=True
    )


def result_line(position: Position) -> str:
    """The result in words, such as `black (seat A) wins (line)`; before the end, whose turn."""
    return str(position).splitlines()[-1]


def state_line(position: Position) -> str:
    """Game, phase, whose turn it is, whether a choice is next, and the result or null."""
    outcome = position.outcome
    return json.dumps(
        {
            "game": position.rules.name,
            "width": position.rules.width,
            "height": position.rules.height,
            "opening": position.opening,
            "ply": position.ply,
            "phase": position.phase,
            "seat": position.seat,
            "colour": position.to_play,
            "choice": outcome is None and not may_place(position),
            "result": outcome
            and {
                "winner_seat": outcome.winner_seat,
                "winner_colour": outcome.winner_colour,
                "reason": outcome.reason,
            },
        }
    )
