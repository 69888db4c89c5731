"""Everything that a GPU changes, measured where there is one: `python -m benchmarks.cuda`.

Evaluators of b10c128 on 19x19 by batch size, self-play beside its evaluator by search threads,
training steps, and a minute of a real run with `hardware=gpu`. Without CUDA it says so and ends.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

from benchmarks.command import run
from benchmarks.evaluators import random_network
from benchmarks.table import Row, begin, report
from engine import RuleSet
from engine.search import SearchConfig
from model.choice import try_all
from model.evaluator import Served
from model.games import GameEntry
from model.learner import Learner, LearnerConfig
from model.network import PRESETS
from model.positions import random_positions
from model.serving import CALIBRATED, COMPARED
from model.targets import Batch
from selfplay.cluster import Worker, WorkerSpec
from selfplay.worker import GameChoice, SelfPlayConfig

RULES = RuleSet.preset("irensei")
NETWORK = PRESETS["b10c128"]
BATCHES = (64, 256, 1024)
GAMES = 1024
THREADS = (1, 2, 4)
SECONDS = 10.0


def evaluator_rows() -> list[Row]:
    """Positions a second of each kind and batch size, beside float32."""
    network, rng = random_network(NETWORK), np.random.default_rng(0)
    count = CALIBRATED + COMPARED
    positions = random_positions([GameEntry(rules=RULES)], count, RULES.height, RULES.width, rng)
    rows = []
    for batch in BATCHES:
        found = try_all(network, "cuda", batch, positions, SECONDS, kinds=("torch", "torch-bf16"))
        exact = next(each.rate for each in found if each.kind == "torch")
        rows += [
            Row(
                what=f"{each.kind}, batches of {batch}",
                value=each.rate,
                unit="positions/s",
                reference="float32" + (f"; {each.reason}" if each.reason else ""),
                ratio=each.rate / exact,
                spread=each.spread,
            )
            for each in found
        ]
    return rows


def selfplay_rows(raw: float) -> list[Row]:
    """Positions evaluated a second by a worker with so many search threads, beside `raw`."""
    weights = {name: t.numpy() for name, t in random_network(NETWORK).state_dict().items()}
    rows = []
    for threads in THREADS:
        worker = Worker(
            WorkerSpec(
                games=[GameChoice(rules=RULES)],
                search=SearchConfig(simulations=400),
                selfplay=SelfPlayConfig(games=GAMES, threads=threads, cache_mib=0),
                network=NETWORK,
                height=RULES.height,
                width=RULES.width,
                run_seed=0,
                device="cuda",
            )
        )
        worker.load(0, weights, Served(kind="torch-bf16"))
        worker.play(range(100_000), games=10**6, seconds=SECONDS)  # warms up
        work = worker.play([], games=10**6, seconds=SECONDS).work
        rate = work.evaluations / work.seconds
        rows.append(
            Row(
                what=f"self-play, {threads} search threads",
                value=rate,
                unit="positions/s",
                reference="the evaluator, batches of 256",
                ratio=rate / raw,
            )
        )
    return rows


def learner_rows() -> list[Row]:
    """Samples a second of bare training steps."""
    rng, size = np.random.default_rng(0), 1024
    entry = [GameEntry(rules=RULES)]
    positions = random_positions(entry, size, RULES.height, RULES.width, rng)
    legal = torch.from_numpy(positions.legal)
    batch = Batch(
        planes=torch.from_numpy(positions.planes),
        globals_=torch.from_numpy(positions.globals_),
        legal=legal,
        policy=legal / legal.sum(1, keepdim=True),
        outcome=torch.eye(3)[torch.from_numpy(rng.integers(3, size=size))],
        root_value=torch.zeros(size),
        policy_weight=torch.ones(size),
        value_weight=torch.ones(size),
    )
    learner = Learner(LearnerConfig(batch_size=size, device="cuda"), random_network(NETWORK))
    steps = 0
    for part in range(2):  # the first half warms up
        began, steps = time.perf_counter(), 0
        while time.perf_counter() < began + SECONDS / (2 - part):
            learner.step(batch)
            steps += 1
        torch.cuda.synchronize()
        seconds = time.perf_counter() - began
    return [Row(what="learner, a bare step", value=steps * size / seconds, unit="samples/s")]


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(arguments)
    if not torch.cuda.is_available():
        print("there is no CUDA device here: nothing was measured")
        return
    begin()
    print(f"{'GPU':<10} {torch.cuda.get_device_name()}")
    rows = evaluator_rows()
    raw = next(row.value for row in rows if row.what == "torch-bf16, batches of 256")
    rows += selfplay_rows(raw) + learner_rows()
    report("cuda", f"19x19 {NETWORK.name} on a GPU", rows)
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "scripts.train", "experiment=irensei-gpu", "run=smoke"]
        subprocess.run([*command, f"runs={runs}", "stop.minutes=1"], check=True)


if __name__ == "__main__":
    sys.exit(run(main))
