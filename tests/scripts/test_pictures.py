"""docs/games.md: its pictures, its examples, and what its table says of the games."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from engine import OPENINGS, PRESETS, Position, RuleSet
from scripts import pictures
from scripts.pictures import PICTURES

DOCUMENT = Path(__file__).parents[2] / "docs" / "games.md"
TEXT = DOCUMENT.read_text()
BY_NAME = {entry.name: entry for entry in PICTURES}

CONNECT_GO_LINE = ["c5", "d5", "e5", "f5", "g5"]

EXAMPLE = re.compile(r"```text\n(\S+) on (\S+)\n(.*?)```", re.DOTALL)
#: A seat, its actions, and after two blanks or more what they mean.
TURN = re.compile(r"([AB])  (\S+(?: \S+)*)  +\S.*")
EXAMPLES = [
    pytest.param(opening, game, told.splitlines(), id=f"{opening}-{number}")
    for number, (opening, game, told) in enumerate(EXAMPLE.findall(TEXT))
]


# -- pictures ------------------------------------------------------------------------------------


def test_the_document_shows_the_pictures_of_the_table_in_its_order() -> None:
    named = re.findall(r"images/games/([^\")]+)\.png", TEXT)
    assert named == [entry.name for entry in PICTURES]
    assert {path.stem for path in pictures.FOLDER.iterdir()} == set(named)


@pytest.mark.parametrize("entry", PICTURES, ids=lambda entry: entry.name)
def test_positions_can_be_drawn_and_files_are_small(entry: pictures.Picture) -> None:
    position, marks = pictures.set_up(entry)
    assert position.board.any()
    assert marks or not (entry.show or entry.letters)
    assert (pictures.FOLDER / f"{entry.name}.png").stat().st_size < 40_000


@pytest.mark.parametrize("name", ["connect-go-win", "rif"])
def test_the_file_is_the_picture_of_its_position(name: str) -> None:
    drawn = Image.open(io.BytesIO(pictures.draw(BY_NAME[name]))).convert("RGB")
    stored = Image.open(pictures.FOLDER / f"{name}.png").convert("RGB")
    assert drawn.size == stored.size
    # Fonts and smoothing differ a little between versions of matplotlib; a stone is a larger step.
    difference = np.abs(np.asarray(drawn, dtype=int) - np.asarray(stored, dtype=int))
    assert difference.mean() < 0.5


def test_the_command_draws_what_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pictures, "FOLDER", tmp_path / "games")
    assert pictures.main(["mnk"]) == 0
    assert [path.name for path in (tmp_path / "games").iterdir()] == ["mnk.png"]
    with pytest.raises(SystemExit):
        pictures.main(["chess"])
    assert "'chess' is not one of" in capsys.readouterr().err


def judged(name: str, game: str) -> list[int]:
    """What a black stone on each of a picture's letters is worth by the lines of a game."""
    entry = BY_NAME[name]
    position = Position.from_setup(
        RuleSet.preset(game), black=entry.black.split(), white=entry.white.split()
    )
    return [position.line_value(position.parse_action(p), "black") for p in entry.letters.split()]


def test_what_the_text_says_of_the_pictures() -> None:
    assert judged("irensei", "irensei") == [1, -1]
    assert judged("gomoku", "gomoku") == [1, 1]
    assert judged("gomoku", "gomoku-standard") == [0, 1]
    assert judged("caro", "caro") == [0, 1, 0]
    assert judged("caro", "caro-overlines") == [0, 1, 1]
    fouls = {
        "renju-double-three": {"h8": ["double-three"]},
        "renju-double-four": {"h5": ["double-four"], "h12": ["double-four"]},
        "renju-overline": {"h8": ["overline"]},
        "renju-false-three": {"g8": ["overline"]},
    }
    for name, kinds in fouls.items():
        position, _ = pictures.set_up(BY_NAME[name])
        found = {position.action_name(p): kinds for p, kinds in position.forbidden().items()}
        assert found == kinds
    ko, marks = pictures.set_up(BY_NAME["irensei-ko"])
    assert [ko.action_name(point) for point in marks] == ["e5"]
    assert ko.why_illegal("e5") == "superko"
    for name, line in (("connect-go-switch", []), ("connect-go-win", CONNECT_GO_LINE)):
        position, marks = pictures.set_up(BY_NAME[name])
        assert [position.action_name(point) for point in marks] == ["e5", "f5"]
        points = position.outcome.line if position.outcome else ()
        assert [position.action_name(point) for point in points] == line


# -- the games' table ----------------------------------------------------------------------------


def test_the_table_names_every_game_with_board_and_gomocup_number() -> None:
    rows = [line.split("|")[1:-1] for line in TEXT.splitlines() if line.startswith("| [`")]
    assert [re.findall(r"`(.*)`", row[0])[0] for row in rows] == list(PRESETS)
    for rules, row in zip(PRESETS.values(), rows, strict=True):
        assert row[1].strip() == f"{rules.width}×{rules.height}"
        assert str(rules.line_length) in row[2]
        number = rules.gomocup_rule
        assert row[4].strip() == ("–" if number is None else str(number))


# -- examples ------------------------------------------------------------------------------------


def test_every_opening_has_a_section_an_example_and_a_picture() -> None:
    openings = TEXT.split("\n# Openings\n")[1]
    sections = re.findall(r"^## (\S+)$", openings, re.MULTILINE)
    families = [re.sub(r"-(8|10)$", "-N", name) for name in OPENINGS]
    assert sections == families
    assert {param.values[0] for param in EXAMPLES} == set(OPENINGS)
    assert {entry.opening for entry in PICTURES} == set(OPENINGS)  # the games' have none


@pytest.mark.parametrize(("opening", "game", "told"), EXAMPLES)
def test_example(opening: str, game: str, told: list[str]) -> None:
    position = Position(RuleSet.preset(game), opening)
    for line in told:
        turn = TURN.fullmatch(line)
        assert turn, line
        for action in turn[2].split():
            assert position.seat == turn[1], (line, action)
            position.play(action)
    position.undo()
    assert position.phase == "play", "the last action is normal play"


@pytest.mark.parametrize("entry", [entry for entry in PICTURES if entry.opening != "none"])
def test_an_opening_s_picture_shows_its_example(entry: pictures.Picture) -> None:
    told = next(p.values[2] for p in EXAMPLES if p.values[:2] == (entry.opening, entry.game))
    turns = [TURN.fullmatch(line) for line in told]
    actions = " ".join(turn[2] for turn in turns if turn)
    assert actions.startswith(entry.actions + " ")


def test_the_fields_of_any_line_game() -> None:
    section = TEXT.split("## Any line game")[1].split("# Openings")[0]
    named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (.*?) \|", section, re.MULTILINE))))
    assert named == set(RuleSet.preset("mnk").to_json()) - {"name"}
