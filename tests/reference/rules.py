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
    overline: str = "symmetric-win"  # or "symmetric-loss", "asymmetric", "exact"
    capture: str = "none"  # or "remove"
    suicide: bool = False  # whether a chain may be placed without liberties (and is then removed)
    superko: bool = False  # situational
    passing: bool = False
    pass_tiebreak: bool = False  # who passed first in the whole game wins a game ended by passes
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
}


def preset(name: str, **overrides: Any) -> Rules:
    """The named preset with other fields; `size` sets width and height."""
    if "size" in overrides:
        overrides["width"] = overrides["height"] = overrides.pop("size")
    return replace(PRESETS[name], **overrides)
