"""What the analysis engine makes of a network, beside self-play's search with the same batches.

`python -m benchmarks.analysis` prints one table and stores it as JSON: positions that the network
evaluates a second. A client keeps 16 queries under way, sending one for each answer, over pipes, in
this process; self-play plays 16 games. Both evaluate with ONNX Runtime in one thread, in turns, and
without caches: in self-play the same positions come back with each move, in queries about unrelated
games they do not. Everything that a query costs is in it: its line, the replay of its game, the
line of its answer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.command import run
from benchmarks.evaluators import random_network
from benchmarks.selfplay import CASES as SELFPLAY_CASES
from benchmarks.selfplay import Case
from benchmarks.table import Row, Target, begin, compared, report, rounds, spread
from bots.analysis import AnalysisSession
from bots.analyst import Analyst
from engine import Position
from engine.evaluators import Evaluator
from engine.search import SearchConfig
from model.onnx_evaluator import OnnxEvaluator
from model.onnx_graph import onnx_network
from selfplay.worker import GameChoice, SelfPlay, SelfPlayConfig

#: Queries under way, and games of self-play.
PARALLEL = 16
#: Simulations of each query and of each move.
SIMULATIONS = 400
#: Most random plies before a position that is asked about.
PLIES = 20


#: Self-play's boards and networks, but the slowest.
CASES = SELFPLAY_CASES[:3]

TARGETS = tuple(Target(what=f"analysis, {case.name}", least=0.9, ratio=True) for case in CASES)


class Client:
    """An analysis engine at the other end of two pipes, kept busy."""

    def __init__(self, case: Case, evaluator: Evaluator) -> None:
        """`SIMULATIONS` a query; the engine runs in threads of this process."""
        self._case = case
        config = SearchConfig(simulations=SIMULATIONS)
        self.analyst = Analyst(evaluator, config, slots=PARALLEL, cache_mib=0)
        session = AnalysisSession(
            "benchmark", [(case.rules, "none")], lambda: self.analyst, simulations=SIMULATIONS
        )
        there, here = os.pipe(), os.pipe()
        self._requests = os.fdopen(there[1], "wb")
        self._answers = os.fdopen(here[0], "rb")
        arguments = (os.fdopen(there[0], "rb"), os.fdopen(here[1], "wb"))
        self._thread = threading.Thread(target=session.serve, args=arguments)
        self._thread.start()
        self._queries = _queries(case)

    def work(self, seconds: float) -> int:
        """Keep the engine busy for so long; returns the positions that it evaluated."""
        before = self.analyst.statistics().get("evaluations", 0)
        end = time.perf_counter() + seconds
        for _ in range(PARALLEL):
            self._send(next(self._queries))
        while time.perf_counter() < end:
            answer = self._hear()
            assert answer["final"] and "root" in answer, answer
            self._send(next(self._queries))
        done = self.analyst.statistics()["evaluations"] - before
        self._send(b'{"id": "end", "action": "terminate_all"}\n')
        for _ in range(PARALLEL + 1):
            self._hear()
        return done

    def _send(self, line: bytes) -> None:
        self._requests.write(line)
        self._requests.flush()

    def _hear(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._answers.readline())
        return answer

    def close(self) -> None:
        """End the engine."""
        self._requests.close()
        self._thread.join()


def _queries(case: Case) -> Iterator[bytes]:
    """Lines about positions of random games."""
    number, rng = 0, np.random.default_rng(0)
    while True:
        position = Position(case.rules)
        for _ in range(int(rng.integers(PLIES + 1))):
            position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is not None:
            continue
        number += 1
        query = {
            "id": f"q{number}",
            "game": case.rules.name,
            "rules": case.rules.to_json(),
            "actions": [position.action_name(action) for action in position.actions],
        }
        yield json.dumps(query).encode() + b"\n"


def _worker(case: Case, evaluator: Evaluator) -> SelfPlay:
    worker = SelfPlay(
        games=[GameChoice(rules=case.rules)],
        search=SearchConfig(simulations=SIMULATIONS),
        config=SelfPlayConfig(games=PARALLEL, full_fraction=1.0, cache_mib=0),
        height=case.rules.height,
        width=case.rules.width,
        run_seed=0,
    )
    worker.set_evaluator(evaluator, 0)
    worker.add_indices(range(1_000_000))
    return worker


def row_of(case: Case, seconds: float, repeats: int) -> Row:
    """Positions a second of the engine, beside self-play's."""
    network = onnx_network(random_network(case.network))
    worker = _worker(case, OnnxEvaluator(network, batch_size=PARALLEL))
    client = Client(case, OnnxEvaluator(network, batch_size=PARALLEL))

    def play() -> int:
        _, work = worker.play(games=10**6, seconds=seconds)
        return work.evaluations

    found = rounds({"analysis": lambda: client.work(seconds), "play": play}, repeats)
    client.close()
    ratio, ratio_spread = compared(found["analysis"], found["play"])
    return Row(
        what=f"analysis, {case.name}",
        value=statistics.median(found["analysis"]),
        unit="positions/s",
        reference="self-play's search",
        ratio=ratio,
        spread=spread(found["analysis"]),
        ratio_spread=ratio_spread,
    )


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="rough figures in seconds")
    quick = parser.parse_args(arguments).quick
    begin()
    seconds, repeats = (1.0, 2) if quick else (4.0, 3)
    rows = [row_of(case, seconds, repeats) for case in CASES]
    name = "analysis-quick" if quick else "analysis"
    report(name, f"analysis, {PARALLEL} parallel queries", rows, TARGETS)


if __name__ == "__main__":
    sys.exit(run(main))
