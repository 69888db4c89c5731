"""What self-play costs beside its network, and what several processes make of it.

`python -m benchmarks.selfplay` prints one table and stores it as JSON:

- *self-play*: positions that a worker evaluates a second, without the cache, beside what its
  evaluator does with the same batches and nothing else, taking turns; and where the rest goes.
  b4c32 plays in int8, b6c96 with the kind that `evaluator=auto` takes here.
- *simulations an evaluation*: with the cache, as runs play; at last that of a trained network
  (`benchmarks.spared`).
- *processes*: a worker in a Ray actor, and two of them, beside one in a process of its own, all
  started anew and warmed up alike each time; and two processes of bare evaluators beside one, which
  says what the machine has to give.
- *learner*: steps a second with batches drawn from a replay folder, beside steps on one batch.

The networks are untrained ones in which every weight matters: they cost what trained ones cost. The
first two begin with games in progress, at plies spread evenly over their length, to which search
without a network has brought them (`play_ahead`): on empty boards the cache answers more, and
nothing is near its end.

Everything runs in one thread a process, with the environment that workers get.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import multiprocessing
import queue
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks import spared
from benchmarks.command import BenchmarkError, restart_as_worker, run
from benchmarks.evaluators import WIDE, random_network
from benchmarks.progress import ENDLESS, Silent, play_ahead
from benchmarks.table import Row, Target, begin, compared, report, rounds, spread
from engine import RuleSet
from engine.evaluators import Evaluator
from engine.search import SearchConfig
from model.buckets import BucketEvaluator
from model.choice import AUTO, measured_choice
from model.evaluator import Served, evaluator_for
from model.games import GameEntry
from model.learner import Learner, LearnerConfig
from model.network import PRESETS, Network, NetworkConfig
from model.positions import random_positions
from model.prefetch import ahead
from model.serving import CALIBRATED, make_served
from model.targets import Batch, make_batch
from selfplay.cluster import ClusterConfig, RayWorkers, Worker, WorkerSpec
from selfplay.replay import ReplayBuffer, ReplayConfig
from selfplay.stopwatch import shares
from selfplay.worker import GameChoice, SelfPlay, SelfPlayConfig, Work, batch_size

#: Half of them fill a batch, of 64 as those of `benchmarks.evaluators`.
GAMES = 128
SIMULATIONS = 200
BATCH = batch_size(GAMES, SearchConfig())
#: Seconds in which kinds of evaluators are timed, and positions on which they are compared.
CHOOSING, TRIED = 5.0, 256
#: Seconds in which a worker warms up.
WARM = 4.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A board and a network."""

    rules: RuleSet
    network: NetworkConfig
    #: Least share of the evaluator's speed in self-play.
    least: float = 0.0
    #: Least simulations an evaluation; None where an untrained network cannot show it.
    spared: float | None = 1.1
    #: What evaluates; "auto" is measured.
    kind: str = "onnx-int8"

    @property
    def name(self) -> str:
        """As the table calls it."""
        return f"{self.rules.width}x{self.rules.height} {self.network.name}"

    def serve(self) -> tuple[Network, Served]:
        """The network, with what evaluates it."""
        network = random_network(self.network)
        height, width = self.rules.height, self.rules.width
        entry, rng = GameEntry(rules=self.rules), np.random.default_rng(0)
        positions = random_positions([entry], CALIBRATED + TRIED, height, width, rng)
        kind = self.kind
        if kind == AUTO:
            kind = measured_choice(network, "cpu", BATCH, positions, CHOOSING).kinds[0]
        return network, make_served(kind, network, positions)

    def worker(
        self, evaluator: Evaluator, *, cache_mib: int, in_progress: bool = False
    ) -> SelfPlay:
        """A worker whose games begin, or are `in_progress` (`play_ahead`, with no network)."""
        worker = SelfPlay(
            games=[GameChoice(rules=self.rules)],
            search=SearchConfig(simulations=SIMULATIONS),
            config=SelfPlayConfig(games=GAMES, cache_mib=cache_mib),
            height=self.rules.height,
            width=self.rules.width,
            run_seed=0,
        )
        if in_progress:
            worker.set_evaluator(Silent(self.rules), 0)
            play_ahead(worker)
        worker.set_evaluator(evaluator, 1)
        worker.add_indices(range(ENDLESS, 2 * ENDLESS))
        return worker


CASES = (
    Case(
        rules=RuleSet.preset("irensei", size=9, line_length=5, gutter=1),
        network=PRESETS["b4c32"],
        least=0.90,
    ),
    Case(rules=RuleSet.preset("gomoku"), network=PRESETS["b4c32"], least=0.95),
    Case(rules=RuleSet.preset("gomoku"), network=WIDE, least=0.98, kind=AUTO),
    Case(rules=RuleSet.preset("irensei"), network=WIDE, least=0.98, spared=None, kind=AUTO),
)

TARGETS = (
    *(Target(what=f"self-play, {case.name}", least=case.least, ratio=True) for case in CASES),
    *(spared.target(case.name, case.spared) for case in CASES if case.spared),
    spared.TARGET,
    Target(what="processes, start of Ray and a worker", most=5),
    Target(what="processes, one Ray actor", least=0.98, ratio=True),
    Target(what="processes, two Ray actors", least=1.9, ratio=True),
    Target(what="learner, from the replay", least=0.9, ratio=True),
)


def selfplay_rows(case: Case, seconds: float, repeats: int) -> list[Row]:
    """Self-play beside its evaluator; where its time goes; what the cache and proofs spare."""
    network, served = case.serve()
    evaluator = evaluator_for(network, "cpu", BATCH, served)
    worker = case.worker(evaluator, cache_mib=0, in_progress=True)
    cached = case.worker(evaluator, cache_mib=32, in_progress=True)
    for each in (worker, cached):
        each.play(games=ENDLESS, seconds=seconds)  # the network takes over, the cache fills
    done = Work()
    gc.freeze()  # as a worker's process does

    def play() -> int:
        nonlocal done
        _, work = worker.play(games=ENDLESS, seconds=seconds)
        done += work
        return work.evaluations

    found = rounds({"play": play, "raw": _raw_task(case, evaluator, seconds)}, repeats)
    ratio, ratio_spread = compared(found["play"], found["raw"])
    done.parts.pop("waiting")  # while the evaluator alone was timed
    beside = done.parts["network"] / done.evaluations
    slowed = 1 - 1 / (statistics.median(found["raw"]) * beside)
    _, work = cached.play(games=ENDLESS, seconds=8 * seconds)
    return [
        Row(
            what=f"self-play, {case.name}",
            value=statistics.median(found["play"]),
            unit="positions/s",
            reference=f"its evaluator ({served.kind})",
            ratio=ratio,
            spread=spread(found["play"]),
            ratio_spread=ratio_spread,
        ),
        *(
            Row(what=f"  {name}, {case.name}", value=100 * share, unit="% of its time")
            for name, share in shares(done.parts).items()
        ),
        Row(
            what=f"  network beside trees, {case.name}",
            value=100 * slowed,
            unit="% of its own time more than alone",
        ),
        spared.spared_row(case.name, work),
    ]


def _raw_task(case: Case, evaluator: Evaluator, seconds: float) -> Callable[[], int]:
    """The evaluator alone, on a batch of positions where a worker's are: in its own memory."""
    height, width = case.rules.height, case.rules.width
    rng = np.random.default_rng(1)
    rows = random_positions([GameEntry(rules=case.rules)], BATCH, height, width, rng)
    keys = np.zeros(BATCH, np.uint64)
    assert isinstance(evaluator, BucketEvaluator)
    planes, globals_ = evaluator.inputs(height, width)
    planes, globals_ = planes[:BATCH], globals_[:BATCH]
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
    """One worker in a Ray actor, and two, beside one in a process without Ray."""
    network, served = case.serve()
    names = ("alone", "one", "two", "start", "bare", "bare two")
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeats):
        found["alone"].append(_in_processes(_play_alone, case, 1, seconds))
        for name, count in (("one", 1), ("two", 2)):
            rate, start = _with_ray(case, network, served, count, seconds)
            found[name].append(rate)
            found["start"].append(start)
        for name, count in (("bare", 1), ("bare two", 2)):
            found[name].append(_in_processes(_evaluate_bare, case, count, seconds / 2))

    def row(what: str, name: str, reference: str, beside: str) -> Row:
        ratio, ratio_spread = compared(found[name], found[beside])
        return Row(
            what=f"processes, {what}",
            value=statistics.median(found[name]),
            unit="positions/s",
            reference=reference,
            ratio=ratio,
            spread=spread(found[name]),
            ratio_spread=ratio_spread,
        )

    return [
        Row(
            what="processes, start of Ray and a worker",
            value=statistics.median(found["start"]),
            unit="s",
            spread=spread(found["start"]),
        ),
        row("two bare evaluators", "bare two", "one bare evaluator", "bare"),
        row("one Ray actor", "one", "one worker in a process of its own", "alone"),
        row("two Ray actors", "two", "one Ray actor", "one"),
    ]


def spec_of(case: Case, **selfplay: Any) -> WorkerSpec:
    """What a worker of a run is made from."""
    return WorkerSpec(
        games=[GameChoice(rules=case.rules)],
        search=SearchConfig(simulations=SIMULATIONS),
        selfplay=SelfPlayConfig(**{"games": GAMES} | selfplay),
        network=case.network,
        height=case.rules.height,
        width=case.rules.width,
        run_seed=0,
    )


def weights_of(network: Network) -> dict[str, np.ndarray]:
    """As they travel to workers."""
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def _with_ray(
    case: Case, network: Network, served: Served, workers: int, seconds: float
) -> tuple[float, float]:
    """Positions evaluated a second by so many actors; seconds until they had begun, Ray's too."""
    began = time.perf_counter()
    pool = RayWorkers(ClusterConfig(workers=workers), spec_of(case), first_game=0)

    def work() -> Work:
        chunk = pool.collect()
        assert chunk is not None
        return chunk.work

    try:
        pool.publish(0, weights_of(network), served)
        first = work()
        start = time.perf_counter() - began - first.seconds
        return workers * _rate(work, seconds), start
    finally:
        pool.close()


def _rate(work: Callable[[], Work], seconds: float) -> float:
    """Positions a second that one worker evaluates, waiting included; after `WARM` seconds."""
    end = time.perf_counter() + WARM
    while time.perf_counter() < end:
        work()
    done, end = Work(), end + seconds
    while time.perf_counter() < end:
        done += work()
    # By the workers' own clocks: chunks that are cut at both ends of the time would not show.
    return done.evaluations / sum(done.parts.values())


def _in_processes(
    target: Callable[[Case, Any, Any, float], None], case: Case, count: int, seconds: float
) -> float:
    """Positions evaluated a second by so many processes that do this and nothing else."""
    context = multiprocessing.get_context("spawn")
    begin_, rates_ = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=target, args=(case, begin_, rates_, seconds)) for _ in range(count)
    ]
    for process in processes:
        process.start()
    try:
        total: float = sum(rates_.get(timeout=10 * seconds + 120) for _ in processes)
    except queue.Empty as error:
        raise BenchmarkError("a process that was to be measured has not answered") from error
    finally:
        for process in processes:
            process.join(timeout=10)
            process.kill()
    return total


def _play_alone(case: Case, begin_: Any, rates_: Any, seconds: float) -> None:
    """A worker in such a process: made, warmed up and measured as an actor is."""
    torch.set_num_threads(1)
    network, served = case.serve()
    worker = Worker(spec_of(case))
    worker.load(0, weights_of(network), served)
    begin_.wait()
    chunk = ClusterConfig()
    indices = iter([range(ENDLESS)])

    def work() -> Work:
        given = next(indices, range(0))
        return worker.play(given, games=chunk.chunk_games, seconds=chunk.chunk_seconds).work

    work()  # an actor's first chunk says that it has begun
    rates_.put(_rate(work, seconds))


def _evaluate_bare(case: Case, begin_: Any, rates_: Any, seconds: float) -> None:
    """An evaluator in such a process."""
    torch.set_num_threads(1)
    network, served = case.serve()
    evaluator = evaluator_for(network, "cpu", BATCH, served)
    task = _raw_task(case, evaluator, seconds)
    begin_.wait()
    began = time.perf_counter()
    rates_.put(task() / (time.perf_counter() - began))


# --- learner ------------------------------------------------------------------------------------


def learner_rows(case: Case, steps: int, repeats: int) -> list[Row]:
    """Training steps with batches from a replay folder, beside steps on a batch at hand."""
    worker = case.worker(Silent(case.rules), cache_mib=0)
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

        found = rounds({"bare": bare, "loop": loop}, repeats)
    ratio, ratio_spread = compared(found["loop"], found["bare"])
    return [
        Row(
            what="learner, from the replay",
            value=statistics.median(found["loop"]),
            unit="samples/s",
            reference=f"a bare step, {case.name}",
            ratio=ratio,
            spread=spread(found["loop"]),
            ratio_spread=ratio_spread,
        )
    ]


# --- all of it ----------------------------------------------------------------------------------


def measure(quick: bool) -> list[Row]:
    """All rows."""
    table: list[Row] = []
    for case in CASES:
        table += selfplay_rows(case, *((0.5, 4) if quick else (1.5, 16)))
    table += process_rows(CASES[1], *((4.0, 1) if quick else (8.0, 5)))
    table += learner_rows(CASES[0], *((20, 2) if quick else (100, 8)))
    return table if quick else table + spared.trained_rows()


def main() -> None:
    """Prints and stores all of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="rough figures in minutes")
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    begin()
    name = "selfplay-quick" if quick else "selfplay"
    report(name, "self-play, one thread a process", measure(quick), TARGETS)


if __name__ == "__main__":
    restart_as_worker()
    sys.exit(run(main))
