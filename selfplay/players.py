"""Players of a gauntlet: checkpoints, exported bots, plain tree search, random choice."""

import dataclasses
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine import RuleSet
from engine.evaluators import Evaluator, UniformEvaluator
from engine.rules import similar
from engine.search import SearchConfig, SearchResult, choose
from model.bot import NETWORK_FILE, BotError, is_bot, read_bot
from model.checkpoint import Checkpoint, CheckpointError, checkpoint_stem
from model.evaluator import Served, evaluator_for, why_not
from model.games import GameEntry
from model.onnx_evaluator import OnnxError, OnnxEvaluator
from model.serving import DamagedError, load_served

_log = logging.getLogger(__name__)

Game = tuple[RuleSet, str]
"""A rule set and the name of its opening protocol."""

NAMED = 3
"""Games that a message names, at most."""

BUCKET = 16
"""Positions that a network sees at once: few games leave little of a batch empty."""


class PlayerError(ValueError):
    """A player that cannot take part; the message says who, why and what to do."""


@dataclass(slots=True, kw_only=True)
class Player:
    """Who takes part in a gauntlet, under which name, and how it comes to its actions."""

    name: str
    #: How it searches; None: it plays legal actions at random.
    search: SearchConfig | None
    #: Makes its evaluator; called once, before its first search.
    evaluator: Callable[[], Evaluator] = UniformEvaluator
    #: Temperature after the gauntlet's opening plies; 0: always what the search thinks best.
    temperature: float = 0.0
    #: Chooses from what the search has found, at a temperature.
    choose: Callable[[SearchResult, float, np.random.Generator], int] = choose
    #: What it can play; None: everything.
    games: list[Game] | None = None
    #: What distinguishes it from another player, JSON values: results are not mixed up when a
    #: gauntlet goes on with another player of the same name.
    identity: dict[str, Any] = field(default_factory=dict)

    def check(self, rules: RuleSet, opening: str) -> None:
        """Raises PlayerError if the player was not made for this game."""
        if self.games is not None and (rules, opening) not in self.games:
            known = "; ".join(describe(*game) for game in self.games[:NAMED]) or "no game"
            more = len(self.games) - NAMED
            known += f" and {more} more" if more > 0 else ""
            raise PlayerError(
                f"player {self.name} plays {known}, not {describe(rules, opening)};"
                " give players of one game, or the game's rules as options"
            )


def describe(rules: RuleSet, opening: str) -> str:
    """A game in words: its preset with the rules that differ from it, and the opening."""
    return f"{rules.describe()} with opening {opening}"


def random_player() -> Player:
    """Plays legal actions with equal chances."""
    return Player(name="random", search=None, identity={"kind": "random"})


def mcts_player(simulations: int, *, name: str = "") -> Player:
    """Plain tree search: PUCT with equal priors, and the value 0 for all but finished games.

    Most of its visits are equal until it sees an end of the game, so first-play urgency is off
    (every action is worth a look) and a little temperature draws among equals, instead of taking
    the last in order, which would be a pass. Raises PlayerError without any simulation.
    """
    if simulations < 1:
        raise PlayerError(f"player mcts:{simulations}: needs at least 1 simulation")
    search = SearchConfig(simulations=simulations, fpu_reduction=0.0)
    return Player(
        name=name or f"mcts:{simulations}",
        search=search,
        temperature=0.1,
        identity={"kind": "mcts", "search": dataclasses.asdict(search)},
    )


def one_of_each(games: Iterable[Game]) -> list[Game]:
    """The first game of each preset and opening."""
    first: dict[tuple[str, str], Game] = {}
    for rules, opening in games:
        first.setdefault((rules.name, opening), (rules, opening))
    return list(first.values())


def game_folder(rules: RuleSet, opening: str) -> str:
    """A folder's name for a game with its opening."""
    return f"{rules.name}-{rules.width}x{rules.height}-{opening}"


def checkpoint_player(
    path: Path | str, search: SearchConfig, *, name: str = "", device: str = "cpu"
) -> Player:
    """A stored network with a search, evaluated as its run did where that can be had here.

    Raises PlayerError if the checkpoint cannot be used.
    """
    try:
        checkpoint = Checkpoint.load(path, device)
        served = _served(path)
    except CheckpointError as error:
        raise PlayerError(str(error)) from error
    name = name or checkpoint_stem(path).name
    return network_player(checkpoint, search, name=name, device=device, served=served)


def _served(path: Path | str) -> Served | None:
    """How a run evaluated a checkpoint; None, told in a line, where that is damaged."""
    try:
        return load_served(path)
    except DamagedError as error:
        _log.warning("%s; its version plays in float32", error)
        return None


def network_player(
    checkpoint: Checkpoint,
    search: SearchConfig,
    *,
    name: str,
    device: str = "cpu",
    served: Served | None = None,
) -> Player:
    """A network in memory with a search. It is copied at the first search, so train on a copy.

    `served` says how it is evaluated; where that cannot be had here, it is in float32.
    """
    network, meta = checkpoint.network, checkpoint.meta
    if served is not None and why_not(served.kind, device):
        served = None
    return Player(
        name=name,
        search=search,
        evaluator=lambda: evaluator_for(network, device, BUCKET, served),
        games=_games(meta.games),
        identity={
            "kind": "checkpoint",
            "run_id": meta.run_id,
            "version": meta.version,
            "step": meta.step,
            "search": dataclasses.asdict(search),
        },
    )


def bot_player(
    folder: Path | str, *, simulations: int | None = None, name: str = "", threads: int = 1
) -> Player:
    """An exported bot with its own search, or another number of simulations.

    Raises PlayerError if the folder cannot be used.
    """
    folder = Path(folder)
    try:
        meta = read_bot(folder)
        evaluator = OnnxEvaluator(folder / NETWORK_FILE, threads=threads, batch_size=BUCKET)
    except (BotError, OnnxError) as error:
        raise PlayerError(str(error)) from error
    search = meta.search
    if simulations is not None:
        search = dataclasses.replace(search, simulations=simulations)
    return Player(
        name=name or meta.name,
        search=search,
        evaluator=lambda: evaluator,
        games=_games(meta.games),
        identity={
            "kind": "bot",
            "network": meta.network_sha256,
            "search": dataclasses.asdict(search),
        },
    )


def players_of(
    specs: Sequence[str],
    search: SearchConfig,
    *,
    simulations: int | None = None,
    device: str = "cpu",
) -> list[Player]:
    """The players that texts name: `random`, `mcts:N`, a bot's folder, or a checkpoint's path.

    Checkpoints search as `search` says; `simulations`, where given, goes for them and for bots.
    Where two would have the same name, each is called by its text. Raises PlayerError.
    """
    if simulations is not None:
        search = dataclasses.replace(search, simulations=simulations)
    players = []
    for spec in specs:
        if spec == "random":
            player = random_player()
        elif spec.startswith("mcts:"):
            player = mcts_player(_number(spec))
        elif is_bot(spec):
            player = bot_player(spec, simulations=simulations)
        else:
            try:
                player = checkpoint_player(spec, search, device=device)
            except PlayerError as error:
                raise PlayerError(f"{error}{similar(spec, ('random', 'mcts:N'))}") from error
        players.append(player)
    counts = Counter(player.name for player in players)
    for player, spec in zip(players, specs, strict=True):
        if counts[player.name] > 1:
            player.name = spec
    return players


def _number(spec: str) -> int:
    text = spec.removeprefix("mcts:")
    if not text.isdecimal():
        raise PlayerError(f"player {spec}: after 'mcts:' comes the number of simulations")
    return int(text)


def _games(entries: list[GameEntry]) -> list[Game]:
    return [(entry.rules, entry.opening) for entry in entries]
