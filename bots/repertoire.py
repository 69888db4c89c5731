"""What a bot can be asked to play: the games that it was trained on, on any board of its canvas."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from engine import RuleError, RuleSet
from engine.openings import opening as find_opening

#: What can be played: the rules and the name of the opening protocol.
Game = tuple[RuleSet, str]

#: What the numbers of `INFO rule` in the Gomocup protocol mean, each also with `_CONTINUOUS`.
_GOMOCUP_NAMES = {
    0: "freestyle",
    1: "exactly five",
    4: "renju",
    8: "caro with overlines",
    9: "caro",
}

#: The bit of games that go on after a line, until the board is full.
_CONTINUOUS = 2


def with_opening(game: Game, opening: str | None) -> Game:
    """The game with this opening in place of its own, None: with that."""
    return game if opening is None else (game[0], opening)


class UnknownGameError(ValueError):
    """A game that the bot does not know; the message says which and what it knows instead."""


class Repertoire:
    """The games of a bot, in its order."""

    def __init__(self, games: Sequence[Game]) -> None:
        self.games = tuple(games)
        #: Columns and rows of the largest boards that the network was trained on.
        self.width = max(rules.width for rules, _ in games)
        self.height = max(rules.height for rules, _ in games)

    def resize(self, game: Game, width: int, height: int) -> Game:
        """A game on another board. Raises `UnknownGameError` where that is none of the bot's."""
        rules, opening = game
        if (rules.width, rules.height) == (width, height):
            return game
        if width > self.width or height > self.height:
            raise UnknownGameError(
                f"a board of {width}x{height} is larger than {self.width}x{self.height},"
                " the largest that this bot knows"
            )
        if rules.line_length <= max(rules.width, rules.height) and rules.line_length > max(
            width, height
        ):
            raise UnknownGameError(
                f"a board of {width}x{height} has no room for {rules.line_length} in a row"
            )
        try:
            resized = dataclasses.replace(rules, width=width, height=height)
            find_opening(opening).check(resized)
        except RuleError as error:
            raise UnknownGameError(f"not on a board of {width}x{height}: {error}") from error
        return resized, opening

    def check(self, rules: RuleSet) -> None:
        """Raises `UnknownGameError` where the bot knows no such game, or no board so large."""
        known = dict.fromkeys(game[0].name for game in self.games)
        if rules.name not in known:
            raise UnknownGameError(f"game: this bot plays {', '.join(known)}, not {rules.name}")
        if rules.width > self.width or rules.height > self.height:
            raise UnknownGameError(
                f"rules: a board of {rules.width}x{rules.height} is larger than"
                f" {self.width}x{self.height}, the largest that this bot knows"
            )

    def on_board(self, width: int, height: int, preferred: Game) -> Game:
        """The preferred game on this board, else the first of the bot's that has this board.

        Raises `UnknownGameError` where no game fits.
        """
        return self._first((preferred, *self.games), width, height)

    def gomocup(self, rule: int, width: int, height: int) -> Game:
        """The game with this number of the Gomocup protocol on this board.

        Raises `UnknownGameError` where the bot knows none.
        """
        known = [game for game in self.games if game[0].gomocup_rule == rule]
        if not known:
            numbers = _names({game[0].gomocup_rule for game in self.games})
            raise UnknownGameError(
                f"rule {_names([rule])} is not known to this bot, which knows {numbers}"
            )
        # Normal play first: this protocol has its own way to ask for openings.
        known.sort(key=lambda game: game[1] != "none")
        return self._first(known, width, height)

    def _first(self, games: Sequence[Game], width: int, height: int) -> Game:
        """The first of these games that has this board, else the first one resized."""
        for game in games:
            if (game[0].width, game[0].height) == (width, height):
                return game
        return self.resize(games[0], width, height)


def _names(numbers: Iterable[int | None]) -> str:
    known = sorted(number for number in numbers if number is not None)
    return ", ".join(f"{number} ({_name(number)})" for number in known) or "none of the protocol's"


def _name(number: int) -> str:
    name = _GOMOCUP_NAMES.get(number & ~_CONTINUOUS, "unknown")
    return f"continuous {name}" if number & _CONTINUOUS and name != "unknown" else name
