"""The engine and the reference behind one small interface, so that a test can run over both.

Everything is told in names: actions and points as "c4", colours and seats as words.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

from engine import IllegalAction, Position, RuleSet
from tests.reference.position import Position as ReferencePosition
from tests.reference.rules import Rules

Ending = tuple[str | None, str | None, str]  # winner's seat, winner's colour, reason


def engine_rules(rules: Rules) -> RuleSet:
    """The engine's rule set with the same fields."""
    return RuleSet.from_json(asdict(rules))


class Game(ABC):
    """A game in progress under either implementation."""

    position: Any
    switched: frozenset[str] = frozenset()  # what changed colour in the last turn, even if back

    @abstractmethod
    def __init__(self, rules: Rules, opening: str = "none") -> None: ...

    @classmethod
    @abstractmethod
    def set_up(
        cls, rules: Rules, black: Sequence[str], white: Sequence[str], to_play: str
    ) -> Self: ...

    @abstractmethod
    def play(self, action: str) -> set[str]:
        """Plays and returns the points emptied."""

    @abstractmethod
    def legal(self) -> set[str]: ...

    @abstractmethod
    def why_illegal(self, action: str) -> str | None: ...

    @abstractmethod
    def line(self) -> set[str]:
        """The stones that ended the game; empty while it goes on."""

    @classmethod
    def _of(cls, position: Any) -> Self:
        game = object.__new__(cls)
        game.position = position
        return game

    def copy(self) -> Self:
        return self._of(self.position.copy())

    def rows(self) -> str:
        return str(self.position.rows())

    def colour_of(self, seat: str) -> str:
        return str(self.position.colour_of(seat))

    def ending(self) -> Ending | None:
        end = self.position.outcome
        return end and (end.winner_seat, end.winner_colour, end.reason)

    @property
    def seat(self) -> str:
        return str(self.position.seat)

    @property
    def to_play(self) -> str:
        return str(self.position.to_play)


class ReferenceGame(Game):
    """`tests.reference` as it is."""

    position: ReferencePosition

    def __init__(self, rules: Rules, opening: str = "none") -> None:
        self.position = ReferencePosition(rules, opening)

    @classmethod
    def set_up(cls, rules: Rules, black: Sequence[str], white: Sequence[str], to_play: str) -> Self:
        return cls._of(ReferencePosition.from_setup(rules, black, white, to_play))

    def play(self, action: str) -> set[str]:
        captured = set(self.position.play(action))
        self.switched = frozenset(self.position.last_switched)
        return captured

    def legal(self) -> set[str]:
        return self.position.legal_actions()

    def why_illegal(self, action: str) -> str | None:
        return self.position.why_illegal(action)

    def line(self) -> set[str]:
        return set(self.position.outcome.line) if self.position.outcome else set()


class EngineGame(Game):
    """`engine.Position`, spoken to in names."""

    position: Position

    def __init__(self, rules: Rules, opening: str = "none") -> None:
        self.position = Position(engine_rules(rules), opening)

    @classmethod
    def set_up(cls, rules: Rules, black: Sequence[str], white: Sequence[str], to_play: str) -> Self:
        return cls._of(
            Position.from_setup(
                engine_rules(rules), black=black, white=white, to_play=to_play, allow_lines=True
            )
        )

    def play(self, action: str) -> set[str]:
        ply = self.position.play(self.position.parse_action(action))
        self.switched = frozenset(self._names(ply.switched))
        return self._names(ply.captured)

    def legal(self) -> set[str]:
        return self._names(self.position.legal_actions())

    def why_illegal(self, action: str) -> str | None:
        try:
            return self.position.why_illegal(self.position.parse_action(action))
        except IllegalAction as refusal:  # there is no such point
            return refusal.reason

    def line(self) -> set[str]:
        return self._names(self.position.outcome.line) if self.position.outcome else set()

    def _names(self, actions: Any) -> set[str]:
        return {self.position.action_name(action) for action in actions}


IMPLEMENTATIONS: dict[str, type[Game]] = {"reference": ReferenceGame, "engine": EngineGame}
