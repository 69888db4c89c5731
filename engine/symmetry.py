"""Symmetries of a board, numbered 0-7 for squares and 0-3 for rectangles.

Bit 0 mirrors the columns, bit 1 mirrors the rows, bit 2 then transposes; 0 is the identity.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.rules import OPTIONS, RuleSet


def count(rules: RuleSet) -> int:
    """Number of symmetries of the board: 8 for a square, 4 for a rectangle."""
    return 8 if rules.width == rules.height else 4


@lru_cache(maxsize=4096)
def canvas_actions(rules: RuleSet, height: int, width: int, symmetry: int) -> NDArray[np.int32]:
    """[num_actions]: where each action of the game lies in a network's action vector.

    The network sees a canvas of `height` x `width` points with the board, turned by the symmetry,
    in its lower left corner; its actions are the canvas points row by row, then the options.
    Raises `ValueError` where the board does not fit or has no such symmetry. Read-only.
    """
    checked_symmetries(rules, np.array([symmetry]))
    if rules.height > height or rules.width > width:
        raise ValueError(
            f"canvas {width}x{height}: too small for a board of {rules.width}x{rules.height}"
        )
    rows, columns = np.divmod(np.arange(rules.points), rules.width)
    if symmetry & 1:
        columns = rules.width - 1 - columns
    if symmetry & 2:
        rows = rules.height - 1 - rows
    if symmetry & 4:
        rows, columns = columns, rows
    options = height * width + np.arange(len(OPTIONS))
    actions = np.concatenate([rows * width + columns, options]).astype(np.int32)
    actions.flags.writeable = False
    return actions


@lru_cache(maxsize=512)
def all_canvas_actions(rules: RuleSet, height: int, width: int) -> NDArray[np.int32]:
    """[symmetries, num_actions]: `canvas_actions` of every symmetry of the board. Read-only."""
    symmetries = range(count(rules))
    tables = np.stack([canvas_actions(rules, height, width, each) for each in symmetries])
    tables.flags.writeable = False
    return tables


def checked_symmetries(rules: RuleSet, symmetries: NDArray[np.integer]) -> NDArray[np.int64]:
    """The symmetries. Raises ValueError where the board does not have them all."""
    for symmetry in symmetries[(symmetries < 0) | (symmetries >= count(rules))]:
        raise ValueError(f"symmetry {symmetry}: this board has {count(rules)}")
    return symmetries.astype(np.int64)
