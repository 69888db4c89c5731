"""How fast each optimiser learns: signs of exact values, four in a row on 6x6.

`python -m benchmarks.optimizers` trains b4c32 with every `learner.optimizer` on the same positions
with the same exact values (`engine.solver`) in the same order, and prints how often the averaged
network's value has the right sign in other positions, and what a step costs. No search and no
self-play: what differs is the optimiser alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch

from benchmarks.command import run
from benchmarks.solve import RULES, random_positions
from benchmarks.table import Row, begin, save, show
from engine.solver import Solver
from model.learner import Learner, LearnerConfig
from model.network import PRESETS, Network
from model.targets import Sample, make_batch

POSITIONS, HELD_OUT = 20_000, 2_000
Optimizer = Literal["adamw", "muon", "sgd"]
OPTIMIZERS: tuple[Optimizer, ...] = ("adamw", "muon", "sgd")
#: Learning rates: sgd's was the best of 0.01, 0.03, 0.1.
RATES: dict[Optimizer, float] = {"muon": 3e-3, "adamw": 3e-3, "sgd": 3e-2}


def exact_samples(count: int, seed: int) -> list[Sample]:
    """Samples with the exact outcome and no policy."""
    solver = Solver(RULES, table_bits=22)
    positions = random_positions(solver, count, np.random.default_rng(seed))
    nothing = np.zeros(0)
    return [
        Sample(
            packed=position.pack(),
            rules=RULES,
            opening="none",
            actions=nothing.astype(np.int32),
            policy=nothing.astype(np.float32),
            outcome=solver.solve(position) or 0,
            root_value=0.0,
            policy_weight=0.0,
        )
        for position in positions
    ]


def signs_right(network: Network, samples: Sequence[Sample]) -> float:
    """Share of samples whose outcome has the sign of the network's value."""
    batch = make_batch(samples, RULES.height, RULES.width)
    with torch.inference_mode():
        _, value_logits = network(batch.planes, batch.globals_)
    values = value_logits.softmax(1) @ torch.tensor([1.0, 0.0, -1.0])
    outcomes = batch.outcome @ torch.tensor([1.0, 0.0, -1.0])
    return float((values.sign() == outcomes).float().mean())


def learn(optimizer: Optimizer, steps: int, samples: Sequence[Sample]) -> tuple[Network, float]:
    """The averaged network after so many steps, and the seconds that a step took."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    config = LearnerConfig(
        optimizer=optimizer,
        lr=RATES[optimizer],
        batch_size=128,
        value_mix=0.0,
        schedule="cosine",
        schedule_steps=steps,
        schedule_factor=0.05,
        device="cpu",
    )
    learner = Learner(config, Network(PRESETS["b4c32"]))
    seconds = 0.0
    for _ in range(steps):
        drawn = [samples[i] for i in rng.integers(len(samples), size=config.batch_size)]
        batch = make_batch(drawn, RULES.height, RULES.width, rng)
        started = time.perf_counter()
        learner.step(batch)
        seconds += time.perf_counter() - started
    return learner.ema_network, seconds / steps


def main() -> None:
    """Prints and stores the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, nargs="+", default=[750, 1500, 3000])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    begin()
    samples = exact_samples(POSITIONS + HELD_OUT, seed=0)
    taught, asked = samples[:POSITIONS], samples[POSITIONS:]
    rows = []
    for steps in arguments.steps:
        usual = 0.0
        for optimizer in OPTIMIZERS:
            network, seconds = learn(optimizer, steps, taught)
            right = signs_right(network, asked)
            usual = usual or right
            rows.append(
                Row(
                    what=f"{optimizer}, {steps} steps of {1000 * seconds:.0f} ms",
                    value=100 * right,
                    unit="% of signs",
                    reference="adamw",
                    ratio=right / usual,
                )
            )
            show("one core", rows[-1:])
    show("all", rows)
    print(f"\nstored in {save('optimizers', rows)}")


if __name__ == "__main__":
    sys.exit(run(main))
