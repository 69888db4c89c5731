"""Positions a second of every evaluator on real networks, beside PyTorch's, and their agreement.

`python -m benchmarks.evaluators` takes minutes, `--quick` seconds; one thread, batches of 64.
Without a checkpoint the weights are random ones, of which all matter, and the positions those of
random play.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from benchmarks.command import run
from benchmarks.table import Row, begin, report
from engine import RuleSet
from model.checkpoint import Checkpoint
from model.choice import Candidate, try_all
from model.games import GameEntry
from model.network import PRESETS, Network, NetworkConfig
from model.positions import random_positions
from model.serving import CALIBRATED

BATCH = 64
WIDE = NetworkConfig(blocks=6, channels=96, pool_channels=32, head_channels=32, hidden=96)
NETWORKS = ((9, PRESETS["b4c32"]), (15, PRESETS["b4c32"]), (15, PRESETS["b6c64"]), (19, WIDE))


def random_network(config: NetworkConfig, seed: int = 0) -> Network:
    """A network in which every weight and bias matters, none of them 0 as after initialisation."""
    network = Network(config).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            scale = parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.3
            parameter.normal_(0.0, scale, generator=generator)
    return network


def tried(network: Network, game: GameEntry, seconds: float, compared: int) -> list[Candidate]:
    """All kinds on boards of the game's size."""
    rules, rng = game.rules, np.random.default_rng(0)
    count = CALIBRATED + compared
    positions = random_positions([game], count, rules.height, rules.width, rng)
    return try_all(network, "cpu", BATCH, positions, seconds)


def rows(what: str, candidates: list[Candidate]) -> list[Row]:
    """A row of the table for each kind."""
    eager = next(each.rate for each in candidates if each.kind == "torch")
    return [
        Row(
            what=f"{what}, {each.kind}",
            value=each.rate,
            unit="positions/s",
            reference=f"PyTorch eager; KL {each.agreement.policy_kl:.5f},"
            f" top-1 {each.agreement.top1:.1%}, value {each.agreement.value_error:.4f}"
            + (f"; {each.reason}" if each.reason else ""),
            ratio=each.rate / eager,
            spread=each.spread,
        )
        for each in candidates
    ]


def measure(quick: bool, path: Path | None = None) -> list[Row]:
    """All rows: of a checkpoint on its first game, or of random networks on boards of all sizes."""
    seconds, compared = (1.0, 128) if quick else (8.0, 1000)
    tasks: list[tuple[Network, GameEntry]] = []
    if path:
        checkpoint = Checkpoint.load(path)
        tasks.append((checkpoint.network, checkpoint.meta.games[0]))
    else:
        for size, config in NETWORKS:
            entry = GameEntry(rules=RuleSet.preset("gomoku", size=size))
            tasks.append((random_network(config), entry))
    table: list[Row] = []
    for network, game in tasks:
        what = f"{game.rules.width}x{game.rules.height} {network.config.name}"
        table += rows(what, tried(network, game, seconds, compared))
    return table


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores the table; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="rough figures in seconds")
    parser.add_argument("--checkpoint", type=Path, help="a trained network on its first game")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    begin()
    name = "evaluators-quick" if asked.quick else "evaluators"
    table = measure(asked.quick, asked.checkpoint)
    report(name, "one thread, batches of 64, kinds in turn", table)


if __name__ == "__main__":
    sys.exit(run(main))
