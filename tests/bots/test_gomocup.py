"""The Gomocup protocol: the conversation, with a search but without a network."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.gomocup_info import Info
from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.openings import OPENINGS
from tests.bots.talk import GAMES, Gomocup


def board(*stones: str) -> list[str]:
    return ["BOARD", *stones, "DONE"]


def test_a_game_begins() -> None:
    manager = Gomocup()
    assert manager.send("START 15") == ["OK"]
    move = manager.move("BEGIN")
    assert manager.error("BEGIN").startswith("ERROR BEGIN")
    assert manager.move("TURN 0,0") not in (move, "0,0")
    assert "occupied" in manager.error("TURN 0,0")
    assert "not on a board" in manager.error("TURN 15,0")
    assert "no point" in manager.error("TURN x")
    assert manager.send("RESTART") == ["OK"]
    assert manager.move("BEGIN") == move, "the same board and the same search"


@pytest.mark.parametrize("line", ["START 15\r\n", "start 15", "  Start   15  "])
def test_lines_are_read_as_managers_write_them(line: str) -> None:
    assert Gomocup().send(line) == ["OK"]


@pytest.mark.parametrize(
    "size", ["4", "26", "0", "-5", "x", "", "15 16", "9 9 9", "9 x", "99999999999999999999"]
)
def test_boards_that_do_not_exist(size: str) -> None:
    assert Gomocup().error(f"START {size}")


def test_boards_that_the_bot_does_not_know() -> None:
    manager = Gomocup()
    assert "larger than 20x20" in manager.error("START 21")
    assert manager.send("START 20") == ["OK"]
    assert manager.send("START 5") == ["OK"]
    assert manager.send("RECTSTART 12,10") == ["OK"]
    assert manager.move("TURN 11,9")
    assert manager.error("RECTSTART 12")
    assert manager.error("RECTSTART 3,20")


@pytest.mark.parametrize(
    ("rule", "name"), [(0, "gomoku"), (1, "gomoku-standard"), (4, "renju"), (9, "caro")]
)
@pytest.mark.parametrize("first", [True, False])
def test_rules_before_and_after_the_start(rule: int, name: str, first: bool) -> None:
    manager = Gomocup()
    lines = ["START 15", f"INFO rule {rule}"]
    assert manager.send(*(reversed(lines) if first else lines)) == ["OK"]
    assert manager.session._player is not None
    rules = manager.session._player.position.rules
    assert (rules.name, rules.width, rules.passing) == (name, 15, False)
    assert manager.move("BEGIN")


def test_a_rule_that_is_said_during_a_game_holds_from_the_next_one() -> None:
    manager = Gomocup()
    manager.send("INFO rule 4", "START 15")
    position = manager.move("BEGIN") and manager.state()
    (told,) = manager.send("INFO rule 0")
    assert told.startswith("MESSAGE rule 0")
    (told,) = manager.send("INFO rule 1000")
    assert told.startswith("MESSAGE rule 1000 (unknown) is not known")
    assert manager.state() == position
    assert manager.move("TURN 0,0")
    for command in ("START 15", "RESTART", "RECTSTART 15,12"):
        assert "1000 (unknown) is not known" in manager.error(command)
    assert manager.send("INFO rule 0", "START 15")[1:] == ["OK"]
    assert manager.session._game is not None
    assert manager.session._game[0].name == "gomoku"
    manager.move("BEGIN")
    manager.send("INFO rule 4")
    assert manager.send("RESTART", "RESTART") == ["OK", "OK"]
    assert manager.session._game[0].name == "renju"
    manager.move("BEGIN")
    manager.send("INFO rule 0", "INFO rule 4")
    assert manager.send("RESTART") == ["OK"]
    assert manager.session._game[0].name == "renju", "the last word counts"
    assert manager.send("START 15") == ["OK"]
    assert manager.session._game[0].name == "gomoku", "nothing was said about this game"


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (8, "caro with overlines"), (2, "continuous freestyle"), (3, "continuous exactly five"),
        (5, "unknown"), (6, "continuous renju"), (11, "continuous caro"), (1000, "unknown"),
        (-1, "unknown"),
    ],
)  # fmt: skip
def test_rules_that_the_bot_does_not_know(rule: int, name: str) -> None:
    """`INFO` has no answer that managers read: no command of a game is obeyed until another."""
    manager = Gomocup()
    reason = f"ERROR rule {rule} ({name}) is not known to this bot, which knows 0 (freestyle), "
    assert manager.send(f"INFO rule {rule}") == []
    assert manager.error("START 15").startswith(reason)
    assert manager.error("START 15").startswith(reason), "nor is it forgotten"
    assert manager.send("INFO rule 0", "START 15") == ["OK"]
    assert manager.send(f"INFO rule {rule}") == []
    for command in (
        "BEGIN", "TURN 7,7", "PLAY 7,7", "BOARD", "SWAP2BOARD", "RESTART", "START 15",
        "RECTSTART 15,12", "NARABE_OPENING swap-2",
    ):  # fmt: skip
        assert manager.error(command).startswith(reason), command
    assert manager.error("INFO rule x") == "ERROR INFO rule: 'x' is not an integer"
    manager = Gomocup()
    assert manager.send("START 15", f"INFO rule {rule}", "INFO rule 1") == ["OK"]
    assert manager.move("BEGIN")
    assert manager.session._game is not None
    assert manager.session._game[0].name == "gomoku-standard"


@pytest.mark.parametrize("sign", ["INFO show_detail 0", "yxhashclear"])
@pytest.mark.parametrize("first", [True, False])
def test_yixin_board_means_renju_by_two(sign: str, first: bool) -> None:
    manager = Gomocup()
    lines = ["START 15", "INFO rule 2", sign]
    assert manager.send(*(lines if first else [lines[0], lines[2], lines[1]])) == ["OK"]
    assert manager.move("BEGIN")
    assert manager.session._game is not None
    assert manager.session._game[0].name == "renju"


def test_start_resets_everything() -> None:
    manager = Gomocup()
    manager.send("START 15", "INFO rule 4", "INFO timeout_turn 100", "INFO suggest 1", "BEGIN")
    manager.send("START 20")
    assert manager.session._info == Info()
    assert manager.session._clock.move is None
    assert manager.session._game == (
        RuleSet.preset("gomoku-standard", size=20), "swap-2"
    ), "the board's own game"  # fmt: skip
    manager.send("INFO timeout_turn 700", "INFO folder /tmp/x y", "START 15")
    assert manager.session._info.timeout_turn == 700, "said for this game"
    assert manager.session._info.folder == "/tmp/x y"


@pytest.mark.parametrize("level", [None, 3])
def test_a_game_in_a_used_process_is_as_in_a_new_one(level: int | None) -> None:
    options = {"temperature": 1.0, "seed": 5, "level": level}
    moves = ["BEGIN", "TURN 0,0", "TURN 1,2", "TURN 2,4", "TURN 3,6"]
    manager = Gomocup(**options)
    fresh = manager.send("START 15", *moves)
    used = Gomocup(**options)
    used.send("START 15", "INFO level 9", "INFO max_memory 40000000", *moves, "YXNBEST 3")
    player = used.session._player
    used.session._yixin = False
    assert used.send("START 15", *moves) == fresh
    assert used.session._player is player, "nothing is made anew for the same game"


@pytest.mark.parametrize(
    "sign", ["yxshowinfo", "YXHASHCLEAR", "yxfancy", "info thread_num 1", "INFO max_depth 100"]
)
def test_what_yixin_board_has_said_holds_over_starts(sign: str) -> None:
    manager = Gomocup()
    settings = ["INFO timeout_turn 100000", "INFO timeout_match 900000", "INFO max_node 9",
                "INFO time_increment 50", "INFO level 7", "INFO time_left 5000"]  # fmt: skip
    manager.send(sign, "INFO rule 2", "START 15", *settings)
    for _ in range(3):
        assert manager.move("BEGIN")
        assert manager.send("START 15") == ["OK"]
        info, clock = manager.session._info, manager.session._clock
        assert (info.rule, info.max_node, info.level) == (2, 9, 7)
        assert (clock.move, clock.increment) == (100.0, 0.05)
        assert clock.left == 900.0, "what was left of an earlier game is no setting"
        assert manager.session._game is not None
        assert manager.session._game[0].name == "renju"
    manager.send("INFO time_left 7000", "START 15")
    assert manager.session._clock.left == 7.0


def test_square_boards_may_be_named_by_both_sides() -> None:
    manager = Gomocup()
    assert manager.send("START 15 15") == ["OK"]
    assert manager.move("TURN 14,14")
    assert "RECTSTART" in manager.error("START 15 12")


def test_nothing_is_played_before_the_start() -> None:
    for line in ("BEGIN", "TURN 1,1", "RESTART", "BOARD", "TAKEBACK 1,1", "PLAY 1,1", "YXNBEST 2",
                 "SWAP2BOARD", "YXSHOWFORBID", "YXSWAP2STEP1", "YXSOOSORVSTEP1"):  # fmt: skip
        assert "START" in Gomocup().error(line)


def test_unknown_commands() -> None:
    manager = Gomocup()
    for line in ("HELLO", "begin2", "12,13", "YXFANCY 1", "\x00\xff", "DONEE"):
        (answer,) = manager.send(line)
        assert answer.startswith("UNKNOWN")
    assert manager.send("", "   ", "\r") == []
    assert manager.error("DONE")
    assert not manager.session.closed


@pytest.mark.parametrize("command", ["yxblock", "yxquerydatabaseallt", "yxbalanceone 0"])
def test_the_lines_of_an_unknown_command_are_passed_over(command: str) -> None:
    manager = Gomocup()
    manager.send("START 15")
    for lines in (["7,7", "-1,-1", "done"], ["7,7,1", "DONE"], ["done"]):
        (answer,) = manager.send(command, *lines)
        assert answer.startswith("UNKNOWN ")
        assert manager.error("DONE"), "only once"
    first, second, about = manager.send(command, "yxblockreset", "ABOUT")
    assert first.startswith("UNKNOWN ")
    assert second.startswith("UNKNOWN ")
    assert about.startswith("name=")
    assert manager.send(command, "7,7", "END")[1:] == []
    assert manager.session.closed


@pytest.mark.parametrize("command", ["BOARD", "yxboard", "SWAP2BOARD", "yxsoosorvstep4 x"])
def test_the_lines_of_a_command_that_fails_are_passed_over(command: str) -> None:
    assert Gomocup().error(command, "7,7,1", "8,8,2", "DONE")


def test_about_and_end() -> None:
    manager = Gomocup()
    (about,) = manager.send("ABOUT")
    assert re.fullmatch(r'name="[^"]+", version="stub", author="[^"]+", country="[^"]+"', about)
    assert manager.send("END") == []
    assert manager.session.closed


def test_boards() -> None:
    manager = Gomocup()
    manager.send("START 15")
    assert manager.move(*board("7,7,2", "8,8,1", "9,9,2"))
    player = manager.session._player
    assert player is not None
    assert len(player.position.actions) == 4
    assert player.position.board[14 - 7, 7] == 1, "the first stone is Black's"
    assert manager.move(*board("7,7,1", "8,8,2"))
    assert player.position.board[14 - 7, 7] == 1
    assert manager.move(*board())
    assert manager.move(*board("1,1,1", "2,2,1", "3,3,2", "4,4,2")), "in any order"
    assert player.position.to_play == "white", "Black's third stone is played"
    assert int((player.position.board == 1).sum()) == 3


@pytest.mark.parametrize(
    ("stones", "reason"),
    [
        (["7,7,1", "7,7,2"], "two stones"),
        (["7,7,1"], "not your turn"),
        (["7,7,2", "8,8,2"], "not your turn"),
        (["7,7"], "no line"),
        (["7,7,4"], "no line"),
        (["20,7,1"], "not on a board"),
        (["hello"], "no line"),
        (["7,7,3"], "forbidden"),
        ([f"{x},0,1" for x in range(5)] + [f"{x},2,2" for x in (0, 2, 4, 6, 8)], "over"),
        ([s for x in range(5) for s in (f"{x},0,2", f"{x},2,1")][:-1], "over"),
    ],
)
def test_boards_that_contradict_the_rules(stones: list[str], reason: str) -> None:
    manager = Gomocup()
    manager.send("START 15")
    manager.move("TURN 3,4")
    assert reason in manager.error(*board(*stones))


def test_a_board_without_its_end_is_dropped() -> None:
    manager = Gomocup()
    manager.send("START 15")
    dropped, answer = manager.send("BOARD", "7,7,2", "TURN 1,1")
    assert dropped.startswith("ERROR")
    assert "," in answer


def test_boards_of_renju_are_ordered() -> None:
    manager = Gomocup()
    manager.send("INFO rule 4", "START 15")
    assert "order" in manager.error(*board("1,1,1", "2,2,1", "3,3,2", "4,4,2"))
    double_three = ["7,7,2", "0,0,1", "8,8,2", "0,2,1", "7,9,2", "0,4,1", "8,7,2"]
    assert manager.move(*board(*double_three))
    four = ["7,5,1", "0,0,2", "7,6,1", "0,2,2", "5,7,1", "0,4,2", "6,7,1", "0,6,2"]
    manager.send("YXBOARD", *four, "DONE")
    (forbidden,) = manager.send("YXSHOWFORBID")
    assert forbidden == "FORBID 0707."
    assert manager.send("YXBOARD", *four, "7,7,3", "DONE") == []
    assert "forbidden" in manager.error("YXBOARD", *four, "9,9,3", "DONE")
    assert manager.send("YXBOARD", "7,7,2", "9,9,3", "DONE") == [], "White plays anywhere"
    assert "forbidden" in manager.error("YXBOARD", "7,7,2", "7,7,3", "DONE")
    manager.send("YXBOARD", *four, "DONE")
    assert "forbidden" in manager.error("TURN 7,7")
    theirs = [stone[:-1] + ("2" if stone[-1] == "1" else "1") for stone in four]
    assert "forbidden" in manager.error("YXBOARD", *theirs, "7,7,2", "DONE")


def test_take_backs() -> None:
    manager = Gomocup()
    manager.send("START 15")
    mine = manager.move("TURN 3,4")
    assert "last move" in manager.error("TAKEBACK 3,4")
    assert manager.send(f"TAKEBACK {mine}") == ["OK"]
    assert manager.send("TAKEBACK 3,4") == ["OK"]
    assert manager.error("TAKEBACK 3,4")
    assert manager.move("BEGIN")
    mine = manager.move(*board("1,1,1", "2,2,1", "3,3,2", "4,4,2"))
    assert manager.send(f"TAKEBACK {mine}", "TAKEBACK 4,4") == ["OK", "OK"]
    assert manager.error("TAKEBACK 3,3"), "Black's turn was before it"
    assert manager.move("TURN 4,4")


def test_moves_are_suggested_and_imposed() -> None:
    manager = Gomocup()
    manager.send("START 15")
    assert manager.send("PLAY 3,3") == ["3,3"]
    assert "occupied" in manager.error("PLAY 3,3")
    manager.send("INFO suggest 1")
    (suggested,) = manager.send("TURN 4,4")
    assert suggested.startswith("SUGGEST ")
    assert manager.send("PLAY 5,5") == ["5,5"]


def test_a_suggested_move_waits_for_play() -> None:
    manager = Gomocup()
    manager.send("START 15", "INFO suggest 1")
    (suggested,) = manager.send("BEGIN")
    for turn in ("TURN 4,4", f"TURN {suggested.split()[1]}"):
        assert "PLAY" in manager.error(turn)
    assert manager.send("PLAY 7,7") == ["7,7"]
    assert manager.send("TURN 4,4")[0].startswith("SUGGEST ")
    assert "PLAY" in manager.error("TURN 4,5")
    assert manager.send("TAKEBACK 4,4") == ["OK"]
    assert manager.send("TURN 4,5")[0].startswith("SUGGEST "), "another move of theirs"
    for again in ("RESTART", "START 15"):
        assert manager.send(again, "INFO suggest 1")[0] == "OK"
        assert manager.send("TURN 4,4")[0].startswith("SUGGEST ")
    assert manager.send(*board("7,7,2"))[0].startswith("SUGGEST ")
    assert "PLAY" in manager.error("TURN 4,5")


def test_a_finished_game() -> None:
    manager = Gomocup(simulations=1)
    manager.send("START 15")
    player = manager.session._player
    assert player is not None
    for action in ("a1", "a3", "b1", "b3", "c1", "c3", "d1", "d3"):
        player.play(action)
    (answer,) = manager.send("TURN 4,14")
    assert answer == "ERROR the game is over: black (seat A) wins (line)"
    assert manager.send("TAKEBACK 4,14") == ["OK"]


def test_swap2() -> None:
    manager = Gomocup()
    manager.send("INFO rule 1", "START 15")
    (opened,) = manager.send("SWAP2BOARD", "DONE")
    stones = opened.split()
    assert len(set(stones)) == 3
    (answer,) = manager.send("SWAP2BOARD", *stones, "DONE")
    assert re.fullmatch(r"SWAP|\d+,\d+( \d+,\d+)?", answer)
    more = stones + [s for s in ("0,0", "1,1", "2,2") if s not in stones][:2]
    (answer,) = manager.send("SWAP2BOARD", *more, "DONE")
    assert re.fullmatch(r"SWAP|\d+,\d+", answer)
    assert "0, 3 or 5" in manager.error("SWAP2BOARD", "1,1", "DONE")
    assert "occupied" in manager.error("SWAP2BOARD", "1,1", "1,1", "2,2", "DONE")
    assert manager.move(*board("1,1,2", "2,2,1", "3,3,2"))


class Prefers:
    """An evaluator that favours some options, by their place after the points."""

    def __init__(self, *options: int) -> None:
        self.options = options

    def evaluate(self, planes, globals_, keys):  # type: ignore[no-untyped-def]
        import numpy as np

        n, _, height, width = planes.shape
        logits = np.zeros((n, height * width + 16), np.float32)
        for option in self.options:
            logits[:, height * width + option] = 30
        return logits, np.zeros(n, np.float32)


@pytest.mark.parametrize(
    ("option", "three", "five", "yixin"),
    [
        (1, r"SWAP", r"SWAP", ["SWAP1 YES", "SWAP2 NO"]),
        (2, r"\d+,\d+", r"\d+,\d+", ["SWAP1 NO", "SWAP2 YES"]),
        (3, r"\d+,\d+ \d+,\d+", r"SWAP|\d+,\d+", [r"MOVE4 \d+ \d+", None]),
    ],
)
def test_swap2_decisions_are_the_searchs(
    option: int, three: str, five: str, yixin: list[str]
) -> None:
    manager = Gomocup(evaluator=Prefers(option))
    manager.send("INFO rule 1", "START 15")
    stones = ["7,7", "8,8", "9,7"]
    (answer,) = manager.send("SWAP2BOARD", *stones, "DONE")
    assert re.fullmatch(three, answer)
    (answer,) = manager.send("SWAP2BOARD", *stones, "0,0", "1,1", "DONE")
    assert re.fullmatch(five, answer)
    manager.send("yxboard", "7,7,2", "8,8,1", "9,7,2", "done")
    answer = manager.send("yxswap2step2")[0]
    assert re.fullmatch(f"MESSAGE SWAP2 {yixin[0]}", answer)
    manager.send("yxboard", "7,7,2", "8,8,1", "9,7,2", "0,0,1", "1,1,2", "done")
    answer = manager.send("yxswap2step3")[0]
    assert yixin[1] is None or answer == f"MESSAGE SWAP2 {yixin[1]}"


def test_yixins_swap2() -> None:
    manager = Gomocup()
    manager.send("INFO rule 1", "START 15")
    moves = manager.send("yxswap2step1")
    assert [line.split()[2] for line in moves] == ["MOVE1", "MOVE2", "MOVE3"]
    assert all(re.fullmatch(r"MESSAGE SWAP2 MOVE\d \d+ \d+", line) for line in moves)
    assert "stones" in manager.error("yxswap2step3")


def test_yixins_soosorv() -> None:
    manager = Gomocup()
    manager.send("INFO rule 4", "START 15")
    opened = manager.send("yxsoosorvstep1")
    assert [line.split()[2] for line in opened] == ["MOVE1", "MOVE2", "MOVE3"]
    stones = ["7,7", "7,6", "8,5"]
    (answer,) = manager.send("yxsoosorvstep2", *stones, "done")
    assert re.fullmatch(r"MESSAGE SOOSORV SWAP1 [YN]", answer)
    (answer,) = manager.send("yxsoosorvstep3", *stones, "done")
    assert re.fullmatch(r"MESSAGE SOOSORV MOVE4 \d+ \d+ [1-8]", answer)
    stones.append("9,9")
    (answer,) = manager.send("yxsoosorvstep4 3", *stones, "done")
    assert re.fullmatch(r"MESSAGE SOOSORV SWAP2 [YN]", answer)
    refresh, *offers, done = manager.send("yxsoosorvstep5 3", *stones, "done")
    assert (refresh, done) == ("MESSAGE SOOSORV MOVE5 REFRESH", "MESSAGE SOOSORV MOVE5 DONE")
    assert len(set(offers)) == 3
    (answer,) = manager.send("yxsoosorvstep6", *stones, "5,5", "4,6", "3,9", "done")
    assert answer in [f"MESSAGE SOOSORV MOVE5 C {p}" for p in ("5 5", "4 6", "3 9")]
    (answer,) = manager.send("yxsoosorvstep6", *stones, "5,5", "done")
    assert answer == "MESSAGE SOOSORV MOVE5 C 5 5"
    assert manager.error("yxsoosorvstep4 9", *stones, "done")
    assert manager.error("yxsoosorvstep6", "7,7", "7,6", "7,5", "7,4", "6,3", "8,3", "done") == (
        "ERROR 8,3 cannot be played: equivalent (the same by symmetry as the offer 6,3)"
    )
    assert manager.error("yxsoosorvstep2", "0,0", "7,6", "8,5", "done"), "not the centre"
    assert manager.error("yxsoosorvstep4 x")


def negotiate(opener: Gomocup, chooser: Gomocup) -> tuple[list[str], list[Gomocup]]:
    """Swap2 as a manager leads it: the stones, and who has Black and White."""
    stones = opener.send("SWAP2BOARD", "DONE")[0].split()
    answer = chooser.send("SWAP2BOARD", *stones, "DONE")[0].split()
    if answer == ["SWAP"]:
        return stones, [chooser, opener]
    stones += answer
    if len(answer) == 1:
        return stones, [opener, chooser]
    answer = opener.send("SWAP2BOARD", *stones, "DONE")[0].split()
    if answer == ["SWAP"]:
        return stones, [opener, chooser]
    return stones + answer, [chooser, opener]


@pytest.mark.parametrize("seed", range(4))
def test_two_bots_negotiate_and_play_a_whole_game(seed: int) -> None:
    rules = RuleSet.preset("gomoku-standard", size=9)
    bots = [
        Gomocup([(rules, "swap-2")], simulations=12, evaluator=HashEvaluator(seed + n))
        for n in (0, 10)
    ]
    for bot in bots:
        assert bot.send("START 9", "INFO rule 1") == ["OK"]
    stones, players = negotiate(*bots)
    position = Position(rules)

    def play(point: str) -> None:
        x, y = map(int, point.split(","))
        position.play((8 - y) * 9 + x)

    for stone in stones:
        play(stone)
    mover = position.ply % 2
    for turn in range(81):
        if position.outcome is not None:
            break
        if turn < 2:
            fields = [1 if index % 2 == mover else 2 for index in range(len(stones))]
            lines = [f"{stone},{field}" for stone, field in zip(stones, fields, strict=True)]
            move = players[mover].move(*board(*lines))
        else:
            move = players[mover].move(f"TURN {stones[-1]}")
        play(move)
        stones.append(move)
        mover = 1 - mover
    assert position.outcome is not None


def test_any_opening_by_extension_commands() -> None:
    manager = Gomocup(evaluator=Prefers(1))
    manager.send("START 15")
    assert manager.send("NARABE_OPENING swap-1st") == ["OK"]
    assert manager.send("NARABE_TELL 7,7") == ["OK"]
    (state,) = manager.send("NARABE_STATE")
    assert '"choice": true' in state
    refused = manager.error("NARABE_TELL more")
    assert refused.startswith("ERROR more cannot be played: not-in-this-phase (next: ")
    assert manager.error("NARABE_TELL 8,8")
    assert manager.send("NARABE_GO") == ["black"]
    assert manager.move("NARABE_GO")
    assert "is not one of" in manager.error("NARABE_OPENING pie")
    manager.send("INFO rule 4", "START 15", "NARABE_OPENING taraguchi-10", "NARABE_TELL 7,7")
    manager.send("NARABE_TELL black")
    refused = manager.error("NARABE_TELL white")
    assert refused.startswith("ERROR white cannot be played: not-in-this-phase (next: ")
    manager.send("RESTART", "NARABE_OPENING swap-5", "NARABE_TELL 7,7")
    assert manager.send("NARABE_TELL pass") == ["OK"]
    assert all(line.startswith("MESSAGE ") for line in manager.send("HELP"))


@pytest.mark.parametrize("opening", OPENINGS)
def test_every_opening_is_played_by_the_search(opening: str) -> None:
    bot, other = Gomocup(), Gomocup()
    for manager in (bot, other):
        assert manager.send("INFO rule 4", "START 15", f"NARABE_OPENING {opening}") == ["OK", "OK"]
    for _ in range(20):
        assert bot.send("NARABE_STATE") == other.send("NARABE_STATE")
        (decision,) = bot.send("NARABE_GO")
        assert other.send(f"NARABE_TELL {decision}") == ["OK"]
    assert '"phase": "play"' in bot.send("NARABE_STATE")[0]


def test_what_yixin_board_sends_is_taken() -> None:
    manager = Gomocup()
    manager.send("START 15")
    for line in (
        "info max_depth 225", "info max_node -1", "info thread_num 4", "info caution_factor 3",
        "info hash_size 65536", "info pondering 0", "info show_detail 0", "INFO game_type 1",
        "info checkmate 0", "INFO time_left -5", "INFO time_left 2147483647", "INFO max_memory 0",
        "INFO max_memory 83886080", "INFO timeout_match 1000000", "info time_increment 0",
        "INFO folder C:\\temp dir", "yxstop", "YXHASHCLEAR", "INFO nonsense 1", "INFO",
    ):  # fmt: skip
        assert manager.send(line) == [], line
    assert manager.send("yxshowinfo")[0].startswith("MESSAGE INFO")
    assert manager.send("yxdraw")[0] in ("MESSAGE DRAW ACCEPT", "MESSAGE DRAW REJECT")
    assert manager.move("BEGIN")


def test_the_live_report() -> None:
    manager = Gomocup(simulations=64)
    manager.send("START 15", "info show_detail 3")
    lines = manager.send("YXNBEST 3")
    assert lines[0] == "MESSAGE REALTIME REFRESH"
    assert re.fullmatch(r"MESSAGE REALTIME BEST \d+,\d+", lines[1])
    heads = [line for line in lines if re.fullmatch(r"INFO PV \d", line)]
    assert heads == ["INFO PV 0", "INFO PV 1", "INFO PV 2"]
    assert lines.count("INFO PV DONE") == 3
    best = next(line for line in lines if line.startswith("INFO BESTLINE")).split()[2]
    assert best == lines[-1], "the move of the first line"
    for line in lines:
        assert re.match(r"(INFO|MESSAGE) |\d+,\d+$", line)


def test_a_proven_win_is_told_as_mate() -> None:
    manager = Gomocup(simulations=64)
    manager.send("START 15", "info show_detail 2")
    lines = manager.send(*board(*(s for x in range(4) for s in (f"{x},0,1", f"{x},5,2"))))
    assert "INFO EVAL +M1" in lines
    assert lines[-1] == "4,0"


def test_points_are_judged_on_demand() -> None:
    manager = Gomocup()
    manager.send("START 15")
    move = manager.move("BEGIN")
    assert "prior" in manager.send(f"INFO evaluate {move}")[0]
    assert manager.error("INFO evaluate 99,99")


def test_time_is_kept() -> None:
    manager = Gomocup(simulations=1 << 20)
    manager.send("START 15", "INFO timeout_turn 300", "INFO timeout_match 100000")
    began = time.monotonic()
    move = manager.move("BEGIN")
    assert 0.05 < time.monotonic() - began < 3
    manager.send("INFO time_left -100")
    began = time.monotonic()
    manager.move("TURN 0,0" if move != "0,0" else "TURN 1,1")
    assert time.monotonic() - began < 3, "a million simulations would take longer"
    manager.send("RESTART", "INFO timeout_turn 0")
    began = time.monotonic()
    manager.move("BEGIN")
    assert time.monotonic() - began < 3, "a million simulations would take longer"


def test_several_stones_share_the_time_of_a_turn() -> None:
    manager = Gomocup(simulations=1 << 20)
    manager.send("INFO rule 1", "START 15", "INFO timeout_turn 1500")
    began = time.monotonic()
    manager.send("SWAP2BOARD", "DONE")
    assert 0.5 < time.monotonic() - began < 2.4


WORDS = st.sampled_from(
    ["START", "RECTSTART", "RESTART", "BEGIN", "TURN", "PLAY", "TAKEBACK", "BOARD", "SWAP2BOARD",
     "DONE", "INFO", "ABOUT", "YXBOARD", "YXNBEST", "YXSHOWFORBID", "YXSTOP", "YXSWAP2STEP2",
     "YXSOOSORVSTEP4", "NARABE_OPENING swap-1st", "NARABE_GO", "NARABE_TELL",
     "info rule", "INFO time_left", "INFO evaluate", "INFO max_memory"]
)  # fmt: skip
NUMBERS = st.integers(-3, 27)
ARGUMENTS = st.one_of(
    st.just(""),
    NUMBERS.map(str),
    st.tuples(NUMBERS, NUMBERS).map(lambda pair: f"{pair[0]},{pair[1]}"),
    st.tuples(NUMBERS, NUMBERS, NUMBERS).map(lambda t: f"{t[0]},{t[1]},{t[2]}"),
    st.text(max_size=20),
)
OPTIONS = r"black|white|more|pass|\d+"
LINES = st.one_of(
    st.tuples(WORDS, ARGUMENTS).map(" ".join),
    st.tuples(NUMBERS, NUMBERS, st.integers(0, 4)).map(lambda t: f"{t[0]},{t[1]},{t[2]}"),
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda t: f"TURN {t[0]},{t[1]}"),
    st.text(max_size=30),
)


SCRIPTS = st.lists(LINES, max_size=25)


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
    games = [(RuleSet.preset("gomoku", size=6), "none"), (RuleSet.preset("renju", size=5), "none")]
    manager = Gomocup(games, simulations=2)
    manager.send("START 5")
    for line in " \n".join(lines).split("\n"):
        before = manager.state()
        for answer in manager.send(line):
            assert "\n" not in answer
            kind = answer.split(" ")[0]
            assert kind in ("OK", "ERROR", "UNKNOWN", "MESSAGE", "SUGGEST", "FORBID") or re.match(
                rf"(\d+,\d+( \d+,\d+)*|SWAP|name=.*|{OPTIONS})$", answer
            )
            if kind in ("ERROR", "UNKNOWN") and "over" not in answer and "DONE" not in answer:
                assert manager.state() == before
    assert manager.send("INFO rule 0", "START 5")[-1:] == ["OK"], "it goes on"


def test_games_are_those_of_the_list() -> None:
    assert [rules.gomocup_rule for rules, _ in GAMES] == [0, 1, 4, 9]
