"""Numbers, points and refusals in the words of the Gomocup protocol.

Points are `x,y`: the column from the left and the row from the top, from 0.
"""

from __future__ import annotations

import re

from bots.gomocup_board import NOBODY, OPPONENT, OWN
from engine import IllegalAction, Position, RuleSet

_NUMBERS = re.compile(r"\s*(-?\d{1,9})\s*,\s*(-?\d{1,9})\s*(?:,\s*(\d{1,9})\s*)?")

#: Points in the engine's own words.
_ENGINES_POINT = re.compile(r"\b[a-z]\d{1,2}\b")


class GomocupError(ValueError):
    """A command that fails; the message follows ERROR."""


def integer(text: str, command: str) -> int:
    """The number that a command has. Raises `GomocupError` for anything else."""
    try:
        return int(text)
    except ValueError as error:
        raise GomocupError(f"{command}: {text[:40]!r} is not an integer") from error


def pair(text: str, otherwise: str) -> tuple[int, int]:
    """Two numbers. Raises `GomocupError` for anything else, which it calls so."""
    match = _NUMBERS.fullmatch(text)
    if match is None or match[3]:
        raise GomocupError(f"{text[:40]!r} is {otherwise}")
    return int(match[1]), int(match[2])


def parse_point(text: str, rules: RuleSet) -> int:
    """The action of coordinates. Raises `GomocupError` for what is no point of the board."""
    x, y = pair(text, "no point, such as 10,10")
    if not (0 <= x < rules.width and 0 <= y < rules.height):
        raise GomocupError(f"{x},{y} is not on a board of {rules.width}x{rules.height}")
    return (rules.height - 1 - y) * rules.width + x


def parse_stone(line: str, rules: RuleSet) -> int:
    """The action of a line with a stone, whoever's it is. Raises `GomocupError`."""
    match = _NUMBERS.fullmatch(line)
    if match is None:
        raise GomocupError(f"{line[:40]!r} is no stone, such as 10,10")
    return parse_point(f"{match[1]},{match[2]}", rules)


def parse_field(line: str, rules: RuleSet) -> tuple[int, int]:
    """The action of a board's line, and whose it is. Raises `GomocupError`."""
    match = _NUMBERS.fullmatch(line)
    if match is None or match[3] is None or int(match[3]) not in (OWN, OPPONENT, NOBODY):
        raise GomocupError(f"{line[:40]!r} is no line of a board, such as 10,10,1")
    return parse_stone(line, rules), int(match[3])


def point_name(point: int, rules: RuleSet, separator: str = ",") -> str:
    """The coordinates of a point."""
    row, x = divmod(point, rules.width)
    return f"{x}{separator}{rules.height - 1 - row}"


def action_name(action: int, position: Position) -> str:
    """A point's coordinates or an option's word."""
    on_board = action < position.rules.points
    return point_name(action, position.rules) if on_board else position.action_name(action)


def refusal(error: IllegalAction, position: Position) -> str:
    """Why an action cannot be played."""

    def translate(point: re.Match[str]) -> str:
        try:
            return action_name(position.parse_action(point[0]), position)
        except IllegalAction:
            return point[0]

    detail = f" ({error.detail})" if error.detail else ""
    reason = f"{error.action} cannot be played: {error.reason}{detail}"
    return _ENGINES_POINT.sub(translate, reason)
