"""Names of actions: `c4` for points (column letter, row from 1 at the bottom), words for options.

Columns are lettered from `a` with no letter left out. Action indices are the points, row by row
from the bottom left, followed by `OPTIONS`.
"""

from __future__ import annotations

import re

from engine.rules import OPTIONS, RuleSet

_OPTION_INDEX = {name: index for index, name in enumerate(OPTIONS)}
_POINT = re.compile(r"([a-z])([0-9]{1,9})")


class IllegalAction(ValueError):  # noqa: N818 - reads as what it is, as StopIteration does
    """An action that cannot be played; `reason` is one word of a closed set.

    Reasons: `occupied`, `suicide`, `superko`, `not-in-this-phase`, `game-over`, `forbidden`,
    `equivalent`, `off-board`, `unknown-action`. `detail` says more for people, or is empty.
    """

    def __init__(self, action: str, reason: str, detail: str = "") -> None:
        super().__init__(f"{action}: {reason}{detail and f' ({detail})'}")
        self.action = action
        self.reason = reason
        self.detail = detail


def action_name(rules: RuleSet, action: int) -> str:
    """The name of an action index. Raises `IllegalAction` for an index outside the rule set's."""
    if 0 <= action < rules.points:
        return point_name(rules, action)
    if rules.points <= action < rules.num_actions:
        return OPTIONS[action - rules.points]
    raise IllegalAction(str(action), "unknown-action")


def point_name(rules: RuleSet, point: int) -> str:
    """The name of a point index."""
    return f"{chr(ord('a') + point % rules.width)}{point // rules.width + 1}"


def parse_action(rules: RuleSet, text: str) -> int:
    """The action index of a name. Raises `IllegalAction` (`off-board`, `unknown-action`)."""
    name = text.strip().lower()
    if name in _OPTION_INDEX:
        return rules.points + _OPTION_INDEX[name]
    match = _POINT.fullmatch(name)
    if match is None:
        raise IllegalAction(text[:20], "unknown-action")
    column, row = ord(match[1]) - ord("a"), int(match[2]) - 1
    if column >= rules.width or not 0 <= row < rules.height:
        raise IllegalAction(name, "off-board")
    return row * rules.width + column


def parse_point(rules: RuleSet, text: str) -> int:
    """The index of a point's name. Raises `IllegalAction` for anything that is no point."""
    action = parse_action(rules, text)
    if action >= rules.points:
        raise IllegalAction(text, "unknown-action")
    return action
