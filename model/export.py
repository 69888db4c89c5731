"""Export of a checkpoint as a bot: a folder that plays with numpy and ONNX Runtime alone."""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine import Position, RuleSet
from engine.features import features
from engine.search import SearchConfig
from engine.storage import atomic_write, atomic_write_json
from model.bot import LAUNCHER, META_FILE, NETWORK_FILE, BotMeta
from model.checkpoint import Checkpoint, checkpoint_stem
from model.games import GameEntry
from model.network import OFF_BOARD, Network
from model.onnx_evaluator import OnnxError, OnnxEvaluator
from model.onnx_graph import onnx_network

TOLERANCE = 1e-4
"""Largest `largest_difference` allowed between a bot's outputs and its checkpoint's."""

CHECK_GAMES = (
    GameEntry(rules=RuleSet.preset("mnk", width=7, height=5, line_length=4)),
    GameEntry(rules=RuleSet.preset("irensei", size=9, line_length=5, gutter=1), opening="swap-1st"),
    GameEntry(rules=RuleSet.preset("gomoku"), opening="swap-2"),
    GameEntry(rules=RuleSet.preset("irensei")),
)
"""Games of several sizes whose positions are compared, besides the checkpoint's own games."""

CHECK_POSITIONS = 4
"""Positions compared in each game."""

_LAUNCHER = '''\
#!/usr/bin/env python3
"""Starts this bot with a Python that has narabe: this one, else the one that exported the bot."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

EXPORTED_WITH = @PYTHON@

try:
    if find_spec("onnxruntime") is None:
        raise ImportError("No module named 'onnxruntime'")
    from scripts.play import main
except ImportError as error:
    if sys.executable != EXPORTED_WITH and os.access(EXPORTED_WITH, os.X_OK):
        os.execv(EXPORTED_WITH, [EXPORTED_WITH, *sys.argv])
    sys.exit(f"play: {sys.executable} lacks narabe or what it needs ({error}); start this file with"
             " a Python that has both, or install them there with 'pip install narabe'")

sys.exit(main([str(Path(__file__).resolve().parent), *sys.argv[1:]]))
'''


class ExportError(Exception):
    """A bot that is not written; one line saying why and what to do."""


def export(
    checkpoint: Path | str,
    folder: Path | str,
    search: SearchConfig | None = None,
    *,
    name: str | None = None,
) -> BotMeta:
    """Write the bot of a checkpoint into `folder`, made if need be; an older bot there is replaced.

    The name is the run's and the version's unless given. Nothing is written unless the ONNX network
    says the same as the checkpoint to `TOLERANCE` on random positions of several sizes.
    Raises ExportError, CheckpointError, OSError.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder}: is a file; give a folder's name")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / META_FILE).exists():
        raise ExportError(f"{folder}: has files of something else; give a new folder's name")
    loaded = Checkpoint.load(checkpoint)
    meta = loaded.meta
    try:
        network = onnx_network(loaded.network)
        difference = largest_difference(loaded.network, network, (*meta.games, *CHECK_GAMES))
    except OnnxError as error:
        raise ExportError(f"{checkpoint}: {error}; nothing was written") from error
    if not difference <= TOLERANCE:  # also where it is NaN
        raise ExportError(
            f"{checkpoint}: the exported network's outputs differ from the checkpoint's by"
            f" {difference:.2g}, more than {TOLERANCE}; nothing was written, report this as a bug"
        )
    bot = BotMeta(
        name=name or "-".join(filter(None, (meta.run_id, checkpoint_stem(checkpoint).name))),
        network=dataclasses.asdict(meta.network),
        games=meta.games,
        search=search or SearchConfig(),
        step=meta.step,
        version=meta.version,
        run_id=meta.run_id,
        network_sha256=hashlib.sha256(network).hexdigest(),
    )
    folder.mkdir(parents=True, exist_ok=True)
    atomic_write(folder / NETWORK_FILE, network)
    launcher = _LAUNCHER.replace("@PYTHON@", repr(sys.executable))
    atomic_write(folder / LAUNCHER, launcher.encode())
    (folder / LAUNCHER).chmod(0o755)
    atomic_write_json(folder / META_FILE, bot.to_json())
    return bot


def largest_difference(
    network: Network, onnx_file: bytes, games: tuple[GameEntry, ...], seed: int = 0
) -> float:
    """Largest difference of policy logits and outcome probabilities between a network and its file.

    Compared on random positions of the games, each on its own board and on a larger canvas. Where a
    logit on the board is beyond 1, differences of logits are relative to the largest one.
    """
    rng = np.random.default_rng(seed)
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / NETWORK_FILE
        file.write_bytes(onnx_file)
        evaluator = OnnxEvaluator(file, batch_size=CHECK_POSITIONS)
        for planes, globals_ in _inputs(games, rng):
            with torch.inference_mode():
                wanted = network(torch.from_numpy(planes), torch.from_numpy(globals_))
            logits, outcomes = wanted[0].numpy(), torch.softmax(wanted[1], dim=1).numpy()
            found_logits, found_outcomes = evaluator.evaluate_outcomes(planes, globals_)
            scale = np.abs(logits, where=logits > OFF_BOARD, out=np.ones_like(logits)).max()
            differences = (
                np.abs(logits - found_logits).max() / max(1.0, scale),
                np.abs(outcomes - found_outcomes).max(),
            )
            largest = float(np.maximum(largest, np.max(differences)))  # keeps a NaN
    return largest


def _inputs(
    games: tuple[GameEntry, ...], rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.float32]]]:
    """Planes [n, C, H, W] and globals [n, G] of random positions, canvas by canvas."""
    for game in games:
        positions = [_random_position(game, rng) for _ in range(CHECK_POSITIONS)]
        for extra in (0, 2):
            height, width = game.rules.height + extra, game.rules.width + extra
            rows = [features(position, height, width) for position in positions]
            yield np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])


def _random_position(game: GameEntry, rng: np.random.Generator) -> Position:
    """A position after some random plies, before the game's end."""
    position = Position(game.rules, game.opening)
    for _ in range(int(rng.integers(game.rules.points // 2))):
        position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is not None:
            position.undo()
            break
    return position
