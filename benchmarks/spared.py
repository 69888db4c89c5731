"""Simulations an evaluation of trained networks: what cache and proofs spare them.

`python -m benchmarks.spared` trains a small network on 19x19 for two minutes first and measures
that. `python -m benchmarks.spared CHECKPOINT...` measures networks that there are, with their runs'
games, search, cache and evaluators. Games are in progress, at plies spread evenly over their
length, to which the network itself has brought them (`play_ahead`).

The untrained networks of `benchmarks.selfplay` prefer no move, so that their games meet few
positions again and prove little. Networks play like that in the first minute of a run only.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks.command import BenchmarkError, restart_as_worker, run
from benchmarks.progress import ENDLESS, play_ahead, plies_of
from benchmarks.table import Row, Target, begin, report
from model.checkpoint import Checkpoint, checkpoint_stem, read_meta
from model.choice import AUTO, fixed_choice
from model.evaluator import evaluator_for
from model.positions import random_positions
from model.serving import CALIBRATED, COMPARED, load_served, prepare
from scripts.replay import read_config
from selfplay.loop import RunConfig
from selfplay.worker import GameChoice, SelfPlay, Work

#: Minutes for which a network is trained, and the run's settings.
MINUTES = 2.0
SETTINGS = ("game=irensei", "opening=none", "model=b4c32")
#: How the table calls it.
TRAINED = f"19x19 b4c32 trained for {MINUTES:g} minutes"
#: Seconds for which its self-play is watched.
SECONDS = 20.0


def target(name: str, least: float) -> Target:
    """For a network's simulations an evaluation."""
    return Target(what=f"simulations an evaluation, {name}", least=least)


TARGET = target(TRAINED, 1.1)


def trained_rows() -> list[Row]:
    """Those of a network that is trained here, with a run of its own. Raises BenchmarkError."""
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "scripts.train", "run=trained", f"runs={runs}"]
        command += [*SETTINGS, f"stop.minutes={MINUTES}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise BenchmarkError(f"the network was not trained: {done.stderr.strip()}")
        newest = max((Path(runs) / "trained" / "checkpoints").glob("*.json"))
        return checkpoint_rows(newest, TRAINED)


def checkpoint_rows(path: Path, name: str, seconds: float = SECONDS) -> list[Row]:
    """Simulations an evaluation of a trained network in its run's games.

    Raises CheckpointError, and ReplayError or SettingsError for a configuration beside it that
    cannot be used. Without one its games are played as runs do by default.
    """
    checkpoint, config = Checkpoint.load(path), _config_of(path)
    if config is None:
        games = [GameChoice(rules=e.rules, opening=e.opening) for e in checkpoint.meta.games]
        config = RunConfig(games=games)
    network, rng = checkpoint.network, np.random.default_rng(0)
    served = load_served(path)
    if served is None:
        count = CALIBRATED + COMPARED
        positions = random_positions(config.entries, count, config.height, config.width, rng)
        kinds = fixed_choice(AUTO, "cpu").kinds
        served = prepare(network, positions, kinds, "cpu", config.batch_size).served
    worker = SelfPlay(
        games=config.games,
        search=config.search,
        config=config.selfplay.of_a_thread,
        height=config.height,
        width=config.width,
        run_seed=config.seed,
    )
    worker.set_evaluator(evaluator_for(network, "cpu", worker.batch_size, served), 0)
    length = play_ahead(worker)
    worker.add_indices(range(ENDLESS, 10 * ENDLESS))
    worker.play(games=ENDLESS, seconds=seconds / 4)
    plies = plies_of(worker)
    _, work = worker.play(games=ENDLESS, seconds=seconds)
    return [
        Row(what=f"mean length of games, {name}", value=length, unit="plies"),
        Row(what=f"mean ply at the start, {name}", value=statistics.mean(plies), unit=""),
        spared_row(name, work),
    ]


def _config_of(path: Path) -> RunConfig | None:
    """The configuration of the run in whose folder a checkpoint lies; None for one by itself."""
    run_folder = path.resolve().parent.parent
    return read_config(run_folder) if (run_folder / "config.yaml").exists() else None


def spared_row(name: str, work: Work) -> Row:
    """Simulations an evaluation; what the cache has answered, and what was over or proven."""
    simulations = work.search["simulations"]
    cached, ended = (work.search[name] / simulations for name in ("cached", "terminals"))
    return Row(
        what=f"simulations an evaluation, {name}",
        value=simulations / work.evaluations,
        unit="",
        reference=f"cached: {cached:.1%}, ended or proven: {ended:.1%}",
    )


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("checkpoints", type=Path, nargs="*", metavar="CHECKPOINT")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    begin()
    for path in asked.checkpoints:
        read_meta(path)  # raises CheckpointError before any of them is measured
    rows: list[Row] = []
    for path in asked.checkpoints:
        rows += checkpoint_rows(path, checkpoint_stem(path).name)
    report(
        "spared",
        "simulations an evaluation of trained networks",
        rows or trained_rows(),
        () if rows else [TARGET],
    )


if __name__ == "__main__":
    restart_as_worker()
    sys.exit(run(main))
