"""What the network sees: one list of planes, one list of globals, and how to make them.

Everything is a function of the position (its key and the points that repetition bans), never of the
moves that led there. *Own* means the colour to place next, *other* the other colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine import _features
from engine.openings import opening_number
from engine.position import Position, rule_table
from engine.rules import RuleSet
from engine.symmetry import all_canvas_actions, canvas_actions, checked_symmetries

#: Raised by one whenever a plane or a global changes its meaning, place or scaling.
FEATURES_VERSION = 2

#: Planes uint8 [C, H, W], all 0 or 1; 0 off the board.
PLANES: tuple[str, ...] = _features.PLANES

#: Globals float32 [G]. See docs/features.md for each one's scaling.
GLOBALS: tuple[str, ...] = _features.GLOBALS

Planes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

FeatureBatch = tuple[Planes, Floats, Flags]
"""Planes [B, C, H, W], globals [B, G] and legal network actions [B, H*W + 16] of B positions."""


def features(
    position: Position,
    height: int | None = None,
    width: int | None = None,
    symmetry: int = 0,
) -> tuple[Planes, Floats, Flags]:
    """Planes [C, H, W], globals [G] and legal network actions [H*W + 16] of one position.

    The canvas is the board's size unless `height` and `width` say more. Raises `ValueError` where
    the board does not fit or has no such symmetry.
    """
    rules = position.rules
    height, width = _canvas(rules, height, width, symmetry)
    planes, globals_, legal = decode(
        rules, position.opening, [position.pack()], np.array([symmetry]), height, width
    )
    return planes[0], globals_[0], legal[0]


@lru_cache(maxsize=4096)
def blank(rules: RuleSet, height: int, width: int, symmetry: int) -> Planes:
    """[2, H*W]: the planes `on_board` and `region`, the same in all positions of these rules.

    Raises `ValueError` as `engine.symmetry.canvas_actions`. Read-only.
    """
    planes = np.empty((2, height * width), np.uint8)
    _features.blank(
        rule_table(rules, "none"), canvas_actions(rules, height, width, symmetry), planes
    )
    planes.flags.writeable = False
    return planes


def decode(
    rules: RuleSet,
    opening: str,
    packed: Sequence[bytes],
    symmetries: NDArray[np.integer],
    height: int,
    width: int,
) -> FeatureBatch:
    """Features of packed positions of one game, each turned by its symmetry.

    Returns planes [B, C, H, W], globals [B, G] and legal network actions [B, H*W + 16].
    Raises as `decode_into`.
    """
    batch = empty_batch(len(packed), height, width)
    decode_into(batch, np.arange(len(packed)), rules, opening, packed, symmetries)
    return batch


def empty_batch(size: int, height: int, width: int) -> FeatureBatch:
    """Planes, globals and legal actions of so many positions, all 0."""
    return (
        np.zeros((size, len(PLANES), height, width), np.uint8),
        np.zeros((size, len(GLOBALS)), np.float32),
        np.zeros((size, height * width + _features.OPTION_SLOTS), np.bool_),
    )


def decode_into(
    batch: FeatureBatch,
    rows: NDArray[np.int64],
    rules: RuleSet,
    opening: str,
    packed: Sequence[bytes],
    symmetries: NDArray[np.integer],
) -> None:
    """Write packed positions of one game, each turned by its symmetry, into empty rows of a batch.

    Raises `ValueError` for bytes that are no packed position of these rules, and for a canvas or
    a symmetry that does not fit. It lets other threads run while it works.
    """
    planes, globals_, legal = batch
    _features.decode(
        rule_table(rules, opening),
        opening_number(opening),
        list(packed),
        all_canvas_actions(rules, *planes.shape[2:]),
        checked_symmetries(rules, symmetries),
        rows,
        planes,
        globals_,
        legal.view(np.uint8),
    )


def _canvas(
    rules: RuleSet, height: int | None, width: int | None, symmetry: int
) -> tuple[int, int]:
    if height is None or width is None:
        turned = symmetry & 4
        return (rules.width, rules.height) if turned else (rules.height, rules.width)
    return height, width
