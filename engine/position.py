"""`Position`: a board with its opening phase and history, and all that can be asked of it."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine import notation
from engine._position import PositionCore, RuleTable
from engine.notation import IllegalAction
from engine.openings import PLAY
from engine.openings import opening as find_opening
from engine.rules import RuleError, RuleSet

SEATS = ("A", "B")
COLOURS = ("empty", "black", "white")
_SYMBOLS = ".XO"

#: Kinds of foul by the bit that stands for them in `engine._forbidden`.
FOULS = {"overline": 2, "double-four": 4, "double-three": 8}


@lru_cache(maxsize=1024)
def rule_table(rules: RuleSet, opening: str) -> RuleTable:
    """The C table of a rule set with an opening; made once for each pair."""
    return RuleTable(rules, find_opening(opening))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a game ended. `winner_seat` and `winner_colour` are None for a draw.

    `reason` is one of `engine.rules.REASONS`; `line` holds the points of the winning (or losing)
    runs, ascending, and is empty for other reasons.
    """

    winner_seat: str | None
    winner_colour: str | None
    reason: str
    line: tuple[int, ...] = ()

    def value(self, seat: str) -> int:
        """+1, 0 or -1: what the outcome is worth to a seat."""
        return 0 if self.winner_seat is None else 1 if self.winner_seat == seat else -1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ply:
    """What one action did to the board; points are ascending."""

    action: int
    captured: list[int]
    """Points whose stones left the board. A suicide's own are among them, the one placed too."""
    switched: list[int]
    """Points whose stones changed colour in the turn, even where they changed back."""


class Position:
    """A game in progress. Mutable: `play` and `undo` change it, `copy` makes an independent twin.

    *Points* and *actions* are indices (see `engine.notation`); methods that take an action accept
    its name as well. A *seat* ("A" begins, or "B") decides; a *colour* is what is placed.
    """

    __slots__ = ("_core", "_last", "_setup", "actions", "rules")

    def __init__(self, rules: RuleSet, opening: str = "none") -> None:
        """The start of a game. Raises `RuleError` for an unknown opening."""
        self.rules = rules
        self.actions: list[int] = []
        self._core = PositionCore(rule_table(rules, opening))
        self._setup: PositionCore | None = None
        self._last: tuple[int, str, list[int]] | None = None

    @classmethod
    def from_setup(
        cls,
        rules: RuleSet,
        *,
        black: Iterable[int | str] = (),
        white: Iterable[int | str] = (),
        to_play: str = "black",
        opening: str = "none",
        allow_lines: bool = False,
    ) -> Position:
        """A position with these stones, its opening over and without history; seat A has Black.

        Raises `RuleError` for stones that cannot stand so: off the board, twice on a point, or
        a chain without liberties where the rules capture, unless the last switch has left it on a
        full board; and where a line stands, which has ended the game, unless `allow_lines`. (Only
        where overlines are nothing and stones are captured may a game go on with a line.)
        """
        position = cls(rules, opening)
        blacks, whites = ([_point(rules, point) for point in points] for points in (black, white))
        seen: set[int] = set()
        for point in (*blacks, *whites):
            if point in seen:
                raise RuleError(f"setup: two stones on {notation.point_name(rules, point)}")
            seen.add(point)
        if to_play not in ("black", "white"):
            raise RuleError(f"setup.to_play: {to_play!r} is neither 'black' nor 'white'")
        try:
            position._core.set_up(blacks, whites, to_play == "white")
        except ValueError as error:
            name = notation.point_name(rules, error.args[0])
            raise RuleError(f"setup: the chain at {name} has no liberty") from None
        lines = [] if allow_lines else position.stones_in_lines()
        if lines:
            colour, name = COLOURS[position.board.flat[lines[0]]], position.action_name(lines[0])
            raise RuleError(f"setup: {colour} has a line through {name}: the game is over")
        position._setup = position._core.copy()
        return position

    def copy(self) -> Position:
        """An independent copy, history included."""
        twin = object.__new__(Position)
        twin.rules = self.rules
        twin.actions = self.actions.copy()
        twin._core = self._core.copy()
        twin._setup = self._setup
        twin._last = self._last
        return twin

    # --- state ---

    @property
    def opening(self) -> str:
        """Name of the opening protocol."""
        name: str = self._core.table.opening.name
        return name

    @property
    def ply(self) -> int:
        """Number of actions since the start (or the set-up)."""
        return self._core.ply

    @property
    def to_play(self) -> str:
        """Colour of the next stone: "black" or "white"."""
        return COLOURS[self._core.to_play]

    @property
    def seat(self) -> str:
        """The seat that acts now: "A" or "B"."""
        return SEATS[self._core.seat]

    def colour_of(self, seat: str) -> str:
        """The colour that a seat owns now (before a choice: provisionally, A has Black)."""
        return "black" if SEATS[self._core.black_seat] == seat else "white"

    @property
    def phase(self) -> str:
        """Name of the opening's phase, "play" after it, "over" when the game has ended."""
        if self._core.reason is not None:
            return "over"
        name: str = self._core.table.opening.phases[self._core.phase].name
        return name

    @property
    def announced(self) -> int:
        """The number of fifth moves that was announced and is still to be offered; 0: none."""
        return self._core.announced

    @property
    def offers(self) -> list[int]:
        """The points offered so far, in order, until one of them is picked."""
        return self._core.offers

    @property
    def key(self) -> int:
        """64-bit Zobrist key of everything that affects play.

        Stones, colour to place, phase, seats, passes, ko, announced number, offers. Bans by
        repetition beyond the immediate ko belong to the history and are not part of it.
        """
        return self._core.key

    @property
    def stones_key(self) -> int:
        """64-bit Zobrist key of the stones alone (under these rules)."""
        return self._core.stones_key

    def recomputed_key(self) -> int:
        """`key`, computed from scratch: a check of the incremental one."""
        return self._core.recomputed_key()

    @property
    def board(self) -> NDArray[np.int8]:
        """[height, width]; row 0 is the bottom row. 0 empty, 1 black, 2 white."""
        return self._core.board()

    @property
    def setup(self) -> tuple[NDArray[np.int8], str] | None:
        """The `board` that was set up before the first action and the colour placed first.

        None for a game from the empty board.
        """
        if self._setup is None:
            return None
        return self._setup.board(), COLOURS[self._setup.to_play]

    @property
    def outcome(self) -> Outcome | None:
        """The result, or None while the game goes on."""
        reason = self._core.reason
        if reason is None:
            return None
        if self._core.winner is None:
            return Outcome(winner_seat=None, winner_colour=None, reason=reason)
        seat = SEATS[self._core.winner]
        return Outcome(
            winner_seat=seat,
            winner_colour=self.colour_of(seat),
            reason=reason,
            line=self._line() if reason in ("line", "overline") else (),
        )

    # --- actions ---

    def legal_actions(self) -> NDArray[np.int32]:
        """[n], ascending action indices; empty when the game is over."""
        return self._core.legal_actions()

    def is_legal(self, action: int | str) -> bool:
        """Whether `play` would accept the action."""
        return self.why_illegal(action) is None

    def why_illegal(self, action: int | str) -> str | None:
        """None for a legal action, else the reason (see `engine.notation.IllegalAction`)."""
        try:
            index = self._index(action)
        except IllegalAction as illegal:
            return illegal.reason
        return self._core.verdict(index)

    def play(self, action: int | str) -> Ply:
        """Plays an action. Raises `IllegalAction` with the reason, the position unchanged."""
        index = self._index(action)
        reason = self._core.verdict(index)
        if reason is not None:
            raise self._refusal(self.action_name(index), reason)
        colour, phase = self.to_play, self._core.table.opening.phases[self._core.phase]
        places = index < self.rules.points and phase.effect != "offer"
        switches = places and self.rules.capture == "switch"
        switched = self._core.switched_by(index) if switches else []
        captured = self._core.play(index)
        self.actions.append(index)
        self._last = (index, colour, switched) if places else None
        return Ply(action=index, captured=captured, switched=switched)

    def undo(self) -> None:
        """Takes the last action back (by playing the others again). Raises `IndexError` if none."""
        if not self.actions:
            raise IndexError("no action to undo")
        actions = self.actions[:-1]
        start = PositionCore(self._core.table) if self._setup is None else self._setup.copy()
        self._core, self.actions, self._last = start, [], None
        for action in actions:
            self.play(action)

    def perft(self, depth: int) -> int:
        """Number of action sequences of exactly this length; a finished game does not go on."""
        return self._core.perft(depth)

    def line_value(self, point: int, colour: str) -> int:
        """+1 if a stone there would win by a line, -1 if it would lose by one, else 0.

        Raises `ValueError` for another point or colour.
        """
        if not 0 <= point < self.rules.points:
            raise ValueError(f"{point} is no point of this board: 0 to {self.rules.points - 1} are")
        return self._core.judge(point, _stone(colour))

    def stones_in_lines(self) -> list[int]:
        """The points of stones that stand in a line which wins or loses, ascending."""
        board = self.board.ravel()
        stones = np.flatnonzero(board).tolist()
        return [point for point in stones if self._core.judge(point, int(board[point]))]

    def forbidden(self) -> dict[int, list[str]]:
        """Point -> kinds of foul that a stone of the colour to play would make there.

        The kinds are `overline`, `double-four` and `double-three`, in this order. Only Black has
        fouls, and only where the rules know them.
        """
        if self.to_play != "black" or self._core.reason is not None:
            return {}
        return {
            point: [kind for kind, bit in FOULS.items() if flags & bit]
            for point, flags in self._core.fouls().items()
        }

    def winning_points(self, colour: str | None = None) -> list[int]:
        """Empty points, ascending, where a stone of a colour makes a line that wins.

        The colour is that to play unless another one is given.
        """
        if self._core.reason is not None:
            return []
        empty = np.flatnonzero(self.board.ravel() == 0)
        return [int(p) for p in empty if self.line_value(int(p), colour or self.to_play) > 0]

    # --- text and bytes ---

    def action_name(self, action: int) -> str:
        """The action's name: `c4`, `pass`, ..."""
        return notation.action_name(self.rules, action)

    def parse_action(self, text: str) -> int:
        """The action of this name. Raises `IllegalAction` if there is none."""
        try:
            return notation.parse_action(self.rules, text)
        except IllegalAction as illegal:
            raise self._refusal(illegal.action, illegal.reason) from None

    def rows(self) -> str:
        """Rows from the top joined by `/`: `.` empty, `X` black, `O` white."""
        return "/".join("".join(_SYMBOLS[stone] for stone in row) for row in self.board[::-1])

    def __str__(self) -> str:
        """A diagram with coordinates; points of the region are drawn apart from the gutter's."""
        region = set(self._core.region())
        lines = []
        for row in range(self.rules.height - 1, -1, -1):
            cells = []
            for column in range(self.rules.width):
                symbol = _SYMBOLS[self.board[row, column]]
                in_gutter = row * self.rules.width + column not in region
                cells.append("," if symbol == "." and in_gutter else symbol)
            lines.append(f"{row + 1:2d} {' '.join(cells)}")
        letters = " ".join(chr(ord("a") + column) for column in range(self.rules.width))
        return "\n".join([*lines, f"   {letters}", self._status()])

    def pack(self) -> bytes:
        """The position and its legal actions, bit-packed; `engine.features.decode` reads it."""
        return self._core.pack()

    def _status(self) -> str:
        outcome = self.outcome
        if outcome is None:
            return f"{self.to_play} to place, seat {self.seat} acts, phase {self.phase}"
        if outcome.winner_seat is None:
            return f"draw ({outcome.reason})"
        return f"{outcome.winner_colour} (seat {outcome.winner_seat}) wins ({outcome.reason})"

    def _index(self, action: int | str) -> int:
        index = self.parse_action(action) if isinstance(action, str) else operator.index(action)
        if not 0 <= index < self.rules.num_actions:
            raise IllegalAction(str(action), "unknown-action")
        return index

    def _refusal(self, action: str, reason: str) -> IllegalAction:
        """The error for an action; it tells what may be played instead.

        That holds for numbers without a name among the actions, such as 0 and 13, too.
        """
        phase, detail = self._core.table.opening.phases[self._core.phase], ""
        if self._core.reason is None and phase.numbers and action.strip().isdecimal():
            reason, detail = "not-in-this-phase", f"{phase.numbers} may be announced"
        elif reason == "not-in-this-phase" and phase is not PLAY:
            detail = f"next: {phase.wanted}"
        elif reason == "not-in-this-phase":
            detail = self._why_not_in_play(action)
        elif reason == "equivalent":
            offer = self.action_name(self._core.equivalent_offer(self.parse_action(action)))
            detail = f"the same by symmetry as the offer {offer}"
        return IllegalAction(action, reason, detail)

    def _why_not_in_play(self, option: str) -> str:
        if option != "pass":
            return "the opening is over"
        if not self.rules.passing:
            return "there is no passing in these rules"
        return f"passing begins once {self.rules.pass_after} stones stand"

    def _line(self) -> tuple[int, ...]:
        """Points of the runs that won (inside the region) or lost."""
        if self._last is None:
            return ()
        board, (point, colour, switched) = self.board, self._last
        winner = COLOURS.index(self.colour_of(SEATS[self._core.winner or 0]))
        ends = [(each, winner) for each in switched if board.flat[each] == winner]
        runs = [self._judged_runs(board, *end) for end in ends or [(point, COLOURS.index(colour))]]
        return tuple(sorted(set().union(*runs)))

    def _judged_runs(self, board: NDArray[np.int8], point: int, stone: int) -> set[int]:
        """Points of the runs through a stone that won (inside the region) or lost."""
        length, won = self.rules.line_length, self._core.reason == "line"
        region = set(self._core.region()) if won else set(range(self.rules.points))
        exact = won and not self._core.overline_wins(stone)
        found = set[int]()
        for step in ((0, 1), (1, 0), (1, 1), (-1, 1)):
            run = _run(board, point, stone, step)
            counted = region.intersection(run)
            enough = len(run) == length if exact else len(run) > length or won
            spoilt = self.rules.unblocked and len(run) == length and _blocked(board, run, step)
            if enough and len(counted) >= length and not spoilt:
                found |= counted
        return found


def _run(board: NDArray[np.int8], point: int, stone: int, step: tuple[int, int]) -> list[int]:
    """The unbroken run of one colour through a point in one direction."""
    height, width = board.shape
    run = [point]
    for sign in (1, -1):
        row, column = divmod(point, width)
        while True:
            row, column = row + sign * step[0], column + sign * step[1]
            if not (0 <= row < height and 0 <= column < width) or board[row, column] != stone:
                break
            run.append(row * width + column)
    return run


def _blocked(board: NDArray[np.int8], run: list[int], step: tuple[int, int]) -> bool:
    """Whether an opponent's stone stands directly at both ends of a run."""
    height, width = board.shape
    opponents = 0
    cells = [divmod(point, width) for point in run]
    ordered = sorted(cells, key=lambda cell: cell[0] * step[0] + cell[1] * step[1])
    for (row, column), sign in ((ordered[0], -1), (ordered[-1], 1)):
        row, column = row + sign * step[0], column + sign * step[1]
        if 0 <= row < height and 0 <= column < width:
            opponents += board[row, column] not in (0, board.flat[run[0]])
    return opponents == 2


def _stone(colour: str) -> int:
    """What stands for a colour on `Position.board`. Raises `ValueError`."""
    if colour not in ("black", "white"):
        raise ValueError(f"{colour!r} is neither 'black' nor 'white'")
    return COLOURS.index(colour)


def _point(rules: RuleSet, point: int | str) -> int:
    if isinstance(point, str):
        try:
            return notation.parse_point(rules, point)
        except IllegalAction:
            raise RuleError(f"setup: {point!r} is no point of the board") from None
    if not 0 <= point < rules.points:
        raise RuleError(f"setup: {point} is no point of the board")
    return point
