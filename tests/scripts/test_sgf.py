"""scripts.sgf: records become SGF and come back; what cannot be converted is one line."""

import dataclasses
import random
from pathlib import Path

import pytest

from engine import Position, RuleSet
from engine.sgf import from_sgf
from scripts.sgf import main
from selfplay.records import GameRecord, RecordLog

FOREIGN = "(;GM[4]SZ[9]PB[a]PW[b]RE[B+R];B[ee];W[ed])"


def record(index: int, game: str, opening: str) -> GameRecord:
    """A short game that a seat has given up."""
    chance, position = random.Random(index), Position(RuleSet.preset(game, size=9), opening)
    for _ in range(10):
        position.play(chance.choice(position.legal_actions().tolist()))
    assert position.outcome is None
    return GameRecord(
        game=game,
        rules=position.rules,
        opening=opening,
        actions=[position.action_name(action) for action in position.actions],
        seats={"A": "v000001", "B": "mcts:8 ]\\\n棋"},
        versions=[(0, 1), (4, 2)],
        result={"winner_seat": "B", "winner_colour": position.colour_of("B"), "reason": "resign"},
        seed={"run": 7, "game": index},
    )


RECORDS = [
    record(0, "gomoku", "swap-2"),
    record(1, "renju", "soosorv-8"),
    record(2, "connect-go", "none"),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    RecordLog(tmp_path / "run" / "records").append(RECORDS)
    return tmp_path / "run"


def output(capfdbinary: pytest.CaptureFixture[bytes], *argv: object) -> bytes:
    """Standard output of a call that succeeds."""
    assert main([str(word) for word in argv]) == 0
    out, err = capfdbinary.readouterr()
    assert err == b""
    return out


def error(capfd: pytest.CaptureFixture[str], *argv: object) -> str:
    """The one line of a call that fails."""
    assert main([str(word) for word in argv]) == 1
    message = capfd.readouterr().err
    assert message.startswith("sgf: ") and message.count("\n") == 1
    return message


def test_records_come_back(run: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = "".join(each.to_line() + "\n" for each in RECORDS).encode()
    for path in (run, run / "records", run / "records" / "games-000000.jsonl"):
        collection = output(capfdbinary, "write", path)
        (run / "games.sgf").write_bytes(collection)
        assert output(capfdbinary, "read", run / "games.sgf") == lines


def test_a_file_for_each_game(run: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = run / "new" / "folder"
    assert output(capfdbinary, "write", run, "--folder", folder) == b""
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{each.id}.sgf" for each in RECORDS]
    lines = output(capfdbinary, "read", *files).splitlines()
    assert [GameRecord.from_line(line) for line in lines] == RECORDS


def test_ids_name_no_other_folder(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    RecordLog(tmp_path / "run").append([dataclasses.replace(RECORDS[0], id="../a/b:1")])
    output(capfdbinary, "write", tmp_path / "run", "--folder", tmp_path / "out")
    assert [file.name for file in (tmp_path / "out").iterdir()] == [".._a_b_1.sgf"]


def test_a_foreign_file(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / "final.sgf"
    path.write_text(FOREIGN + FOREIGN.replace("RE[B+R]", "RE[0]"))
    options = ("--game", "renju", "--rule", "pass_after=8", "--rule", "passing=true")
    lines = output(capfdbinary, "read", path, *options, "--opening", "pro").splitlines()
    first, second = (GameRecord.from_line(line) for line in lines)
    assert first == GameRecord(
        id="final-1",
        game="renju",
        rules=RuleSet.preset("renju", size=9, pass_after=8),
        opening="pro",
        actions=["e5", "e6"],
        seats={"A": "a", "B": "b"},
        versions=[],
        result={"winner_seat": "A", "winner_colour": "black", "reason": "resign"},
        seed={"run": 0, "game": 1},
    )
    assert (second.id, second.winner) == ("final-2", None)


def test_what_cannot_be_written_is_one_line(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert "cannot read" in error(capfd, "write", tmp_path / "none.jsonl")
    assert "holds no game records" in error(capfd, "write", tmp_path)
    (tmp_path / "text.jsonl").write_text("words\n")
    assert "text.jsonl, line 1: not JSON" in error(capfd, "write", tmp_path / "text.jsonl")
    (tmp_path / "file").write_text("")
    assert "cannot write" in error(capfd, "write", run, "--folder", tmp_path / "file")
    message = error(capfd, "write", run, run, "--folder", tmp_path / "out")
    assert "a second game g00000000" in message
    wrong = dataclasses.replace(RECORDS[0], actions=["e5", "e5"], id="wrong")
    RecordLog(tmp_path / "wrong").append([wrong])
    assert "game wrong: e5: occupied" in error(capfd, "write", tmp_path / "wrong")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("words", "game.sgf: no SGF that can be read"),
        ("(;GM[1]SZ[9];B[aa])", "game.sgf: RU[] and GM do not say which game"),
        ("(;GM[4]SZ[9];B[aa])", "game.sgf: game 1: it has no result (RE)"),
        ("(;GM[4]SZ[9]AB[aa]RE[B+];W[bb])", "game.sgf: game 1: it begins with a set-up"),
        ("(;GM[4]SZ[9]RE[B+];B[bb];W[bb])", "game.sgf: move 2 (white b8): occupied"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(text)
    assert message in error(capfd, "read", path)
    assert "cannot read" in error(capfd, "read", tmp_path / "none.sgf")


def test_a_rule_is_a_name_and_a_value(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["read", "x.sgf", "--game", "gomoku", "--rule", "size"])
    assert ended.value.code == 2
    assert "'size' is not NAME=VALUE" in capfd.readouterr().err


def test_a_bot_s_thoughts_come_along(
    exported_bot: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    rules = RuleSet.preset("gomoku", size=6, line_length=4)
    position = Position(rules, "swap-2")
    for action in ("a1", "b2", "c3", "more", "d4", "e5", "black", "b1"):
        position.play(action)
    game = GameRecord(
        game="gomoku", rules=rules, opening="swap-2", seats={"A": "a", "B": "b"}, versions=[],
        actions=[position.action_name(action) for action in position.actions],
        result={"winner_seat": "A", "winner_colour": position.colour_of("A"), "reason": "resign"},
        seed={"run": 0, "game": 1},
    )  # fmt: skip
    RecordLog(tmp_path / "records").append([game])
    text = output(capfdbinary, "write", tmp_path, "--bot", exported_bot, "--simulations", "20")
    (found,) = from_sgf(text)
    assert list(found.remarks) == list(range(9)), "choices and the last position too"
    for remark in found.remarks.values():
        assert remark.value is not None
        assert -1 <= remark.value <= 1
        assert "Black expects" in remark.comment
    (tmp_path / "games.sgf").write_bytes(text)
    assert output(capfdbinary, "read", tmp_path / "games.sgf").decode() == game.to_line() + "\n"


def test_a_bot_reviews_its_own_games_only(
    exported_bot: Path, run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    message = error(capfd, "write", run, "--bot", exported_bot)
    assert "larger than" in message or "not " in message
    assert "no such bot" in error(capfd, "write", run, "--bot", run / "none")
