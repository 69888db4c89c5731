"""Rules as data: a `RuleSet` says everything that distinguishes one line game from another.

Named presets are in `PRESETS`; `RuleSet.preset(name, **overrides)` derives variants from them. The
engine reads the C table made from a rule set once (`engine._position.RuleTable`) and never looks at
a game's name.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

MIN_SIDE = 3
MAX_SIDE = 25
MIN_LINE = 3
MAX_LINE = 9

#: What a run longer than `line_length` does: win for whom, lose for whom, or nothing ("exact").
OVERLINES = ("symmetric-win", "symmetric-loss", "asymmetric", "exact", "black-exact")
#: What happens to chains without liberties.
CAPTURES = ("none", "remove", "switch")
#: What becomes of Black's forbidden moves.
FORBIDDEN = ("none", "illegal", "loss")
#: What a full board without a line is.
FULL_BOARDS = ("draw", "majority")

#: The actions that are not points, in the order of their indices behind the points.
OPTIONS = ("pass", "black", "white", "more", *(str(number) for number in range(1, 13)))

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
    "forbidden",
)


class RuleError(ValueError):
    """A rule set, game or opening that cannot exist; the message says which field and why."""


def similar(name: object, names: Iterable[str]) -> str:
    """The end of a message about a name: those that look like it; empty where none does."""
    close = difflib.get_close_matches(str(name), names)
    return f"; did you mean {' or '.join(close)}?" if close else ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one line game on one board. Immutable, hashable, checked when it is made."""

    #: Preset that the rules come from; a label, never consulted by the engine.
    name: str
    #: Columns, 3-25.
    width: int
    #: Rows, 3-25.
    height: int
    #: Stones in a row that win, 3-9, or more than both sides have: then nobody wins by a line.
    line_length: int
    #: Width of the border strip outside the region in which lines count, in points.
    gutter: int = 0
    #: "symmetric-win": longer runs win too (freestyle). "exact": longer runs are nothing.
    #: "asymmetric": they lose for Black and win for White (Irensei's official rule).
    #: "symmetric-loss": they lose for both. "black-exact": they are nothing for Black and win for
    #: White (Renju).
    overline: str = "symmetric-win"
    #: Whether a line of exactly `line_length` is nothing where an opponent's stone stands directly
    #: at both of its ends (Caro); the edge of the board does not close an end.
    unblocked: bool = False
    #: Black's forbidden moves - double-three, double-four, overline (RIF International Rules of
    #: Renju, sections 3 and 9) - do not exist ("none"), cannot be played ("illegal") or lose. They
    #: are patterns of five, so the board's sides are at least 5.
    forbidden: str = "none"
    #: "none"; "remove": chains without liberties leave the board, as in Go; "switch": they become
    #: the other colour (Connect Go).
    capture: str = "none"
    #: Whether a placement may leave its own chain without liberties (needs captures).
    suicide: bool = False
    #: Whether recreating an earlier board with the same seat to act is illegal
    #: (situational superko).
    superko: bool = False
    #: Whether a seat may pass; two consecutive passes end the game.
    passing: bool = False
    #: Number of stones on the board before which no seat may pass.
    pass_after: int = 0
    #: Whether a game without a line goes to the seat that passed first (otherwise it is a draw).
    pass_tiebreak: bool = False
    #: A full board without a line is a "draw", or goes to the colour with more stones ("majority").
    full_board: str = "draw"
    #: Number of plies after which the game is a draw; 0 for no limit.
    ply_limit: int = 0

    def __post_init__(self) -> None:
        self._check_types()
        for side in ("width", "height"):
            self._check_range(side, MIN_SIDE, MAX_SIDE)
        self._check_line_length()
        self._check_range("gutter", 0, (min(self.width, self.height) - 1) // 2)
        self._check_range("ply_limit", 0, 1_000_000)
        self._check_range("pass_after", 0, 100)
        self._check_choice("overline", OVERLINES)
        self._check_choice("capture", CAPTURES)
        self._check_choice("forbidden", FORBIDDEN)
        self._check_choice("full_board", FULL_BOARDS)
        self._check_captures()
        self._check_lines()
        self._check_passing()

    def _check_line_length(self) -> None:
        if MIN_LINE <= self.line_length <= MAX_LINE:
            return
        if not max(self.width, self.height) < self.line_length <= MAX_SIDE + 1:
            raise RuleError(
                f"rules.line_length: {self.line_length} is outside {MIN_LINE}..{MAX_LINE}; a line"
                f" that nobody can make is longer than both sides, up to {MAX_SIDE + 1}"
            )

    def _check_captures(self) -> None:
        if self.capture == "none" and (self.suicide or self.superko):
            field = "suicide" if self.suicide else "superko"
            raise RuleError(f"rules.{field}: needs captures (rules.capture is 'none')")
        if self.capture == "switch" and self.superko:
            raise RuleError(
                "rules.superko: a switch never empties a point, so no board comes again;"
                " set superko to false"
            )
        if self.capture == "switch" and self.overline != "symmetric-win":
            raise RuleError(
                f"rules.overline: {self.overline!r} does not say whose turn made a line that"
                " switched stones make; with rules.capture 'switch' it must be 'symmetric-win'"
            )
        if self.capture == "remove" and not self.superko and not self.ply_limit:
            raise RuleError(
                "rules.superko: a capture game without superko can go on for ever;"
                " set superko to true or give a ply_limit"
            )

    def _check_lines(self) -> None:
        """Fouls and closed ends are patterns of stones that stay where they are."""
        if self.unblocked:
            self._check_needs("unblocked", "capture", "none")
            self._check_needs("unblocked", "gutter", 0)
            self._check_needs("unblocked", "overline", "exact", "symmetric-win")
        if self.forbidden != "none":
            self._check_needs("forbidden", "capture", "none")
            self._check_needs("forbidden", "gutter", 0)
            self._check_needs("forbidden", "overline", "black-exact")
            self._check_needs("forbidden", "line_length", 5)
            for side in ("width", "height"):
                if getattr(self, side) < self.line_length:
                    raise RuleError(
                        f"rules.{side}: {getattr(self, side)} is less than 5, which renju's"
                        f" forbidden moves need (rules.forbidden is {self.forbidden!r})"
                    )

    def _check_passing(self) -> None:
        if self.pass_tiebreak:
            self._check_needs("pass_tiebreak", "passing", True)
            self._check_needs("pass_tiebreak", "full_board", "draw")
        if self.pass_after:
            self._check_needs("pass_after", "passing", True)
        if self.pass_after > self.width * self.height:
            raise RuleError(
                f"rules.pass_after: a board of {self.width}x{self.height} never holds"
                f" {self.pass_after} stones, so nobody could pass; set passing to false"
            )

    def _check_needs(self, field: str, other: str, *allowed: object) -> None:
        if getattr(self, other) not in allowed:
            raise RuleError(
                f"rules.{field}: {getattr(self, field)!r} needs rules.{other} to be"
                f" {' or '.join(map(repr, allowed))}, not {getattr(self, other)!r}"
            )

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
            raise RuleError(
                f"rules.{field}: {value!r} is not one of {', '.join(choices)}"
                f"{similar(value, choices)}"
            )

    @property
    def points(self) -> int:
        """Number of points of the board."""
        return self.width * self.height

    @property
    def num_actions(self) -> int:
        """Number of action indices: the points, then `OPTIONS`."""
        return self.points + len(OPTIONS)

    def overrides(self) -> dict[str, Any]:
        """What `preset` needs beside the name to make these rules: the fields that differ."""
        preset = PRESETS[self.name].to_json() if self.name in PRESETS else {}
        fields = self.to_json().items()
        found = {name: value for name, value in fields if value != preset.get(name, value)}
        if found.keys() >= {"width", "height"} and self.width == self.height:
            found = {"size": found.pop("width")} | found
            del found["height"]
        return found

    def describe(self) -> str:
        """The rules in words: the preset's name and what differs from it."""
        return " ".join([self.name, *(f"{name}={v}" for name, v in self.overrides().items())])

    @property
    def gomocup_rule(self) -> int | None:
        """The number of these win rules in the Gomocup protocol; None where it has none for them.

        The board's size is free; passing is not a part of the protocol and does not matter, nor
        does whether a forbidden move is refused or loses.
        """
        free = {"name", "width", "height", "passing", "pass_after"}
        mine = {field: value for field, value in self.to_json().items() if field not in free}
        for name, number in GOMOCUP_RULES.items():
            wanted = PRESETS[name].to_json()
            if mine["forbidden"] == "loss" and wanted["forbidden"] == "illegal":
                wanted["forbidden"] = "loss"
            if mine == {field: wanted[field] for field in mine}:
                return number
        return None

    @classmethod
    def preset(cls, name: str, /, **overrides: Any) -> RuleSet:
        """The named preset with some fields replaced; `size` stands for width and height.

        Raises `RuleError` for an unknown preset, an unknown field or an impossible combination.
        """
        if name not in PRESETS:
            raise RuleError(
                f"game: {name!r} is not one of {', '.join(PRESETS)}{similar(name, PRESETS)}"
            )
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
        known = sorted({"size", *(field.name for field in dataclasses.fields(cls))})
        for field in fields:
            if field not in known:
                raise RuleError(
                    f"rules.{field}: no such rule; the rules are {', '.join(known)}"
                    f"{similar(field, known)}"
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
#: situational superko, Black's overline loses); Connect Go's published rules (five in a row,
#: surrounded groups switch); RIF International Rules of Renju; the win rules of gomoku as the
#: Gomocup tournament plays them.
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
        RuleSet(
            name="connect-go",
            width=19,
            height=19,
            line_length=5,
            capture="switch",
            suicide=True,
            full_board="majority",
        ),
        RuleSet(
            name="renju",
            width=15,
            height=15,
            line_length=5,
            overline="black-exact",
            forbidden="illegal",
            passing=True,
            pass_after=6,
        ),
        RuleSet(name="gomoku", width=15, height=15, line_length=5),
        RuleSet(name="gomoku-standard", width=15, height=15, line_length=5, overline="exact"),
        RuleSet(name="caro", width=15, height=15, line_length=5, overline="exact", unblocked=True),
        RuleSet(name="caro-overlines", width=15, height=15, line_length=5, unblocked=True),
        RuleSet(name="mnk", width=3, height=3, line_length=3),
    )
}

#: The number of a preset's win rule in the Gomocup protocol (`INFO rule`).
GOMOCUP_RULES = {
    "gomoku": 0,
    "gomoku-standard": 1,
    "renju": 4,
    "caro-overlines": 8,
    "caro": 9,
}
