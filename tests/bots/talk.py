"""Sessions of both protocols without a network: a player with a search by hashes."""

import functools
from pathlib import Path
from typing import Any

from bots.gomocup_extensions import ExtendedGomocupSession
from bots.player import Player
from bots.repertoire import Game
from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchConfig

TRANSCRIPTS = Path(__file__).parents[1] / "data" / "transcripts"

GAMES: list[Game] = [
    (RuleSet.preset("gomoku"), "none"),
    (RuleSet.preset("gomoku-standard", size=20), "swap-2"),
    (RuleSet.preset("renju"), "soosorv-8"),
    (RuleSet.preset("caro"), "none"),
]


def new_player(
    rules: RuleSet, opening: str, *, simulations: int = 16, evaluator: Any = None, **options: Any
) -> Player:
    return Player(
        evaluator or HashEvaluator(),
        SearchConfig(simulations=simulations),
        Position(rules, opening),
        height=rules.height,
        width=rules.width,
        **options,
    )


class Gomocup:
    """A conversation, line by line."""

    def __init__(self, games: list[Game] | None = None, first: int = 0, **options: Any) -> None:
        self.said: list[str] = []
        factory = functools.partial(new_player, **options)
        self.session = ExtendedGomocupSession(
            "stub", games or GAMES, factory, first=first, send=self.said.append
        )

    def send(self, *lines: str) -> list[str]:
        """The answers to these lines."""
        self.said.clear()
        for line in lines:
            self.session.handle(line)
        return self.said.copy()

    def move(self, *lines: str) -> str:
        """The one answer, which is a point."""
        (answer,) = self.send(*lines)
        x, y = answer.split(",")
        assert x.isdecimal(), answer
        assert y.isdecimal(), answer
        return answer

    def error(self, *lines: str) -> str:
        """The one answer, which is an error, of what leaves the state as it is."""
        before = self.state()
        (answer,) = self.send(*lines)
        assert answer.startswith("ERROR "), answer
        assert self.state() == before
        return answer

    def state(self) -> object:
        player = self.session._player
        position = player and player.position
        return position and (position.key, position.rules, position.opening, position.actions)
