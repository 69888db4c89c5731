"""Connect Go against games and cases of an independent reference (tests/data/connect_go)."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.reference.adapters import IMPLEMENTATIONS, Game
from tests.reference.board import all_points, name_of
from tests.reference.rules import Rules, preset

DATA = Path(__file__).parents[1] / "data" / "connect_go"
SHARED = Path(__file__).parents[3] / "shared" / "oracles" / "connect_go"

LONGEST_LINE = 9
REASONS = {
    "line_by_placement": "line",
    "line_by_switch": "line",
    "line_for_opponent_by_switch": "line",
    "board_full": "full-board",
}
# How often the legal actions of a position are asked for: the reference is slow.
LEGAL_EVERY = {"reference": 25, "engine": 1}
Record = dict[str, Any]

with gzip.open(DATA / "games.jsonl.gz", "rt") as lines:
    GAMES: list[Record] = [json.loads(line) for line in lines]
CASES: list[Record] = json.loads((DATA / "cases.json").read_text())
SIZES = sorted({game["size"] for game in GAMES})


def rules_of(record: Record) -> Rules:
    return preset("connect-go", size=record["size"], line_length=record["win_length"])


def stones_of(rules: Rules, rows: str) -> dict[str, list[str]]:
    """The points of each letter in the rows of a board."""
    bottom_up = "".join(reversed(rows.split("/")))
    points: dict[str, list[str]] = {"X": [], "O": [], ".": []}
    for point, letter in zip(all_points(rules), bottom_up, strict=True):
        points[letter].append(name_of(point))
    return points


def switched(turn: Record) -> set[str]:
    return {*turn.get("switched_to_mover", []), *turn.get("switched_to_opponent", [])}


def check_without_suicide(game: Game, rules: Rules, ply: Record) -> None:
    """Where suicide is illegal, just those stones are that would go over to the opponent."""
    stones = stones_of(rules, game.rows())
    strict = type(game).set_up(
        replace(rules, suicide=False), stones["X"], stones["O"], game.to_play
    )
    is_suicide = "switched_to_opponent" in ply
    if strict.ending() is None:
        assert strict.why_illegal(ply["move"]) == ("suicide" if is_suicide else None)
    else:  # there was nothing else to play
        assert strict.ending() == (None, None, "no-legal-action") and is_suicide


def check_result(game: Game, result: Record | None) -> None:
    if result is None:
        assert game.ending() is None
        return
    colour = None if result["winner"] == "draw" else result["winner"]
    seat = {"black": "A", "white": "B", None: None}[colour]
    assert game.ending() == (seat, colour, REASONS[result["reason"]])
    assert bool(game.line()) == (REASONS[result["reason"]] == "line")


def replay(kind: str, record: Record) -> None:
    rules = rules_of(record)
    game: Game = IMPLEMENTATIONS[kind](rules)
    for number, ply in enumerate(record["plies"]):
        assert game.ending() is None
        assert game.to_play == ply["colour"]
        check_without_suicide(game, rules, ply)
        if number % LEGAL_EVERY[kind] == 0:
            assert game.legal() == set(stones_of(rules, game.rows())["."])
        assert game.play(ply["move"]) == set()
        assert game.switched == switched(ply), number
        assert game.rows() == ply.get("board", game.rows()), number
    check_result(game, record["result"])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_games(kind: str, size: int) -> None:
    for record in GAMES:
        if record["size"] == size:
            replay(kind, record)


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_case(case: Record, kind: str) -> None:
    game: Game = IMPLEMENTATIONS[kind](rules_of(case))
    for move in case["moves"]:
        game.play(move)
    assert game.switched == switched(case["last_turn"])
    assert game.rows() == case["board"]
    check_result(game, case["result"])


@pytest.mark.skipif(not SHARED.is_dir(), reason="the source of the data is not beside the checkout")
@pytest.mark.parametrize("name", ["README.md", "cases.json", "games.jsonl.gz"])
def test_data_is_a_faithful_copy(name: str) -> None:
    assert (DATA / name).read_bytes() == (SHARED / name).read_bytes()
