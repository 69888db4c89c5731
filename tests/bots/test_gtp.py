"""GTP: the conversation, without any search behind it."""

import functools
import io
import json
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.gtp_extensions import ExtendedGtpSession
from bots.gtp_vertex import COLUMNS, GtpError, parse_vertex, vertex_name
from bots.player import Limit, Player, Watch
from bots.repertoire import Game
from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.features import GLOBALS, features
from engine.openings import OPENINGS
from engine.search import SearchConfig
from tests.bots.talk import new_player

GAMES = [
    (RuleSet.preset("gomoku", size=9), "none"),
    (RuleSet.preset("irensei", size=5, line_length=3, gutter=1), "none"),
    (RuleSet.preset("mnk", width=4, height=3), "none"),
    (RuleSet.preset("gomoku", size=10), "swap-2"),
    (RuleSet.preset("irensei", size=6, line_length=4, gutter=1), "swap-5"),
]


class FirstLegal(Player):
    """Always chooses the legal action with the lowest index."""

    def __init__(self, rules: RuleSet, opening: str) -> None:
        super().__init__(
            HashEvaluator(),
            SearchConfig(simulations=8),
            Position(rules, opening),
            height=rules.height,
            width=rules.width,
        )

    def choose(self, limit: Limit | None = None, watch: Watch | None = None) -> int:
        return int(self.position.legal_actions()[0])


class Conversation:
    """A session with commands sent one by one; `game` is the index of the game to play."""

    def __init__(
        self,
        game: int = 0,
        games: list[Game] | None = None,
        factory: Callable[[RuleSet, str], Player] = FirstLegal,
        opening: str | None = None,
    ) -> None:
        self.session = ExtendedGtpSession("stub", games or GAMES, factory, opening=opening)
        self.ok(f"narabe-game {game}")

    def ok(self, command: str) -> str:
        answer = self.session.answer(command)
        assert answer is not None
        assert answer.startswith("= ")
        assert answer.endswith("\n\n")
        return answer[2:-2]

    def fails(self, command: str) -> str:
        answer = self.session.answer(command)
        assert answer is not None
        assert answer.startswith("? ")
        return answer[2:-2]

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.ok("narabe-state"))
        return state


def test_vertices_skip_i_and_come_back() -> None:
    rules = RuleSet.preset("gomoku", size=25)
    assert "I" not in COLUMNS
    assert len(COLUMNS) == 25
    assert vertex_name(rules, 8) == "J1"
    assert vertex_name(rules, rules.points - 1) == "Z25"
    for action in range(rules.num_actions):
        assert parse_vertex(rules, vertex_name(rules, action).lower()) == action
    for text in ("i3", "a0", "a01", "a1b", "", "é1", "a26", "a٣"):
        with pytest.raises(GtpError):
            parse_vertex(rules, text)


def test_administration() -> None:
    gtp = Conversation()
    assert gtp.ok("protocol_version") == "2"
    assert gtp.ok("name") == "narabe"
    assert gtp.ok("version") == "stub"
    commands = gtp.ok("list_commands").split("\n")
    assert all(gtp.ok(f"known_command {name}") == "true" for name in commands)
    assert gtp.ok("known_command undefined") == "false"
    for command in ("komi 6.5", "time_settings 300 30 5", "time_left black 10 0"):
        assert gtp.ok(command) == ""
    assert gtp.fails("undefined") == "unknown command"


def test_help_tells_of_the_extensions() -> None:
    gtp = Conversation()
    helped = gtp.ok("help")
    for command in gtp.ok("list_commands").split("\n"):
        if command.startswith("narabe"):
            assert command in helped or command.removeprefix("narabe") in helped


def test_ids_comments_and_control_characters() -> None:
    answer = ExtendedGtpSession("stub", GAMES, FirstLegal).answer
    assert answer("7 protocol_version") == "=7 2\n\n"
    assert answer("8 undefined\r\n") == "?8 unknown command\n\n"
    assert answer("\tplay\tblack  D4\x07 # the first stone\r\n") == "= \n\n"
    for silent in ("", "\n", "   \r\n", "# only a comment\n"):
        assert answer(silent) is None
    assert answer("9\n") == "?9 unknown command\n\n"


@pytest.mark.parametrize(
    "command",
    [
        "play", "play black", "play black D4 E4", "play D4 black", "play green D4", "play black I4",
        "play black black", "genmove", "genmove blue", "boardsize", "boardsize x", "boardsize -9",
        "boardsize 9 9", "komi", "komi much", "known_command", "narabe-game x", "quit now",
        "boardsize 99999999999999999999", "time_left black", "time_left black x 0",
        "komi nan", "time_left w inf 0",
        "time_settings 1 2", "time_settings x 1 1", "time_settings 1 1 1.5", "gogui-setup b",
        "gogui-setup_player x", "gogui-play_sequence b A1 w", "kata-analyze b 10 x",
        "lz-analyze interval x", "narabe-draw green", "narabe-why b",
    ],
)  # fmt: skip
def test_malformed_commands(command: str) -> None:
    gtp = Conversation()
    assert gtp.fails(command).startswith("syntax error")
    assert not gtp.session.closed


def test_a_game_to_its_end() -> None:
    gtp = Conversation()
    assert gtp.fails("final_score").startswith("cannot score")
    for column in "ABCD":
        assert gtp.ok("genmove black") == f"{column}1"
        gtp.ok(f"play w {column}9")
    assert gtp.ok("reg_genmove b") == "E1"
    assert gtp.ok("genmove B") == "E1"
    assert gtp.ok("final_score") == "B+"
    result = {"winner_seat": "A", "winner_colour": "black", "reason": "line"}
    assert gtp.state()["result"] == result
    assert gtp.fails("play white E9") == "illegal move"
    assert gtp.ok("gogui-rules_legal_moves") == ""
    assert gtp.ok("gogui-rules_final_result") == "black (seat A) wins (line)"
    assert gtp.ok("genmove white") == "resign"
    assert gtp.ok("genmove black") == "pass"
    gtp.ok("undo")
    assert gtp.state()["result"] is None
    gtp.ok("clear_board")
    assert gtp.state()["ply"] == 0
    assert gtp.fails("undo") == "cannot undo"


def test_a_draw_by_passes() -> None:
    gtp = Conversation(1)
    gtp.ok("play black pass")
    gtp.ok("play white PASS")
    assert gtp.ok("final_score") == "0"
    assert gtp.ok("genmove black") == "pass"


def test_illegal_moves_change_nothing() -> None:
    gtp = Conversation()
    gtp.ok("play black D4")
    before = gtp.state()
    for move, reason in (
        ("white D4", "occupied"),
        ("white K1", "off-board"),
        ("white pass", "not-in-this-phase"),
        ("black D4", "it is the turn of white"),
        ("white E5", "legal"),
    ):
        assert gtp.ok(f"narabe-why {move}") == reason
        if reason != "legal":
            assert gtp.fails(f"play {move}") == "illegal move"
    assert gtp.state() == before


def test_the_board_is_chosen_by_its_size() -> None:
    gtp = Conversation()
    gtp.ok("boardsize 5")
    assert (gtp.state()["game"], gtp.state()["width"]) == ("irensei", 5)
    assert gtp.fails("boardsize 19").startswith("unacceptable size: ")
    assert "larger than 10x10" in gtp.fails("boardsize 11")
    assert gtp.fails("boardsize 2").startswith("unacceptable size: ")
    assert gtp.state()["width"] == 5
    gtp.ok("boardsize 8")
    state = gtp.state()
    assert (state["game"], state["width"]) == ("irensei", 8), "the game at hand, resized"
    gtp.ok("narabe-game 0")
    assert "no room for 5" in gtp.fails("boardsize 4")
    assert gtp.ok("narabe-games").split("\n")[2:4] == ["2 mnk 4x3 none", "3 gomoku 10x10 swap-2"]
    gtp.ok("narabe-game 2")
    assert (gtp.state()["width"], gtp.state()["height"]) == (4, 3)
    assert gtp.fails("narabe-game 5").startswith("no such game")


def test_showboard() -> None:
    gtp = Conversation()
    gtp.ok("play black J9")
    board = gtp.ok("showboard")
    assert "\n\n" not in board
    lines = board.split("\n")
    assert lines[1] == "    A B C D E F G H J"
    assert lines[2] == "  9 . . . . . . . . X 9"
    assert "white to play" in lines[-1]


def test_choices_of_an_opening() -> None:
    gtp = Conversation(3)
    assert not gtp.state()["choice"]
    assert gtp.fails("narabe-choose").startswith("there is nothing to choose")
    for colour, vertex in (("black", "E5"), ("white", "E6"), ("black", "C3")):
        gtp.ok(f"play {colour} {vertex}")
    state = gtp.state()
    assert (state["choice"], state["seat"], state["phase"]) == (True, "B", "choose-or-more")
    assert gtp.ok("narabe-legal") == "black white more"
    assert gtp.fails("genmove white").startswith("the opening asks for a choice")
    assert gtp.fails("play white A1") == "illegal move"
    assert gtp.fails("narabe-choose 7") == "illegal move"
    assert gtp.fails("narabe-choose red").startswith("syntax error")
    assert gtp.ok("narabe-choose more") == "more"
    assert gtp.state()["seat"] == "B"
    gtp.ok("play white A1")
    gtp.ok("play black A2")
    assert gtp.ok("narabe-choose") == "black"
    assert gtp.state()["phase"] == "play"


class Seeing(HashEvaluator):
    """Keeps the globals that it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[np.ndarray] = []

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self.seen += list(globals_.copy())
        return super().evaluate(planes, globals_, keys)


def test_a_go_program_plays_a_game_whose_opening_has_choices() -> None:
    """Without the opening, and the network is shown a game without one."""
    evaluator = Seeing()
    factory = functools.partial(new_player, evaluator=evaluator)
    games: list[Game] = [(RuleSet.preset("irensei", size=9), "swap-1st")]
    gtp = Conversation(games=games, factory=factory, opening="none")
    gtp.ok("boardsize 9")
    gtp.ok("clear_board")
    gtp.ok("play B E5")
    gtp.ok("play W " + gtp.ok("reg_genmove W"))
    assert gtp.ok("genmove b") != "resign"
    state = gtp.state()
    assert (state["opening"], state["phase"], state["ply"]) == ("none", "play", 3)
    shown = np.array(evaluator.seen)
    assert shown[:, GLOBALS.index("opening_0")].all()
    assert not shown[:, GLOBALS.index("opening_1")].any()
    assert shown[:, GLOBALS.index("in_play")].all()
    _, first, _ = features(Position(games[0][0]))
    assert np.array_equal(shown[0], first)


def test_another_opening_than_the_games_own() -> None:
    gtp = Conversation(3, opening="none")
    assert gtp.state()["opening"] == "none"
    assert gtp.ok("narabe-games").split("\n")[3] == "3 gomoku 10x10 swap-2", "as it was trained"
    gtp.ok("play b A1")
    gtp.ok("narabe-opening swap-1st")
    assert (gtp.state()["opening"], gtp.state()["ply"]) == ("swap-1st", 0)
    gtp.ok("play b A1")
    assert gtp.state()["choice"]
    for following in ("clear_board", "boardsize 8", "boardsize 9", "narabe-game 4"):
        gtp.ok(following)
        assert gtp.state()["opening"] == "swap-1st"
    gtp.ok("play b A1")
    before = gtp.state()
    assert "did you mean swap-1st" in gtp.fails("narabe-opening swap-1th")
    assert "central 5x5" in gtp.fails("narabe-opening soosorv-8")
    assert gtp.state() == before
    gtp.ok("narabe-game 2")
    gtp.ok("narabe-opening none")
    assert gtp.state()["phase"] == "play"


def test_an_opening_that_no_longer_fits() -> None:
    gtp = Conversation(0, opening="pro")
    before = gtp.state()
    assert "pro" in gtp.fails("boardsize 10")
    assert "pro" in gtp.fails("narabe-game 3")
    assert gtp.state() == before


def test_a_pass_that_belongs_to_an_opening_is_a_move() -> None:
    gtp = Conversation(4)
    gtp.ok("play black C3")
    assert "pass" in gtp.ok("narabe-legal").split()
    gtp.ok("play white pass")
    assert gtp.state()["phase"] == "no-token-1"
    assert gtp.fails("play white pass") == "illegal move"


@pytest.mark.parametrize("opening", OPENINGS)
def test_every_opening_is_played_by_the_search(opening: str) -> None:
    """One bot takes the decisions, and another one is told them."""
    games: list[Game] = [(RuleSet.preset("renju"), opening)]
    bot, other = (Conversation(games=games, factory=new_player) for _ in range(2))
    for _ in range(20):
        state = bot.state()
        assert state == other.state()
        if state["choice"]:
            other.ok(f"narabe-choose {bot.ok('narabe-choose')}")
        else:
            move = bot.ok(f"genmove {state['colour']}")
            other.ok(f"play {state['colour']} {move}")
    assert bot.state()["phase"] == "play"


def test_serving_ends_with_quit_or_the_input() -> None:
    for lines, answers in (
        (b"1 name\n\n2 quit\n3 name\n", b"=1 narabe\n\n=2 \n\n"),
        (b"name\n\xff\n", b"= narabe\n\n? unknown command\n\n"),
    ):
        output = io.BytesIO()
        ExtendedGtpSession("stub", GAMES, FirstLegal).serve(io.BytesIO(lines), output)
        assert output.getvalue() == answers


def test_stones_out_of_turn_are_a_set_up() -> None:
    gtp = Conversation(1)
    for move in ("b A1", "b B1", "b C2", "w A3", "w B3", "w C3", "b E5"):
        gtp.ok(f"play {move}")
    state = gtp.state()
    assert (state["colour"], state["ply"], state["result"]) == ("white", 1, None)
    board = gtp.ok("gogui-rules_board").split("\n")
    assert board == [". . . . X", ". . . . .", "O O O . .", ". . X . .", "X X . . ."]
    assert gtp.fails("play b B1") == "illegal move"
    for _ in range(7):
        gtp.ok("undo")
    assert gtp.state()["ply"] == 0
    assert "X" not in gtp.ok("gogui-rules_board")
    assert gtp.fails("undo") == "cannot undo"


CARO = [(RuleSet.preset("caro"), "none")]
STANDARD = [(RuleSet.preset("gomoku-standard"), "none")]
RENJU = [(RuleSet.preset("renju"), "none")]


@pytest.mark.parametrize(
    ("games", "moves"),
    [
        # A row of five that the last stone closes at its second end.
        (CARO, "w A1,b B1,b C1,b D1,b E1,b F1,w G1"),
        (CARO, "w A1,b B1,b C1,b D1,b E1,b F1,b A2,w B2,w G1,b H8"),
        # A row of six, which does not win, is one of five before.
        (STANDARD, "b A1,b B1,b C1,b D1,b E1,b F1"),
        (STANDARD, "w O9,w A1,b A2,w B1,b B2,w C1,b C2,w D1,b D2,w E1,b E2,w F1,b F2"),
        # Black's threes are closed by White's stones in the last row.
        (RENJU, "b H8,b J8,w D8,b H9,b H7,b G8,w H5,w H11,w L8,w K8"),
    ],
)
def test_a_set_up_may_look_like_an_end_before_it_is_whole(games: list[Game], moves: str) -> None:
    gtp = Conversation(games=games)
    for move in moves.split(","):
        gtp.ok(f"play {move}")
    assert gtp.state()["result"] is None
    board = gtp.ok("gogui-rules_board")
    assert board.count("X") == moves.count("b ")
    assert board.count("O") == moves.count("w ")
    mover = "white" if moves.rpartition(",")[2][0] == "b" else "black"
    assert gtp.ok("gogui-rules_side_to_move") == mover
    assert gtp.ok(f"genmove {mover}") not in ("resign", "pass")
    for _ in range(1 + len(moves.split(","))):
        gtp.ok("undo")
    assert gtp.fails("undo") == "cannot undo"
    assert set(gtp.ok("gogui-rules_board")) <= set(". \n")


def test_a_forbidden_point_may_be_set_up_but_not_played() -> None:
    """In turn, but on a board that is being set up."""
    gtp = Conversation(games=RENJU)
    for move in ("w A15", "w C15", "b H10", "b H9", "b F8", "b G8", "w E15"):
        gtp.ok(f"play {move}")
    assert "H8" in gtp.ok("narabe-forbidden").split()
    gtp.ok("play b H8")
    gtp.ok("undo")
    gtp.ok("genmove b")
    gtp.ok("undo")
    assert gtp.fails("play b H8") == "illegal move", "the bot has been asked: the board was whole"


@pytest.mark.parametrize("before", ["", "b J9,b J7,w A9,w A7"])
def test_a_game_ends_by_a_line_after_a_set_up_too(before: str) -> None:
    gtp = Conversation()
    for move in filter(None, before.split(",")):
        gtp.ok(f"play {move}")
    for move in ["b C3", "w C4", "b D3", "w D4", "b E3", "w E4", "b F3", "w F4", "b G3"]:
        assert gtp.state()["result"] is None
        gtp.ok(f"play {move}")
    assert gtp.ok("final_score") == "B+"
    assert gtp.ok("genmove w") == "resign"
    assert gtp.fails("play w G4") == "illegal move"
    gtp.ok("undo")
    assert gtp.state()["result"] is None
    assert gtp.ok("gogui-rules_side_to_move") == "black"


def test_a_line_that_is_set_up_has_ended_the_game() -> None:
    gtp = Conversation()
    for move in ("w A9", "w B9", "b C3", "b D3", "b E3", "b F3"):
        gtp.ok(f"play {move}")
    gtp.ok("play b G3")
    assert gtp.state()["result"] == {"winner_seat": "A", "winner_colour": "black", "reason": "line"}
    gtp.ok("play w C9")
    assert gtp.ok("final_score") == "B+", "the line stands"
    assert gtp.ok("gogui-rules_board").count("O") == 3
    assert gtp.fails("gogui-setup w D9") == "illegal move"
    gtp.ok("undo")
    gtp.ok("undo")
    assert gtp.state()["result"] is None
    assert gtp.ok("gogui-rules_board").count("X") == 4
    assert gtp.fails("gogui-setup b B3 b G3") == "illegal move"


def test_a_set_up_leaves_no_boards_that_must_not_come_again() -> None:
    """Stones of a ko in scan order: after them, taking and taking back is banned as ever."""
    games: list[Game] = [(RuleSet.preset("irensei", size=7, line_length=5, gutter=1), "none")]
    gtp = Conversation(games=games)
    # Row by row: White's stone at C3 can be taken at D3, and Black's there be taken back.
    for move in ("b C2", "w D2", "b B3", "w C3", "w E3", "b C4", "w D4"):
        gtp.ok(f"play {move}")
    assert gtp.ok("gogui-rules_side_to_move") == "black"
    gtp.ok("play b D3")
    assert "C3" not in gtp.ok("gogui-rules_legal_moves").split()
    assert gtp.ok("narabe-why w C3") == "superko"
    gtp.ok("play w G7")
    gtp.ok("play b A7")
    gtp.ok("play w C3")
    assert gtp.ok("narabe-why b D3") == "superko"


CAPTURING = [
    (RuleSet.preset("irensei", size=19), "none"),
    (RuleSet.preset("connect-go", size=9), "none"),
]


@pytest.mark.parametrize(("game", "corner"), [(0, "."), (1, "O")])
@pytest.mark.parametrize("between", [False, True])
def test_stones_out_of_turn_capture_and_switch(game: int, corner: str, between: bool) -> None:
    gtp = Conversation(game, CAPTURING)
    for move in ("b A1", "w B1", *(["b H7"] if between else [])):
        gtp.ok(f"play {move}")
    before = gtp.ok("gogui-rules_board")
    gtp.ok("play w A2")
    rows = gtp.ok("gogui-rules_board").split("\n")
    assert rows[-1].startswith(f"{corner} O")
    assert rows[-2].startswith("O")
    assert gtp.ok("gogui-rules_side_to_move") == "black"
    gtp.ok("play b D4")
    for _ in range(2):
        gtp.ok("undo")
    assert gtp.ok("gogui-rules_board") == before
    assert gtp.state()["ply"] == 2 + between


def test_stones_that_switch_out_of_turn_may_end_the_game() -> None:
    gtp = Conversation(games=CAPTURING[1:])
    for move in ("w A2", "w A3", "w A4", "w A5", "w B1", "b J9"):
        gtp.ok(f"play {move}")
    assert gtp.state()["result"] is None
    gtp.ok("play b A1")
    assert gtp.ok("final_score") == "W+", "Black's stone is White's, and completes a line"
    gtp.ok("undo")
    assert gtp.state()["result"] is None


def test_a_stone_out_of_turn_brings_no_board_again() -> None:
    games: list[Game] = [(RuleSet.preset("irensei", size=7, line_length=5, gutter=1), "none")]
    gtp = Conversation(games=games)
    for move in ("b C2", "w D2", "b B3", "w C3", "b C4", "w E3", "b G7", "w D4"):
        gtp.ok(f"play {move}")
    gtp.ok("play b D3")
    before = gtp.ok("gogui-rules_board")
    assert gtp.fails("play w C3") == "illegal move"
    gtp.ok("play w pass")
    assert gtp.fails("play w C3") == "illegal move", "passing before it changes nothing"
    gtp.ok("undo")
    assert gtp.ok("gogui-rules_board") == before
    gtp.ok("play b A7")
    gtp.ok("play w C3")


def test_a_sequence_that_fails_changes_nothing() -> None:
    gtp = Conversation()
    gtp.ok("play b E5")
    before, board = gtp.state(), gtp.ok("gogui-rules_board")
    for moves, reason in (
        ("w A1 b B1 w A1", "illegal move"),
        ("w A1 b B1 b C1 b D1 w A1", "illegal move"),
        ("w A1 b pass", "illegal move"),
        ("w A1 b B99", "illegal move"),
        ("w A1 green B1", "syntax error: a colour is black or white"),
        ("w A1 b", "syntax error: moves are colours and vertices"),
    ):
        assert gtp.fails(f"gogui-play_sequence {moves}") == reason
        assert (gtp.state(), gtp.ok("gogui-rules_board")) == (before, board), moves
    gtp.ok("gogui-play_sequence w A1 b B1")
    assert gtp.state()["ply"] == 3
    for _ in range(3):
        gtp.ok("undo")
    assert gtp.fails("undo") == "cannot undo"


def test_genmove_for_the_other_colour() -> None:
    gtp = Conversation()
    assert gtp.ok("genmove w") == "A1"
    assert gtp.ok("gogui-rules_side_to_move") == "black"
    gtp.ok("undo")
    assert gtp.ok("gogui-rules_side_to_move") == "black"
    assert gtp.fails("undo") == "cannot undo"
    assert gtp.ok("reg_genmove w") == "A1"
    assert gtp.ok("gogui-rules_side_to_move") == "black"


def test_goguis_set_up() -> None:
    gtp = Conversation()
    gtp.ok("gogui-setup b A1 b B1 w C3")
    assert gtp.state()["colour"] == "black"
    gtp.ok("gogui-setup_player w")
    assert gtp.state()["colour"] == "white"
    gtp.ok("play w A9")
    gtp.ok("undo")
    assert gtp.state()["colour"] == "white"
    gtp.ok("gogui-play_sequence w D4 b E5")
    assert gtp.ok("gogui-rules_board").count("X") == 3
    assert gtp.fails("gogui-setup b A1") == "illegal move"
    for x in "FGH":
        gtp.ok(f"play w {x}9")
    assert gtp.ok("gogui-setup") == ""


def test_captures_and_switches_are_on_the_board() -> None:
    games: list[Game] = [
        (RuleSet.preset("irensei", size=5, line_length=4, gutter=0), "none"),
        (RuleSet.preset("connect-go", size=5, line_length=4), "none"),
    ]
    for game, corner in ((0, "."), (1, "X")):
        gtp = Conversation(game, games)
        for move in ("b B1", "w A1", "b A2"):
            gtp.ok(f"play {move}")
        assert gtp.ok("gogui-rules_board").split("\n")[-1].startswith(corner)


def test_goguis_rules() -> None:
    gtp = Conversation()
    assert gtp.ok("gogui-rules_game_id") == "gomoku"
    assert gtp.ok("gogui-rules_board_size") == "9"
    assert gtp.ok("gogui-rules_side_to_move") == "black"
    assert len(gtp.ok("gogui-rules_legal_moves").split()) == 81
    assert "to place" in gtp.ok("gogui-rules_final_result")
    assert Conversation(1).ok("gogui-rules_legal_moves").split()[-1] == "pass"
    assert Conversation(2).fails("gogui-rules_board_size").startswith("the board is not square")


def test_goguis_analyze_commands() -> None:
    gtp = Conversation()
    commands = [line.split("/") for line in gtp.ok("gogui-analyze_commands").split("\n")]
    for kind, _, command in commands:
        assert kind in ("gfx", "var", "plist", "string")
        assert gtp.ok(f"known_command {command}") == "true"
    gtp.ok("play b E5")
    influence, text = gtp.ok("narabe-policy").split("\n")
    assert influence.startswith("INFLUENCE ")
    assert text.startswith("TEXT white: ")
    weights = [float(weight) for weight in influence.split()[2::2]]
    assert all(-1 <= weight <= 0 for weight in weights), "White's are negative"
    assert gtp.ok("narabe-visits").startswith("INFLUENCE ")
    assert re.match(r"LABEL [A-J]\d \d+", gtp.ok("narabe-values"))
    assert re.fullmatch(r"[A-J]\d( [A-J]\d)*", gtp.ok("narabe-line"))
    assert gtp.ok("narabe-forbidden") == gtp.ok("narabe-winning") == ""


def test_forbidden_and_winning_points() -> None:
    gtp = Conversation(games=[(RuleSet.preset("renju"), "none")])
    for vertex in ("H10", "A15", "H9", "C15", "F8", "E15", "G8", "G15"):
        gtp.ok(f"play {'b' if vertex[1:] != '15' else 'w'} {vertex}")
    assert gtp.ok("narabe-forbidden") == "H8"
    assert gtp.fails("play b H8") == "illegal move"
    assert gtp.ok("narabe-why b H8") == "forbidden"


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("lz-analyze 10", r"info move \w+ visits \d+ winrate \d+ prior \d+ lcb -?\d+ order 0 pv "),
        ("kata-analyze b interval 50 maxmoves 2", r"info move \w+ visits \d+ utility \S+ winrate"),
        ("kata-analyze W 5", r"info move \w+ visits \d+ utility \S+ winrate"),
    ],
)
def test_analysis(command: str, pattern: str) -> None:
    gtp = Conversation(factory=new_player)
    answer = gtp.session.answer(f"7 {command}")
    assert answer is not None
    first, line, *rest = answer.split("\n")
    assert first == "=7"
    assert rest == ["", ""]
    assert re.match(pattern, line)
    if "maxmoves 2" in command:
        assert line.count("info move") <= 2


def test_analysis_for_the_other_colour() -> None:
    """Who is to play wins at once, but is not asked; the turn is as it was afterwards."""
    gtp = Conversation(factory=new_player)
    gtp.ok("gogui-setup b D5 b E5 b F5 b G5 b A9 w A1 w B1 w C1 w D1 w A2")
    before = gtp.state()
    for colour, points in (("b", ("C5", "H5")), ("w", ("E1",))):
        answer = gtp.session.answer(f"lz-analyze {colour} 5") or ""
        assert answer.startswith(tuple(f"=\ninfo move {point} " for point in points)), answer
    assert gtp.state() == before
    assert gtp.ok("narabe-line") in ("C5", "H5")
    gtp.ok("undo")
    assert gtp.fails("undo") == "cannot undo"
    opening = Conversation(3, factory=new_player)
    assert opening.fails("lz-analyze w") == "it is the turn of black, in an opening"


def test_the_policy_is_the_networks() -> None:
    """Where a win by threats is found without the network, too."""
    evaluator = Seeing()
    gtp = Conversation(factory=functools.partial(new_player, evaluator=evaluator))
    gtp.ok("gogui-setup b D4 b E4 b F5 b F6 w A1 w A9 w J1 w J9")
    report = gtp.session.answer("kata-analyze b 5") or ""
    assert report.count("info move") == 1, "a win by threats"
    asked = len(evaluator.seen)
    influence, text = gtp.ok("narabe-policy").split("\n")
    assert len(evaluator.seen) == asked + 1
    position = gtp.session._position
    planes, globals_, legal = features(position)
    logits, values = evaluator.evaluate(
        planes[None], globals_[None], np.array([position.key], np.uint64)
    )
    chances = np.where(legal, np.exp(logits[0]), 0)
    chances /= chances.sum()
    names = {vertex_name(position.rules, k).upper(): float(chances[k]) for k in range(81)}
    words = influence.split()[1:]
    shown = dict(zip(words[::2], map(float, words[1::2]), strict=True))
    assert shown == pytest.approx({name: names[name] for name in shown}, abs=1e-4)
    assert text.startswith(f"TEXT black: {max(names, key=lambda name: names[name])}, wins ")
    assert f"wins {50 * (1 + float(values[0])):.1f}%" in text
    told = re.match(r"=\ninfo move (\w+) .* prior (\S+)", report)
    assert told is not None
    assert float(told[2]) == pytest.approx(names[told[1]], abs=1e-4)


def test_analysis_goes_on_until_a_line_comes() -> None:
    output = io.BytesIO()

    class Patiently(io.RawIOBase):
        """Sends the second part when there have been several reports."""

        parts = (b"1 kata-analyze 5\n", b"\n2 name\n", b"3 lz-analyze 5\n", b"")

        def __init__(self) -> None:
            self.sent = iter(self.parts)

        def read(self, _: int = -1) -> bytes:
            part, deadline = next(self.sent), time.monotonic() + 60
            while part == self.parts[1] and time.monotonic() < deadline:
                if output.getvalue().count(b"\ninfo move") > 3:
                    break
                time.sleep(0.01)
            return part

    session = ExtendedGtpSession("stub", GAMES, new_player)
    session.serve(Patiently(), output)  # type: ignore[arg-type]
    answers = output.getvalue().decode().split("\n\n")
    assert [answer.split("\n")[0] for answer in answers[:3]] == ["=1", "=2 narabe", "=3"]
    reports = answers[0].split("\n")[1:]
    assert len(reports) > 2, "several times in that while"
    assert all(report.startswith("info move") for report in reports)
    assert answers[3] == ""


def test_a_bot_that_gives_up() -> None:
    factory = functools.partial(new_player, resign=0.5, simulations=400)
    gtp = Conversation(factory=factory)
    gtp.ok("gogui-setup b D5 b E5 b F5 b G5 w A1 w A3 w A9")
    gtp.ok("gogui-setup_player w")
    assert gtp.ok("genmove w") == "resign"
    assert gtp.state()["ply"] == 0
    assert gtp.ok("narabe-draw b") == "decline"
    assert gtp.ok("narabe-draw w") == "accept"


def test_time_is_kept() -> None:
    factory = functools.partial(new_player, simulations=1 << 20)
    for commands, seconds in (
        ("time_settings 0 1 2", (0.05, 4)),
        ("time_settings 5 0 0", (0.05, 4)),
        ("time_settings 600 0 0\ntime_left b 1 5", (0.02, 4)),
        ("time_settings 0 0 0", (0.0, 4)),
    ):
        gtp = Conversation(factory=factory)
        for command in commands.split("\n"):
            gtp.ok(command)
        began = time.monotonic()
        gtp.ok("genmove b")
        assert seconds[0] < time.monotonic() - began < seconds[1], commands


def test_choices_take_their_time_from_the_clock() -> None:
    gtp = Conversation(3, factory=functools.partial(new_player, simulations=1 << 20))
    gtp.ok("time_settings 3 0 0")
    for colour in "bwb":
        gtp.ok(f"genmove {colour}")
    assert gtp.ok("narabe-choose") in ("black", "white", "more")


COMMANDS = st.sampled_from(
    ["play b", "play w", "play", "genmove", "genmove b", "genmove w", "undo", "clear_board",
     "boardsize 5", "boardsize 6", "boardsize", "narabe-game", "narabe-choose", "reg_genmove b",
     "gogui-setup b", "gogui-setup_player", "gogui-play_sequence w", "lz-analyze", "kata-analyze b",
     "lz-analyze w", "narabe-opening",
     "final_score", "showboard", "narabe-state", "time_left b 0", "time_settings 0 1",
     "narabe-why w", "narabe-line", "narabe-policy", "narabe-values", "narabe-draw b",
     "gogui-rules_legal_moves"]
)  # fmt: skip
ARGUMENTS = st.one_of(
    st.just(""),
    st.integers(-2, 12).map(str),
    st.tuples(st.sampled_from("ABCDEFGIZ"), st.integers(0, 7)).map(lambda p: f"{p[0]}{p[1]}"),
    st.sampled_from(["pass", "black", "more", "b A1 w B2", "w", "#", "\t", "none", "swap-2"]),
    st.text(max_size=15),
)


SCRIPTS = st.lists(st.tuples(COMMANDS, ARGUMENTS).map(" ".join) | st.text(max_size=30), max_size=25)


@settings(max_examples=150, deadline=None)
@given(SCRIPTS)
def test_nothing_that_is_sent_breaks_the_session(lines: list[str]) -> None:
    check_session(lines)


@pytest.mark.slow
@settings(max_examples=5000, deadline=None)
@given(SCRIPTS)
def test_nothing_that_is_sent_for_minutes_breaks_the_session(lines: list[str]) -> None:
    check_session(lines)


def check_session(lines: list[str]) -> None:
    games: list[Game] = [
        (RuleSet.preset("gomoku", size=6, line_length=4), "swap-2"),
        (RuleSet.preset("irensei", size=5, line_length=4, gutter=0), "none"),
    ]
    session = ExtendedGtpSession("stub", games, functools.partial(new_player, simulations=2))

    def key() -> object:
        position = session._position
        return position.key, position.actions, position.rules

    for line in lines:
        if line.split("#")[0].split()[-1:] == ["quit"]:
            continue
        before = key()
        answer = session.answer(line)
        assert answer is None or (answer[0] in "=?" and answer.endswith("\n\n"))
        assert answer is None or "\n\n" not in answer[:-2]
        if answer is not None and answer[0] == "?":
            assert key() == before, (line, answer)
    assert session.answer("1 protocol_version") == "=1 2\n\n"
