"""Rules as data: a `RuleSet` says everything that distinguishes one line game from another.

Named presets are in `PRESETS`; `RuleSet.preset(name, **overrides)` derives variants from them. The
engine reads the C table made from a rule set once (`engine._position.RuleTable`) and never looks at
a game's name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

MIN_SIDE = 3
MAX_SIDE = 25
MIN_LINE = 3
MAX_LINE = 9

#: What a run longer than `line_length` does: win for whom, lose for whom, or nothing ("exact").
OVERLINES = ("symmetric-win", "symmetric-loss", "asymmetric", "exact")
#: What happens to chains without liberties.
CAPTURES = ("none", "remove")

#: Every reason with which a game can end. The position's own reasons come first; `resign` is given
#: by the players.
REASONS = (
    "line",
    "overline",
    "passes",
    "pass-tiebreak",
    "full-board",
    "no-legal-action",
    "ply-limit",
)


class RuleError(ValueError):
    """A rule set, game or opening that cannot exist; the message says which field and why."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one line game on one board. Immutable, hashable, checked when it is made."""

    #: Preset that the rules come from; a label, never consulted by the engine.
    name: str
    #: Columns, 3-25.
    width: int
    #: Rows, 3-25.
    height: int
    #: Stones in a row that win, 3-9; one longer than the board is allowed (nobody wins by it).
    line_length: int
    #: Width of the border strip outside the region in which lines count, in points.
    gutter: int = 0
    #: "symmetric-win": longer runs win too (freestyle). "exact": longer runs are nothing.
    #: "asymmetric": they lose for Black and win for White (Irensei's official rule).
    #: "symmetric-loss": they lose for both.
    overline: str = "symmetric-win"
    #: "none", or "remove": chains without liberties leave the board, as in Go.
    capture: str = "none"
    #: Whether a placement may leave its own chain without liberties (needs captures).
    suicide: bool = False
    #: Whether recreating an earlier board with the same seat to act is illegal
    #: (situational superko).
    superko: bool = False
    #: Whether a seat may pass; two consecutive passes end the game.
    passing: bool = False
    #: Whether a game without a line goes to the seat that passed first (otherwise it is a draw).
    pass_tiebreak: bool = False
    #: Number of plies after which the game is a draw; 0 for no limit.
    ply_limit: int = 0

    def __post_init__(self) -> None:
        self._check_types()
        for side in ("width", "height"):
            self._check_range(side, MIN_SIDE, MAX_SIDE)
        self._check_range("line_length", MIN_LINE, MAX_LINE)
        self._check_range("gutter", 0, (min(self.width, self.height) - 1) // 2)
        self._check_range("ply_limit", 0, 1_000_000)
        self._check_choice("overline", OVERLINES)
        self._check_choice("capture", CAPTURES)
        if self.capture == "none" and (self.suicide or self.superko):
            field = "suicide" if self.suicide else "superko"
            raise RuleError(f"rules.{field}: needs captures (rules.capture is 'none')")
        if self.capture == "remove" and not self.superko and not self.ply_limit:
            raise RuleError(
                "rules.superko: a capture game without superko can go on for ever;"
                " set superko to true or give a ply_limit"
            )
        if self.pass_tiebreak and not self.passing:
            raise RuleError("rules.pass_tiebreak: needs passing (rules.passing is false)")

    def _check_types(self) -> None:
        for field in dataclasses.fields(self):
            value, wanted = getattr(self, field.name), str(field.type)
            if type(value).__name__ != wanted:
                raise RuleError(f"rules.{field.name}: {value!r} is not of type {wanted}")

    def _check_range(self, field: str, low: int, high: int) -> None:
        value = getattr(self, field)
        if not low <= value <= high:
            raise RuleError(f"rules.{field}: {value} is outside {low}..{high}")

    def _check_choice(self, field: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, field)
        if value not in choices:
            raise RuleError(f"rules.{field}: {value!r} is not one of {', '.join(choices)}")

    @property
    def points(self) -> int:
        """Number of points of the board."""
        return self.width * self.height

    @property
    def num_actions(self) -> int:
        """Number of action indices: the points, then `engine.notation.OPTIONS`."""
        from engine.notation import OPTIONS

        return self.points + len(OPTIONS)

    @classmethod
    def preset(cls, name: str, /, **overrides: Any) -> RuleSet:
        """The named preset with some fields replaced; `size` stands for width and height.

        Raises `RuleError` for an unknown preset, an unknown field or an impossible combination.
        """
        if name not in PRESETS:
            raise RuleError(f"game: {name!r} is not one of {', '.join(PRESETS)}")
        fields = dict(overrides)
        if fields.get("name", name) != name:
            raise RuleError(f"rules.name: {fields['name']!r} is not the game's name, {name!r}")
        if "size" in fields:
            size = fields["size"]
            if type(size) is not int or not MIN_SIDE <= size <= MAX_SIDE:
                raise RuleError(f"rules.size: {size!r} is no integer in {MIN_SIDE}..{MAX_SIDE}")
            if "width" in fields or "height" in fields:
                raise RuleError("rules.size: give either size or width and height, not both")
            fields["width"] = fields["height"] = fields.pop("size")
        known = {field.name for field in dataclasses.fields(cls)}
        for field in fields:
            if field not in known:
                raise RuleError(
                    f"rules.{field}: no such rule; the rules are {', '.join(sorted(known))}"
                )
        return dataclasses.replace(PRESETS[name], **fields)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RuleSet:
        """The inverse of `to_json`. Raises `RuleError` for missing, unknown or bad fields."""
        if "name" not in data:
            raise RuleError("rules.name: missing")
        return cls.preset(data["name"], **{k: v for k, v in data.items() if k != "name"})

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return dataclasses.asdict(self)


#: The games. Sources: Irensei's published rules (seven in a row in the central 15x15, Go capture,
#: situational superko, Black's overline loses); freestyle and standard gomoku (Gomocup rules 0, 1).
PRESETS: dict[str, RuleSet] = {
    rules.name: rules
    for rules in (
        RuleSet(
            name="irensei",
            width=19,
            height=19,
            line_length=7,
            gutter=2,
            overline="asymmetric",
            capture="remove",
            superko=True,
            passing=True,
        ),
        RuleSet(name="gomoku", width=15, height=15, line_length=5),
        RuleSet(name="gomoku-standard", width=15, height=15, line_length=5, overline="exact"),
        RuleSet(name="mnk", width=3, height=3, line_length=3),
    )
}
