"""GTP: the conversation, without any search behind it."""

import io
import json
from typing import Any

import pytest

from bots.gtp import COLUMNS, GtpError, GtpSession, parse_vertex, vertex_name
from engine import Ply, Position, RuleSet

GAMES = [
    (RuleSet.preset("gomoku", size=9), "none"),
    (RuleSet.preset("irensei", size=5, line_length=3, gutter=1), "none"),
    (RuleSet.preset("mnk", width=4, height=3), "none"),
    (RuleSet.preset("gomoku", size=10), "swap-2"),
    (RuleSet.preset("irensei", size=6, line_length=4, gutter=1), "swap-5"),
]


class FirstLegal:
    """Stands in for a `Player`: always chooses the legal action with the lowest index."""

    def __init__(self, rules: RuleSet, opening: str) -> None:
        self.position = Position(rules, opening)

    def play(self, action: int) -> Ply:
        return self.position.play(action)

    def undo(self) -> None:
        if not self.position.actions:
            raise ValueError("there is nothing to undo")
        self.position.undo()

    def choose(self) -> int:
        return int(self.position.legal_actions()[0])


class Conversation:
    """A session with commands sent one by one; `game` is the index of the game to play."""

    def __init__(self, game: int = 0) -> None:
        self.session = GtpSession("stub", GAMES, FirstLegal)  # type: ignore[arg-type]
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


def test_ids_comments_and_control_characters() -> None:
    answer = GtpSession("stub", GAMES, FirstLegal).answer  # type: ignore[arg-type]
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
        "boardsize 99999999999999999999", "time_left black",
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
    assert gtp.ok("final_score") == "B+1"
    result = {"winner_seat": "A", "winner_colour": "black", "reason": "line"}
    assert gtp.state()["result"] == result
    assert gtp.fails("play white E9") == "illegal move: game-over"
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
    assert gtp.fails("play white D4") == "illegal move: occupied"
    assert gtp.fails("play white K1") == "illegal move: off-board"
    assert gtp.fails("play white pass") == "illegal move: not-in-this-phase"
    assert gtp.fails("play black E5").startswith("illegal move: it is the turn of white")
    assert gtp.fails("genmove black").startswith("illegal move: it is the turn of white")
    assert gtp.state() == before


def test_the_board_is_chosen_by_its_size() -> None:
    gtp = Conversation()
    gtp.ok("boardsize 5")
    assert (gtp.state()["game"], gtp.state()["width"]) == ("irensei", 5)
    assert gtp.fails("boardsize 19") == "unacceptable size"
    assert gtp.fails("boardsize 4") == "unacceptable size"
    assert gtp.state()["width"] == 5
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
    assert gtp.fails("play white A1") == "illegal move: not-in-this-phase"
    assert gtp.fails("narabe-choose 7") == "illegal move: not-in-this-phase"
    assert gtp.fails("narabe-choose red").startswith("syntax error")
    assert gtp.ok("narabe-choose more") == "more"
    assert gtp.state()["seat"] == "B"
    gtp.ok("play white A1")
    gtp.ok("play black A2")
    assert gtp.ok("narabe-choose") == "black"
    assert gtp.state()["phase"] == "play"


def test_a_pass_that_belongs_to_an_opening_is_a_move() -> None:
    gtp = Conversation(4)
    gtp.ok("play black C3")
    assert "pass" in gtp.ok("narabe-legal").split()
    gtp.ok("play white pass")
    assert gtp.state()["phase"] == "no-token-1"
    assert gtp.fails("play white pass") == "illegal move: not-in-this-phase"


def test_serving_ends_with_quit_or_the_input() -> None:
    for lines, answers in (
        (b"1 name\n\n2 quit\n3 name\n", b"=1 narabe\n\n=2 \n\n"),
        (b"name\n\xff\n", b"= narabe\n\n? unknown command\n\n"),
    ):
        output = io.BytesIO()
        GtpSession("stub", GAMES, FirstLegal).serve(io.BytesIO(lines), output)  # type: ignore[arg-type]
        assert output.getvalue() == answers
