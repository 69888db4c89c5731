"""Boards as the Gomocup protocol sends them, made into positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy as np

from bots.repertoire import Game
from bots.state import result_line, set_up
from engine import IllegalAction, Position, RuleError, RuleSet

#: Whose a stone is, in the lines of BOARD: the third field. Nobody's: forbidden, or of a line that
#: has won before in a continuous game.
OWN, OPPONENT, NOBODY = 1, 2, 3


class BoardError(ValueError):
    """A board that cannot be played on; the message says why."""


def without_passes(rules: RuleSet) -> RuleSet:
    """The same game where nobody passes: the protocol has no passes."""
    return dataclasses.replace(rules, passing=False, pass_after=0, pass_tiebreak=False)


def empty_board(game: Game) -> Position:
    """Normal play from an empty board; openings are asked for by commands of their own."""
    rules, opening = game
    return Position(rules) if opening == "none" else Position.from_setup(rules, opening=opening)


def read_board(
    game: Game, stones: Sequence[tuple[int, int]], name: Callable[[int], str]
) -> Position:
    """The position of points with `OWN` and `OPPONENT` stones, the owner of the first to play.

    Sent in the order in which they were played, they are played again; in any other order they are
    set up, unless the rules have forbidden moves. Raises `BoardError` for a board that contradicts
    the rules.
    """
    points = [point for point, _ in stones]
    if len(set(points)) < len(points):
        twice = next(point for point in points if points.count(point) > 1)
        raise BoardError(f"two stones on {name(twice)}")
    own, theirs = ([p for p, field in stones if field == who] for who in (OWN, OPPONENT))
    if len(theirs) - len(own) not in (0, 1):
        raise BoardError(
            f"{len(own)} stones of yours and {len(theirs)} of the opponent's: it is not your turn"
        )
    black = OWN if len(own) == len(theirs) else OPPONENT
    colours = [field == black for _, field in stones]
    in_order = all(is_black == (index % 2 == 0) for index, is_black in enumerate(colours))
    if in_order:
        position = _replay(game, points, name)
    elif game[0].forbidden != "none":
        raise BoardError("stones of renju come in the order in which they were played")
    else:
        blacks, whites = (own, theirs) if black == OWN else (theirs, own)
        position = _set_up(game, blacks, whites, name)
    if position.outcome is not None:
        raise BoardError(f"the game is over: {result_line(position)}")
    return position


def _replay(game: Game, points: Sequence[int], name: Callable[[int], str]) -> Position:
    position = empty_board(game)
    for point in points:
        try:
            position.play(point)
        except IllegalAction as error:
            raise BoardError(f"{name(point)} cannot have been played: {error.reason}") from error
    return position


def _set_up(
    game: Game, blacks: list[int], whites: list[int], name: Callable[[int], str]
) -> Position:
    rules, opening = game
    to_play = "black" if len(blacks) == len(whites) else "white"
    try:
        position = Position.from_setup(
            rules, black=blacks, white=whites, to_play=to_play, opening=opening, allow_lines=True
        )
    except RuleError as error:
        raise BoardError(str(error)) from error
    if lines := position.stones_in_lines():
        colour = "black" if lines[0] in blacks else "white"
        raise BoardError(f"the game is over: {colour} has a line through {name(lines[0])}")
    return position


def may_be_forbidden(position: Position, point: int) -> bool:
    """Whether a manager may call this point forbidden; at White's turn any empty one of renju."""
    if position.rules.forbidden == "none" or position.board.flat[point]:
        return False
    return position.to_play == "white" or point in position.forbidden()


def without_stone(position: Position, game: Game, point: int) -> Position:
    """A board that was set up, without the stone that was played last on it.

    Raises `BoardError` where no such stone stands there.
    """
    mover = 2 if position.to_play == "black" else 1
    board = position.board.ravel()
    if board[point] != mover:
        raise BoardError("no stone to take back there, of the colour that played last")
    others = board.copy()
    others[point] = 0
    return set_up(game, others, "black" if mover == 1 else "white")


def stones_in_order(position: Position) -> list[int]:
    """The points of the stones in the order of play; of a board set up, in some order of play."""
    points = position.rules.points
    if position.setup is None:
        return [action for action in position.actions if action < points]
    board = position.board.ravel()
    blacks, whites = (np.flatnonzero(board == colour).tolist() for colour in (1, 2))
    pairs = zip_longest(blacks, whites)
    return [point for pair in pairs for point in pair if point is not None]
