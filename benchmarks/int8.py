"""Does int8 weaken play? A trained network in int8 against itself in float32, equal simulations.

`python -m benchmarks.int8 runs/first` takes the run's newest checkpoint and makes the int8 network
from positions of its recorded games, prints how far both agree, and lets them meet. Exit status 1
unless the 95% interval of the difference holds 0 and lies within 35 Elo to either side of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.command import BenchmarkError, run, whole
from engine import Position
from engine.features import features
from engine.search import SearchConfig
from model.checkpoint import Checkpoint
from model.evaluator import INT8, why_not
from model.positions import Positions
from model.serving import CALIBRATED, COMPARED, prepare
from selfplay.gauntlet import Gauntlet, GauntletConfig
from selfplay.players import network_player
from selfplay.records import GameRecord, read_records

LARGEST = 35.0
"""Elo points that the difference's interval may reach to."""

SEEN = 1000
"""The newest games, whose positions are used."""


def positions_of(records: list[GameRecord], n: int, rng: np.random.Generator) -> Positions:
    """Positions to act in of recorded games, drawn at random, on a canvas that holds all."""
    height = max(record.rules.height for record in records)
    width = max(record.rules.width for record in records)
    rows = []
    for _ in range(n):
        record = records[int(rng.integers(len(records)))]
        position = Position(record.rules, record.opening)
        for action in record.actions[: int(rng.integers(len(record.actions)))]:
            position.play(action)
        rows.append(features(position, height, width))
    planes, globals_, legal = (np.stack(parts) for parts in zip(*rows, strict=True))
    return Positions(planes, globals_, legal)


def newest(folder: Path) -> Path:
    """The newest checkpoint of a run. Raises BenchmarkError where there is none."""
    found = sorted((folder / "checkpoints").glob("v*.safetensors"))
    if not found:
        raise BenchmarkError(f"{folder} holds no checkpoints; give the folder of a run")
    return found[-1]


def main(arguments: list[str] | None = None) -> bool:
    """Prints all of it; `arguments` are the command line's where None.

    Whether int8 is as strong as float32.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="folder of the run, such as runs/first")
    parser.add_argument("--kind", default="onnx-int8", choices=INT8, help="(%(default)s)")
    parser.add_argument("--games", type=whole(1), default=600, help="(%(default)s)")
    parser.add_argument("--simulations", type=whole(1), default=64, help="a move (%(default)s)")
    parser.add_argument("--seed", type=whole(0), default=0)
    asked = parser.parse_args(arguments)
    if reason := why_not(asked.kind, "cpu"):
        raise BenchmarkError(f"{asked.kind} {reason}")
    torch.set_num_threads(1)
    path, rng = newest(asked.run), np.random.default_rng(asked.seed)
    checkpoint = Checkpoint.load(path)
    records = list(read_records(asked.run / "records"))[-SEEN:]
    if not records:
        raise BenchmarkError(f"{asked.run} holds no game records; give the folder of a run")
    positions = positions_of(records, CALIBRATED + COMPARED, rng)
    prepared = prepare(checkpoint.network, positions, [asked.kind], "cpu", 16)
    print(f"{path}: {prepared.agreements}")
    if prepared.served.kind != asked.kind:
        raise BenchmarkError(f"{asked.kind} is too far from float32; runs play another kind")
    search = SearchConfig(simulations=asked.simulations, random_symmetry=True)
    kinds = {"int8": prepared.served, "float32": None}
    players = [
        network_player(checkpoint, search, name=name, served=served)
        for name, served in kinds.items()
    ]
    game = checkpoint.meta.games[0]
    with tempfile.TemporaryDirectory() as folder:
        config = GauntletConfig(games=asked.games, seed=asked.seed)
        gauntlet = Gauntlet(
            players,
            config,
            folder,
            rules=game.rules,
            opening=game.opening,
            anchor="float32",
        )
        result = gauntlet.run()
    score, rating = result.score("int8"), result.rating("int8")
    assert rating is not None
    print(
        f"{prepared.served.kind} against float32, {game.rules.name}"
        f" {game.rules.width}x{game.rules.height}, {asked.simulations} simulations:"
        f" {score.wins}-{score.draws}-{score.losses} (wins-draws-losses), Elo {rating}"
    )
    holds_zero = abs(rating.elo) <= rating.error
    return holds_zero and abs(rating.elo) + rating.error <= LARGEST


if __name__ == "__main__":
    sys.exit(run(main))
