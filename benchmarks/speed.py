"""Speeds of rules, search, network and self-play, each beside what bounds it.

`python -m benchmarks.speed` (or `make bench`) prints one table and stores it as JSON.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks.fingerprint import fingerprint
from benchmarks.table import Row, machine, rates, save, show
from engine import Position, RuleSet
from engine.evaluators import Evaluator, UniformEvaluator
from engine.search import SearchBatch, SearchConfig
from model.evaluator import TorchEvaluator
from model.network import PRESETS, Network
from model.onnx_evaluator import OnnxEvaluator
from model.onnx_graph import onnx_network
from selfplay.worker import GameChoice, SelfPlay, SelfPlayConfig

GAMES = {
    "gomoku 15x15": RuleSet.preset("gomoku"),
    "irensei 9x9": RuleSet.preset("irensei", size=9, line_length=5, gutter=1),
    "irensei 19x19": RuleSet.preset("irensei"),
}
TREES = 32


def perft_rows() -> list[Row]:
    """Plies a second of counting all sequences of two plies from the middle of a game."""
    tasks = {name: _perft_task(rules) for name, rules in GAMES.items()}
    return [
        Row(what=f"perft, {name}", value=median / 1e6, unit="M plies/s", spread=spread)
        for name, (median, spread) in rates(tasks).items()
    ]


def _perft_task(rules: RuleSet) -> Callable[[], int]:
    rng = np.random.default_rng(1)
    position = Position(rules)
    while position.ply < rules.points // 3:
        before = position.copy()
        position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is not None:
            position = before
    return lambda: position.perft(3 if rules.points < 100 else 2)


def search_rows() -> list[Row]:
    """Microseconds a simulation with an evaluator that costs nothing, features included."""
    rows = []
    for name, rules in GAMES.items():
        median, spread = rates({name: _search_task(rules)})[name]
        rows.append(
            Row(what=f"search, {name}", value=1e6 / median, unit="us/simulation", spread=spread)
        )
    return rows


def _search_task(rules: RuleSet) -> Callable[[], int]:
    batch = SearchBatch(
        TREES, SearchConfig(simulations=200), height=rules.height, width=rules.width
    )

    def task() -> int:
        before = batch.statistics()["simulations"]
        for tree in range(TREES):
            batch.start(tree, Position(rules), seed=tree)
        batch.run(UniformEvaluator())
        return batch.statistics()["simulations"] - before

    return task


def selfplay_rows() -> list[Row]:
    """Evaluations a second of self-play, against the same network with nothing else to do."""
    rows = []
    for name, preset in (("irensei 9x9", "b4c32"), ("gomoku 15x15", "b4c32")):
        tasks = _selfplay_tasks(GAMES[name], Network(PRESETS[preset]))
        found = rates(tasks, repeats=3)
        network, onnx, play = found["network"], found["onnx"], found["self-play"]
        what = f"{name}, {preset}"
        rows += [
            Row(what=f"network, {what}", value=network[0], unit="positions/s", spread=network[1]),
            Row(
                what=f"network in ONNX Runtime, {what}",
                value=onnx[0],
                unit="positions/s",
                reference="the network in PyTorch",
                ratio=onnx[0] / network[0],
                spread=onnx[1],
            ),
            Row(
                what=f"self-play, {what}",
                value=play[0],
                unit="positions/s",
                reference="the network alone",
                ratio=play[0] / network[0],
                spread=play[1],
            ),
        ]
    return rows


def _selfplay_tasks(rules: RuleSet, network: Network) -> dict[str, Callable[[], int]]:
    worker = SelfPlay(
        games=[GameChoice(rules=rules)],
        search=SearchConfig(simulations=100),
        config=SelfPlayConfig(games=TREES),
        height=rules.height,
        width=rules.width,
        run_seed=0,
    )
    evaluator = TorchEvaluator(network, "cpu", worker.batch_size)
    worker.set_evaluator(evaluator, 0)
    worker.add_indices(range(100_000))
    batch = SearchBatch(TREES, SearchConfig(), height=rules.height, width=rules.width)
    rows = np.repeat(batch.planes[:1], worker.batch_size, axis=0)
    globals_ = np.repeat(batch.globals_[:1], worker.batch_size, axis=0)
    keys = np.zeros(worker.batch_size, np.uint64)

    def alone(asked: Evaluator) -> int:
        for _ in range(100):
            asked.evaluate(rows, globals_, keys)
        return 100 * worker.batch_size

    def self_play() -> int:
        return worker.play(games=100_000, seconds=5)[1].evaluations

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        path.write_bytes(onnx_network(network))
        onnx = OnnxEvaluator(path, batch_size=worker.batch_size)
    return {
        "network": lambda: alone(evaluator),
        "onnx": lambda: alone(onnx),
        "self-play": self_play,
    }


def main() -> None:
    """Prints and stores all of it."""
    torch.set_num_threads(1)
    for key, value in machine().items():
        print(f"{key:<10} {value}")
    print(f"search     {fingerprint()} (fingerprint: changes when trees do)")
    rows = [*perft_rows(), *search_rows(), *selfplay_rows()]
    show("one core", rows)
    print(f"\nstored in {save('speed', rows)}")


if __name__ == "__main__":
    main()
