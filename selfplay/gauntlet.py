"""The gauntlet: players meet in paired games, many at a time, and are rated.

The two games of a pair begin with the same random plies and draw the same chances, with the
players' seats exchanged. A gauntlet's folder holds

    gauntlet.json           the game, the settings and who the players are
    games-NNNNNN.jsonl      a record of each game, as soon as it has ended
    results.json            the standings (`selfplay.standings`)

so a gauntlet that was stopped goes on where it was, with more games or more players if asked.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine import OPTIONS, Position, RuleSet
from engine.evaluators import Evaluator
from engine.search import SearchBatch
from selfplay.players import Player
from selfplay.records import GameRecord, RecordLog, read_records
from selfplay.standings import GauntletResult, standings
from selfplay.storage import make_folder, read_json, write_json

FORMAT = 1
"""Version of gauntlet.json; grows when older programs could not go on with a folder."""

_MOST_SIMULATIONS = 1 << 17
"""Simulations of all trees of one player at a time; bounds memory (10 bytes an edge: about 100 MiB
on 9x9, 500 MiB on 19x19)."""


class GauntletError(ValueError):
    """A gauntlet that cannot be played; the message says why and what to do."""


@dataclass(slots=True, kw_only=True)
class GauntletConfig:
    """How players are compared."""

    #: Games of each pair of players; an odd number is rounded up.
    games: int = 100
    #: Simulations a move of players with a network.
    simulations: int = 64
    #: Random plies with which both games of a pair begin (passes excepted).
    opening_plies: int = 1
    #: Plies at the start of a game, those included, in which players draw from their search's
    #: policy at `temperature`. Later each plays what it thinks best.
    temperature_plies: int = 8
    temperature: float = 0.5
    #: Games played at the same time.
    parallel: int = 64
    #: All chances follow from this and a pair's number.
    seed: int = 0

    def __post_init__(self) -> None:
        for name, low in (
            ("games", 1),
            ("simulations", 1),
            ("opening_plies", 0),
            ("temperature_plies", 0),
            ("temperature", 0.0),
            ("parallel", 1),
            ("seed", 0),
        ):
            if getattr(self, name) < low:
                raise ValueError(f"gauntlet.{name}: {getattr(self, name)} is less than {low}")


@dataclass(slots=True, kw_only=True)
class _Game:
    """A game planned or under way: the players' names by seat, and the pair's number."""

    seats: dict[str, str]
    pair: int
    position: Position

    @property
    def actor(self) -> str | None:
        """The player to act; None when the game is over."""
        return None if self.position.outcome is not None else self.seats[self.position.seat]


class Gauntlet:
    """Games between players, stored in a folder. See the module.

    `pairs` names who meets whom (default: everybody meets everybody). `anchor` is the player rated
    0 (default: the first). Raises GauntletError for players or a folder that do not go together,
    PlayerError for a player of another game, StorageError and RecordError for damaged files.
    """

    def __init__(
        self,
        players: Sequence[Player],
        config: GauntletConfig,
        folder: Path | str,
        *,
        rules: RuleSet,
        opening: str,
        pairs: Iterable[tuple[str, str]] | None = None,
        anchor: str | None = None,
    ) -> None:
        self.players = {player.name: player for player in players}
        self.config = config
        self.folder = Path(folder)
        self.rules, self.opening = rules, opening
        if len(players) < 2:
            raise GauntletError("a gauntlet needs at least two players")
        if len(self.players) < len(players):
            names = [player.name for player in players]
            twice = next(name for name in names if names.count(name) > 1)
            raise GauntletError(f"two players are called {twice}; give them different names")
        for player in players:
            player.check(rules, opening)
        self.pairs = list(itertools.combinations(self.players, 2) if pairs is None else pairs)
        self.anchor = next(iter(self.players)) if anchor is None else anchor
        description = self._describe()
        for name in itertools.chain(*self.pairs):
            if name not in self.players:
                raise GauntletError(f"{name} is not a player of this gauntlet")
        if self.anchor not in description["players"]:
            raise GauntletError(f"the anchor {self.anchor} has not played in {self.folder}")
        # Only now, so that what is refused leaves nothing behind.
        make_folder(self.folder)
        write_json(self.folder / "gauntlet.json", description)
        self._log = RecordLog(self.folder)
        self._records = list(read_records(self.folder))
        self._minds = {name: _Mind(player, config, rules) for name, player in self.players.items()}

    def run(
        self,
        progress: Callable[[int, int], None] = lambda finished, planned: None,
        *,
        stop: Callable[[], bool] = lambda: False,
    ) -> GauntletResult:
        """Play the games that are missing; returns the standings of all games in the folder.

        Where games turn out as duplicates others are played in their place, up to as many again.
        `progress` is told the number of games finished and planned in this call. When `stop` says
        so, or at an exception such as KeyboardInterrupt, games under way are dropped; those that
        have ended are stored.
        """
        finished = 0
        try:
            while (missing := self._missing()) and not stop():
                planned = finished + len(missing)
                for ended in self._play(missing, stop):
                    finished += ended
                    progress(finished, planned)
        finally:
            result = self.result()
            write_json(self.folder / "results.json", result.to_json())
        return result

    def result(self) -> GauntletResult:
        """The standings of all games in the folder."""
        return standings(self._records, list(self.players), anchor=self.anchor)

    def _missing(self) -> list[_Game]:
        """The games still to play, interleaved so that all pairs of players get on evenly."""
        wanted = -(-self.config.games // 2)
        result = self.result()
        played = {(r.seats["A"], r.seats["B"], r.seed["game"]) for r in self._records}
        chosen = []
        for first, second in self.pairs:
            counted = next(
                (pair.score.games for pair in result.pairs_of(first) if pair.second == second), 0
            )
            lacking = 2 * wanted - counted
            for pair in range(2 * wanted):
                if lacking <= 0:
                    break
                for a, b in ((first, second), (second, first)):
                    if (a, b, pair) not in played:
                        chosen.append((pair, a, b))
                        lacking -= 1
        return [self._begin(a, b, pair) for pair, a, b in sorted(chosen, key=lambda game: game[0])]

    def _begin(self, a: str, b: str, pair: int) -> _Game:
        """A game with its random plies played."""
        position = Position(self.rules, self.opening)
        rng = np.random.default_rng([self.config.seed, pair])
        for _ in range(self.config.opening_plies):
            position.play(_random_action(position, rng))
            if position.outcome is not None:
                position.undo()
                break
        return _Game(seats={"A": a, "B": b}, pair=pair, position=position)

    def _play(self, games: Sequence[_Game], stop: Callable[[], bool]) -> Iterable[int]:
        """Play games to their ends, `parallel` at a time; yields how many ended after each turn."""
        waiting, active = deque(games), list[_Game]()
        while (waiting or active) and not stop():
            while waiting and len(active) < self.config.parallel:
                active.append(waiting.popleft())
            # A player's turn takes in the games in which others have just moved, so batches fill.
            for name, mind in self._minds.items():
                own = [game for game in active if game.actor == name]
                for game, action in zip(own, mind.choose(own), strict=True):
                    game.position.play(action)
            ended = [game for game in active if game.position.outcome is not None]
            self._store([self._record(game) for game in ended])
            active = [game for game in active if game.position.outcome is None]
            yield len(ended)

    def _store(self, records: list[GameRecord]) -> None:
        self._log.append(records)
        self._records.extend(records)

    def _record(self, game: _Game) -> GameRecord:
        position, outcome = game.position, game.position.outcome
        assert outcome is not None
        return GameRecord(
            id=f"{game.seats['A']}/{game.seats['B']}/{game.pair}",
            game=self.rules.name,
            rules=self.rules,
            opening=self.opening,
            actions=[position.action_name(action) for action in position.actions],
            seats=game.seats,
            versions=[],
            result={
                "winner_seat": outcome.winner_seat,
                "winner_colour": outcome.winner_colour,
                "reason": outcome.reason,
            },
            seed={"run": self.config.seed, "game": game.pair},
        )

    def _describe(self) -> dict[str, Any]:
        """What gauntlet.json is to say: as what the folder was made for, with new players added.

        Raises GauntletError where that was something else.
        """
        config, path = self.config, self.folder / "gauntlet.json"
        mine: dict[str, Any] = {
            "format": FORMAT,
            "game": self.rules.name,
            "rules": self.rules.to_json(),
            "opening": self.opening,
            "opening_plies": config.opening_plies,
            "temperature_plies": config.temperature_plies,
            "temperature": config.temperature,
            "seed": config.seed,
        }
        stored = read_json(path) if path.exists() else mine | {"players": {}}
        for name, value in mine.items():
            if stored.get(name) != value:
                raise GauntletError(
                    f"{self.folder} holds games with {name} {stored.get(name)}, not {value};"
                    " choose another folder"
                )
        players = stored["players"]
        for name, player in self.players.items():
            before = players.setdefault(name, player.identity)
            if change := _difference(before, player.identity):
                raise GauntletError(
                    f"{self.folder} holds games of another player called {name} ({change});"
                    " choose another folder"
                )
        return mine | {"players": players}


class _Mind:
    """A player's thinking: the searches of all games in which it is to act, in one batch."""

    def __init__(self, player: Player, config: GauntletConfig, rules: RuleSet) -> None:
        self.player = player
        self.config = config
        self.rules = rules
        self._batch: SearchBatch | None = None
        self._evaluator: Evaluator | None = None

    def choose(self, games: Sequence[_Game]) -> list[int]:
        """An action for each game. What is chosen does not depend on the other games."""
        rngs = [
            np.random.default_rng([self.config.seed, game.pair, game.position.ply])
            for game in games
        ]
        if self.player.search is None:
            return [_random_action(g.position, rng) for g, rng in zip(games, rngs, strict=True)]
        actions: list[int] = []
        while len(actions) < len(games):
            part = slice(len(actions), len(actions) + self._trees)
            actions += self._search(games[part], rngs[part])
        return actions

    @property
    def _trees(self) -> int:
        assert self.player.search is not None
        return min(
            self.config.parallel, max(1, _MOST_SIMULATIONS // self.player.search.simulations)
        )

    def _search(self, games: Sequence[_Game], rngs: Sequence[np.random.Generator]) -> list[int]:
        """Search up to `_trees` positions, each from nothing."""
        search = self.player.search
        assert search is not None
        if self._batch is None or self._evaluator is None:
            self._evaluator = self.player.evaluator()
            self._batch = SearchBatch(
                self._trees, search, height=self.rules.height, width=self.rules.width
            )
        batch, chosen = self._batch, []
        for i, (game, rng) in enumerate(zip(games, rngs, strict=True)):
            batch.start(i, game.position, seed=int(rng.integers(1 << 63)))
        batch.run(self._evaluator)
        for i, (game, rng) in enumerate(zip(games, rngs, strict=True)):
            early = game.position.ply < self.config.temperature_plies
            temperature = self.config.temperature if early else self.player.temperature
            chosen.append(self.player.choose(batch.result(i), temperature, rng))
        return chosen


def _random_action(position: Position, rng: np.random.Generator) -> int:
    """A legal action with equal chances; passing only where nothing else is left."""
    legal = position.legal_actions()
    others = legal[legal != position.rules.points + OPTIONS.index("pass")]
    return int(rng.choice(others if len(others) else legal))


def _difference(stored: Any, now: Any, where: str = "") -> str:
    """Where two JSON values differ in words; keys that only one has are no difference."""
    if isinstance(stored, dict) and isinstance(now, dict):
        changes = (_difference(stored[key], now[key], f"{key} ") for key in stored.keys() & now)
        return next(filter(None, changes), "")
    return "" if stored == now else f"{where}{stored}, not {now}"
