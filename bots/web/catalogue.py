"""What can be chosen for a new game, in words: games with their rules, and openings."""

from __future__ import annotations

import re
from typing import Any

from engine import PRESETS, Position
from engine.openings import MOST_OFFERS, OPENINGS
from engine.rules import (
    CAPTURES,
    FORBIDDEN,
    FULL_BOARDS,
    MAX_LINE,
    MAX_SIDE,
    MIN_LINE,
    MIN_SIDE,
    OVERLINES,
)

#: Titles of the presets, and the rules besides board and line that are asked for at once.
_GAMES = {
    "irensei": ("Irensei", ("gutter", "overline", "pass_tiebreak")),
    "connect-go": ("Connect Go", ()),
    "renju": ("Renju", ("forbidden",)),
    "gomoku": ("Gomoku (freestyle)", ()),
    "gomoku-standard": ("Gomoku (exactly five)", ()),
    "caro": ("Caro", ()),
    "caro-overlines": ("Caro (overlines win)", ()),
    "mnk": ("Line game (m, n, k)", ()),
}
_BOARD = ("width", "height", "line_length")

_OPENINGS = {
    "none": "None: play at once",
    "swap-1st": "Swap after one stone",
    "swap": "Swap: three stones, then a choice",
    "swap-2": "Swap-2: three stones, choose or add two",
    "swap-5": "Swap-5: one token, five stones",
    "renju-swap": "Renju swap: two fifth moves",
    "rif": "RIF: two fifth moves",
    "yamaguchi": "Yamaguchi: announced fifth moves",
    "soosorv": "Soosõrv-N: announced up to N, swap again",
    "taraguchi": "Taraguchi-N: up to five swaps",
    "pro": "Pro: third stone outside 5×5",
    "long-pro": "Long pro: third stone outside 7×7",
}

#: Labels of the rules' fields and of their values.
_FIELDS = {
    "width": "Columns",
    "height": "Rows",
    "line_length": "In a row",
    "gutter": "Gutter around the region",
    "overline": "Longer lines",
    "unblocked": "Lines closed at both ends are nothing",
    "forbidden": "Black's forbidden moves",
    "capture": "Surrounded stones",
    "suicide": "Suicide is allowed",
    "superko": "No board may come again",
    "passing": "Passing is allowed",
    "pass_after": "Stones before the first pass",
    "pass_tiebreak": "Without a line, who passed first wins",
    "full_board": "A full board",
    "ply_limit": "Draw after so many plies (0: never)",
}
_RANGES = {
    "width": (MIN_SIDE, MAX_SIDE),
    "height": (MIN_SIDE, MAX_SIDE),
    "line_length": (MIN_LINE, MAX_LINE),
    "gutter": (0, (MAX_SIDE - 1) // 2),
    "pass_after": (0, 100),
    "ply_limit": (0, 1_000_000),
}
_CHOICES = {
    "overline": OVERLINES,
    "forbidden": FORBIDDEN,
    "capture": CAPTURES,
    "full_board": FULL_BOARDS,
}
_VALUES = {
    "symmetric-win": "win, too",
    "symmetric-loss": "lose",
    "asymmetric": "lose for Black, win for White",
    "exact": "are nothing",
    "black-exact": "are nothing for Black, win for White",
    "illegal": "cannot be played",
    "loss": "lose at once",
    "remove": "are captured",
    "switch": "change colour",
    "draw": "is a draw",
    "majority": "goes to more stones",
}
_NONE = {"forbidden": "do not exist", "capture": "stay"}


def catalogue() -> dict[str, Any]:
    """Games, rules and openings, as the page's form shows them."""
    return {
        "games": [
            {
                "name": name,
                "title": _title(name),
                "rules": rules.to_json(),
                "asked": [*_BOARD, *(_GAMES[name][1] if name in _GAMES else ())],
            }
            for name, rules in PRESETS.items()
        ],
        "fields": [
            _field(name, value)
            for name, value in PRESETS["mnk"].to_json().items()
            if name != "name"
        ],
        "openings": [_opening(name) for name in OPENINGS],
    }


def heading(position: Position) -> str:
    """A game in one line: "Irensei 19×19, 7 in a row, swap-2"."""
    rules = position.rules
    opening = "" if position.opening == "none" else f", {position.opening}"
    return (
        f"{_title(rules.name)} {rules.width}×{rules.height}, {rules.line_length} in a row{opening}"
    )


def _title(name: str) -> str:
    return _GAMES[name][0] if name in _GAMES else name


def _field(name: str, value: object) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "label": _FIELDS.get(name, name)}
    if isinstance(value, bool):
        return field | {"kind": "flag"}
    if name in _CHOICES:
        choices = [
            {"value": each, "label": _NONE[name] if each == "none" else _VALUES[each]}
            for each in _CHOICES[name]
        ]
        return field | {"kind": "choice", "choices": choices}
    low, high = _RANGES[name]
    return field | {"kind": "number", "low": low, "high": high}


def _opening(name: str) -> dict[str, Any]:
    """An opening; one with a number says which numbers there are."""
    numbered = re.fullmatch(r"(soosorv|taraguchi)-(\d+)", name)
    if numbered is None:
        return {"name": name, "title": _OPENINGS.get(name, name)}
    base, number = numbered[1], int(numbered[2])
    return {"name": base, "title": _OPENINGS[base], "number": number, "most": MOST_OFFERS}
