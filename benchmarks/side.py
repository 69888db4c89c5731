"""One side of `benchmarks/versions.py`: answers with whatever checkout PYTHONPATH names.

JSON lines: first the setting, then games as lists of actions; for each line of games one line with
the actions that search prefers. It imports only what older checkouts have too.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from engine import Position, RuleSet
from engine.evaluators import Evaluator, UniformEvaluator
from engine.search import SearchBatch, SearchConfig

LARGEST_BATCH = 64


def answer(asked: dict[str, Any], evaluator: Evaluator) -> dict[str, Any]:
    """The actions that the search prefers after each of some games' actions."""
    rules = RuleSet.preset(asked["game"], **asked["rules"])
    positions = []
    for actions in asked["games"]:
        positions.append(Position(rules))
        for action in actions:
            positions[-1].play(action)
    batch = SearchBatch(
        len(positions),
        SearchConfig(simulations=asked["simulations"]),
        height=rules.height,
        width=rules.width,
        batch_size=min(len(positions), LARGEST_BATCH),
    )
    for index, position in enumerate(positions):
        batch.start(index, position, seed=index)
    end = time.perf_counter() + asked["seconds"] * len(positions)
    while batch.step(evaluator) and time.perf_counter() < end:
        pass
    return {
        "actions": [batch.result(index).action for index in range(len(positions))],
        "evaluations": batch.statistics()["evaluations"],
    }


def evaluator_of(checkpoint: str | None, rules: RuleSet) -> Evaluator:
    """The fastest that this version has."""
    if checkpoint is None:
        return UniformEvaluator()
    from model.checkpoint import Checkpoint
    from model.evaluator import evaluator_for

    network = Checkpoint.load(checkpoint).network.eval()
    try:
        from model.games import GameEntry
        from model.positions import random_positions
        from model.serving import CALIBRATED, make_served
    except ImportError:  # of a version without int8 networks
        return evaluator_for(network, batch_size=LARGEST_BATCH)
    size, rng = (rules.height, rules.width), np.random.default_rng(0)
    positions = random_positions([GameEntry(rules=rules)], CALIBRATED, *size, rng)
    served = make_served("onnx-int8", network, positions)
    return evaluator_for(network, batch_size=LARGEST_BATCH, served=served)


def serve() -> None:
    """A line of JSON in, one out, until the input ends."""
    first = json.loads(sys.stdin.readline())
    evaluator = evaluator_of(first["checkpoint"], RuleSet.preset(first["game"], **first["rules"]))
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), evaluator)), flush=True)


if __name__ == "__main__":
    serve()
