"""Who holds the self-play workers: this process, or Ray actors. The only file that imports ray.

Both kinds have one small interface, `Workers`: publish a weights version, collect what has been
played, close. The loop knows nothing else about where its games come from.
"""

import contextlib
import functools
import gc
import math
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import psutil
import torch

from engine.search import SearchConfig
from model.evaluator import Served, evaluator_for, exact_kind, why_not
from model.network import Network, NetworkConfig
from selfplay.worker import FinishedGame, GameChoice, SelfPlay, SelfPlayConfig, Work

#: Weights of one version: parameter name -> array.
Weights = Mapping[str, np.ndarray]

#: Worker deaths in a row, without a chunk of games in between, after which the run gives up.
MAX_DEATHS = 5
#: Seconds between looks at whether the run shall stop, while waiting for games.
POLL_SECONDS = 0.2
#: What workers find in their environment, where the user has not set it: glibc asks for huge pages.
#: Networks and trees leap about in megabytes, so that looking up addresses costs some per cent.
WORKER_ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
#: What Ray need not do: usage reports, a look for accelerators, events and measurements every
#: second for a dashboard, which a Ray started here does not have, and a look for new log files
#: twice a second, whose lines nobody is shown.
RAY_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_enable_metrics_collection": "false",
    "LOG_NAME_UPDATE_INTERVAL_S": "60",
    # How nice workers are to the learner, which comes first on a machine that they share.
    "RAY_worker_niceness": "15",
}


class ClusterError(RuntimeError):
    """The workers cannot be had or cannot be kept alive; the message says what happened."""


@dataclass(slots=True, kw_only=True)
class ClusterConfig:
    """Where self-play runs and in what portions its games arrive."""

    #: "local": in this process, step by step and deterministic. "ray": in worker processes.
    kind: str = "ray"
    #: Worker processes of "ray"; 0 is one per processor core.
    workers: int = 0
    #: Ray cluster to join ("auto", or host:port); empty starts one on this machine.
    address: str = ""
    #: Share of a GPU that each worker takes; 0 plays on the CPU.
    gpus: float = 0.0
    #: A chunk of games is handed over when this many have finished ...
    chunk_games: int = 8
    #: ... or, with "ray", after this many seconds; "local" counts games only.
    chunk_seconds: float = 4.0
    #: Chunks that a worker may be ahead of the loop: it waits when the loop falls behind.
    outstanding: int = 2
    #: Size of Ray's shared memory on this machine, MiB.
    object_store_mb: int = 256

    def __post_init__(self) -> None:
        if self.kind not in ("local", "ray"):
            raise ValueError(f"cluster.kind: {self.kind!r} is not one of local, ray")
        for name, low in (("workers", 0), ("chunk_games", 1), ("outstanding", 1)):
            if getattr(self, name) < low:
                raise ValueError(f"cluster.{name}: {getattr(self, name)} is less than {low}")
        for name in ("chunk_seconds", "gpus", "object_store_mb"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"cluster.{name}: {getattr(self, name)} is no number from 0 on")


@dataclass(slots=True, kw_only=True)
class WorkerSpec:
    """All that a worker is made from; plain data, so that it travels to another process."""

    games: Sequence[GameChoice]
    search: SearchConfig
    selfplay: SelfPlayConfig
    network: NetworkConfig
    height: int
    width: int
    run_seed: int
    device: str = "cpu"


@dataclass(slots=True, kw_only=True)
class Chunk:
    """Games that have finished, and the work of the worker since its last chunk."""

    games: list[FinishedGame]
    work: Work
    memory: int
    """Resident memory of the worker's process, bytes."""
    notice: str = ""
    """What the run's user should know about the worker, in a line; empty where there is nothing."""


class Workers(Protocol):
    """A pool of self-play workers."""

    def publish(self, version: int, weights: Weights, served: Served | None = None) -> None:
        """Let every worker play with these weights from its games' next plies on.

        `served` says how they are evaluated: in float32 without it.
        """

    def collect(self) -> Chunk | None:
        """Wait for the next chunk of games; None when the run shall stop."""

    def ready(self) -> bool:
        """Whether a chunk has arrived that `collect` has not returned."""

    def close(self) -> None:
        """End all workers; games under way are dropped. Safe to call twice."""

    @property
    def next_game(self) -> int:
        """The lowest game index that no worker has been given."""

    @property
    def replaced(self) -> int:
        """Workers that died and were replaced."""


def start_workers(
    config: ClusterConfig, spec: WorkerSpec, *, first_game: int, stop: Callable[[], bool]
) -> Workers:
    """The pool that the configuration asks for, its games numbered from `first_game` on.

    `stop` is asked now and then by a waiting `collect`. Raises `ClusterError`.
    """
    kind = LocalWorkers if config.kind == "local" else RayWorkers
    return kind(config, spec, first_game=first_game, stop=stop)


class Worker:
    """One self-play process's content: network, evaluator and games. Raises ClusterError.

    With `selfplay.threads` above 1 the games are shared out among as many search threads, so that
    trees grow while the network, one call at a time, evaluates what another thread has found.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        self._network, self._device = Network(spec.network), spec.device
        self.version = -1
        self._notice = ""
        try:
            self._plays = [
                SelfPlay(
                    games=spec.games,
                    search=spec.search,
                    config=spec.selfplay.of_a_thread,
                    height=spec.height,
                    width=spec.width,
                    run_seed=spec.run_seed,
                )
                for _ in range(spec.selfplay.threads)
            ]
        except MemoryError as error:
            raise ClusterError(
                f"a self-play worker on {socket.gethostname()} lacks the memory that it was given;"
                f" lower selfplay.cache_mib ({spec.selfplay.cache_mib}) or selfplay.games"
                f" ({spec.selfplay.games})"
            ) from error
        # What has been made so far stays: the collector need not look through it again and again.
        gc.freeze()

    def load(self, version: int, weights: Weights, served: Served | None = None) -> None:
        """Play on with a weights version; does nothing if it is in use already.

        On a machine that cannot compute as the version is served, where an extra is missing, it is
        evaluated in float32.
        """
        if version == self.version:
            return
        if served and (reason := why_not(served.kind, self._device)):
            exact = Served(kind=exact_kind(self._device))
            self._notice = (
                f"a self-play worker on {socket.gethostname()} evaluates with {exact.kind}:"
                f" {served.kind} {reason}"
            )
            served = exact
        self._network.load_state_dict(
            {name: torch.tensor(value) for name, value in weights.items()}
        )
        batch_size = self._plays[0].batch_size
        evaluator = evaluator_for(self._network, self._device, batch_size, served)
        for thread, play in enumerate(self._plays):
            play.set_evaluator(evaluator.twin() if thread else evaluator, version)
        self.version = version

    def play(self, indices: Sequence[int], *, games: int, **limits: Any) -> Chunk:
        """Add game indices to those waiting, then `SelfPlay.play` within the limits."""
        threads = len(self._plays)
        for index in indices:
            # Where a game is played changes nothing about it.
            min(self._plays, key=lambda play: play.indices_left).add_indices([index])
        if threads == 1:
            finished, work = self._plays[0].play(games=games, **limits)
        else:
            finished, work = self._play_together(games, **limits)
        return Chunk(
            games=finished,
            work=work,
            memory=psutil.Process().memory_info().rss,
            notice=self._notice,
        )

    def _play_together(
        self, games: int, *, stop: Callable[[], bool] = lambda: False, **limits: Any
    ) -> tuple[list[FinishedGame], Work]:
        """All threads' games, and the sum of their work in the time that it took."""
        finished, work, seconds = [], Work(), 0.0
        wanted = games + sum(play.played for play in self._plays)

        def enough() -> bool:
            # Of all of them together: none waits for another one's games.
            return sum(play.played for play in self._plays) >= wanted or stop()

        def play(part: SelfPlay) -> tuple[list[FinishedGame], Work]:
            return part.play(games=games, stop=enough, **limits)

        with ThreadPoolExecutor(len(self._plays), thread_name_prefix="search") as pool:
            for ended, done in pool.map(play, self._plays):
                finished += ended
                work += done
                seconds = max(seconds, done.seconds)
        work.seconds = seconds
        return finished, work


class _Indices:
    """Hands out game indices so that no worker runs dry between two chunks.

    During the chunks that a worker may be ahead it can start, at most, the games that fill its
    slots plus those that finish; after that each chunk is followed by as many as it has finished.
    """

    def __init__(self, first: int, config: ClusterConfig, slots: int) -> None:
        self.next = first
        self._first = slots + (config.outstanding + 1) * (config.chunk_games + slots)

    def take(self, finished: int | None) -> range:
        """Indices for a worker that has finished so many games; None for a new worker."""
        count = self._first if finished is None else finished
        self.next += count
        return range(self.next - count, self.next)


class LocalWorkers:
    """One worker in this process. The same seed gives the same games, chunk by chunk."""

    replaced = 0

    def __init__(
        self,
        config: ClusterConfig,
        spec: WorkerSpec,
        *,
        first_game: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._config, self._stop = config, stop
        self._indices = _Indices(first_game, config, spec.selfplay.games)
        self._worker = Worker(spec)
        self._finished: int | None = None

    def publish(self, version: int, weights: Weights, served: Served | None = None) -> None:
        """Load the weights at once."""
        self._worker.load(version, weights, served)

    def collect(self) -> Chunk | None:
        """Play the next chunk."""
        chunk = self._worker.play(
            self._indices.take(self._finished), games=self._config.chunk_games, stop=self._stop
        )
        self._finished = len(chunk.games)
        return None if self._stop() else chunk

    def ready(self) -> bool:
        """Never: a chunk is played when it is asked for."""
        return False

    def close(self) -> None:
        """Nothing to end."""

    @property
    def next_game(self) -> int:
        """The lowest game index that no worker has been given."""
        return self._indices.next


class RayWorkers:
    """Workers as Ray actors, each a few chunks ahead of the loop at most.

    A worker that the operating system kills is replaced by a new one, which starts new games.
    """

    def __init__(
        self,
        config: ClusterConfig,
        spec: WorkerSpec,
        *,
        first_game: int,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._config, self._spec, self._stop = config, spec, stop
        self._indices = _Indices(first_game, config, spec.selfplay.games)
        self._ray = _ray_started(config)
        try:
            self._count = _worker_count(config, self._ray.cluster_resources())
        except ClusterError:
            self._ray.shutdown()
            raise
        self._actor_class = self._ray.remote(_Actor)
        self._actors: list[Any] = []
        #: Call under way -> number of the actor that works on it.
        self._calls: dict[Any, int] = {}
        self._weights: list[Any] = []
        self._version = -1
        self._deaths = 0
        self.replaced = 0

    def publish(self, version: int, weights: Weights, served: Served | None = None) -> None:
        """Put the weights into the object store, once; workers fetch them with their next chunk."""
        self._weights, self._version = [self._ray.put((dict(weights), served))], version
        if not self._actors:
            for number in range(self._count):
                self._actors.append(None)
                self._start(number)

    def collect(self) -> Chunk | None:
        """Wait for the first chunk to arrive and set its worker to the next one."""
        while not self._stop():
            done, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=POLL_SECONDS)
            if not done:
                continue
            number = self._calls.pop(done[0])
            try:
                chunk: Chunk = self._ray.get(done[0])
            except self._ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, ClusterError):
                    raise ClusterError(str(error.cause)) from error
                raise ClusterError(f"self-play worker {number} failed: {error}") from error
            except self._ray.exceptions.RayError as error:
                self._replace(number, error)
                continue
            self._deaths = 0
            self._submit(number, len(chunk.games))
            return chunk
        return None

    def ready(self) -> bool:
        """Whether a worker's call has ended."""
        done, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=0)
        return bool(done)

    def close(self) -> None:
        """Kill the actors and leave the Ray cluster; one started here is shut down."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors.clear()
        self._calls.clear()
        self._ray.shutdown()

    @property
    def next_game(self) -> int:
        """The lowest game index that no worker has been given."""
        return self._indices.next

    def _start(self, number: int) -> None:
        """Create the actor with this number and give it its first chunks to play."""
        options = {"num_cpus": 1, "num_gpus": self._config.gpus, "max_restarts": 0}
        self._actors[number] = self._actor_class.options(**options).remote(self._spec)
        self._submit(number, None)
        for _ in range(1, self._config.outstanding):
            self._submit(number, 0)

    def _submit(self, number: int, finished: int | None) -> None:
        call = self._actors[number].play.remote(
            self._version,
            self._weights,
            self._indices.take(finished),
            games=self._config.chunk_games,
            seconds=self._config.chunk_seconds,
        )
        self._calls[call] = number

    def _replace(self, number: int, error: Exception) -> None:
        """Put a new actor into the place of one that died."""
        self._deaths += 1
        if self._deaths > MAX_DEATHS:
            reason = str(error).strip().splitlines()[0]
            raise ClusterError(
                f"self-play workers died {self._deaths} times in a row; the last one: {reason}"
            ) from error
        self.replaced += 1
        self._calls = {call: owner for call, owner in self._calls.items() if owner != number}
        self._start(number)


class _Actor:
    """The Ray side of a worker: fetches weights from the object store when they are new."""

    def __init__(self, spec: WorkerSpec) -> None:
        torch.set_num_threads(1)
        self._spec = spec

    @functools.cached_property
    def _worker(self) -> Worker:
        # Not made at once: what fails in `__init__` would count as a death, and be tried again.
        return Worker(self._spec)

    def play(
        self, version: int, weights: list[Any], indices: Sequence[int], **limits: Any
    ) -> Chunk:
        """`Worker.play` with a weights version; `weights` holds one object reference."""
        if version != self._worker.version:
            import ray

            self._worker.load(version, *ray.get(weights[0]))
        return self._worker.play(indices, **limits)


def _ray_started(config: ClusterConfig) -> Any:
    """The ray module, connected to the cluster at the address or to one started here, quietly."""
    for name, value in (WORKER_ENVIRONMENT | RAY_ENVIRONMENT).items():
        os.environ.setdefault(name, value)
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        with _own_signals():
            if config.address:
                _check_address(config.address)
                ray.init(address=config.address, **quiet)
            else:
                ray.init(
                    address="local",
                    num_cpus=config.workers or os.cpu_count(),
                    include_dashboard=False,
                    object_store_memory=config.object_store_mb * 2**20,
                    **quiet,
                )
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        where = f"join the Ray cluster at {config.address!r}" if config.address else "start Ray"
        raise ClusterError(f"cannot {where}: {error}") from error
    return ray


def _worker_count(config: ClusterConfig, resources: Mapping[str, float]) -> int:
    """How many workers play. Raises ClusterError where the cluster lacks their cores or GPUs."""
    cores, gpus = int(resources.get("CPU", 0)), resources.get("GPU", 0)
    if config.workers > cores:
        raise ClusterError(f"cluster.workers: {config.workers}, but the cluster has {cores} cores")
    workers = config.workers or max(1, cores)
    if workers * config.gpus > gpus:
        raise ClusterError(
            f"cluster.gpus: {workers} workers with {config.gpus:g} of a GPU each,"
            f" but the cluster has {gpus:g} GPUs; 0 plays on the CPU"
        )
    return workers


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep the program's handlers of signals: meanwhile nobody can set others.

    Ray would set its own, and a SIGTERM while it starts would end the process without a word, or
    be lost. The one that its C++ core sets for SIGTERM, which prints a stack and ends in an abort,
    is replaced again.
    """
    set_handler = signal.signal
    signal.signal = lambda number, handler: signal.getsignal(number)  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = set_handler
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


def _check_address(address: str) -> None:
    """Raises OSError where nobody listens; Ray itself would try again for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal() and "/" not in host:
        socket.create_connection((host, int(port)), timeout=10).close()
