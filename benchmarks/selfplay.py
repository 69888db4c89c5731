"""What self-play costs beside its network, and what several processes make of it.

`python -m benchmarks.selfplay` prints one table and stores it as JSON:

- *self-play*: positions that a worker evaluates a second, without the cache, beside what its
  evaluator does with the same batches and nothing else, taking turns; and where the rest goes.
- *simulations an evaluation*: with the cache, as runs play.
- *processes*: the same worker in a Ray actor, and two of them, beside one in this process; and two
  processes of bare evaluators beside one, which says what the machine has to give.
- *learner*: steps a second with batches drawn from a replay folder, beside steps on one batch.

`--memory MINUTES` plays 19x19 with b6c64, 64 games and 800 simulations instead, and prints the
process' memory each minute. Everything runs in one thread a process, with the environment that
workers get. The networks are untrained
ones in which every weight matters: they cost what trained ones cost.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from benchmarks.evaluators import WIDE, random_network
from benchmarks.table import Row, Target, describe, rates, report
from engine import RuleSet
from engine.evaluators import Evaluator
from engine.search import SearchConfig
from model.buckets import BucketEvaluator
from model.evaluator import Served, evaluator_for
from model.games import GameEntry
from model.learner import Learner, LearnerConfig
from model.network import PRESETS, Network, NetworkConfig
from model.positions import random_positions
from model.prefetch import ahead
from model.serving import CALIBRATED, make_served
from model.targets import Batch, make_batch
from selfplay.cluster import WORKER_ENVIRONMENT, ClusterConfig, RayWorkers, WorkerSpec
from selfplay.replay import ReplayBuffer, ReplayConfig
from selfplay.stopwatch import shares
from selfplay.worker import GameChoice, SelfPlay, SelfPlayConfig, Work, batch_size

GAMES = 64
SIMULATIONS = 200
BATCH = batch_size(GAMES, SearchConfig())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A board and a network."""

    rules: RuleSet
    network: NetworkConfig
    #: Least share of the evaluator's speed in self-play.
    least: float = 0.0

    @property
    def name(self) -> str:
        """As the table calls it."""
        return f"{self.rules.width}x{self.rules.height} {self.network.name}"

    def serve(self) -> tuple[Network, Served]:
        """The network, with its int8 twin."""
        network = random_network(self.network)
        height, width = self.rules.height, self.rules.width
        entry, rng = GameEntry(rules=self.rules), np.random.default_rng(0)
        positions = random_positions([entry], CALIBRATED, height, width, rng)
        return network, make_served("onnx-int8", network, positions)

    def worker(self, evaluator: Evaluator, *, cache_mib: int) -> SelfPlay:
        """A worker in which games have begun."""
        worker = SelfPlay(
            games=[GameChoice(rules=self.rules)],
            search=SearchConfig(simulations=SIMULATIONS),
            config=SelfPlayConfig(games=GAMES, cache_mib=cache_mib),
            height=self.rules.height,
            width=self.rules.width,
            run_seed=0,
        )
        worker.set_evaluator(evaluator, 0)
        worker.add_indices(range(1_000_000))
        return worker


CASES = (
    Case(
        rules=RuleSet.preset("irensei", size=9, line_length=5, gutter=1),
        network=PRESETS["b4c32"],
        least=0.90,
    ),
    Case(rules=RuleSet.preset("gomoku"), network=PRESETS["b4c32"], least=0.95),
    Case(rules=RuleSet.preset("gomoku"), network=WIDE, least=0.98),
    Case(rules=RuleSet.preset("irensei"), network=WIDE, least=0.98),
)

TARGETS = (
    *(Target(what=f"self-play, {case.name}", least=case.least, ratio=True) for case in CASES),
    *(Target(what=f"simulations an evaluation, {case.name}", least=1.1) for case in CASES),
    Target(what="processes, start of a worker", most=5),
    Target(what="processes, one Ray actor", least=0.98, ratio=True),
    Target(what="processes, two Ray actors", least=1.9, ratio=True),
    Target(what="learner, from the replay", least=0.9, ratio=True),
)


def selfplay_rows(case: Case, seconds: float, repeats: int) -> list[Row]:
    """Self-play beside its evaluator; where its time goes; what the cache and proofs spare."""
    network, served = case.serve()
    evaluator = evaluator_for(network, "cpu", GAMES, served)
    worker, done = case.worker(evaluator, cache_mib=0), Work()
    gc.freeze()  # as a worker's process does

    def play() -> int:
        nonlocal done
        _, work = worker.play(games=10**6, seconds=seconds)
        done += work
        return work.evaluations

    found = rates({"play": play, "raw": _raw_task(case, evaluator, seconds)}, repeats)
    ratio = found["play"][0] / found["raw"][0]
    done.parts.pop("waiting")  # while the evaluator alone was timed
    _, work = case.worker(evaluator, cache_mib=32).play(games=10**6, seconds=3 * seconds)
    return [
        Row(
            what=f"self-play, {case.name}",
            value=found["play"][0],
            unit="positions/s",
            reference=f"its evaluator ({served.kind})",
            ratio=ratio,
            spread=found["play"][1],
        ),
        *(
            Row(what=f"  {name}, {case.name}", value=100 * share, unit="% of its time")
            for name, share in shares(done.parts).items()
        ),
        Row(
            what=f"simulations an evaluation, {case.name}",
            value=work.search["simulations"] / work.evaluations,
            unit="",
            reference=f"cached: {work.search['cached'] / work.search['simulations']:.1%}",
        ),
    ]


def _raw_task(case: Case, evaluator: Evaluator, seconds: float) -> Callable[[], int]:
    """The evaluator alone, on a batch of positions in its own memory, as a worker's are."""
    height, width = case.rules.height, case.rules.width
    rng = np.random.default_rng(1)
    rows = random_positions([GameEntry(rules=case.rules)], BATCH, height, width, rng)
    keys = np.zeros(BATCH, np.uint64)
    assert isinstance(evaluator, BucketEvaluator)
    inputs = evaluator.inputs(height, width)
    assert inputs is not None
    planes, globals_ = (array[:BATCH] for array in inputs)
    planes[:], globals_[:] = rows.planes, rows.globals_

    def task() -> int:
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            evaluator.evaluate(planes, globals_, keys)
            count += BATCH
        return count

    return task


# --- processes ----------------------------------------------------------------------------------


def process_rows(case: Case, seconds: float, repeats: int) -> list[Row]:
    """One worker in a Ray actor, and two, beside one in this process."""
    network, served = case.serve()
    here = case.worker(evaluator_for(network, "cpu", GAMES, served), cache_mib=32)
    names = ("here", "one", "two", "start", "bare", "bare two")
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeats):
        _, work = here.play(games=10**6, seconds=seconds)
        found["here"].append(work.evaluations / work.seconds)
        for name, count in (("one", 1), ("two", 2)):
            rate, start = _with_ray(case, network, served, count, seconds)
            found[name].append(rate)
            found["start"].append(start)
        for name, count in (("bare", 1), ("bare two", 2)):
            found[name].append(_bare_processes(case, count, seconds))
    median = {name: float(np.median(values)) for name, values in found.items()}
    started = Row(what="processes, start of a worker", value=median["start"], unit="s")
    bare = Row(
        what="processes, two bare evaluators",
        value=median["bare two"],
        unit="positions/s",
        reference="one bare evaluator",
        ratio=median["bare two"] / median["bare"],
    )
    return [started, bare] + [
        Row(
            what=f"processes, {name} Ray actor{'s' * (name == 'two')}",
            value=median[name],
            unit="positions/s",
            reference="one worker in this process" if name == "one" else "one Ray actor",
            ratio=median[name] / median["here" if name == "one" else "one"],
        )
        for name in ("one", "two")
    ]


def _with_ray(
    case: Case, network: Network, served: Served, workers: int, seconds: float
) -> tuple[float, float]:
    """Positions evaluated a second by so many actors, and the seconds until they had begun."""
    spec = WorkerSpec(
        games=[GameChoice(rules=case.rules)],
        search=SearchConfig(simulations=SIMULATIONS),
        selfplay=SelfPlayConfig(games=GAMES),
        network=case.network,
        height=case.rules.height,
        width=case.rules.width,
        run_seed=0,
    )
    config = ClusterConfig(workers=workers, chunk_seconds=1.0, chunk_games=10**6)
    pool = RayWorkers(config, spec, first_game=0)
    began = time.perf_counter()
    try:
        pool.publish(0, {n: t.numpy() for n, t in network.state_dict().items()}, served)
        pool.collect()
        start = time.perf_counter() - began - config.chunk_seconds
        for _ in range(2 * workers):  # the others start, first games begin
            pool.collect()
        began, evaluations = time.perf_counter(), 0
        while time.perf_counter() < began + seconds:
            chunk = pool.collect()
            assert chunk is not None
            evaluations += chunk.work.evaluations
        return evaluations / (time.perf_counter() - began), start
    finally:
        pool.close()


def _bare_processes(case: Case, count: int, seconds: float) -> float:
    """Positions evaluated a second by so many processes that do nothing else."""
    context = multiprocessing.get_context("spawn")
    begin, rates_ = context.Barrier(count), context.SimpleQueue()
    processes = [
        context.Process(target=_evaluate_bare, args=(case, begin, rates_, seconds))
        for _ in range(count)
    ]
    for process in processes:
        process.start()
    total: float = sum(rates_.get() for _ in processes)
    for process in processes:
        process.join()
    return total


def _evaluate_bare(case: Case, begin: Any, rates_: Any, seconds: float) -> None:
    """What such a process does."""
    torch.set_num_threads(1)
    network, served = case.serve()
    evaluator = evaluator_for(network, "cpu", GAMES, served)
    task = _raw_task(case, evaluator, seconds)
    begin.wait()
    began = time.perf_counter()
    rates_.put(task() / (time.perf_counter() - began))


# --- learner ------------------------------------------------------------------------------------


def learner_rows(case: Case, steps: int, repeats: int) -> list[Row]:
    """Training steps with batches from a replay folder, beside steps on a batch at hand."""
    worker = case.worker(_Silent(case.rules), cache_mib=0)
    with tempfile.TemporaryDirectory() as folder:
        replay = ReplayBuffer(Path(folder), ReplayConfig())
        while replay.total < 5000:
            games, _ = worker.play(games=8)
            for game in games:
                replay.add(game.samples, version=0)
        replay.flush()
        learner = Learner(LearnerConfig(batch_size=128, device="cpu"), random_network(case.network))
        height, width = case.rules.height, case.rules.width

        def drawn(seed: int) -> Batch:
            rng = np.random.default_rng(seed)
            return make_batch(replay.sample(128, rng), height, width, rng)

        one = drawn(0)

        def bare() -> int:
            for _ in range(steps):
                learner.step(one)
            return 128 * steps

        def loop() -> int:
            for batch in ahead(drawn, range(steps)):
                learner.step(batch)
            return 128 * steps

        found = rates({"bare": bare, "loop": loop}, repeats)
    return [
        Row(
            what="learner, from the replay",
            value=found["loop"][0],
            unit="samples/s",
            reference=f"a bare step, {case.name}",
            ratio=found["loop"][0] / found["bare"][0],
            spread=found["loop"][1],
        )
    ]


class _Silent:
    """An evaluator that costs nothing."""

    def __init__(self, rules: RuleSet) -> None:
        self._actions = rules.num_actions

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Zeros."""
        return np.zeros((len(keys), self._actions), np.float32), np.zeros(len(keys), np.float32)


# --- memory -------------------------------------------------------------------------------------


def memory(minutes: float) -> Iterator[tuple[float, float]]:
    """(minutes, MiB) of this process while it plays 19x19 with b6c64."""
    case = Case(rules=RuleSet.preset("irensei"), network=PRESETS["b6c64"])
    network, served = case.serve()
    worker = SelfPlay(
        games=[GameChoice(rules=case.rules)],
        search=SearchConfig(simulations=800),
        config=SelfPlayConfig(games=GAMES, full_fraction=1.0),
        height=19,
        width=19,
        run_seed=0,
    )
    worker.set_evaluator(evaluator_for(network, "cpu", GAMES, served), 0)
    worker.add_indices(range(1_000_000))
    began, process = time.monotonic(), psutil.Process()
    while (spent := (time.monotonic() - began) / 60) < minutes:
        yield spent, process.memory_info().rss / 2**20
        worker.play(games=10**6, seconds=min(60.0, 60 * (minutes - spent)))
    yield minutes, process.memory_info().rss / 2**20


def measure(quick: bool) -> list[Row]:
    """All rows."""
    seconds, repeats = (1.0, 2) if quick else (5.0, 5)
    table: list[Row] = []
    for case in CASES:
        table += selfplay_rows(case, seconds, repeats)
    table += process_rows(CASES[1], 4 * seconds, 1 if quick else 3)
    return table + learner_rows(CASES[0], 20 if quick else 100, repeats)


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="rough figures in a minute")
    parser.add_argument("--memory", type=float, metavar="MINUTES", help="watch memory instead")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    describe()
    if asked.memory:
        for minutes, mib in memory(asked.memory):
            print(f"{minutes:6.1f} min {mib:8.0f} MiB", flush=True)
        return
    name = "selfplay-quick" if asked.quick else "selfplay"
    report(name, "self-play, one thread a process", measure(asked.quick), TARGETS)


def restart_as_worker() -> None:
    """Begin this program anew in the environment that workers have, unless it has one."""
    if not WORKER_ENVIRONMENT.keys() <= os.environ.keys():
        command = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, command, {**WORKER_ENVIRONMENT, **os.environ})


if __name__ == "__main__":
    restart_as_worker()
    main()
