"""The rule fields and the presets as the rule texts give them, apart from `engine.rules`."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Rules:
    name: str  # of the preset that the others started from
    width: int
    height: int
    line_length: int
    gutter: int = 0  # points next to the edge that are outside the region
    overline: str = "symmetric-win"  # or "symmetric-loss", "asymmetric", "exact", "black-exact"
    unblocked: bool = False  # a run of exactly the line's length needs an end that is not blocked
    forbidden: str = "none"  # Black's forbidden moves of Renju: or "illegal", "loss"
    capture: str = "none"  # or "remove", "switch"
    suicide: bool = False  # whether a stone may leave its own chain without liberties
    superko: bool = False  # situational
    passing: bool = False
    pass_after: int = 0  # stones on the board before which nobody may pass in normal play
    pass_tiebreak: bool = False  # who passed first in the whole game wins a game ended by passes
    full_board: str = "draw"  # or "majority": more stones win
    ply_limit: int = 0  # actions after which the game is a draw; 0: none


IRENSEI = Rules(
    name="irensei",
    width=19,
    height=19,
    line_length=7,
    gutter=2,
    overline="asymmetric",
    capture="remove",
    superko=True,
    passing=True,
)
GOMOKU = Rules(name="gomoku", width=15, height=15, line_length=5)
PRESETS = {
    "irensei": IRENSEI,
    "gomoku": GOMOKU,
    "gomoku-standard": replace(GOMOKU, name="gomoku-standard", overline="exact"),
    "mnk": Rules(name="mnk", width=3, height=3, line_length=3),
    "connect-go": Rules(
        name="connect-go",
        width=19,
        height=19,
        line_length=5,
        capture="switch",
        suicide=True,
        full_board="majority",
    ),
    "renju": replace(
        GOMOKU,
        name="renju",
        overline="black-exact",
        forbidden="illegal",
        passing=True,
        pass_after=6,
    ),
    "caro": replace(GOMOKU, name="caro", overline="exact", unblocked=True),
    "caro-overlines": replace(GOMOKU, name="caro-overlines", unblocked=True),
}


def preset(name: str, **overrides: Any) -> Rules:
    """The named preset with other fields; `size` sets width and height."""
    if "size" in overrides:
        overrides["width"] = overrides["height"] = overrides.pop("size")
    return replace(PRESETS[name], **overrides)
