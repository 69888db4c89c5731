"""Sessions of all protocols without a network: a player with a search by hashes."""

import functools
import json
import os
import threading
from pathlib import Path
from typing import Any

from bots.analysis import AnalysisSession
from bots.analyst import Analyst
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


class Analysing:
    """An analysis engine in threads of this process, at the other end of two pipes."""

    def __init__(
        self,
        games: list[Game] | None = None,
        evaluator: Any = None,
        simulations: int = 16,
        version: str = "stub",
    ) -> None:
        session = AnalysisSession(
            version,
            games or GAMES,
            lambda: Analyst(evaluator or HashEvaluator(), SearchConfig(), trees_mib=64),
            simulations=simulations,
        )
        there, here = os.pipe(), os.pipe()
        self.requests, self.answers = os.fdopen(there[1], "wb"), os.fdopen(here[0], "rb")
        arguments = (os.fdopen(there[0], "rb"), os.fdopen(here[1], "wb"))
        self._thread = threading.Thread(target=session.serve, args=arguments)
        self._thread.start()

    def send(self, line: str | dict[str, Any]) -> None:
        text = line if isinstance(line, str) else json.dumps(line)
        self.requests.write(text.encode() + b"\n")
        self.requests.flush()

    def line(self) -> str:
        return self.answers.readline().decode().rstrip("\n")

    def ask(self, line: str | dict[str, Any]) -> dict[str, Any]:
        """The one answer."""
        self.send(line)
        answer: dict[str, Any] = json.loads(self.line())
        return answer

    def end(self) -> list[dict[str, Any]]:
        """What it still says after the end of its input."""
        self.requests.close()
        said = [json.loads(line) for line in self.answers]
        self._thread.join(timeout=20)
        assert not self._thread.is_alive()
        return said
