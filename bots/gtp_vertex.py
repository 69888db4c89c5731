"""Points and boards as GTP writes them: columns have no letter I, unlike elsewhere in narabe."""

from __future__ import annotations

import re

from engine import OPTIONS, Position, RuleSet

#: Columns as GTP letters them: 25, without I.
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"

_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}
_VERTEX = re.compile(r"([a-hj-z])([1-9][0-9]?)")
_STONES = ".XO"


class GtpError(ValueError):
    """A command that fails; the message is the answer after the question mark."""


def vertex_name(rules: RuleSet, action: int) -> str:
    """An action as GTP writes it: `J9`, `pass`, or narabe's word for another option."""
    if action < rules.points:
        return f"{COLUMNS[action % rules.width]}{action // rules.width + 1}"
    return OPTIONS[action - rules.points]


def parse_vertex(rules: RuleSet, text: str) -> int:
    """The action of a vertex, `pass` or an option. Raises `GtpError` for anything else."""
    name = text.lower()
    if name in OPTIONS:
        return rules.points + OPTIONS.index(name)
    match = _VERTEX.fullmatch(name)
    if match is None:
        raise GtpError("syntax error: not a vertex")
    column, row = COLUMNS.index(match[1].upper()), int(match[2]) - 1
    if column >= rules.width or row >= rules.height:
        raise GtpError("illegal move")
    return row * rules.width + column


def parse_colour(text: str) -> str:
    """`black` or `white`. Raises `GtpError` for anything else."""
    try:
        return _COLOURS[text.lower()]
    except KeyError as error:
        raise GtpError("syntax error: a colour is black or white") from error


def parse_integer(text: str) -> int:
    """A number from 0. Raises `GtpError` for anything else."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 9:
        raise GtpError("syntax error: not an integer")
    return int(text)


def rows(position: Position) -> list[str]:
    """The rows of the board from the top: `.` empty, `X` black, `O` white."""
    board = position.board  # [H, W]
    return [" ".join(_STONES[stone] for stone in row) for row in board[::-1]]


def diagram(position: Position) -> str:
    """The board with GTP's coordinates, row 1 at the bottom, and whose turn it is."""
    height, width = position.board.shape
    letters = "    " + " ".join(COLUMNS[:width])
    lines = [
        f"{row:3} {stones} {row}"
        for row, stones in zip(range(height, 0, -1), rows(position), strict=True)
    ]
    turn = f"seat {position.seat}, {position.to_play} to play, phase {position.phase}"
    return "\n".join(["", letters, *lines, letters, turn])
