"""The engine counts the action sequences of tests/data/perft, and so does the reference.

The tables come from the reference (tests/reference/make_perft.py); it is slow, so what it counts
again here is only the shallow end.
"""

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from engine import Position
from tests.reference.adapters import engine_rules
from tests.reference.openings import OPENINGS
from tests.reference.position import Position as ReferencePosition
from tests.reference.rules import PRESETS, preset

DATA = Path(__file__).parents[1] / "data" / "perft"
SHALLOW = 200

Entry = dict[str, Any]
TABLES: dict[str, list[Entry]] = {
    file.stem: json.loads(file.read_text()) for file in sorted(DATA.glob("*.json"))
}
COMBINATIONS = [(name, opening) for name in PRESETS for opening in OPENINGS]


def entries(name: str, opening: str) -> list[Entry]:
    chosen = [entry for entry in TABLES[name] if entry["opening"] == opening]
    assert chosen
    return chosen


@pytest.mark.parametrize(("name", "opening"), COMBINATIONS)
def test_engine(name: str, opening: str) -> None:
    for entry in entries(name, opening):
        position = Position(engine_rules(preset(name, **entry["rules"])), opening)
        for action in entry["actions"]:
            position.play(action)
        depths = range(1, len(entry["counts"]) + 1)
        assert [position.perft(depth) for depth in depths] == entry["counts"], entry
        assert position.perft(0) == 1


@pytest.mark.parametrize(("name", "opening"), COMBINATIONS)
def test_reference(name: str, opening: str) -> None:
    for entry in entries(name, opening):
        position = ReferencePosition(preset(name, **entry["rules"]), opening)
        for action in entry["actions"]:
            position.play(action)
        shallow = list(takewhile(lambda count: count <= SHALLOW, entry["counts"]))
        assert [position.perft(depth + 1) for depth in range(len(shallow))] == shallow, entry


def test_noughts_and_crosses() -> None:
    """The well-known numbers of games by length, counted from outside this project.

    They are the number of ways to play so many stones with no line before the last one: 9, 9*8,
    ... 255,168 games in all, of which 127,872 are nine stones long.
    """
    position = Position(engine_rules(preset("mnk", width=3, height=3, line_length=3)))
    known = [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872]
    assert [position.perft(depth) for depth in range(1, 10)] == known
    # A game is one of these that cannot be prolonged: each other one has 9 - length successors.
    unfinished = sum(count // (9 - length) for length, count in enumerate(known[1:], 1))
    assert sum(known) - unfinished == 255_168
