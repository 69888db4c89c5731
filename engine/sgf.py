"""Games as SGF text and back; `docs/sgf.md` describes the properties.

SGF can say stones, passes and set-ups. What else a game needs - its rules, and an opening's
choices, announcements and offers - is in one property of our own, `NARABE`, so that a game comes
back exactly as it was. Files without it are read as stones that were placed in turn.

Source: SGF FF[4], https://www.red-bean.com/sgf/. Tokens, escapes and coordinates are sgfmill's (the
extra `sgf`), whose game objects are not used: they know square boards only.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sgfmill import sgf_grammar, sgf_properties

from engine.notation import IllegalAction
from engine.position import COLOURS, SEATS, Position
from engine.rules import PRESETS, RuleError, RuleSet

PROPERTY = "NARABE"
FORMAT = 1
"""Version of the property's JSON; grows when older readers could not understand it."""

#: GM: where stones without liberties leave the board, SGF's rule for Go moves (1) shows the right
#: board; where they stay, that of Gomoku and Renju (4) does.
GO, GOMOKU = 1, 4

#: Reasons of results that only players give, by the letter that RE has for them.
_REASONS = {"R": "resign", "T": "time", "F": "forfeit"}
_WON = re.compile(r"([BW])\+\s*([a-z]?).*", re.IGNORECASE | re.DOTALL)
_MOVES = {"black": "B", "white": "W"}
_STONES = {"AE": "empty", "AB": "black", "AW": "white"}
_LONGEST_MESSAGE = 300

# sgfmill counts rows from the bottom of a square board, SGF from the top. All boards are the top
# left corner of this one, so that rectangles have coordinates too, and an empty value is a pass.
_SIDE = 26
_POINTS = sgf_properties.Presenter(_SIDE, "UTF-8")

_Node = dict[str, list[bytes]]


class SgfError(ValueError):
    """Text that is no SGF, or no game that can be played; one line says where and why."""

    def __init__(self, message: str) -> None:
        # Values from outside are quoted in messages, and may be of any size.
        message = " ".join(message.split())
        if len(message) > _LONGEST_MESSAGE:
            message = message[: _LONGEST_MESSAGE - 4] + " ..."
        super().__init__(message)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SgfGame:
    """A game that was read. `players` has a name for each seat ("A", "B") whose name is known."""

    position: Position
    name: str = ""
    players: Mapping[str, str] = dataclasses.field(default_factory=dict)
    result: Mapping[str, str | None] | None = None
    """`winner_seat`, `winner_colour` and `reason` as in records; None: not known or not over."""
    notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What the writer added, as JSON values; empty for files of other programs."""


# --- writing ------------------------------------------------------------------------------------


def to_sgf(
    position: Position,
    *,
    name: str = "",
    players: Mapping[str, str] | None = None,
    result: Mapping[str, str | None] | None = None,
    notes: Mapping[str, Any] | None = None,
) -> str:
    """One game as SGF; texts of several games, one after the other, are a collection.

    The fields are those of `SgfGame`; `result` need only be given where players ended the game.
    Raises `SgfError` for a result that contradicts the position, TypeError for notes that JSON
    cannot say.
    """
    rules, players = position.rules, dict(players or {})
    result = _result(position, result)
    saved = {
        "format": FORMAT,
        "rules": rules.to_json(),
        "opening": position.opening,
        "actions": [position.action_name(action) for action in position.actions],
        "name": name,
        "players": players,
        "result": result,
        "notes": dict(notes or {}),
    }
    root: _Node = {
        "FF": [b"4"],
        "GM": [b"%d" % (GO if rules.capture == "remove" else GOMOKU)],
        "CA": [b"UTF-8"],
        "AP": [b"narabe:%d" % FORMAT],
        "SZ": [f"{rules.width}:{rules.height}".encode()],
        "RU": [_escaped(_rules_text(rules))],
        # ASCII without line breaks: it survives programs that change the charset or wrap text.
        PROPERTY: [_escaped(json.dumps(saved, separators=(",", ":")))],
    }
    if rules.width == rules.height:
        root["SZ"] = [b"%d" % rules.width]
    texts = {"GN": name, "RE": _result_text(result)}
    for seat, player in players.items():
        texts["PB" if position.colour_of(seat) == "black" else "PW"] = player
    root |= {identifier: [_escaped(text)] for identifier, text in texts.items() if text}
    root |= _setup_properties(position)
    tree = sgf_grammar.Coarse_game_tree()
    tree.sequence = [root, *_nodes(position)]
    return bytes(sgf_grammar.serialise_game_tree(tree)).decode()


def _rules_text(rules: RuleSet) -> str:
    """The preset's name and every rule that differs from it, the size aside."""
    preset, fields = PRESETS[rules.name].to_json(), rules.to_json()
    different = {name for name in fields if fields[name] != preset[name]} - {"width", "height"}
    values = {name: str(fields[name]).lower() for name in fields if name in different}
    return " ".join([rules.name, *(f"{name}={value}" for name, value in values.items())])


def _result_text(result: Mapping[str, str | None] | None) -> str:
    if result is None:
        return ""
    if result["winner_colour"] is None:
        return "0"
    letters = {reason: letter for letter, reason in _REASONS.items()}
    return _MOVES[result["winner_colour"]] + "+" + letters.get(result["reason"] or "", "")


def _setup_properties(position: Position) -> _Node:
    """AB, AW and PL of a position that began with a set-up; PL says that there was one."""
    if position.setup is None:
        return {}
    board, to_play = position.setup
    stones = {point: COLOURS[stone] for point, stone in enumerate(board.flat) if stone}
    return {**_stones_properties(position.rules, stones), "PL": [_MOVES[to_play].encode()]}


def _nodes(position: Position) -> Iterator[_Node]:
    """The nodes after the root: a move each, and the stones that it has switched."""
    for colour, point, switched in _moves(position):
        yield {_MOVES[colour]: [_coordinates(position.rules, point)]}
        if switched:
            yield _stones_properties(position.rules, switched)


def _moves(position: Position) -> Iterator[tuple[str, int | None, dict[int, str]]]:
    """What SGF calls a move: colour, point (None: a pass), and the stones switched by it.

    These are the actions after which the other colour is to place: not the choices of an opening,
    its announcements and offers, or its passes, which hand the same stone to the other seat.
    """
    again, rules = _start(position), position.rules
    for action in position.actions:
        colour = again.to_play
        ply = again.play(action)
        if again.to_play != colour:
            board = again.board.ravel()
            switched = {point: COLOURS[board[point]] for point in ply.switched}
            yield colour, action if action < rules.points else None, switched


def _start(position: Position) -> Position:
    """The position before its first action."""
    if position.setup is None:
        return Position(position.rules, position.opening)
    board, to_play = position.setup
    stones = {point: COLOURS[stone] for point, stone in enumerate(board.flat)}
    return _set_up(position.rules, position.opening, stones, to_play)


def _set_up(rules: RuleSet, opening: str, stones: Mapping[int, str], to_play: str) -> Position:
    points = {
        colour: [point for point, stone in stones.items() if stone == colour] for colour in _MOVES
    }
    return Position.from_setup(rules, **points, to_play=to_play, opening=opening)


def _stones_properties(rules: RuleSet, stones: Mapping[int, str]) -> _Node:
    properties: _Node = {}
    for identifier, colour in _STONES.items():
        if points := sorted(point for point, stone in stones.items() if stone == colour):
            properties[identifier] = [_coordinates(rules, point) for point in points]
    return properties


def _coordinates(rules: RuleSet, point: int | None) -> bytes:
    """Column and row, counted from the top left, as two letters; nothing for a pass."""
    if point is None:
        return b""
    row, column = divmod(point, rules.width)
    return bytes(sgf_properties.serialise_go_point((row + _SIDE - rules.height, column), _SIDE))


def _escaped(text: str) -> bytes:
    return bytes(sgf_grammar.escape_text(text.encode("utf-8", "replace")))


# --- reading ------------------------------------------------------------------------------------


def from_sgf(
    data: str | bytes,
    *,
    game: str | None = None,
    rules: Mapping[str, Any] | None = None,
    opening: str = "none",
) -> list[SgfGame]:
    """The games of a collection, of each its first line of play.

    `game` (a preset), `rules` (fields to change) and `opening` are for files of other programs, and
    not looked at where a game has the property `NARABE`. Without `game`, RU or GM must say it. A
    str is taken as it is, bytes as CA says.
    Raises `SgfError` for anything but games that can be played: the first fault in one line.
    """
    charset = "utf-8" if isinstance(data, str) else None
    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        trees = sgf_grammar.parse_sgf_collection(data)
    except ValueError as error:
        # It counts the games from 0.
        message = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), str(error))
        raise SgfError(f"no SGF that can be read: {message}") from error
    games = []
    for number, tree in enumerate(trees, start=1):
        nodes = list(sgf_grammar.main_sequence_iter(tree))
        try:
            if PROPERTY in nodes[0]:
                games.append(_saved_game(nodes))
            else:
                games.append(_foreign_game(nodes, charset, game, rules or {}, opening))
        except (SgfError, RuleError) as error:
            where = f"game {number}: " if len(trees) > 1 else ""
            raise SgfError(f"{where}{error}") from error
    return games


def _saved_game(nodes: list[_Node]) -> SgfGame:
    """A game that `to_sgf` wrote. Raises `SgfError`, `RuleError`."""
    root, saved = nodes[0], _saved(nodes[0])
    fields = _typed(saved, "rules", dict)
    _typed(fields, "name", str)
    rules, opening = RuleSet.from_json(fields), _typed(saved, "opening", str)
    if _size(root) != (rules.width, rules.height):
        raise SgfError(f"SZ: the board is not that of {PROPERTY}, {rules.width}x{rules.height}")
    stones, to_play = _stones(root, rules), _to_play(root)
    if stones or to_play:
        position = _set_up(rules, opening, stones, to_play or "black")
    else:
        position = Position(rules, opening)
    for number, action in enumerate(_typed(saved, "actions", list), start=1):
        if not isinstance(action, str):
            raise SgfError(f"{PROPERTY}: actions: {action!r} is not of type str")
        try:
            position.play(action)
        except IllegalAction as error:
            raise SgfError(f"{PROPERTY}: action {number}: {error}") from error
    _check_moves(position, nodes)
    players = _typed(saved, "players", dict)
    for seat in players:
        if seat not in SEATS:
            raise SgfError(f"{PROPERTY}: players: {seat!r} is no seat")
        _typed(players, seat, str)
    return SgfGame(
        position=position,
        name=_typed(saved, "name", str),
        players=players,
        result=_saved_result(position, saved),
        notes=_typed(saved, "notes", dict),
    )


def _saved(root: _Node) -> dict[str, Any]:
    """The property's object, of a format that is known."""
    text = sgf_grammar.simpletext_value(root[PROPERTY][0]).decode("utf-8", "replace")
    try:
        saved = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SgfError(f"{PROPERTY}: not JSON: {error}") from error
    if not isinstance(saved, dict):
        raise SgfError(f"{PROPERTY}: not a JSON object")
    version = _typed(saved, "format", int)
    if version != FORMAT:
        raise SgfError(f"{PROPERTY}: format {version} is not {FORMAT}, the one known here")
    return saved


def _saved_result(position: Position, saved: dict[str, Any]) -> Mapping[str, str | None] | None:
    if saved.get("result") is None:
        return _result(position, None)
    result = _typed(saved, "result", dict)
    if result.get("winner_seat", "") not in (*SEATS, None):
        raise SgfError(f"{PROPERTY}: result.winner_seat: is not A, B or null")
    return _result(position, {**result, "reason": _typed(result, "reason", str)})


def _typed(data: dict[str, Any], name: str, kind: type) -> Any:
    if name not in data:
        raise SgfError(f"{PROPERTY}: {name}: missing")
    value = data[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise SgfError(f"{PROPERTY}: {name}: {value!r} is not of type {kind.__name__}")
    return value


def _check_moves(position: Position, nodes: list[_Node]) -> None:
    """Raise `SgfError` where another program has changed the moves, but not the property."""
    rules = position.rules
    said = [(colour, point) for colour, point, _ in _moves(position)]
    moves = [_move(node, rules, f"node {number}") for number, node in enumerate(nodes)]
    found = [move for move in moves if move is not None]
    if said != found:
        same = [one == other for one, other in zip(said, found, strict=False)]
        number = (same.index(False) if False in same else len(same)) + 1
        raise SgfError(
            f"move {number} is not that of {PROPERTY}: take that property out of the file to read"
            " its moves as they are"
        )


def _foreign_game(
    nodes: list[_Node],
    charset: str | None,
    game: str | None,
    overrides: Mapping[str, Any],
    opening: str,
) -> SgfGame:
    """A game of another program. Raises `SgfError`, `RuleError`."""
    root = nodes[0]
    texts = {name: _text(root, name, charset) for name in ("RU", "GN", "PB", "PW", "RE")}
    rules = _foreign_rules(root, texts["RU"], game, overrides)
    position = _play_nodes(nodes, rules, opening)
    names = {seat: texts["P" + _MOVES[position.colour_of(seat)]] for seat in SEATS}
    return SgfGame(
        position=position,
        name=texts["GN"],
        players={seat: name for seat, name in names.items() if name},
        result=_result(position, _foreign_result(position, texts["RE"])),
    )


def _foreign_rules(
    root: _Node, text: str, game: str | None, overrides: Mapping[str, Any]
) -> RuleSet:
    """The rules: the caller's, those of RU, and the board of SZ."""
    words = text.split()
    named = "-".join(word for word in words if "=" not in word).lower()
    fields: dict[str, Any] = {}
    if named in PRESETS and game in (named, None):
        pairs = (word.partition("=") for word in words if "=" in word)
        fields = {name: _value(value) for name, _, value in pairs}
    elif game is None:
        if named or _number(root, "GM", GO) != GOMOKU:
            raise SgfError(
                f"RU[{text}] and GM do not say which game this is; name it, one of"
                f" {', '.join(PRESETS)}"
            )
        named = "gomoku"
    fields |= overrides
    if "size" in fields:
        fields["width"] = fields["height"] = fields.pop("size")
    size = _size(root)
    if size is not None:
        for side, length in zip(("width", "height"), size, strict=True):
            if fields.setdefault(side, length) != length:
                raise SgfError(f"SZ: the board's {side} is {length}, not {fields[side]}")
    return RuleSet.preset(game or named, **fields)


def _value(text: str) -> int | bool | str:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else text


def _play_nodes(nodes: list[_Node], rules: RuleSet, opening: str) -> Position:
    """The game of these nodes: set-ups until the first move, then moves."""
    stones: dict[int, str] = {}
    position, to_play, moves = None, None, 0
    for number, node in enumerate(nodes):
        move = _move(node, rules, f"node {number}")
        changes, turn = _stones(node, rules, f"node {number}"), _to_play(node)
        if position is None:
            stones |= changes
            to_play = turn or to_play
            if move is not None:
                position = _foreign_start(rules, opening, stones, to_play or move[0])
        elif turn not in (None, position.to_play) or not _stand(position, changes):
            raise SgfError(f"node {number}: a set-up after move {moves} that changes the position")
        if move is not None and position is not None:
            moves += 1
            _play_move(position, moves, *move)
    return position or _foreign_start(rules, opening, stones, to_play or "black")


def _foreign_start(
    rules: RuleSet, opening: str, stones: Mapping[int, str], to_play: str
) -> Position:
    if to_play == "black" and not set(stones.values()) - {"empty"}:
        return Position(rules, opening)
    return _set_up(rules, opening, stones, to_play)


def _stand(position: Position, stones: Mapping[int, str]) -> bool:
    """Whether the board has these stones: a set-up then only says what a move has done."""
    board = position.board.ravel()
    return all(COLOURS[board[point]] == stone for point, stone in stones.items())


def _play_move(position: Position, number: int, colour: str, point: int | None) -> None:
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


def _foreign_result(position: Position, text: str) -> Mapping[str, str | None] | None:
    """The result that RE says; None where it says none."""
    text = text.strip()
    if text.lower() in ("0", "draw"):
        return {"winner_seat": None, "winner_colour": None, "reason": "unknown"}
    found = _WON.fullmatch(text)
    if found is None:
        return None
    colour = "black" if found[1].upper() == "B" else "white"
    seat = next(seat for seat in SEATS if position.colour_of(seat) == colour)
    reason = _REASONS.get(found[2].upper(), "unknown")
    return {"winner_seat": seat, "winner_colour": colour, "reason": reason}


def _result(
    position: Position, given: Mapping[str, str | None] | None
) -> Mapping[str, str | None] | None:
    """The position's own result, else the one given. Raises `SgfError` where they differ."""
    outcome = position.outcome
    if outcome is not None:
        if given is not None and given["winner_seat"] != outcome.winner_seat:
            raise SgfError(
                f"the result does not fit: by the rules of {position.rules.name}"
                f" {outcome.winner_colour or 'nobody'} has won ({outcome.reason})"
            )
        seat, reason = outcome.winner_seat, outcome.reason
    elif given is not None:
        seat, reason = given["winner_seat"], given["reason"] or "unknown"
    else:
        return None
    colour = None if seat is None else position.colour_of(seat)
    return {"winner_seat": seat, "winner_colour": colour, "reason": reason}


# --- properties ---------------------------------------------------------------------------------


def _text(node: _Node, name: str, charset: str | None) -> str:
    """A SimpleText value, empty where there is none. Raises `SgfError` for an unknown charset."""
    if charset is None:
        charset = node.get("CA", [b""])[0].decode("latin-1").strip() or "ISO-8859-1"
    value = bytes(sgf_grammar.simpletext_value(node.get(name, [b""])[0]))
    try:
        return value.decode(charset, "replace")
    except (LookupError, ValueError) as error:
        raise SgfError(f"CA[{charset}]: no charset that can be read") from error


def _number(node: _Node, name: str, default: int) -> int:
    values = node.get(name)
    if values is None:
        return default
    try:
        return int(sgf_properties.interpret_number(values[0]))
    except ValueError as error:
        raise SgfError(f"{name}: {_shown(values[0])} is no number") from error


def _size(root: _Node) -> tuple[int, int] | None:
    """Columns and rows as SZ says them, one number for both or two."""
    if "SZ" not in root:
        return None
    columns, rows = sgf_grammar.parse_compose(root["SZ"][0])
    sides = (columns, columns if rows is None else rows)
    width, height = (_number({"SZ": [side]}, "SZ", 0) for side in sides)
    return width, height


def _move(node: _Node, rules: RuleSet, where: str) -> tuple[str, int | None] | None:
    """Colour and point (None: a pass) of the node's move; None where it has none."""
    moves = [(colour, raw) for colour, name in _MOVES.items() for raw in node.get(name, [])]
    if len(moves) > 1:
        raise SgfError(f"{where}: more than one move")
    if not moves:
        return None
    colour, raw = moves[0][0], moves[0][1].strip()
    # `tt` is a pass where it is off the board, as programs before FF[4] wrote it.
    if raw == b"" or (raw == b"tt" and max(rules.width, rules.height) <= 19):
        return colour, None
    try:
        row, column = sgf_properties.interpret_go_point(raw, _SIDE)
    except ValueError as error:
        raise SgfError(f"{where}: {_shown(raw)} is no point") from error
    return colour, _on_board(rules, row, column, where)


def _stones(node: _Node, rules: RuleSet, where: str = "set-up") -> dict[int, str]:
    """What AE, AB and AW put on points: "empty", "black" or "white"."""
    stones: dict[int, str] = {}
    for name, colour in _STONES.items():
        try:
            found = _POINTS.interpret(name, node[name]) if name in node else ()
        except ValueError as error:
            raise SgfError(f"{where}: {name}: not a list of points") from error
        for row, column in sorted(found):
            point = _on_board(rules, row, column, where)
            if stones.get(point, "empty") != "empty":
                raise SgfError(f"{where}: two stones on one point")
            stones[point] = colour
    return stones


def _to_play(node: _Node) -> str | None:
    value = node.get("PL", [b""])[0].strip().lower()
    if value == b"":
        return None
    for colour in _MOVES:
        if value in (colour.encode(), colour[:1].encode()):
            return colour
    raise SgfError(f"PL: {_shown(value)} is no colour")


def _on_board(rules: RuleSet, row: int, column: int, where: str) -> int:
    """The point of a row and column as sgfmill counts them."""
    row -= _SIDE - rules.height
    if row < 0 or column >= rules.width:
        raise SgfError(f"{where}: a point off the board of {rules.width}x{rules.height}")
    return row * rules.width + column


def _shown(raw: bytes) -> str:
    return repr(raw[:20].decode("latin-1"))
