"""The properties of SGF nodes: points, moves, set-ups and texts, as `engine.sgf` needs them.

Source: SGF FF[4], https://www.red-bean.com/sgf/. Tokens, escapes and coordinates are sgfmill's (the
extra `sgf`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sgfmill import sgf_grammar, sgf_properties

from engine.position import COLOURS, Position
from engine.rules import RuleSet

PROPERTY = "NARABE"

MOVES = {"black": "B", "white": "W"}
STONES = {"AE": "empty", "AB": "black", "AW": "white"}
_LONGEST_MESSAGE = 300

# sgfmill counts rows from the bottom of a square board, SGF from the top. All boards are the top
# left corner of this one, so that rectangles have coordinates too, and an empty value is a pass.
_SIDE = 26
_POINTS = sgf_properties.Presenter(_SIDE, "UTF-8")

Node = dict[str, list[bytes]]


class SgfError(ValueError):
    """Text that is no SGF, or no game that can be played; one line says where and why."""

    def __init__(self, message: str) -> None:
        # Values from outside are quoted in messages, and may be of any size.
        message = " ".join(message.split())
        if len(message) > _LONGEST_MESSAGE:
            message = message[: _LONGEST_MESSAGE - 4] + " ..."
        super().__init__(message)


def moves_of(position: Position) -> Iterator[tuple[str, int | None, dict[int, str]]]:
    """What SGF calls a move: colour, point (None: a pass), and the stones switched by it.

    These are the actions after which the other colour is to place: not the choices of an opening,
    its announcements and offers, or its passes, which hand the same stone to the other seat.
    """
    again, rules = start_of(position), position.rules
    for action in position.actions:
        colour = again.to_play
        ply = again.play(action)
        if again.to_play != colour:
            board = again.board.ravel()
            switched = {point: COLOURS[board[point]] for point in ply.switched}
            yield colour, action if action < rules.points else None, switched


def start_of(position: Position) -> Position:
    """The position before its first action."""
    if position.setup is None:
        return Position(position.rules, position.opening)
    board, to_play = position.setup
    black, white = ([p for p, each in enumerate(board.flat) if each == stone] for stone in (1, 2))
    # As it was made, which may have been with lines.
    return Position.from_setup(
        position.rules,
        black=black,
        white=white,
        to_play=to_play,
        opening=position.opening,
        allow_lines=True,
    )


def set_up(rules: RuleSet, opening: str, stones: Mapping[int, str], to_play: str) -> Position:
    """A position with these stones on it. Raises `RuleError`."""
    black, white = (
        [point for point, stone in stones.items() if stone == colour] for colour in MOVES
    )
    return Position.from_setup(rules, black=black, white=white, to_play=to_play, opening=opening)


def stones_properties(rules: RuleSet, stones: Mapping[int, str]) -> Node:
    """AB, AW and AE of these points and colours."""
    properties: Node = {}
    for identifier, colour in STONES.items():
        if points := sorted(point for point, stone in stones.items() if stone == colour):
            properties[identifier] = [coordinates(rules, point) for point in points]
    return properties


def coordinates(rules: RuleSet, point: int | None) -> bytes:
    """Column and row, counted from the top left, as two letters; nothing for a pass."""
    if point is None:
        return b""
    row, column = divmod(point, rules.width)
    return bytes(sgf_properties.serialise_go_point((row + _SIDE - rules.height, column), _SIDE))


def escaped(text: str) -> bytes:
    """A text as a value."""
    return bytes(sgf_grammar.escape_text(text.encode("utf-8", "replace")))


def play_move(position: Position, number: int, colour: str, point: int | None) -> None:
    """Play a move of SGF. Raises `SgfError`."""
    action = position.parse_action("pass") if point is None else point
    where = f"move {number} ({colour} {position.action_name(action)})"
    phase = position.phase
    if phase != "over" and colour != position.to_play:
        raise SgfError(f"{where}: {position.to_play} is to place")
    reason = position.why_illegal(action)
    if reason is None:
        position.play(action)
        if position.to_play != colour:
            return
        reason = "not-in-this-phase"
    if reason == "not-in-this-phase" and phase != "play":
        reason += f" ({phase} of the opening {position.opening})"
    raise SgfError(f"{where}: {reason}")


def text_of(node: Node, name: str, charset: str | None, *, long: bool = False) -> str:
    """A SimpleText value, or with `long` a Text one with its line breaks.

    Empty where there is none. Raises `SgfError` for an unknown charset.
    """
    if charset is None:
        charset = node.get("CA", [b""])[0].decode("latin-1").strip() or "ISO-8859-1"
    read = sgf_grammar.text_value if long else sgf_grammar.simpletext_value
    value = bytes(read(node.get(name, [b""])[0]))
    try:
        return value.decode(charset, "replace")
    except (LookupError, ValueError) as error:
        raise SgfError(f"CA[{charset}]: no charset that can be read") from error


def number_of(node: Node, name: str, default: int) -> int:
    """A Number value. Raises `SgfError` for what is none."""
    values = node.get(name)
    if values is None:
        return default
    try:
        return int(sgf_properties.interpret_number(values[0]))
    except ValueError as error:
        raise SgfError(f"{name}: {shown(values[0])} is no number") from error


def board_size(root: Node) -> tuple[int, int] | None:
    """Columns and rows as SZ says them, one number for both or two."""
    if "SZ" not in root:
        return None
    columns, rows = sgf_grammar.parse_compose(root["SZ"][0])
    sides = (columns, columns if rows is None else rows)
    width, height = (number_of({"SZ": [side]}, "SZ", 0) for side in sides)
    return width, height


def move_of(node: Node, rules: RuleSet, where: str) -> tuple[str, int | None] | None:
    """Colour and point (None: a pass) of the node's move; None where it has none."""
    moves = [(colour, raw) for colour, name in MOVES.items() for raw in node.get(name, [])]
    if len(moves) > 1:
        raise SgfError(f"{where}: more than one move")
    if not moves:
        return None
    colour, raw = moves[0][0], moves[0][1].strip()
    # `tt` is a pass where it is off the board, as programs before FF[4] wrote it.
    if raw == b"" or (raw == b"tt" and max(rules.width, rules.height) <= 19):
        return colour, None
    numbered = _numbered(rules, raw)
    if numbered is not None:
        return colour, _on_board(rules, *numbered, where)
    try:
        row, column = sgf_properties.interpret_go_point(raw, _SIDE)
    except ValueError as error:
        raise SgfError(
            f"{where}: {shown(raw)} is no point, neither two letters nor a letter and a number"
        ) from error
    return colour, _on_board(rules, row, column, where)


def _numbered(rules: RuleSet, raw: bytes) -> tuple[int, int] | None:
    """Row and column, as sgfmill counts them, of a point such as `h8`; None for another value.

    SGF leaves the points of gomoku and renju (GM[4]) open. Programs that do not write Go's two
    letters write the column's letter and the row's number from the bottom, as players do.
    """
    match = re.fullmatch(rb"([A-Za-z])([0-9]{1,2})", raw)
    if match is None:
        return None
    return int(match[2]) - 1 + _SIDE - rules.height, ord(match[1].lower()) - ord("a")


def stones_of(node: Node, rules: RuleSet, where: str = "set-up") -> dict[int, str]:
    """What AE, AB and AW put on points: "empty", "black" or "white"."""
    stones: dict[int, str] = {}
    for name, colour in STONES.items():
        given = [(raw, _numbered(rules, raw.strip())) for raw in node.get(name, [])]
        letters = [raw for raw, numbered in given if numbered is None]
        try:
            found = _POINTS.interpret(name, letters) if letters else ()
        except ValueError as error:
            raise SgfError(f"{where}: {name}: not a list of points") from error
        for row, column in [*sorted(found), *(numbered for _, numbered in given if numbered)]:
            point = _on_board(rules, row, column, where)
            if stones.get(point, "empty") != "empty":
                raise SgfError(f"{where}: two stones on one point")
            stones[point] = colour
    return stones


def turn_of(node: Node) -> str | None:
    """The colour that PL names. Raises `SgfError` for what is none."""
    value = node.get("PL", [b""])[0].strip().lower()
    if value == b"":
        return None
    for colour in MOVES:
        if value in (colour.encode(), colour[:1].encode()):
            return colour
    raise SgfError(f"PL: {shown(value)} is no colour")


def _on_board(rules: RuleSet, row: int, column: int, where: str) -> int:
    """The point of a row and column as sgfmill counts them."""
    row -= _SIDE - rules.height
    if not 0 <= row < rules.height or column >= rules.width:
        raise SgfError(f"{where}: a point off the board of {rules.width}x{rules.height}")
    return row * rules.width + column


def shown(raw: bytes) -> str:
    """The beginning of a value, for messages."""
    return repr(raw[:20].decode("latin-1"))
