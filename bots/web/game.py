"""One game: the position that is shown, what led there, and what was taken back."""

from __future__ import annotations

import dataclasses

from bots.web.messages import MOST_ACTIONS, Record, ResultSetup, SeatSetup, StonesSetup
from engine import PRESETS, Position, RuleError, RuleSet
from engine.openings import Phase
from engine.openings import opening as find_opening
from engine.position import COLOURS, SEATS


class GameError(ValueError):
    """Something that this game does not allow; one line says what and why."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """An action that was played, by whom, and what it did; points are indices."""

    action: int
    name: str
    seat: str
    #: Colour of the next stone when the action was played.
    colour: str
    #: "place", "offer", or "option" for what is no point.
    effect: str
    captured: list[int]
    switched: list[int]


class Game:
    """A game that persons and bots play. `moves[:ply]` led to `position`, the rest can be redone.

    `values[k]` is what seat A expects after k actions, in [-1, 1]; None where nobody has looked.
    """

    def __init__(self, record: Record) -> None:
        """Play a record out. Raises `RuleError`, `IllegalAction`, `GameError`."""
        self._start = first_position(record)
        self.title = record.title
        self.seats = {seat: record.seats.get(seat) or SeatSetup() for seat in SEATS}
        self.moves: list[Move] = []
        self.values: list[float | None] = [None]
        self.result: ResultSetup | None = None
        self.position = self._start.copy()
        for action in record.actions:
            self.play(action)
        self.result = record.result
        for ply, value in enumerate(record.values[: len(self.values)]):
            self.values[ply] = value
        if record.ply is not None and record.ply < len(self.moves):
            self.go(record.ply)

    @property
    def ply(self) -> int:
        """Actions that led to the position."""
        return len(self.position.actions)

    @property
    def at_end(self) -> bool:
        """Whether nothing has been taken back."""
        return self.ply == len(self.moves)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended in the position shown, by the rules or by the players."""
        return self.position.outcome is not None or (self.at_end and self.result is not None)

    @property
    def bot_to_act(self) -> SeatSetup | None:
        """The bot whose turn it is; None for a person's turn, after the end and in the past."""
        if self.is_over or not self.at_end:
            return None
        seat = self.seats[self.position.seat]
        return seat if seat.bot is not None else None

    def play(self, action: str | int) -> Move:
        """Play an action here; what was taken back is gone. Raises `IllegalAction`, `GameError`."""
        position = self.position
        if self.is_over and position.outcome is None:
            raise GameError("the game is over; take a move back to go on from there")
        if self.ply >= MOST_ACTIONS:
            raise GameError(f"games of more than {MOST_ACTIONS} actions are not kept here")
        index = position.parse_action(action) if isinstance(action, str) else action
        seat, colour, phase = position.seat, position.to_play, current_phase(position)
        done = position.play(index)
        effect = "option" if index >= position.rules.points else phase.effect
        move = Move(
            action=index,
            name=position.action_name(index),
            seat=seat,
            colour=colour,
            effect="offer" if effect == "offer" else "option" if effect == "option" else "place",
            captured=done.captured,
            switched=done.switched,
        )
        del self.moves[self.ply - 1 :], self.values[self.ply :]
        self.moves.append(move)
        self.values.append(None)
        self.result = None
        return move

    def go(self, ply: int) -> None:
        """Show the position after so many of the actions. Raises `GameError`."""
        if not 0 <= ply <= len(self.moves):
            raise GameError(f"there are {len(self.moves)} actions, and no position after {ply}")
        if ply < self.ply:
            self.position = self._start.copy()
        for move in self.moves[self.ply : ply]:
            self.position.play(move.action)

    def undo(self) -> None:
        """Back to the last turn of a person, or by one action where no person plays."""
        earlier = range(self.ply - 1, -1, -1)
        ply = next((ply for ply in earlier if self._is_persons(ply)), None)
        if ply is None:
            raise GameError("there is no turn of yours to take back")
        self.go(ply)

    def redo(self) -> None:
        """Forward to the next turn of a person, or to the end."""
        if self.at_end:
            raise GameError("there is nothing to play again")
        later = range(self.ply + 1, len(self.moves))
        self.go(next((ply for ply in later if self._is_persons(ply)), len(self.moves)))

    def _is_persons(self, ply: int) -> bool:
        """Whether a person acted there; where only bots play, every turn counts as one."""
        bots = [seat for seat in SEATS if self.seats[seat].bot is not None]
        return len(bots) == len(SEATS) or self.moves[ply].seat not in bots

    def resign(self) -> None:
        """Give up for the person to act, or else for the person who waits. Raises `GameError`."""
        if self.is_over or not self.at_end:
            raise GameError("there is nothing to resign: go to the game's last move")
        persons = [seat for seat in SEATS if self.seats[seat].bot is None]
        if not persons:
            raise GameError("only bots play")
        loser = self.position.seat if self.position.seat in persons else persons[0]
        winner = "B" if loser == "A" else "A"
        self.result = ResultSetup(winner_seat=winner, reason="resign")

    def at(self, ply: int) -> Position:
        """A copy of the position after so many actions."""
        position = (self.position if ply >= self.ply else self._start).copy()
        for move in self.moves[position.ply : ply]:
            position.play(move.action)
        return position

    def last(self) -> Position:
        """A copy of the position after the last action, taken back or not."""
        return self.at(len(self.moves))

    def record(self) -> Record:
        """The whole game, for the page to keep."""
        rules, preset = self.position.rules, PRESETS[self.position.rules.name].to_json()
        return Record(
            game=rules.name,
            rules={k: v for k, v in rules.to_json().items() if v != preset[k]},
            opening=self.position.opening,
            setup=_stones(self._start),
            actions=[move.name for move in self.moves],
            ply=self.ply,
            seats=self.seats,
            result=self.result,
            values=self.values,
            title=self.title,
        )


def first_position(record: Record) -> Position:
    """The position before a record's first action. Raises `RuleError`."""
    fields = {name: value for name, value in record.rules.items() if name != "name"}
    if record.rules.get("name", record.game) != record.game:
        raise RuleError(f"rules.name: {record.rules['name']!r} is not the game {record.game!r}")
    rules = RuleSet.preset(record.game, **fields)
    if record.setup is None:
        return Position(rules, record.opening)
    return Position.from_setup(
        rules,
        black=record.setup.black,
        white=record.setup.white,
        to_play=record.setup.to_play,
        opening=record.opening,
    )


def _stones(start: Position) -> StonesSetup | None:
    if start.setup is None:
        return None
    board, to_play = start.setup
    names: dict[str, list[str]] = {"black": [], "white": []}
    for point, stone in enumerate(board.flat):
        if stone:
            names[COLOURS[stone]].append(start.action_name(point))
    return StonesSetup(
        black=names["black"],
        white=names["white"],
        to_play=to_play,
    )


def current_phase(position: Position) -> Phase:
    """The row of the opening's table that the position is in; normal play after the end."""
    phases = find_opening(position.opening).phases
    return next((phase for phase in phases if phase.name == position.phase), phases[-1])
