"""Mixtures: a weighted list of games with ranges, written out as the games to draw from.

Each entry of the group `mixture` names a preset, and for any of its rules and for the opening
either one value or several: a list, or a range of numbers such as `9..13`. Every combination is a
game of its own; together they share the entry's weight evenly.
"""

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from engine import RuleError, RuleSet
from engine.openings import opening
from selfplay.worker import GameChoice

MOST_GAMES = 4096
"""Games that a mixture may write out to; more are surely a slip."""

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(kw_only=True)
class MixtureEntry:
    """One entry as it stands in the configuration; it is also its schema."""

    preset: str
    #: How often one of its games is drawn, relative to the other entries.
    weight: float = 1.0
    #: Rule -> value, or list or range of values.
    rules: dict[str, Any] = field(default_factory=dict)
    #: Opening, or list of openings.
    opening: Any = "none"


def write_out(mixture: Mapping[str, Mapping[str, Any]]) -> list[GameChoice]:
    """The games of a mixture, in the order of its entries. Raises `RuleError` naming the key."""
    games: list[GameChoice] = []
    for name, entry in mixture.items():
        try:
            games += _games(entry, room=MOST_GAMES - len(games))
        except ValueError as error:  # RuleError among them
            raise RuleError(f"mixture.{name}: {error}") from error
    return games


def _games(entry: Mapping[str, Any], room: int) -> list[GameChoice]:
    known = [item.name for item in fields(MixtureEntry)]
    for name in entry:
        if name not in known:
            raise RuleError(f"{name}: no such key; the keys are {', '.join(known)}")
    if not 0 < entry["weight"] < math.inf:
        raise RuleError(f"weight: {entry['weight']} is not positive")
    rules = {str(name): _values(value) for name, value in entry["rules"].items()}
    openings = [opening(str(name)) for name in _values(entry["opening"])]
    combinations = list(itertools.islice(itertools.product(*rules.values()), room + 1))
    if len(combinations) * len(openings) > room:
        raise RuleError(f"the mixture writes out to more than {MOST_GAMES} games")
    weight = entry["weight"] / max(1, len(combinations) * len(openings))
    games = []
    for values in combinations:
        rule_set = RuleSet.preset(entry["preset"], **dict(zip(rules, values, strict=True)))
        for protocol in openings:
            protocol.check(rule_set)
            games.append(GameChoice(rules=rule_set, opening=protocol.name, weight=weight))
    return games


def _values(given: Any) -> list[Any]:
    """One value, the values of a list, or the numbers of a range. Raises `RuleError`."""
    values: list[Any] = []
    for item in given if isinstance(given, list) else [given]:
        bounds = _RANGE.fullmatch(item) if isinstance(item, str) else None
        values += range(int(bounds[1]), int(bounds[2]) + 1) if bounds else [item]
    if not values:
        raise RuleError(f"{given!r} names no value")
    return values
