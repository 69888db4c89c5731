"""Exported bots and checkpoints as players. Nothing of torch is imported for an exported bot."""

import dataclasses
import functools
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bots.analyst import SLOTS, Analyst
from bots.patience import PatientEvaluator
from bots.player import Player
from bots.repertoire import Game
from engine import Position, RuleSet
from engine.evaluators import Evaluator
from engine.search import SearchConfig
from model.bot import NETWORK_FILE, BotError, is_bot, read_bot
from model.games import GameEntry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bot:
    """A network with a search, and the games that it knows."""

    name: str
    games: tuple[Game, ...]
    search: SearchConfig
    load: Callable[[int], Evaluator]
    """Loads the network for batches of up to so many positions; called when it is needed."""

    @functools.cached_property
    def evaluator(self) -> PatientEvaluator:
        """The network of its players. Raises `BotError` where it cannot be loaded."""
        return PatientEvaluator(self.load(self.search.leaves_per_step))

    def player(self, rules: RuleSet, opening: str, **options: Any) -> Player:
        """A player at the start of this game, on a canvas of the board's own size.

        `options` are `Player`'s. Raises `BotError` where the network cannot be loaded.
        """
        return Player(
            self.evaluator,
            self.search,
            Position(rules, opening),
            height=rules.height,
            width=rules.width,
            **options,
        )

    def analyst(self, *, slots: int = SLOTS, **options: Any) -> Analyst:
        """Searches of many positions at once with this bot's network and search.

        `options` are `Analyst`'s. Raises `BotError` where the network cannot be loaded.
        """
        evaluator = self.load(slots * self.search.leaves_per_step)
        return Analyst(evaluator, self.search, slots=slots, **options)


def load_bot(path: Path | str, simulations: int | None = None) -> Bot:
    """The bot in an exported folder, or that of a checkpoint (its stem or one of its files).

    `simulations` replaces what the export says (checkpoints: `SearchConfig`'s default).
    Raises `BotError` for anything that cannot play, `ValueError` for impossible simulations.
    """
    bot = _exported(Path(path)) if is_bot(path) else _checkpoint(Path(path))
    if not bot.games:
        raise BotError(f"{path}: names no game that it was trained on; nothing can be played")
    if simulations is None:
        return bot
    search = dataclasses.replace(bot.search, simulations=simulations, arena_nodes=0)
    return dataclasses.replace(bot, search=search)


def _exported(folder: Path) -> Bot:
    meta = read_bot(folder)
    if find_spec("onnxruntime") is None:
        raise BotError(
            f"{folder}: a bot needs onnxruntime, which {sys.executable} lacks; install it there"
            " with 'pip install narabe'"
        )

    def load(batch_size: int) -> Evaluator:
        # ONNX Runtime is imported only now: who asks for a bot's name need not wait for it.
        from model.onnx_evaluator import OnnxError, OnnxEvaluator

        try:
            return OnnxEvaluator(folder / NETWORK_FILE, batch_size=batch_size)
        except OnnxError as error:
            raise BotError(str(error)) from error

    return Bot(name=meta.name, games=_games(meta.games), search=meta.search, load=load)


def _checkpoint(path: Path) -> Bot:
    if path.is_dir():
        raise BotError(f"{path}: a folder without bot.json; give a bot's folder or a checkpoint")
    if not (path.exists() or path.with_name(path.name + ".json").exists()):
        raise BotError(f"{path}: no such bot folder or checkpoint")
    try:
        from model.checkpoint import Checkpoint, CheckpointError, checkpoint_stem
        from model.evaluator import evaluator_for
    except ImportError as error:
        raise BotError(
            f"{path}: a checkpoint needs torch to play ({error}); install narabe[train], or give"
            " a bot exported with scripts.export"
        ) from error
    try:
        loaded = Checkpoint.load(path)
    except CheckpointError as error:
        raise BotError(str(error)) from error
    return Bot(
        name="-".join(filter(None, (loaded.meta.run_id, checkpoint_stem(path).name))),
        games=_games(loaded.meta.games),
        search=SearchConfig(),
        load=lambda batch_size: evaluator_for(loaded.network, batch_size=batch_size),
    )


def _games(entries: list[GameEntry]) -> tuple[Game, ...]:
    return tuple((entry.rules, entry.opening) for entry in entries)
