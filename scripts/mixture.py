"""Mixtures: a weighted list of games with ranges, written out as the games to draw from.

Each entry of the group `mixture` names a preset, and for any of its rules and for the opening
either one value or several: a list, or a range of numbers such as `9..13`. Every combination is a
game of its own; together they share the entry's weight evenly. `docs/mixtures.md` tells more.
"""

import itertools
import math
import re
from collections.abc import Mapping
from typing import Any

from engine import RuleError, RuleSet
from engine.openings import opening
from engine.rules import similar
from selfplay.worker import GameChoice

MOST_GAMES = 4096
"""Games that a mixture may write out to; more are surely a slip."""

KEYS = ("preset", "weight", "rules", "opening")
"""What an entry says; all but `preset` may be left out (weight 1, the preset's rules, `none`)."""

_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def write_out(mixture: Mapping[str, Any]) -> list[GameChoice]:
    """The games of a mixture, in the order of its entries. Raises `RuleError` naming the key."""
    games: list[GameChoice] = []
    for name, entry in mixture.items():
        if not isinstance(entry, Mapping):
            raise RuleError(f"mixture.{name}: {entry!r} is not a group of {', '.join(KEYS)}")
        try:
            games += _games(entry, room=MOST_GAMES - len(games))
        except RuleError as error:
            # An entry's key for the game is `preset`; the other errors begin with its own keys.
            message = re.sub("^game:", "preset:", str(error))
            raise RuleError(f"mixture.{name}.{message}") from error
    return games


def _games(entry: Mapping[str, Any], room: int) -> list[GameChoice]:
    """The games of an entry, `room` at most. Raises `RuleError` beginning with the key."""
    _check(entry)
    rules = {
        str(name): _values(f"rules.{name}", value) for name, value in entry.get("rules", {}).items()
    }
    names = _values("opening", entry.get("opening", "none"))
    combinations = list(itertools.islice(itertools.product(*rules.values(), names), room + 1))
    if len(combinations) > room:
        raise RuleError(f"rules: these make the mixture more than {MOST_GAMES} games; name fewer")
    weight = entry.get("weight", 1.0) / len(combinations)
    games = []
    for *values, name in combinations:
        rule_set = RuleSet.preset(str(entry["preset"]), **dict(zip(rules, values, strict=True)))
        protocol = opening(str(name))
        protocol.check(rule_set)
        games.append(GameChoice(rules=rule_set, opening=protocol.name, weight=weight))
    return games


def _check(entry: Mapping[str, Any]) -> None:
    """Raise `RuleError` for a key that is unknown, missing or of another type."""
    for key in entry:
        if key not in KEYS:
            known = ", ".join(KEYS)
            raise RuleError(f"{key}: no such key; the keys are {known}{similar(key, KEYS)}")
    if "preset" not in entry:
        raise RuleError("preset: missing; it says which game")
    weight = entry.get("weight", 1.0)
    if type(weight) not in (int, float) or not 0 < weight < math.inf:
        raise RuleError(f"weight: {weight!r} is no positive number")
    if not isinstance(entry.get("rules", {}), Mapping):
        raise RuleError(f"rules: {entry['rules']!r} does not say which rule; write rules.NAME")


def _values(key: str, given: Any) -> list[Any]:
    """One value, the values of a list, or the numbers of a range. Raises `RuleError`."""
    values: list[Any] = []
    for item in given if isinstance(given, list) else [given]:
        bounds = _RANGE.fullmatch(item) if isinstance(item, str) else None
        numbers = range(int(bounds[1]), int(bounds[2]) + 1) if bounds else [item]
        if not numbers:
            raise RuleError(f"{key}: {item!r} names no value; write the smaller number first")
        values += numbers[: MOST_GAMES + 1]  # enough to be refused, however long the range
    if not values:
        raise RuleError(f"{key}: {given!r} names no value")
    return values
