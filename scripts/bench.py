"""Measure this machine: `python -m scripts.bench` prints what each part costs, in one table.

Rules, search, evaluators and self-play, each beside a reference or a limit, from repeated
measurements that take turns; stored as JSON in benchmarks/results. A quarter of an hour; `--quick`
takes a few minutes and gives rough figures. Each part has a process of its own, so that none runs
in memory that another has left in pieces.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import torch

from benchmarks import engine, evaluators, search, selfplay
from benchmarks.command import restart_as_worker, run
from benchmarks.fingerprint import fingerprint
from benchmarks.table import Row, begin, report


def main() -> None:
    """Prints and stores the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="rough figures in a few minutes")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    begin()
    print(f"search     {fingerprint()} (fingerprint: changes when trees do)")
    rows: list[Row] = []
    for part in (engine, search, evaluators, selfplay):
        print(f"measuring: {part.__name__}", flush=True)
        with ProcessPoolExecutor(1, get_context("spawn"), torch.set_num_threads, (1,)) as process:
            rows += process.submit(part.measure, quick).result()
    targets = (*engine.TARGETS, *search.TARGETS, *selfplay.TARGETS)
    report("bench-quick" if quick else "bench", "one thread a process", rows, targets)


if __name__ == "__main__":
    restart_as_worker()
    sys.exit(run(main))
