"""What self-play costs beside its network, and what several processes make of it.

`python -m benchmarks.selfplay` prints one table and stores it as JSON:

- *self-play*: positions that a worker evaluates a second, without the cache, beside what its
  evaluator does with the same batches and nothing else, taking turns; and where the rest goes.
  b4c32 plays in int8, b6c96 with the kind that `evaluator=auto` takes here.
- *simulations an evaluation*: with the cache, as runs play.
- *processes*: a worker in a Ray actor, and two of them, beside one in a process of its own, all
  started anew and warmed up alike each time; and two processes of bare evaluators beside one, which
  says what the machine has to give.
- *learner*: steps a second with batches drawn from a replay folder, beside steps on one batch.

The networks are untrained ones in which every weight matters: they cost what trained ones cost. The
first two begin with games in progress, at plies spread evenly over their length, to which search
without a network has brought them (`play_ahead`): on empty boards the cache answers more, and
nothing is near its end.

`--checkpoint FILE` measures simulations an evaluation alone, of a trained network (once for each
FILE), with its run's games, search, cache and evaluator. Games are in progress there too, by plies
of its own.

`--memory MINUTES` plays 19x19 with b6c64, 64 games and 800 simulations in a Ray actor instead,
prints the memory of its process each minute, and exits with 1 where it takes 1.5 GiB or grows by
more than 16 MiB after the first two minutes.

Everything runs in one thread a process, with the environment that workers get.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import multiprocessing
import os
import queue
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.command import BenchmarkError, positive, run
from benchmarks.evaluators import WIDE, random_network
from benchmarks.table import Row, Target, begin, compared, report, rounds, spread
from engine import RuleSet
from engine.evaluators import Evaluator
from engine.search import SearchConfig
from model.buckets import BucketEvaluator
from model.checkpoint import Checkpoint, checkpoint_stem, read_meta
from model.choice import AUTO, fixed_choice, measured_choice
from model.evaluator import Served, evaluator_for
from model.games import GameEntry
from model.learner import Learner, LearnerConfig
from model.network import PRESETS, Network, NetworkConfig
from model.positions import random_positions
from model.prefetch import ahead
from model.serving import CALIBRATED, COMPARED, load_served, make_served, prepare
from model.targets import Batch, make_batch
from scripts.replay import read_config
from selfplay.cluster import WORKER_ENVIRONMENT, ClusterConfig, RayWorkers, Worker, WorkerSpec
from selfplay.loop import RunConfig
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
#: More games than a worker ever gets through.
ENDLESS = 10_000
#: Simulations a ply while games are brought to plies of their own.
AHEAD = 8


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A board and a network."""

    rules: RuleSet
    network: NetworkConfig
    #: Least share of the evaluator's speed in self-play.
    least: float = 0.0
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
            worker.set_evaluator(_Silent(self.rules), 0)
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
    Case(rules=RuleSet.preset("irensei"), network=WIDE, least=0.98, kind=AUTO),
)

TARGETS = (
    *(Target(what=f"self-play, {case.name}", least=case.least, ratio=True) for case in CASES),
    *(Target(what=f"simulations an evaluation, {case.name}", least=1.1) for case in CASES),
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
        spared(f"simulations an evaluation, {case.name}", work),
    ]


def spared(what: str, work: Work) -> Row:
    """Simulations an evaluation; what the cache has answered, and what was over or proven."""
    simulations = work.search["simulations"]
    cached, ended = (work.search[name] / simulations for name in ("cached", "terminals"))
    return Row(
        what=what,
        value=simulations / work.evaluations,
        unit="",
        reference=f"cached: {cached:.1%}, ended or proven: {ended:.1%}",
    )


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


# --- games in progress ----------------------------------------------------------------------------


def play_ahead(worker: SelfPlay) -> float:
    """Bring a worker's games to plies that are spread evenly over a game; returns a game's length.

    With eight simulations a ply, so that it takes less time than what is measured: as many games as
    there are slots are played to their ends, which says how long they are; then one game after
    another begins, each a slot's share of that length later.
    """
    usual, slots = worker.config, worker.config.games
    worker.config = dataclasses.replace(
        usual, full_fraction=0.0, fast_simulations=min(AHEAD, usual.fast_simulations)
    )
    worker.add_indices(range(slots))
    finished, _ = worker.play(games=slots)
    length = statistics.mean(game.statistics.plies for game in finished)
    owed = 0.0
    for index in range(slots):
        worker.add_indices([slots + index])
        owed += length / slots * (1 + len(_plies(worker)))
        while owed > 0 and (worker.indices_left or _plies(worker)):
            owed -= worker.play(games=slots, seconds=0)[1].plies
    worker.config = usual
    return length


def _plies(worker: SelfPlay) -> list[int]:
    """The plies that the games under way have come to."""
    plies = (worker.ply(slot) for slot in range(worker.config.games))
    return [ply for ply in plies if ply is not None]


# --- trained networks ---------------------------------------------------------------------------


def checkpoint_rows(path: Path, seconds: float) -> list[Row]:
    """Simulations an evaluation of a trained network in its run's games.

    Raises CheckpointError, and ReplayError or SettingsError for a configuration beside it that
    cannot be used. Without one its games are played as runs do by default.
    """
    checkpoint, config = Checkpoint.load(path), _config_of(path)
    if config is None:
        games = [GameChoice(rules=e.rules, opening=e.opening) for e in checkpoint.meta.games]
        config = RunConfig(games=games, selfplay=SelfPlayConfig(games=GAMES))
    network, rng = checkpoint.network, np.random.default_rng(0)
    served = load_served(path)
    if served is None:
        count = CALIBRATED + COMPARED
        positions = random_positions(config.entries, count, config.height, config.width, rng)
        kinds = fixed_choice(AUTO, "cpu").kinds
        served = prepare(network, positions, kinds, "cpu", config.batch_size).served
    worker = SelfPlay(
        games=config.games,
        search=config.search,
        config=dataclasses.replace(config.selfplay, games=config.selfplay.games_a_thread),
        height=config.height,
        width=config.width,
        run_seed=config.seed,
    )
    worker.set_evaluator(evaluator_for(network, "cpu", worker.batch_size, served), 0)
    length = play_ahead(worker)
    worker.add_indices(range(ENDLESS, 10 * ENDLESS))
    worker.play(games=ENDLESS, seconds=seconds / 4)
    plies = _plies(worker)
    _, work = worker.play(games=ENDLESS, seconds=seconds)
    name = checkpoint_stem(path).name
    return [
        Row(what=f"{name}, mean length of its games", value=length, unit="plies"),
        Row(what=f"{name}, mean ply at the start", value=statistics.mean(plies), unit=""),
        spared(f"{name}, simulations an evaluation", work),
    ]


def _config_of(path: Path) -> RunConfig | None:
    """The configuration of the run in whose folder a checkpoint lies; None for one by itself."""
    run_folder = path.resolve().parent.parent
    return read_config(run_folder) if (run_folder / "config.yaml").exists() else None


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


def _spec(case: Case, **selfplay: Any) -> WorkerSpec:
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


def _weights(network: Network) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in network.state_dict().items()}


def _with_ray(
    case: Case, network: Network, served: Served, workers: int, seconds: float
) -> tuple[float, float]:
    """Positions evaluated a second by so many actors; seconds until they had begun, Ray's too."""
    began = time.perf_counter()
    pool = RayWorkers(ClusterConfig(workers=workers), _spec(case), first_game=0)

    def work() -> Work:
        chunk = pool.collect()
        assert chunk is not None
        return chunk.work

    try:
        pool.publish(0, _weights(network), served)
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
    worker = Worker(_spec(case))
    worker.load(0, _weights(network), served)
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

#: Minutes after which memory should not grow any more.
SETTLED = 2.0
MEMORY_GAMES, MEMORY_SIMULATIONS = 64, 800
MEMORY_TARGETS = (
    Target(what="memory, the most", most=1536),
    Target(what=f"memory, growth after {SETTLED:g} minutes", most=16),
)


def memory(minutes: float) -> Iterator[tuple[float, float]]:
    """(minutes, MiB) of a Ray actor's process while it plays 19x19 with b6c64, each minute."""
    case = Case(rules=RuleSet.preset("irensei"), network=PRESETS["b6c64"])
    network, served = case.serve()
    spec = dataclasses.replace(
        _spec(case, games=MEMORY_GAMES, full_fraction=1.0),
        search=SearchConfig(simulations=MEMORY_SIMULATIONS),
    )
    pool = RayWorkers(ClusterConfig(workers=1), spec, first_game=0)
    spent, began = 0.0, time.monotonic()
    try:
        pool.publish(0, _weights(network), served)
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
        rows.append(Row(what=MEMORY_TARGETS[1].what, value=growth, unit="MiB"))
    return rows


def watch_memory(minutes: float) -> bool:
    """Prints the readings and what has become of the targets; whether none was missed."""
    readings = []
    for spent, mib in memory(minutes):
        readings.append((spent, mib))
        print(f"{spent:6.1f} min {mib:8.0f} MiB", flush=True)
    rows = memory_rows(readings)
    report("memory", "a self-play worker's memory, 19x19 b6c64", rows, MEMORY_TARGETS)
    return all(target.met(rows) is not False for target in MEMORY_TARGETS)


# --- all of it ----------------------------------------------------------------------------------


def measure(quick: bool) -> list[Row]:
    """All rows."""
    table: list[Row] = []
    for case in CASES:
        table += selfplay_rows(case, *((0.5, 4) if quick else (1.5, 16)))
    table += process_rows(CASES[1], *((4.0, 1) if quick else (8.0, 5)))
    return table + learner_rows(CASES[0], *((20, 2) if quick else (100, 8)))


def main(arguments: list[str] | None = None) -> bool:
    """Prints and stores all of it; `arguments` are the command line's where None.

    False where memory misses its targets.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="rough figures in minutes")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--checkpoint",
        type=Path,
        action="append",
        metavar="FILE",
        help="simulations an evaluation of a trained network instead",
    )
    instead.add_argument("--memory", type=positive, metavar="MINUTES", help="watch memory instead")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    begin()
    if asked.memory:
        return watch_memory(asked.memory)
    suffix = "-quick" if asked.quick else ""
    if asked.checkpoint:
        for path in asked.checkpoint:
            read_meta(path)  # raises CheckpointError before any of them is measured
        rows = [
            row
            for path in asked.checkpoint
            for row in checkpoint_rows(path, 5.0 if asked.quick else 60.0)
        ]
        report(f"spared{suffix}", "simulations an evaluation of trained networks", rows)
        return True
    rows = measure(asked.quick)
    report(f"selfplay{suffix}", "self-play, one thread a process", rows, TARGETS)
    return True


def restart_as_worker() -> None:
    """Begin this program anew in the environment that workers have, unless it has one."""
    if not WORKER_ENVIRONMENT.keys() <= os.environ.keys():
        command = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, command, {**WORKER_ENVIRONMENT, **os.environ})


if __name__ == "__main__":
    restart_as_worker()
    sys.exit(run(main))
