"""Boards that are set up over GTP, stone by stone or at once, made into positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bots.gtp_vertex import GtpError
from bots.repertoire import Game
from bots.state import set_up
from engine import IllegalAction, Position, RuleError
from engine.position import COLOURS

#: A stone that is set up: its colour, and an action that should be its point.
Stone = tuple[str, int]


class Earlier(NamedTuple):
    """A game that a set-up or a change of turns has replaced, for `undo`."""

    position: Position
    #: Whether it is taken back together with the action after it.
    joined: bool
    #: Whether stones were being set up then.
    setting_up: bool


def from_board(game: Game, board: np.ndarray, to_play: str) -> Position:
    """A position with these stones [H*W]. Raises `GtpError` where they cannot stand so."""
    try:
        return set_up(game, board, to_play)
    except RuleError as error:
        raise GtpError("illegal move") from error


def with_stones(position: Position, stones: Sequence[Stone]) -> np.ndarray:
    """The position's board [H*W] with more stones. Raises `GtpError` for what is no empty point."""
    board = position.board.ravel().copy()
    for colour, action in stones:
        if action >= board.size or board[action]:
            raise GtpError("illegal move")
        board[action] = COLOURS.index(colour)
    return board


def after_stone(game: Game, position: Position, stone: Stone) -> Position:
    """The position after one more stone, whoever's turn it was; the other colour is next.

    It captures and switches as a move does. Boards before it may come again later, but not by it.
    Where a line stands, the game has ended. Raises `GtpError` where the stone cannot stand.
    """
    colour, point = stone
    board = with_stones(position, [stone])
    if _repeats(position, stone):
        raise GtpError("illegal move")
    if game[0].capture != "none":
        turned = from_board(game, position.board.ravel(), colour)
        if turned.is_legal(point):
            turned.play(point)
            board = turned.board.ravel()
    return as_it_stands(game, board, stone)


def _repeats(position: Position, stone: Stone) -> bool:
    """Whether a board of this game comes again by this stone: the other colour has only passed."""
    colour, point = stone
    passing, turned = position.rules.points, position.copy()
    if turned.to_play != colour:
        if turned.actions[-1:] == [passing]:
            turned.undo()
        elif turned.is_legal(passing):
            turned.play(passing)
    return turned.to_play == colour and turned.why_illegal(point) == "superko"


def as_it_stands(game: Game, board: np.ndarray, last: Stone) -> Position:
    """The position with these stones [H*W], of which `last` came last; the other colour is next.

    Where a line stands, the game has ended with it. Raises `GtpError` where they cannot stand so.
    """
    colour, point = last
    made = from_board(game, board, "white" if colour == "black" else "black")
    lines = made.stones_in_lines()
    if not lines:
        return made
    # A position cannot begin after its end: one stone of the line is played on the others.
    if point not in lines:
        point, colour = lines[0], COLOURS[board[lines[0]]]
    others = board.copy()
    others[point] = 0
    made = from_board(game, others, colour)
    try:
        made.play(point)
    except IllegalAction as error:
        raise GtpError("illegal move") from error
    if made.outcome is None:
        raise GtpError("illegal move")
    return made
