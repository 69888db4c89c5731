"""What the page may say: one JSON object a message, told apart by `type`.

All that a stranger can send is checked here, by type, size and name of each field, before anything
else sees it. `docs/web.md` lists the messages.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

#: Bytes of the longest message.
LONGEST = 1 << 19
#: Actions of the longest game.
MOST_ACTIONS = 2000

Seat = Annotated[str, Meta(pattern="^[AB]$")]
Colour = Annotated[str, Meta(pattern="^(black|white)$")]
Word = Annotated[str, Meta(max_length=40)]
Text = Annotated[str, Meta(max_length=80)]
#: Names of actions, such as `c4` or `black`.
ActionName = Annotated[str, Meta(max_length=5)]
Ply = Annotated[int, Meta(ge=0, le=MOST_ACTIONS)]
Level = Annotated[int, Meta(ge=1, le=10)]
Value = Annotated[float, Meta(ge=-1, le=1)]
Points = Annotated[list[ActionName], Meta(max_length=625)]


class MessageError(ValueError):
    """A message that is none; one line says what and where."""


class _Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    """Nothing but the fields that are named."""


class SeatSetup(_Strict, omit_defaults=True):
    """Who sits at a seat: a person, or a bot at a strength."""

    bot: Text | None = None
    level: Level = 10
    name: Text = ""


class StonesSetup(_Strict):
    """Stones that stand before the first action."""

    black: Points = field(default_factory=list)
    white: Points = field(default_factory=list)
    to_play: Colour = "black"


class ResultSetup(_Strict):
    """A result that players, not the rules, gave to a game."""

    winner_seat: Seat | None
    reason: Word


class Record(_Strict, omit_defaults=True):
    """A whole game, as the page keeps it: enough to begin it again on any server."""

    game: Word
    rules: Annotated[dict[Word, bool | int | Word], Meta(max_length=40)] = field(
        default_factory=dict
    )
    opening: Word = "none"
    setup: StonesSetup | None = None
    actions: Annotated[list[ActionName], Meta(max_length=MOST_ACTIONS)] = field(
        default_factory=list
    )
    #: How many of the actions have been played; the others can be played again. None: all.
    ply: Ply | None = None
    seats: dict[Seat, SeatSetup] = field(default_factory=dict)
    result: ResultSetup | None = None
    #: Expectation of seat A before each action and after the last, where it is known.
    values: Annotated[list[Value | None], Meta(max_length=MOST_ACTIONS + 1)] = field(
        default_factory=list
    )
    title: Text = ""


class _Message(_Strict, tag_field="type"):
    """A message; its class's tag is the value of `type`."""


class Begin(_Message, tag="begin"):
    """Begin a game, or take one up that the page has kept."""

    record: Record


class Open(_Message, tag="open"):
    """Watch a game of this server; if it is no longer there, take it up from the record."""

    id: Word
    record: Record | None = None


class Play(_Message, tag="play"):
    """Play an action in the position after `ply` actions."""

    ply: Ply
    action: ActionName


class Go(_Message, tag="go"):
    """Show the position after `ply` actions."""

    ply: Ply


class Undo(_Message, tag="undo"):
    """Back to the last turn of a person."""


class Redo(_Message, tag="redo"):
    """Forward to the next turn of a person."""


class Resign(_Message, tag="resign"):
    """Give the game up, for the person to act, or the only person."""


class Nudge(_Message, tag="nudge"):
    """A bot plays the next action, whoever sits there."""

    bot: Text
    level: Level = 10


class Sit(_Message, tag="sit"):
    """Change who sits where."""

    seats: dict[Seat, SeatSetup]


class Analyse(_Message, tag="analyse"):
    """Analyse each position that is shown with this bot, or no longer."""

    bot: Text | None = None


class Review(_Message, tag="review"):
    """Look at every position of the game with this bot, or stop doing so."""

    bot: Text | None = None


class Save(_Message, tag="save"):
    """Send the game as a file."""

    kind: Literal["sgf", "record"]


class Load(_Message, tag="load"):
    """Read a file: SGF, or lines of records. `index` chooses one of several games."""

    text: Annotated[str, Meta(max_length=LONGEST)]
    index: Annotated[int, Meta(ge=0, le=100_000)] | None = None
    game: Word | None = None
    opening: Word = "none"


Message = (
    Begin | Open | Play | Go | Undo | Redo | Resign | Nudge | Sit | Analyse | Review | Save | Load
)

_decoder = msgspec.json.Decoder(Message)


def read(text: str) -> Message:
    """The message of a text. Raises `MessageError`."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        raise MessageError(f"message: {error}") from None
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise MessageError(f"message: no JSON: {error}") from None
    except RecursionError:
        raise MessageError("message: nested too deeply") from None
