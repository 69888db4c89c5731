"""Writes tests/data/perft/*.json from the reference: `python -m tests.reference.make_perft`.

One file per preset. An entry gives the fields that differ from the preset, the opening, the actions
played first, and `counts`: the number of action sequences of length 1, 2, 3, ... from there. An
entry goes as deep as about `BUDGET` sequences, which the reference counts in a few seconds.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.reference.crowding import crowded_game
from tests.reference.openings import OPENINGS, SMALLEST_SIDE, family_and_number
from tests.reference.position import Position
from tests.reference.rules import PRESETS, preset

FOLDER = Path(__file__).parents[1] / "data" / "perft"
BUDGET = 4_000
DEEPEST = 12

Fields = dict[str, Any]

# Small boards: lines come early on some, captures before lines on others.
IRENSEI_BOARDS: list[Fields] = [
    {"size": 5, "line_length": 3, "gutter": 1},
    {"size": 5, "line_length": 5, "gutter": 0},
    {"size": 6, "line_length": 4, "gutter": 1},
]
IRENSEI_VARIANTS: list[Fields] = [
    {"overline": "symmetric-win"},
    {"overline": "symmetric-loss"},
    {"pass_tiebreak": True},
    {"ply_limit": 3},
]
GOMOKU_BOARDS: list[Fields] = [
    {"size": 5, "line_length": 5},
    {"size": 5, "line_length": 4},
    {"size": 6, "line_length": 5},
]
MNK_BOARDS: list[Fields] = [
    {"width": 3, "height": 3, "line_length": 3},
    {"width": 4, "height": 3, "line_length": 3},
    {"width": 3, "height": 5, "line_length": 3},
    {"width": 7, "height": 4, "line_length": 4},
]


CONNECT_GO_BOARDS: list[Fields] = [
    {"size": 4, "line_length": 4},
    {"size": 5, "line_length": 5, "suicide": False},
    {"size": 4, "line_length": 5},
]
RENJU_BOARDS: list[Fields] = [
    {"size": 5, "passing": False, "pass_after": 0},
    {"size": 6, "pass_after": 2},
    {"size": 7, "forbidden": "loss"},
]
CARO_BOARDS: list[Fields] = [
    {"size": 4, "line_length": 3},
    {"size": 5, "line_length": 4},
    {"size": 7},
]

# Openings on any board, and those that speak of a centre.
SIMPLE = [name for name in OPENINGS if family_and_number(name)[0] not in SMALLEST_SIDE]
CENTRED = [name for name in OPENINGS if family_and_number(name)[0] in SMALLEST_SIDE]


def starts() -> Iterator[tuple[str, Fields, str]]:
    """Every preset with every opening from the empty board."""
    yield from simple_starts()
    for opening in SIMPLE:
        for fields in CONNECT_GO_BOARDS:
            yield "connect-go", fields, opening
        for fields in RENJU_BOARDS:
            yield "renju", fields, opening
        for fields in CARO_BOARDS:
            yield "caro", fields, opening
            yield "caro-overlines", fields, opening
    for opening in CENTRED:
        for name in PRESETS:
            yield name, centred_board(name, opening), opening


def centred_board(name: str, opening: str) -> Fields:
    """The smallest board that the opening fits."""
    side = SMALLEST_SIDE[family_and_number(opening)[0]]
    fields: Fields = {"size": side, "line_length": 5}
    return fields | ({"gutter": 0 if side == 5 else 1} if name == "irensei" else {})


def simple_starts() -> Iterator[tuple[str, Fields, str]]:
    for opening in SIMPLE:
        for fields in IRENSEI_BOARDS:
            yield "irensei", fields, opening
        for variant in IRENSEI_VARIANTS:
            yield "irensei", IRENSEI_BOARDS[0] | variant, opening
        for fields in GOMOKU_BOARDS:
            yield "gomoku", fields, opening
            yield "gomoku-standard", fields, opening
        for fields in MNK_BOARDS:
            yield "mnk", fields, opening


def crowded() -> Iterator[tuple[str, Fields, str, int]]:
    """Where to count from the middle of a game: also the number of actions played first."""
    yield from simple_crowded()
    for opening in SIMPLE:
        for plies in (8, 16):
            for fields in CONNECT_GO_BOARDS:
                yield "connect-go", fields, opening, min(plies, fields["size"] ** 2 - 4)
        for plies in (12, 24):
            for fields in RENJU_BOARDS:
                yield "renju", fields, opening, min(plies, fields["size"] ** 2 - 8)
        for fields in CARO_BOARDS:
            yield "caro", fields, opening, 10
            yield "caro-overlines", fields, opening, 10
    for opening in CENTRED:
        for name in PRESETS:
            for plies in (5, 7, 16):  # in the midst of fifth moves, and after the opening
                yield name, centred_board(name, opening), opening, plies


def simple_crowded() -> Iterator[tuple[str, Fields, str, int]]:
    for opening in SIMPLE:
        for plies in (14, 24, 36, 50):
            yield "irensei", {"size": 5, "line_length": 5, "gutter": 0}, opening, plies
            tiebreak = {"size": 5, "line_length": 3, "gutter": 1, "pass_tiebreak": True}
            yield "irensei", tiebreak, opening, plies
            loss = {"size": 6, "line_length": 4, "gutter": 1, "overline": "symmetric-loss"}
            yield "irensei", loss, opening, plies
            suicide = {"size": 5, "line_length": 4, "gutter": 0, "suicide": True}
            yield "irensei", suicide, opening, plies
        for fields in GOMOKU_BOARDS:
            yield "gomoku", fields, opening, 12
            yield "gomoku-standard", fields, opening, 16
        yield "mnk", {"width": 7, "height": 4, "line_length": 4}, opening, 14
        yield "mnk", {"width": 4, "height": 5, "line_length": 4}, opening, 9


def counts(position: Position) -> list[int]:
    """Perft at depth 1, 2, ... while the next depth is expected to stay within the budget."""
    found: list[int] = []
    branching = 1.0
    while len(found) < DEEPEST and (not found or found[-1] * branching <= BUDGET):
        found.append(position.perft(len(found) + 1))
        if found[-1] == 0:
            break
        branching = found[-1] / (found[-2] if len(found) > 1 else 1)
    return found


def entry(fields: Fields, opening: str, actions: list[str], position: Position) -> Fields:
    return {"rules": fields, "opening": opening, "actions": actions, "counts": counts(position)}


def main() -> None:
    tables: dict[str, list[Fields]] = {}
    for name, fields, opening in starts():
        position = Position(preset(name, **fields), opening)
        tables.setdefault(name, []).append(entry(fields, opening, [], position))
    for number, (name, fields, opening, plies) in enumerate(crowded()):
        position = Position(preset(name, **fields), opening)
        actions = crowded_game(position, plies, random.Random(number))
        tables[name].append(entry(fields, opening, actions, position))
    FOLDER.mkdir(exist_ok=True)
    for name, entries in tables.items():
        lines = ",\n ".join(json.dumps(line) for line in entries)
        (FOLDER / f"{name}.json").write_text(f"[{lines}]\n")
        print(f"{name}: {len(entries)} entries, {sum(sum(e['counts']) for e in entries):,} counted")


if __name__ == "__main__":
    main()
