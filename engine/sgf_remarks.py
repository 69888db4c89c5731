"""What is said about the positions of a game: comments, values and variations, as SGF nodes.

`docs/sgf.md` describes how. A *ply* is the number of actions played before.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sgfmill import sgf_grammar

from engine.notation import IllegalAction
from engine.position import COLOURS, Position
from engine.sgf_nodes import (
    MOVES,
    PROPERTY,
    Node,
    SgfError,
    coordinates,
    escaped,
    move_of,
    play_move,
    stones_properties,
    text_of,
)

#: Variations within variations, at most.
DEEPEST = 64

Tree = sgf_grammar.Coarse_game_tree
#: A node of a line of play, and the variations that branch off after it.
Part = tuple[Node, list[Any]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A variation: other actions than those of the game."""

    actions: tuple[str, ...]
    """Names, in order; at least one."""
    remarks: Mapping[int, Remark] = dataclasses.field(default_factory=dict)
    """By the number of its actions played before, from 1."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What is said about one position."""

    comment: str = ""
    value: float | None = None
    """What Black expects, in [-1, 1]; None: nothing is said."""
    lines: tuple[Line, ...] = ()
    """Variations that begin there."""


# --- writing ------------------------------------------------------------------------------------


def game_tree(
    root: Node, start: Position, actions: Sequence[str], remarks: Mapping[int, Remark]
) -> Any:
    """A game from its root on, `start` being the position there.

    Raises `SgfError` for a remark about a ply that the game has not, or a variation that cannot be
    played.
    """
    first = remarks.get(0, Remark())
    root |= _said(first)
    return _assembled([(root, _branches(start, first)), *_parts(start, actions, remarks)])


def _parts(
    start: Position, actions: Sequence[str], remarks: Mapping[int, Remark]
) -> Iterator[Part]:
    """The nodes of a line of play: one for each move, and for other actions with a remark."""
    unknown = set(remarks) - set(range(len(actions) + 1))
    if unknown:
        raise SgfError(f"a remark about ply {min(unknown)} of a line of {len(actions)} actions")
    again, rules = start.copy(), start.rules
    for ply, name in enumerate(actions, start=1):
        colour, action = again.to_play, again.parse_action(name)
        played = again.play(action)
        remark = remarks.get(ply, Remark())
        nodes: list[Node] = []
        if again.to_play != colour:
            nodes.append({MOVES[colour]: [coordinates(rules, _point(rules.points, action))]})
        elif ply in remarks:
            nodes.append({PROPERTY: [_json({"ply": ply})]})
        if nodes:
            nodes[0] |= _said(remark)
        if played.switched:
            board = again.board.ravel()
            nodes.append(stones_properties(rules, {p: COLOURS[board[p]] for p in played.switched}))
        branches = _branches(again, remark)
        for number, node in enumerate(nodes, start=1):
            yield node, branches if number == len(nodes) else []


def _point(points: int, action: int) -> int | None:
    return action if action < points else None


def _said(remark: Remark) -> Node:
    """C and V: the comment, and the value for Black."""
    said: Node = {}
    if remark.comment:
        said["C"] = [escaped(remark.comment)]
    if remark.value is not None:
        said["V"] = [repr(round(remark.value, 4)).encode()]
    return said


def _branches(position: Position, remark: Remark) -> list[Any]:
    """The variations at a position, as trees."""
    trees = []
    for line in remark.lines:
        try:
            parts = list(_parts(position, line.actions, line.remarks))
        except IllegalAction as error:
            raise SgfError(f"a variation at ply {position.ply}: {error}") from error
        first = parts[0][0] if parts else {}
        # Stones alone do not tell choices and offers.
        own = json.loads(sgf_grammar.simpletext_value(first.pop(PROPERTY, [b"{}"])[0]))
        first[PROPERTY] = [_json({"actions": list(line.actions), **own})]
        trees.append(_assembled(parts or [(first, [])]))
    return trees


def _assembled(parts: list[Part]) -> Any:
    """A tree of these nodes, in which the first child always goes on with the line."""
    tree = rest = Tree()
    rest.sequence = []
    for node, branches in parts:
        rest.sequence.append(node)
        if branches:
            after = Tree()
            after.sequence = []
            rest.children = [after, *branches]
            rest = after
    if not rest.sequence:
        rest.sequence = [{}]  # the line is at its end, and no variation is to be taken for it
    return tree


def _json(data: Mapping[str, Any]) -> bytes:
    return escaped(json.dumps(data, separators=(",", ":")))


# --- reading ------------------------------------------------------------------------------------


class _VariationError(SgfError):
    """A fault in a variation, which the message names."""


def remarks_of(
    tree: Any, start: Position, actions: Sequence[str], charset: str | None
) -> dict[int, Remark]:
    """What is said in the tree of a game that has these actions. Raises `SgfError`."""
    return _remarks(list(_walk(tree)), start, actions, charset, 0)


def _walk(tree: Any) -> Iterator[Part]:
    """The nodes of a tree's first line of play, each with what branches off after it."""
    while True:
        *before, last = tree.sequence
        for node in before:
            yield node, []
        yield last, tree.children[1:]
        if not tree.children:
            return
        tree = tree.children[0]


def _remarks(
    parts: list[Part], start: Position, actions: Sequence[str], charset: str | None, depth: int
) -> dict[int, Remark]:
    """By ply. The first node is the position `start` itself where it has neither move nor ply."""
    again, plies = start.copy(), iter(_move_plies(start, actions))
    found: dict[int, Remark] = {}
    ply = 0
    for number, (node, branches) in enumerate(parts):
        own = _own(node) if number or depth else {}
        if move_of(node, start.rules, f"node {number}") is not None:
            ply = next(plies)
        elif "ply" in own:
            ply = _whole(own["ply"], ply, len(actions))
        while again.ply - start.ply < ply:
            again.play(actions[again.ply - start.ply])
        lines = tuple(_line(branch, again, charset, depth + 1) for branch in branches)
        comment, value = text_of(node, "C", charset, long=True), _value(node)
        before = found.get(ply, Remark())
        after = Remark(
            comment="\n".join(filter(None, (before.comment, comment))),
            value=before.value if value is None else value,
            lines=before.lines + lines,
        )
        if after != Remark():
            found[ply] = after
    return found


def _move_plies(start: Position, actions: Sequence[str]) -> Iterator[int]:
    """The plies of a line that SGF calls moves."""
    again = start.copy()
    for ply, action in enumerate(actions, start=1):
        colour = again.to_play
        again.play(action)
        if again.to_play != colour:
            yield ply


def _line(tree: Any, start: Position, charset: str | None, depth: int) -> Line:
    """A variation. Raises `SgfError` for one that cannot be played, or nested too deeply."""
    if depth > DEEPEST:
        raise _VariationError(f"variations are nested more than {DEEPEST} deep")
    parts = list(_walk(tree))
    own = _own(parts[0][0])
    where = f"a variation after {start.ply} actions"
    try:
        actions = _names(own["actions"]) if "actions" in own else _moves_played(parts, start.copy())
        again = start.copy()
        for action in actions:
            again.play(action)
        remarks = _remarks(parts, start, actions, charset, depth)
    except _VariationError:
        raise  # the innermost tells where it is
    except (IllegalAction, SgfError) as error:
        raise _VariationError(f"{where}: {error}") from error
    except StopIteration as error:
        raise _VariationError(f"{where}: more moves than {PROPERTY} tells") from error
    if not actions:
        raise _VariationError(f"{where}: without a move")
    return Line(actions=tuple(actions), remarks=remarks)


def _moves_played(parts: list[Part], position: Position) -> list[str]:
    """The actions of a variation of another program, whose moves are stones in turn."""
    first, moves = position.ply, 0
    for number, (node, _) in enumerate(parts):
        move = move_of(node, position.rules, f"node {number}")
        if move is not None:
            moves += 1
            play_move(position, moves, *move)
    return [position.action_name(action) for action in position.actions[first:]]


def _own(node: Node) -> dict[str, Any]:
    """What our own property says in a node that is not a game's root."""
    if PROPERTY not in node:
        return {}
    try:
        own = json.loads(sgf_grammar.simpletext_value(node[PROPERTY][0]))
    except (ValueError, RecursionError) as error:
        raise SgfError(f"{PROPERTY}: not JSON: {error}") from error
    if not isinstance(own, dict):
        raise SgfError(f"{PROPERTY}: not a JSON object")
    return own


def _whole(value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SgfError(f"{PROPERTY}: ply: {str(value)[:20]} is none of {least} to {most}")
    return value


def _names(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise SgfError(f"{PROPERTY}: actions: not a list of names")
    return value


def _value(node: Node) -> float | None:
    """V, where it is an expectation; other programs may mean other things by it."""
    try:
        value = float(node.get("V", [b""])[0])
    except ValueError:
        return None
    return value if math.isfinite(value) and -1 <= value <= 1 else None
