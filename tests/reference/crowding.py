"""Small boards, and random games that run into captures, kos, repetitions and passes on them.

They do so more often than by chance alone, and seldom end by a line while the board is empty.
"""

import random
from typing import Any

from tests.reference.board import point_of
from tests.reference.openings import OPENINGS, fits
from tests.reference.placing import Placement, place
from tests.reference.position import Position
from tests.reference.rules import Rules, preset

SMALL_BOARDS: dict[str, list[dict[str, Any]]] = {
    "irensei": [
        {"size": 5, "line_length": 5, "gutter": 0},
        {"size": 5, "line_length": 3, "gutter": 1},
        {"size": 6, "line_length": 5, "gutter": 0, "overline": "symmetric-loss"},
        {"size": 7, "line_length": 4, "gutter": 1, "overline": "symmetric-win"},
        {"size": 9, "line_length": 5, "gutter": 1},
        {"size": 5, "line_length": 4, "gutter": 0, "pass_tiebreak": True},
    ],
    "gomoku": [
        {"size": 5, "line_length": 4},
        {"size": 6, "line_length": 5},
        {"size": 9, "line_length": 5},
    ],
    "gomoku-standard": [
        {"size": 5, "line_length": 3},
        {"size": 7, "line_length": 5},
        {"size": 9, "line_length": 5},
    ],
    "mnk": [
        {"width": 3, "height": 3, "line_length": 3},
        {"width": 4, "height": 3, "line_length": 3},
        {"width": 5, "height": 7, "line_length": 4},
        {"width": 9, "height": 11, "line_length": 5},
    ],
    "connect-go": [
        {"size": 4, "line_length": 4},
        {"size": 5, "line_length": 5},
        {"size": 5, "line_length": 6},
        {"size": 6, "line_length": 5, "suicide": False},
        {"size": 7, "line_length": 5, "gutter": 1, "passing": True, "full_board": "draw"},
        {"size": 9, "line_length": 5},
    ],
    "renju": [
        {"size": 5},
        {"size": 7},
        {"size": 7, "forbidden": "loss", "passing": False, "pass_after": 0},
        {"width": 9, "height": 6, "pass_after": 9, "pass_tiebreak": True},
        {"size": 9},
    ],
    "caro": [{"size": 5, "line_length": 3}, {"size": 7, "line_length": 4}, {"size": 9}],
    "caro-overlines": [{"size": 5, "line_length": 3}, {"size": 7, "line_length": 4}, {"size": 9}],
}


def small_rules(name: str) -> list[Rules]:
    """The preset on boards so small that random games get crowded."""
    return [preset(name, **fields) for fields in SMALL_BOARDS[name]]


def small_games(name: str) -> list[tuple[Rules, str]]:
    """These boards of the preset with every opening that fits them."""
    return [
        (rules, opening)
        for rules in small_rules(name)
        for opening in OPENINGS
        if fits(opening, rules)
    ]


def temptations(position: Position, legal: list[str]) -> list[str]:
    """The legal actions, each as often as it shall be chosen at random.

    Where something can be captured or switched, half of the list does so; a move that ends the game
    by a line is there once, any other four times. The same position always gives the same list.
    """
    captures, quiet, ends = [], [], []
    for action in legal:
        point = point_of(action, position.rules)
        placement = point and place(position.stones, point, position.to_play, position.rules)
        if not isinstance(placement, Placement):
            quiet.append(action)
        elif placement.verdict is not None:
            ends.append(action)
        elif placement.captured or placement.switched:
            captures.append(action)
        else:
            quiet.append(action)
    repeats = 1 + 4 * len(quiet) // len(captures) if captures else 0
    return captures * repeats + quiet * 4 + ends


def crowded_game(position: Position, plies: int, rng: random.Random) -> list[str]:
    """Plays up to `plies` more actions on `position` and returns them; stops before the game ends.

    Ending moves are taken back by not being made: where nothing else is left, it stops.
    """
    actions: list[str] = []
    while len(actions) < plies:
        candidates = temptations(position, sorted(position.legal_actions()))
        rng.shuffle(candidates)
        for action in candidates:
            after = position.copy()
            after.play(action)
            if after.outcome is None:
                position.play(action)
                actions.append(action)
                break
        else:
            break
    return actions
