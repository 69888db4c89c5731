"""Whatever is sent or opened: a clear refusal or a game, and games that are what they say."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from bots.web import messages
from bots.web.files import Choice, FileError, read_file, to_record_line, to_sgf_text
from bots.web.game import Game, GameError
from bots.web.messages import MessageError, Record
from bots.web.view import game_view
from engine import OPENINGS, OPTIONS, PRESETS, IllegalAction, RuleError

FIELDS = sorted(
    {field for message in messages.Message.__args__ for field in message.__struct_fields__}
    | set(Record.__struct_fields__)
)
TAGS = [message.__struct_config__.tag for message in messages.Message.__args__]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["mnk", "b2", "A", "none", "sgf"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
MESSAGES = st.builds(
    lambda tag, fields: {"type": tag, **fields},
    st.sampled_from(TAGS),
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4),
)


@settings(deadline=None, max_examples=400)
@given(MESSAGES | VALUES)
def test_messages(message: Any) -> None:
    with contextlib.suppress(MessageError):
        messages.read(json.dumps(message))


@settings(deadline=None)
@given(st.text())
def test_texts_are_no_messages(text: str) -> None:
    with contextlib.suppress(MessageError):
        messages.read(text)


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(Record.__struct_fields__), VALUES, max_size=4))
def test_records(fields: dict[str, Any]) -> None:
    """What decodes as a record is a game, or is refused as one."""
    with contextlib.suppress(msgspec.ValidationError, RuleError, IllegalAction, GameError):
        Game(msgspec.convert({"game": "mnk", **fields}, Record))


def opened(text: str) -> Record | None:
    try:
        return read_file(text).record
    except (FileError, Choice):
        return None


@settings(deadline=None)
@given(st.text(alphabet="(;)[]\\GMSZBWVC4159:abtt \n", max_size=60), st.booleans())
def test_files_of_other_programs(text: str, begun: bool) -> None:
    opened(f"(;GM[4]SZ[15]{text}" if begun else text)


@st.composite
def played(draw: st.DrawFn) -> Game:
    """A game in which many things were tried, legal and illegal."""
    preset, opening = draw(st.sampled_from([*PRESETS])), draw(st.sampled_from([*OPENINGS]))
    rules = {} if preset == "mnk" else {"width": 9, "height": 9}
    try:
        game = Game(Record(game=preset, rules=rules, opening=opening))
    except RuleError:  # the opening needs a larger board
        game = Game(Record(game=preset))
    width = game.position.rules.width
    points = st.builds(
        lambda column, row: f"{chr(97 + column)}{row}",
        st.integers(0, width),
        st.integers(0, width + 1),
    )
    near = st.integers(0, 1000)
    for _ in range(draw(st.integers(0, 30))):
        legal = game.position.legal_actions()
        what = draw(
            st.sampled_from(["legal"] * 6 + ["any", "option", "go", "undo", "redo", "resign"])
        )
        with contextlib.suppress(GameError, IllegalAction):
            if what == "legal" and len(legal):
                game.play(int(legal[draw(near) % len(legal)]))
            elif what == "any":
                game.play(draw(points))
            elif what == "option":
                game.play(draw(st.sampled_from(OPTIONS)))
            elif what == "go":
                game.go(draw(st.integers(-1, len(game.moves) + 1)))
            elif what in ("undo", "redo", "resign"):
                getattr(game, what)()
    return game


@settings(deadline=None, max_examples=150)
@given(played())
def test_games_come_back_as_they_were(game: Game) -> None:
    view = msgspec.to_builtins(game_view(game), str_keys=True)
    again = Game(msgspec.convert(view["record"], Record))
    assert msgspec.to_builtins(game_view(again), str_keys=True) == view
    assert again.position.key == game.position.key
    # Files hold the whole game, whichever position of it is shown.
    for text in (to_sgf_text(game), to_record_line(game)):
        record = opened(text)
        assert record is not None
        assert record.actions == view["record"].get("actions", [])
        assert Game(record).position.key == game.last().key


@settings(deadline=None, max_examples=150)
@given(played(), st.data())
def test_damaged_files(game: Game, data: st.DataObject) -> None:
    for text in (to_sgf_text(game), to_record_line(game)):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 20)))
        record = opened(text[:start] + data.draw(st.text(max_size=4)) + text[end:])
        if record is not None:
            with contextlib.suppress(GameError, IllegalAction, RuleError):
                game_view(Game(record))
