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
from collections.abc import Mapping
from typing import Any

from sgfmill import sgf_grammar

from engine.notation import IllegalAction
from engine.position import COLOURS, SEATS, Position
from engine.rules import PRESETS, RuleError, RuleSet
from engine.sgf_nodes import (
    MOVES,
    PROPERTY,
    Node,
    SgfError,
    board_size,
    escaped,
    move_of,
    moves_of,
    number_of,
    play_move,
    set_up,
    start_of,
    stones_of,
    stones_properties,
    text_of,
    turn_of,
)
from engine.sgf_remarks import Line, Remark, game_tree, remarks_of

__all__ = ["Line", "Remark", "SgfError", "SgfGame", "from_sgf", "to_sgf"]

FORMAT = 1
"""Version of the property's JSON; grows when older readers could not understand it."""

#: GM: where stones without liberties leave the board, SGF's rule for Go moves (1) shows the right
#: board; where they stay, that of Gomoku and Renju (4) does.
GO, GOMOKU = 1, 4
#: What other programs call games of gomoku in RU, where GM is 4.
GOMOKU_NAMES = {
    "freestyle": "gomoku",
    "free": "gomoku",
    "standard": "gomoku-standard",
    "exact-five": "gomoku-standard",
}

#: Reasons of results that only players give, by the letter that RE has for them.
_REASONS = {"R": "resign", "T": "time", "F": "forfeit"}
_WON = re.compile(r"([BW])\+\s*([a-z]?).*", re.IGNORECASE | re.DOTALL)


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
    remarks: Mapping[int, Remark] = dataclasses.field(default_factory=dict)
    """Comments, values and variations, by the number of actions played before."""


# --- writing ------------------------------------------------------------------------------------


def to_sgf(
    position: Position,
    *,
    name: str = "",
    players: Mapping[str, str] | None = None,
    result: Mapping[str, str | None] | None = None,
    notes: Mapping[str, Any] | None = None,
    remarks: Mapping[int, Remark] | None = None,
) -> str:
    """One game as SGF; texts of several games, one after the other, are a collection.

    The fields are those of `SgfGame`; `result` need only be given where players ended the game.
    Raises `SgfError` for a result that contradicts the position and for remarks that do not fit,
    TypeError for notes that JSON cannot say.
    """
    rules, players = position.rules, dict(players or {})
    result = _result(position, result)
    saved: dict[str, Any] = {
        "format": FORMAT,
        "rules": rules.to_json(),
        "opening": position.opening,
        "actions": [position.action_name(action) for action in position.actions],
        "name": name,
        "players": players,
        "result": result,
        "notes": dict(notes or {}),
    }
    root: Node = {
        "FF": [b"4"],
        "GM": [b"%d" % (GO if rules.capture == "remove" else GOMOKU)],
        "CA": [b"UTF-8"],
        "AP": [b"narabe:%d" % FORMAT],
        "SZ": [f"{rules.width}:{rules.height}".encode()],
        "RU": [escaped(_rules_text(rules))],
        # ASCII without line breaks: it survives programs that change the charset or wrap text.
        PROPERTY: [escaped(json.dumps(saved, separators=(",", ":")))],
    }
    if rules.width == rules.height:
        root["SZ"] = [b"%d" % rules.width]
    texts = {"GN": name, "RE": _result_text(result)}
    for seat, player in players.items():
        texts["PB" if position.colour_of(seat) == "black" else "PW"] = player
    root |= {identifier: [escaped(text)] for identifier, text in texts.items() if text}
    root |= _setup_properties(position)
    tree = game_tree(root, start_of(position), saved["actions"], remarks or {})
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
    return MOVES[result["winner_colour"]] + "+" + letters.get(result["reason"] or "", "")


def _setup_properties(position: Position) -> Node:
    """AB, AW and PL of a position that began with a set-up; PL says that there was one."""
    if position.setup is None:
        return {}
    board, to_play = position.setup
    stones = {point: COLOURS[stone] for point, stone in enumerate(board.flat) if stone}
    return {**stones_properties(position.rules, stones), "PL": [MOVES[to_play].encode()]}


# --- reading ------------------------------------------------------------------------------------


def from_sgf(
    data: str | bytes,
    *,
    game: str | None = None,
    rules: Mapping[str, Any] | None = None,
    opening: str = "none",
) -> list[SgfGame]:
    """The games of a collection: of each its first line of play, and what is said about it.

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
                found = _saved_game(nodes)
            else:
                found = _foreign_game(nodes, charset, game, rules or {}, opening)
            games.append(dataclasses.replace(found, remarks=_remarks(tree, found, charset)))
        except (SgfError, RuleError) as error:
            where = f"game {number}: " if len(trees) > 1 else ""
            raise SgfError(f"{where}{error}") from error
    return games


def _remarks(tree: Any, game: SgfGame, charset: str | None) -> Mapping[int, Remark]:
    position, root = game.position, tree.sequence[0]
    if charset is None:
        charset = root.get("CA", [b""])[0].decode("latin-1").strip() or "ISO-8859-1"
    names = [position.action_name(action) for action in position.actions]
    return remarks_of(tree, start_of(position), names, charset)


def _saved_game(nodes: list[Node]) -> SgfGame:
    """A game that `to_sgf` wrote. Raises `SgfError`, `RuleError`."""
    root, saved = nodes[0], _saved(nodes[0])
    fields = _typed(saved, "rules", dict)
    _typed(fields, "name", str)
    rules, opening = RuleSet.from_json(fields), _typed(saved, "opening", str)
    if board_size(root) != (rules.width, rules.height):
        raise SgfError(f"SZ: the board is not that of {PROPERTY}, {rules.width}x{rules.height}")
    stones, to_play = stones_of(root, rules), turn_of(root)
    if stones or to_play:
        position = set_up(rules, opening, stones, to_play or "black")
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


def _saved(root: Node) -> dict[str, Any]:
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


def _check_moves(position: Position, nodes: list[Node]) -> None:
    """Raise `SgfError` where another program has changed the moves, but not the property."""
    rules = position.rules
    said = [(colour, point) for colour, point, _ in moves_of(position)]
    moves = [move_of(node, rules, f"node {number}") for number, node in enumerate(nodes)]
    found = [move for move in moves if move is not None]
    if said != found:
        same = [one == other for one, other in zip(said, found, strict=False)]
        number = (same.index(False) if False in same else len(same)) + 1
        raise SgfError(
            f"move {number} is not that of {PROPERTY}: take that property out of the file to read"
            " its moves as they are"
        )


def _foreign_game(
    nodes: list[Node],
    charset: str | None,
    game: str | None,
    overrides: Mapping[str, Any],
    opening: str,
) -> SgfGame:
    """A game of another program. Raises `SgfError`, `RuleError`."""
    root = nodes[0]
    texts = {name: text_of(root, name, charset) for name in ("RU", "GN", "PB", "PW", "RE")}
    rules = _foreign_rules(root, texts["RU"], game, overrides)
    position = _play_nodes(nodes, rules, opening)
    names = {seat: texts["P" + MOVES[position.colour_of(seat)]] for seat in SEATS}
    return SgfGame(
        position=position,
        name=texts["GN"],
        players={seat: name for seat, name in names.items() if name},
        result=_result(position, _foreign_result(position, texts["RE"])),
    )


def _foreign_rules(
    root: Node, text: str, game: str | None, overrides: Mapping[str, Any]
) -> RuleSet:
    """The rules: the caller's, those of RU, and the board of SZ."""
    words = text.split()
    named = "-".join(word for word in words if "=" not in word).lower()
    fields: dict[str, Any] = {}
    if number_of(root, "GM", GO) == GOMOKU:
        named = GOMOKU_NAMES.get(named, named)
    if named in PRESETS and game in (named, None):
        pairs = (word.partition("=") for word in words if "=" in word)
        fields = {name: _value(value) for name, _, value in pairs}
    elif game is None:
        if named or number_of(root, "GM", GO) != GOMOKU:
            raise SgfError(
                f"RU[{text}] and GM do not say which game this is; name it, one of"
                f" {', '.join(PRESETS)}"
            )
        named = "gomoku"
    fields |= overrides
    if "size" in fields:
        fields["width"] = fields["height"] = fields.pop("size")
    size = board_size(root)
    if size is not None:
        for side, length in zip(("width", "height"), size, strict=True):
            if fields.setdefault(side, length) != length:
                raise SgfError(f"SZ: the board's {side} is {length}, not {fields[side]}")
    return RuleSet.preset(game or named, **fields)


def _value(text: str) -> int | bool | str:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else text


def _play_nodes(nodes: list[Node], rules: RuleSet, opening: str) -> Position:
    """The game of these nodes: set-ups until the first move, then moves."""
    stones: dict[int, str] = {}
    position, to_play, moves = None, None, 0
    for number, node in enumerate(nodes):
        move = move_of(node, rules, f"node {number}")
        changes, turn = stones_of(node, rules, f"node {number}"), turn_of(node)
        if position is None:
            stones |= changes
            to_play = turn or to_play
            if move is not None:
                position = _foreign_start(rules, opening, stones, to_play or move[0])
        elif turn not in (None, position.to_play) or not _stand(position, changes):
            raise SgfError(f"node {number}: a set-up after move {moves} that changes the position")
        if move is not None and position is not None:
            moves += 1
            play_move(position, moves, *move)
    return position or _foreign_start(rules, opening, stones, to_play or "black")


def _foreign_start(
    rules: RuleSet, opening: str, stones: Mapping[int, str], to_play: str
) -> Position:
    if to_play == "black" and not set(stones.values()) - {"empty"}:
        return Position(rules, opening)
    return set_up(rules, opening, stones, to_play)


def _stand(position: Position, stones: Mapping[int, str]) -> bool:
    """Whether the board has these stones: a set-up then only says what a move has done."""
    board = position.board.ravel()
    return all(COLOURS[board[point]] == stone for point, stone in stones.items())


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
