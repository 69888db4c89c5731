"""A game in progress by the rule text: whose turn, what is legal, when it ends.

Actions are names: points ("c4"), "pass", and the options of openings ("black", "white", "more" and
"1" to "12").
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from tests.reference.board import Point, Stones, all_points, name_of, other, point_of
from tests.reference.figures import are_equivalent
from tests.reference.openings import NO_MORE, Turn, numbers, other_seat, turn_after
from tests.reference.placing import Placement, place
from tests.reference.rules import Rules

OPTIONS = ("pass", "black", "white", "more", *numbers(12))


class RefusedError(Exception):
    """An action that the rules refuse; the reason is the message."""


@dataclass(frozen=True)
class Outcome:
    winner_colour: str | None
    winner_seat: str | None
    reason: str
    line: tuple[str, ...] = ()


class Position:
    """The reference's position; `play` changes it, `copy` keeps it."""

    def __init__(self, rules: Rules, opening: str = "none") -> None:
        self.rules = rules
        self.opening = opening
        self.stones: Stones = {}
        self.to_play = "black"  # the colour of the next stone
        self.ply = 0
        self.outcome: Outcome | None = None
        self.last_switched: list[str] = []  # the points that changed colour, even if back again
        self.opening_actions: list[str] = []
        self.black: str = "A"  # the seat that has Black
        self.earlier: set[tuple[frozenset[tuple[Point, str]], str]] = set()
        self.passes_in_a_row = 0
        self.first_passer: str | None = None
        self._begin_turn()

    @classmethod
    def from_setup(
        cls, rules: Rules, black: Iterable[str], white: Iterable[str], to_play: str = "black"
    ) -> Self:
        """Normal play with these stones on the board: A has Black, and there is no history."""
        position = cls(rules)
        for colour, names in (("black", black), ("white", white)):
            for name in names:
                point = point_of(name, rules)
                assert point is not None and point not in position.stones, name
                position.stones[point] = colour
        position.to_play = to_play
        position.earlier.clear()
        position._begin_turn()
        return position

    def copy(self) -> Self:
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone.stones = dict(self.stones)
        clone.opening_actions = list(self.opening_actions)
        clone.earlier = set(self.earlier)
        return clone

    # -- whose turn ------------------------------------------------------------------------

    def _turn_after(self, actions: list[str], to_play: str) -> Turn:
        """The turn once the opening has seen `actions` and `to_play` is the next stone."""
        turn = turn_after(self.opening, actions, self.rules)
        if isinstance(turn, Turn):
            return turn
        # The opening is over: the seat that has the colour to play acts.
        seat = turn if to_play == "black" else other_seat(turn)
        may_pass = self.rules.passing and len(self.stones) >= self.rules.pass_after
        return Turn(seat, turn, "place", ("pass",) if may_pass else ())

    @property
    def in_opening(self) -> bool:
        return isinstance(turn_after(self.opening, self.opening_actions, self.rules), Turn)

    @property
    def seat(self) -> str:
        return self.turn.seat

    def colour_of(self, seat: str) -> str:
        return "black" if seat == self.turn.black else "white"

    def seat_of(self, colour: str) -> str:
        return self.turn.black if colour == "black" else other_seat(self.turn.black)

    # -- what is legal ---------------------------------------------------------------------

    def _repeats(self, stones: Stones, seat: str) -> bool:
        """Situational superko: these stones have been there with this seat to play."""
        return (frozenset(stones.items()), seat) in self.earlier

    def _seat_after_stone(self, action: str) -> str:
        if self.turn.stone == "offer":  # White picks, and then plays on
            return self.seat_of("white")
        actions = [*self.opening_actions, action] if self.in_opening else self.opening_actions
        return self._turn_after(actions, other(self.to_play)).seat

    def why_illegal(self, action: str) -> str | None:
        """None if the action is legal, otherwise why not."""
        if self.outcome is not None:
            return "game-over"
        if action in OPTIONS:
            return self._why_illegal_option(action)
        point = point_of(action, self.rules)
        return "off-board" if point is None else self._why_illegal_point(point)

    def _why_illegal_option(self, action: str) -> str | None:
        if action not in self.turn.options:
            return "not-in-this-phase"
        # An option of an opening is no pass; a second consecutive pass is exempt.
        is_first_pass = action == "pass" and not self.in_opening and self.passes_in_a_row == 0
        if self.rules.superko and is_first_pass:
            return "superko" if self._repeats(self.stones, other_seat(self.seat)) else None
        return None

    def _why_illegal_point(self, point: Point) -> str | None:
        """For a stone, for a fifth move to offer (as if it were placed) and for one to pick."""
        action = name_of(point)
        if self.turn.stone is None:
            return "not-in-this-phase"
        if point in self.stones:
            return "occupied"
        if self.turn.points is not None and action not in self.turn.points:
            return "not-in-this-phase"
        if self._is_offered(point):
            return "equivalent"
        placement = place(self.stones, point, self.to_play, self.rules)
        if isinstance(placement, str):
            return placement
        if self.rules.superko and placement.verdict is None:
            seat = self._seat_after_stone(action)
            return "superko" if self._repeats(placement.stones, seat) else None
        return None

    def _is_offered(self, point: Point) -> bool:
        """Whether this fifth move has been offered, or one that is the same by symmetry."""
        offered = [point_of(name, self.rules) for name in self.turn.offered]
        return any(o is not None and are_equivalent(self.stones, o, point) for o in offered)

    def legal_actions(self) -> set[str]:
        return {action for action in self._candidates() if self.why_illegal(action) is None}

    def _candidates(self) -> Iterable[str]:
        yield from self.turn.options
        yield from (name_of(p) for p in all_points(self.rules) if p not in self.stones)

    # -- playing ---------------------------------------------------------------------------

    def play(self, action: str) -> list[str]:
        """Plays the action and returns the names of the points that it emptied."""
        reason = self.why_illegal(action)
        if reason is not None:
            raise RefusedError(reason)
        self.ply += 1
        self.last_switched = []
        was_opening = self.in_opening
        if was_opening:
            self.opening_actions.append(action)
        point = point_of(action, self.rules)
        if point is not None and self.turn.stone != "offer":  # an offer is only a word
            return self._play_stone(point)
        if action == "pass" and not was_opening:
            self.to_play = other(self.to_play)
            self.passes_in_a_row += 1
            self.first_passer = self.first_passer or self.seat
        self._begin_turn()
        return []

    def _play_stone(self, point: Point) -> list[str]:
        placement = place(self.stones, point, self.to_play, self.rules)
        assert isinstance(placement, Placement)
        self.stones = placement.stones
        self.last_switched = sorted(name_of(p) for p in placement.switched)
        self.passes_in_a_row = 0
        if placement.verdict is None:
            self.to_play = other(self.to_play)
            self._begin_turn()
        else:
            assert placement.winner is not None
            line = tuple(name_of(p) for p in placement.line)
            winner = self.seat_of(placement.winner)
            self.outcome = Outcome(placement.winner, winner, placement.verdict, line)
        return sorted(name_of(p) for p in placement.captured)

    def _begin_turn(self) -> None:
        """Settles who acts, remembers the position, and ends the game where nobody made a line."""
        self.turn = self._turn_after(self.opening_actions, self.to_play)
        if self.turn.stone == "offer" and not self._can_act():  # what has been offered is all
            self.opening_actions.append(NO_MORE)
            self.turn = self._turn_after(self.opening_actions, self.to_play)
        if self.turn.stone in ("place", "pick"):  # otherwise nobody is to play
            self.earlier.add((frozenset(self.stones.items()), self.seat))
        if self.passes_in_a_row == 2:
            self.outcome = self._ended_without_line("passes")
        elif self._is_full() and (self.rules.capture != "remove" or not self.rules.passing):
            self.outcome = self._ended_by_full_board()
        elif not self._can_act():
            self.outcome = self._ended_without_line("no-legal-action")
        elif self.rules.ply_limit and self.ply >= self.rules.ply_limit:
            self.outcome = Outcome(None, None, "ply-limit")

    def _can_act(self) -> bool:
        return any(self.why_illegal(action) is None for action in self._candidates())

    def _is_full(self) -> bool:
        return len(self.stones) == self.rules.width * self.rules.height

    def _ended_without_line(self, reason: str) -> Outcome:
        """A draw, or under the tiebreak the win of the seat that passed first in the whole game."""
        if self.rules.pass_tiebreak and self.first_passer is not None:
            return Outcome(self.colour_of(self.first_passer), self.first_passer, "pass-tiebreak")
        return Outcome(None, None, reason)

    def _ended_by_full_board(self) -> Outcome:
        """By majority the colour with more stones has won."""
        colours = list(self.stones.values())
        lead = colours.count("black") - colours.count("white")
        if self.rules.full_board == "majority" and lead != 0:
            winner = "black" if lead > 0 else "white"
            return Outcome(winner, self.seat_of(winner), "full-board")
        return self._ended_without_line("full-board")

    # -- showing and counting --------------------------------------------------------------

    def rows(self) -> str:
        """The rows from the top, joined by "/": "." empty, "X" black, "O" white."""
        letters = {None: ".", "black": "X", "white": "O"}
        return "/".join(
            "".join(letters[self.stones.get((column, row))] for column in range(self.rules.width))
            for row in reversed(range(self.rules.height))
        )

    def perft(self, depth: int) -> int:
        """The number of action sequences of exactly this length."""
        if depth == 0:
            return 1
        actions = self.legal_actions()
        if depth == 1:
            return len(actions)
        total = 0
        for action in actions:
            after = self.copy()
            after.play(action)
            total += after.perft(depth - 1)
        return total
