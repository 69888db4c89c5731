"""What single rule fields do, on boards set up by hand."""

from typing import Any

import pytest

from tests.reference.adapters import IMPLEMENTATIONS, Game
from tests.reference.rules import Rules, preset

every_kind = pytest.mark.parametrize("kind", IMPLEMENTATIONS)

BLACK_WINS = ("A", "black", "line")
WHITE_WINS = ("B", "white", "line")
DRAWN = (None, None, "full-board")


def set_up(kind: str, rules: Rules, board: str, to_play: str) -> Game:
    """The board as rows from the top, "X" black and "O" white."""
    rows = board.split("/")
    stones: dict[str, list[str]] = {"X": [], "O": [], ".": []}
    for number, row in enumerate(reversed(rows), 1):
        for column, letter in zip("abcdefghijklmno", row, strict=False):
            stones[letter].append(f"{column}{number}")
    return IMPLEMENTATIONS[kind].set_up(rules, stones["X"], stones["O"], to_play)


def row_game(kind: str, rules: Rules, row: str, to_play: str) -> Game:
    """Nothing but one row of stones, in the middle of the board."""
    empty = "." * len(row)
    middle = len(row) // 2
    rows = [row if number == middle else empty for number in range(len(row))]
    return set_up(kind, rules, "/".join(rows), to_play)


# -- lines ---------------------------------------------------------------------------------------

EXACT: dict[str, Any] = {"size": 9, "overline": "black-exact"}

# The preset and its fields, the middle row of a 9x9 board, who plays its point e5, and the ending.
ROWS = [
    ("gomoku", EXACT, "..XX.XX..", "black", BLACK_WINS),
    ("gomoku", EXACT, "..XX.XXX.", "black", None),
    ("gomoku", EXACT, "..OO.OO..", "white", WHITE_WINS),
    ("gomoku", EXACT, "..OO.OOO.", "white", WHITE_WINS),
    ("caro", {"size": 9}, "..XX.XX..", "black", BLACK_WINS),
    ("caro", {"size": 9}, ".OXX.XX..", "black", BLACK_WINS),
    ("caro", {"size": 9}, ".OXX.XXO.", "black", None),
    ("caro", {"size": 9}, ".XOO.OOX.", "white", None),
    ("caro", {"size": 9}, ".XOO.OO..", "white", WHITE_WINS),
    ("caro", {"size": 9}, "..XX.XXX.", "black", None),
    ("caro", {"size": 9}, "OX.X.XXXO", "black", BLACK_WINS),
    ("caro", {"size": 9}, "....." + "XXXX", "black", BLACK_WINS),
    ("caro", {"size": 9}, "...O.XXXX", "black", BLACK_WINS),  # the edge closes no end
    ("caro-overlines", {"size": 9}, ".OXX.XXO.", "black", None),
    ("caro-overlines", {"size": 9}, ".OXX.XXXO", "black", BLACK_WINS),
    ("caro-overlines", {"size": 9}, "XOOO.OOOX", "white", WHITE_WINS),
    ("caro-overlines", {"size": 9}, "...O.XXXX", "black", BLACK_WINS),
]


@every_kind
@pytest.mark.parametrize(("name", "fields", "row", "colour", "ending"), ROWS)
def test_row(
    name: str, fields: dict[str, Any], row: str, colour: str, ending: object, kind: str
) -> None:
    game = row_game(kind, preset(name, **fields), row, colour)
    game.play("e5")
    assert game.ending() == ending
    assert len(game.line()) >= 5 or ending is None


@every_kind
def test_a_blocked_five_and_an_open_one_at_once(kind: str) -> None:
    board = (
        "........./..X....../.OXX.XXO./....X..../.....X.../......X../........./........./........."
    )
    game = set_up(kind, preset("caro", size=9), board, "black")
    game.play("e7")
    assert game.ending() is None
    board = (
        "........./...X...../.OXX.XXO./.....X.../......X../.......X./........./........./........."
    )
    game = set_up(kind, preset("caro", size=9), board, "black")
    game.play("e7")
    assert game.ending() == BLACK_WINS
    assert game.line() == {"d8", "e7", "f6", "g5", "h4"}


# -- forbidden moves -----------------------------------------------------------------------------

THREES = "........./........./....X..../....X..../..XX...../........./........./........./........."
FIVE_AND_SIX = (
    "....X..../....X..../XXXX...../....X..../....X..../....X..../........./........./........."
)


@every_kind
def test_forbidden_and_illegal(kind: str) -> None:
    game = set_up(kind, preset("renju", size=9), THREES, "black")
    assert game.why_illegal("e5") == "forbidden"
    assert "e5" not in game.legal()
    game = set_up(kind, preset("renju", size=9), THREES, "white")
    assert game.why_illegal("e5") is None


@every_kind
def test_forbidden_and_lost(kind: str) -> None:
    game = set_up(kind, preset("renju", size=9, forbidden="loss"), THREES, "black")
    assert game.why_illegal("e5") is None
    game.play("e5")
    assert game.ending() == ("B", "white", "forbidden")
    assert game.line() == set()
    assert game.rows().split("/")[4] == "..XXX...."


@every_kind
@pytest.mark.parametrize("forbidden", ["illegal", "loss"])
def test_five_is_never_forbidden(forbidden: str, kind: str) -> None:
    game = set_up(kind, preset("renju", size=9, forbidden=forbidden), FIVE_AND_SIX, "black")
    game.play("e7")
    assert game.ending() == BLACK_WINS
    assert game.line() == {"a7", "b7", "c7", "d7", "e7"}


@every_kind
def test_only_forbidden_points_left(kind: str) -> None:
    board = "OOOOOO/OOOOOO/OOOOOO/OOOOOO/OOOOOO/XXX.XX"
    rules = preset("renju", size=6, passing=False, pass_after=0)
    assert set_up(kind, rules, board, "black").ending() == (None, None, "no-legal-action")
    assert set_up(kind, rules, board, "white").legal() == {"d1"}
    assert set_up(kind, preset("renju", size=6), board, "black").legal() == {"pass"}


# -- passes and full boards ----------------------------------------------------------------------


@every_kind
def test_no_pass_before_so_many_stones(kind: str) -> None:
    game: Game = IMPLEMENTATIONS[kind](preset("renju", pass_after=2))
    for action in ("h8", "h9"):
        assert game.why_illegal("pass") == "not-in-this-phase"
        game.play(action)
    game.play("pass")
    assert (game.seat, game.to_play) == ("B", "white")
    game.play("pass")
    assert game.ending() == (None, None, "passes")


@every_kind
def test_a_full_board_ends_the_game_where_passing_is_allowed(kind: str) -> None:
    board = "XOX/XOO/OX."
    for fields, ending in (
        ({"passing": False}, DRAWN),
        ({"passing": True}, DRAWN),
        ({"passing": True, "full_board": "majority"}, ("A", "black", "full-board")),
        ({"passing": True, "pass_tiebreak": True}, DRAWN),  # nobody has passed
    ):
        game = set_up(kind, preset("mnk", **fields), board, "black")
        game.play("c1")
        assert game.ending() == ending


@every_kind
def test_a_full_board_after_a_pass(kind: str) -> None:
    game = set_up(kind, preset("mnk", passing=True, pass_tiebreak=True), "XOX/XOO/OX.", "white")
    game.play("pass")
    game.play("c1")
    assert game.ending() == ("B", "white", "pass-tiebreak")


@every_kind
def test_a_line_on_the_last_point_is_judged_first(kind: str) -> None:
    rules = preset("mnk", full_board="majority")
    game = set_up(kind, rules, "OXX/XOX/XO.", "white")
    game.play("c1")
    assert game.ending() == WHITE_WINS


@every_kind
@pytest.mark.parametrize(
    ("board", "ending"),
    [
        ("XOXO/XOXO/OXOX/OXO.", DRAWN),
        ("XOXO/XOXX/OXOX/OXO.", ("A", "black", "full-board")),
        ("XOXO/XOXO/OXOO/OXO.", ("B", "white", "full-board")),
    ],
)
def test_more_stones_win(board: str, ending: object, kind: str) -> None:
    rules = preset("mnk", size=4, line_length=4, full_board="majority")
    game = set_up(kind, rules, board, "black")
    game.play("d1")
    assert game.ending() == ending


@every_kind
def test_a_switch_counts_before_the_board_is_full(kind: str) -> None:
    """The last stone takes a whole board."""
    rules = preset("connect-go", size=3, line_length=4)
    game = set_up(kind, rules, "OOO/OXX/OO.", "black")
    game.play("c1")
    assert game.switched == {"a1", "a2", "a3", "b1", "b3", "c3"}
    assert game.ending() == ("A", "black", "full-board")


@every_kind
def test_a_stone_that_is_switched_at_once(kind: str) -> None:
    board = "...../...../...../O..../.O..."
    rules = preset("connect-go", size=5)
    game = set_up(kind, rules, board, "black")
    assert game.play("a1") == set()
    assert game.switched == {"a1"}
    assert game.rows() == "...../...../...../O..../OO..."
    strict = set_up(kind, preset("connect-go", size=5, suicide=False), board, "black")
    assert strict.why_illegal("a1") == "suicide"
