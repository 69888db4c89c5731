"""Irensei against games replayed through an independent implementation (tests/data/irensei).

Its plies are told in the source's terms, where a pass may mean a swap and a ply may hold several
stones; `translate` puts them into actions. It departs from the rules as narabe has them in three
ways, which are no targets: repetition is played there and loses (illegal here, reason superko),
passing is refused for a while after the opening (legal here), and a suicide that completes a seven
which does not count is accepted (`disputed`; illegal here).
"""

import gzip
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.reference.adapters import IMPLEMENTATIONS, Game
from tests.reference.rules import Rules, preset

DATA = Path(__file__).parents[1] / "data" / "irensei"
SHARED = Path(__file__).parents[3] / "shared" / "oracles" / "irensei"

COLUMNS = "abcdefghijklmnopqrs"
POINTS = {f"{column}{row}" for column in COLUMNS for row in range(1, 20)}
SEATS = {1: "A", 2: "B", 0: None}
REASONS = {"seven": "line", "overline": "overline", "passes": "passes"}
REASONS["pass-tiebreak"] = "pass-tiebreak"
REFUSALS = {"suicide": "suicide", "ko": "superko", "occupied": "occupied", "off-board": "off-board"}
# Refusals that are about how the source writes a ply, not about the game.
NOTATION_ONLY = {"too-many-stones", "duplicate", "not-normalised"}

OPENING_STONES = {"none": 0, "swap-1st": 1, "swap-2": 3, "swap-5": 5}
OVERLINES = ("asymmetric", "symmetric-win", "symmetric-loss")
Record = dict[str, Any]

with gzip.open(DATA / "games.jsonl.gz", "rt") as lines:
    GAMES: list[Record] = [json.loads(line) for line in lines]
CASES: list[Record] = json.loads((DATA / "cases.json").read_text())


def rules_of(record: Record) -> Rules:
    return preset(
        "irensei",
        size=record["size"],
        overline=record["overline"],
        pass_tiebreak=record["pass_tiebreak"],
    )


def is_choosing(game: Game) -> bool:
    return game.ending() is None and game.why_illegal("white") is None


def translate(game: Game, move: str) -> list[str]:
    """The actions that the source's ply `move` stands for in this position."""
    stones = move.split(",")
    if not is_choosing(game):
        return stones
    if move == "pass":
        return ["black"]  # a pass swaps: white is next, so whoever passes takes Black
    return ["white" if len(stones) == 1 else "more", *stones]


def play(game: Game, move: str) -> set[str]:
    captured: set[str] = set()
    for action in translate(game, move):
        captured = game.play(action)
    return captured


def board(rows: str) -> str:
    return rows.replace("b", "X").replace("w", "O")


def occupied(game: Game) -> set[str]:
    rows = reversed(game.rows().split("/"))
    return {
        f"{column}{number}"
        for number, row in enumerate(rows, 1)
        for column, stone in zip(COLUMNS, row, strict=True)
        if stone != "."
    }


def with_stone_next(game: Game) -> Game:
    """The position in which the stone of a ply is placed: after the choice, if there is one."""
    if is_choosing(game):
        game = game.copy()
        game.play("white")
    return game


# -- games ---------------------------------------------------------------------------------------


def check_pass(game: Game, ply: Record, in_opening: bool) -> None:
    """A pass is refused by the opening, or as a repetition, but not for being early."""
    if is_choosing(game):
        assert ply["pass"] == "swap" and game.why_illegal("black") is None
        assert game.why_illegal("pass") == "not-in-this-phase"
    elif ply["pass"] == "swap":  # only swap-5 is left
        assert game.why_illegal("pass") is None
    elif "pass" in ply.get("repeats", []):
        assert game.why_illegal("pass") == "superko"
    elif ply["pass"] == "pass":
        assert game.why_illegal("pass") is None
    else:  # for two plies after the opening, which narabe does not ask for
        assert game.why_illegal("pass") == ("not-in-this-phase" if in_opening else None)


def check_legal(game: Game, ply: Record) -> None:
    """Every point of the board is legal, or illegal for the source's reason."""
    stones = occupied(game)
    illegal = dict.fromkeys(stones, "occupied")
    for reason, points in ply.get("illegal", {}).items():
        illegal |= dict.fromkeys(points, REFUSALS[reason])
    illegal |= dict.fromkeys(set(ply.get("repeats", [])) - {"pass"}, "superko")
    illegal |= dict.fromkeys(ply.get("disputed", []), "suicide")
    legal = POINTS - illegal.keys()
    assert game.legal() & POINTS == legal
    if "legal" in ply:
        assert legal == set(ply["legal"]) - {"pass"}
    for point in illegal.keys() - stones:
        assert game.why_illegal(point) == illegal[point], point


def check_ends(game: Game, ply: Record, every_point: bool) -> None:
    """The points that end the game at once, and (if every point is asked for) no others."""
    expected = dict.fromkeys(ply.get("wins", []), ("line", game.to_play))
    other = "white" if game.to_play == "black" else "black"
    expected |= dict.fromkeys(ply.get("overline_loses", []), ("overline", other))
    for point in POINTS & game.legal() if every_point else expected:
        after = game.copy()
        after.play(point)
        end = after.ending()
        assert (end and (end[2], end[1])) == expected.get(point), point


def check_attempt(game: Game, move: str, error: str) -> None:
    """A ply that the source refuses."""
    if error in NOTATION_ONLY:
        return
    if error == "pass-too-early":
        assert game.why_illegal("pass") is None
    elif error == "cannot-swap-now":
        assert game.why_illegal("pass") == "not-in-this-phase"
    else:
        assert with_stone_next(game).why_illegal(move) == REFUSALS[error]


def check_result(game: Game, record: Record) -> None:
    result = record["result"]
    assert game.colour_of(SEATS[record["black_player_at_end"]] or "") == "black"
    if result["reason"] == "repetition":
        assert game.ending() is None
        return
    assert game.ending() == (
        SEATS[result["winner_player"]],
        result["winner_colour"],
        REASONS[result["reason"]],
    )
    if "lines" in result:
        assert game.line() == {point for line in result["lines"] for point in line}


def check_ply(game: Game, ply: Record, in_opening: bool, points: bool, ends: bool) -> None:
    """What is known of the position before a ply (that does not hold several stones)."""
    check_pass(game, ply, in_opening)
    stone_next = with_stone_next(game)
    if points or ply.keys() & {"illegal", "repeats", "disputed"}:
        check_legal(stone_next, ply)
    check_ends(stone_next, ply, every_point=ends)


def replay(kind: str, record: Record, points: bool, ends: bool) -> None:
    game: Game = IMPLEMENTATIONS[kind](rules_of(record), record["pie"])
    attempts: dict[int, list[Record]] = {}
    for attempt in record["attempts"]:
        attempts.setdefault(attempt["ply"], []).append(attempt)
    stones = 0
    for number, ply in enumerate(record["plies"], 1):
        assert game.to_play == ply["to_play_colour"], number
        assert game.seat == SEATS[ply["mover"]], number
        if record["pie"] != "swap-2" or number > 2:
            check_ply(game, ply, stones < OPENING_STONES[record["pie"]], points, ends)
        for attempt in attempts.get(number, []):
            check_attempt(game, attempt["move"], attempt["error"])
        if number == len(record["plies"]) and record["result"]["reason"] == "repetition":
            assert game.why_illegal(ply["move"]) == "superko"
            break
        assert play(game, ply["move"]) == set(ply["captured"]), number
        stones += 0 if ply["move"] == "pass" else len(ply["move"].split(","))
        if "board" in ply:
            assert game.rows() == board(ply["board"]), number
    check_result(game, record)


def names(key: tuple[str, str, bool]) -> str:
    return f"{key[0]}-{key[1]}-{'tiebreak' if key[2] else 'draw'}"


SETTINGS = list(product(OPENING_STONES, OVERLINES, (False, True)))


def games_of(setting: tuple[str, str, bool]) -> list[Record]:
    chosen = [g for g in GAMES if (g["pie"], g["overline"], g["pass_tiebreak"]) == setting]
    assert len(chosen) == 20
    return chosen


@pytest.mark.parametrize("setting", SETTINGS, ids=names)
def test_games_with_the_engine(setting: tuple[str, str, bool]) -> None:
    for record in games_of(setting):
        replay("engine", record, points=True, ends=False)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("setting", SETTINGS, ids=names)
def test_games_with_the_engine_and_every_next_ply(setting: tuple[str, str, bool]) -> None:
    for record in games_of(setting):
        replay("engine", record, points=True, ends=True)


@pytest.mark.parametrize("setting", SETTINGS, ids=names)
def test_some_games_with_the_reference(setting: tuple[str, str, bool]) -> None:
    for record in games_of(setting)[:1]:
        replay("reference", record, points=False, ends=False)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("setting", SETTINGS, ids=names)
def test_games_with_the_reference(setting: tuple[str, str, bool]) -> None:
    for record in games_of(setting):
        replay("reference", record, points=True, ends=False)


# -- cases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: Record, kind: str) -> None:
    start: Game = IMPLEMENTATIONS[kind](rules_of(case), case["pie"])
    for move in case["moves"]:
        play(start, move)
    assert (start.seat, start.to_play) == (SEATS[case["next_player"]], case["next_colour"])
    if "position" in case:
        assert start.rows() == board("/".join(case["position"]))
    for check in case["checks"]:
        game = start.copy()
        *before, last = check["play"]
        for move in before:
            play(game, move)
        if not case["agrees_with_written_rules"]:
            assert game.why_illegal(last) == "suicide"
        elif not check["last_accepted"]:
            check_attempt(game, last, check["why"])
        elif check["over"] and check["over"]["reason"] == "repetition":
            assert game.why_illegal(last) == "superko"
        else:
            assert play(game, last) == set(check.get("captured", []))
            check_follow_up(game, check)


def check_follow_up(game: Game, check: Record) -> None:
    over = check["over"]
    if over is None:
        assert game.ending() is None
        assert (game.seat, game.to_play) == (SEATS[check["next_player"]], check["next_colour"])
    else:
        winner = SEATS[over["winner_player"]]
        assert game.ending() == (winner, over["winner_colour"], REASONS[over["reason"]])


# -- the data ------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHARED.is_dir(), reason="the source of the data is not beside the checkout")
@pytest.mark.parametrize("name", ["README.md", "cases.json", "games.jsonl.gz"])
def test_data_is_a_faithful_copy(name: str) -> None:
    assert (DATA / name).read_bytes() == (SHARED / name).read_bytes()
