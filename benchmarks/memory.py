"""What a self-play worker's process takes: `python -m benchmarks.memory MINUTES`.

Plays 19x19 with b6c64, 64 games and 800 simulations in a Ray actor, prints the memory of its
process each minute, and exits with 1 where it takes 1.5 GiB or grows by more than 16 MiB after the
first two minutes.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Iterator, Sequence

import torch

from benchmarks.command import positive, restart_as_worker, run
from benchmarks.selfplay import Case, spec_of, weights_of
from benchmarks.table import Row, Target, begin, report
from engine import RuleSet
from engine.search import SearchConfig
from model.network import PRESETS
from selfplay.cluster import ClusterConfig, RayWorkers

#: Minutes after which memory should not grow any more.
SETTLED = 2.0
GAMES, SIMULATIONS = 64, 800
TARGETS = (
    Target(what="memory, the most", most=1536),
    Target(what=f"memory, growth after {SETTLED:g} minutes", most=16),
)


def memory(minutes: float) -> Iterator[tuple[float, float]]:
    """(minutes, MiB) of a Ray actor's process while it plays 19x19 with b6c64, each minute."""
    case = Case(rules=RuleSet.preset("irensei"), network=PRESETS["b6c64"])
    network, served = case.serve()
    spec = dataclasses.replace(
        spec_of(case, games=GAMES, full_fraction=1.0),
        search=SearchConfig(simulations=SIMULATIONS),
    )
    pool = RayWorkers(ClusterConfig(workers=1), spec, first_game=0)
    spent, began = 0.0, time.monotonic()
    try:
        pool.publish(0, weights_of(network), served)
        while spent < minutes:
            chunk = pool.collect()
            assert chunk is not None
            if (now := (time.monotonic() - began) / 60) >= min(minutes, int(spent) + 1):
                spent = now
                yield spent, chunk.memory / 2**20
    finally:
        pool.close()


def memory_rows(readings: Sequence[tuple[float, float]]) -> list[Row]:
    """The most memory, and how far it went above the first reading after `SETTLED` minutes."""
    settled = [mib for minutes, mib in readings if minutes >= SETTLED]
    rows = [Row(what="memory, the most", value=max(mib for _, mib in readings), unit="MiB")]
    if len(settled) > 1:
        growth = max(settled) - settled[0]
        rows.append(Row(what=TARGETS[1].what, value=growth, unit="MiB"))
    return rows


def watch_memory(minutes: float) -> bool:
    """Prints the readings and what has become of the targets; whether none was missed."""
    readings = []
    for spent, mib in memory(minutes):
        readings.append((spent, mib))
        print(f"{spent:6.1f} min {mib:8.0f} MiB", flush=True)
    rows = memory_rows(readings)
    report("memory", "a self-play worker's memory, 19x19 b6c64", rows, TARGETS)
    return all(target.met(rows) is not False for target in TARGETS)


def main(arguments: list[str] | None = None) -> bool:
    """Watches and stores it; False where a target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("minutes", type=positive, metavar="MINUTES", help="twelve see the growth")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    begin()
    return watch_memory(asked.minutes)


if __name__ == "__main__":
    restart_as_worker()
    sys.exit(run(main))
