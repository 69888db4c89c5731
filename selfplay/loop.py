"""The loop: play -> store -> train -> publish -> gauntlet.

`Loop.run` is the page to read. It is the same with workers in this process (deterministic: the same
seed gives the same games and losses) and with Ray's.

A run can be killed at any instant. What a chunk of games brings is stored in the order records,
replay, state; what a version brings in the order checkpoint, learner, state. The state is the
commit: `recover` cuts off what was stored after the last one. So a crash costs the games that were
under way, and the optimiser steps since the last version, which are made again.
"""

import dataclasses
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from engine.search import SearchConfig
from model.checkpoint import Checkpoint, CheckpointError, CheckpointMeta, GameEntry
from model.choice import AUTO, Choice, check_name, fixed_choice, measured_choice
from model.learner import STATE_FILE, Learner, LearnerConfig
from model.network import Network, NetworkConfig
from model.positions import Positions, random_positions
from model.prefetch import ahead
from model.serving import CALIBRATED, COMPARED
from model.targets import Batch, make_batch
from selfplay.cluster import Chunk, ClusterConfig, Workers, WorkerSpec, start_workers
from selfplay.gauntlet import Gauntlet, GauntletConfig
from selfplay.metrics import Metrics
from selfplay.players import Game, checkpoint_player, game_folder, one_of_each
from selfplay.publisher import Publisher
from selfplay.ratings import Estimate
from selfplay.records import RecordLog
from selfplay.replay import ReplayBuffer, ReplayConfig
from selfplay.run import Rating, RunError, RunFolder, RunState, checkpoint_name, recover
from selfplay.stopwatch import Stopwatch, shares
from selfplay.storage import cannot_write
from selfplay.worker import GameChoice, SelfPlayConfig, Work, batch_size

_log = logging.getLogger(__name__)

#: Seconds of training before it makes way for games that have arrived ...
TRAINING_SECONDS = 0.5
#: ... and the most chunks of them that are stored before it goes on.
MOST_CHUNKS = 64


@dataclass(slots=True, kw_only=True)
class StopConfig:
    """When a run has reached its goal: at the first limit reached; 0 is no limit."""

    #: Minutes of training, summed over all sessions of the run.
    minutes: float = 0.0
    games: int = 0
    #: Optimiser steps.
    steps: int = 0

    def __post_init__(self) -> None:
        for name in ("minutes", "games", "steps"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"stop.{name}: {getattr(self, name)} is no number from 0 on")


@dataclass(slots=True, kw_only=True)
class LoopConfig:
    """How playing and learning are geared."""

    #: Training samples drawn for each new sample, at most: with "ray" workers play on where the
    #: learner is slower. KataGo (Wu 2019, arXiv:1902.10565) uses about 4.
    reuse: float = 4.0
    #: Samples stored before learning begins.
    warmup: int = 2000
    #: Optimiser steps between two weights versions.
    publish_steps: int = 100
    #: Weights versions between two ratings; 0 rates never.
    rate_versions: int = 10
    #: Threads of the learner, and of "local" self-play.
    threads: int = 1

    def __post_init__(self) -> None:
        for name, low in (
            ("warmup", 0),
            ("publish_steps", 1),
            ("rate_versions", 0),
            ("threads", 1),
        ):
            if getattr(self, name) < low:
                raise ValueError(f"loop.{name}: {getattr(self, name)} is less than {low}")
        if self.threads > 1024:
            raise ValueError(f"loop.threads: {self.threads} is more than 1024")
        if not 0 < self.reuse < math.inf:
            raise ValueError(f"loop.reuse: {self.reuse} is not positive")


@dataclass(slots=True, kw_only=True)
class RunConfig:
    """Everything that determines a run."""

    seed: int = 0
    #: What is played: each game draws one entry.
    games: list[GameChoice]
    model: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    gauntlet: GauntletConfig = field(default_factory=GauntletConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    stop: StopConfig = field(default_factory=StopConfig)
    #: What evaluates positions in self-play: one of `model.choice.NAMES`. "auto" takes the fastest
    #: here that agrees with float32; with "local" workers the first of a fixed list that does.
    evaluator: str = "auto"

    def __post_init__(self) -> None:
        check_name(self.evaluator)
        if self.seed < 0:
            raise ValueError(f"seed: {self.seed} is negative")
        stop, learner = self.stop, self.learner
        to_the_goal = learner.schedule == "cosine" and learner.schedule_steps == 0
        if to_the_goal and not (stop.minutes or stop.games or stop.steps):
            raise ValueError(
                "learner.schedule_steps: 0 lets the rate fall to the run's goal, and this run has"
                " none; set stop.minutes, stop.games or stop.steps, or a number of steps"
            )

    @property
    def device(self) -> str:
        """Where self-play evaluates positions."""
        return "cuda" if self.cluster.gpus else "cpu"

    @property
    def batch_size(self) -> int:
        """The most positions that a worker's evaluator is asked about at a time."""
        return batch_size(self.selfplay.of_a_thread.games, self.search)

    @property
    def entries(self) -> list[GameEntry]:
        """What is played, as a checkpoint stores it."""
        return [GameEntry(rules=each.rules, opening=each.opening) for each in self.games]

    @property
    def height(self) -> int:
        """Rows of the network's board: the most of any game."""
        return max(choice.rules.height for choice in self.games)

    @property
    def width(self) -> int:
        """Columns of the network's board."""
        return max(choice.rules.width for choice in self.games)

    @property
    def rated_games(self) -> list[Game]:
        """The games that ratings are played in: the first of each preset and opening."""
        return one_of_each((choice.rules, choice.opening) for choice in self.games)


@dataclass(slots=True, kw_only=True)
class Progress:
    """What a display shows of a run that goes on."""

    phase: str
    games: int
    samples: int
    steps: int
    version: int
    seconds: float
    """Training time, over all sessions."""
    positions_per_second: float
    """Self-play positions of the last seconds."""
    evaluations_per_second: float
    workers_wait: float
    """Share of the workers' last seconds in which the loop gave them nothing to do."""
    learner_waits: float | None
    """Share of the last seconds in which the learner had too few games; None where it plays."""
    losses: dict[str, float]
    """Means over the last steps."""
    elo: tuple[float, float] | None
    """The newest rating and half its 95% interval."""
    fraction: float | None
    """Share of the goal that is reached; None without a goal."""
    seconds_left: float | None
    evaluator: str
    """The kind that evaluates positions in self-play."""
    notice: str = ""
    """A line that is to stay on the screen; empty where there is none."""


class Loop:
    """One session of a run: from its last commit until its goal is reached or `stop` says so."""

    def __init__(
        self,
        config: RunConfig,
        folder: RunFolder,
        *,
        report: Callable[[Progress], None] = lambda progress: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        torch.set_num_threads(config.loop.threads)
        self.config, self.folder = config, folder
        self._report, self._stop = report, stop
        self.replay = ReplayBuffer(folder.folder("replay"), config.replay)
        self.state = recover(folder, self.replay)
        self.records = RecordLog(folder.folder("records"))
        self.checkpoints = folder.folder("checkpoints")
        self.learner = self.open_learner()
        # A lower ratio than the run had before asks for fewer steps: none are waived twice.
        ahead_by = max(0, self.learner.steps - self.steps_wanted())
        self.state.waived = max(0, self.state.waived - ahead_by)
        self.metrics = Metrics(folder.folder("logs"), position=self.state.samples)
        self.metrics.text("config", folder.config_yaml, self.state.samples)
        self.workers: Workers | None = None
        self.publisher: Publisher | None = None
        self.rates = Rates()
        self.watch = Stopwatch()
        self._losses: deque[dict[str, float]] = deque(maxlen=50)
        self._said: set[str] = set()
        self._started = self._clock = self._looked = time.monotonic()
        # Steps owed when training made way for games last; what warm-up and ratings pile up is not
        # the learner's fault.
        self._backlog: float = math.inf
        self._first_fraction = self.fraction() or 0.0

    def run(self) -> RunState:
        """Play, store, train, publish, rate, until the goal is reached. Returns the last state."""
        if self.is_done():
            self.metrics.close()
            return self.state
        newest = self.newest_checkpoint()
        choice = self.choose_evaluator(newest)
        self.workers = self.start_workers()
        self.publisher = self.start_publisher(self.workers, choice)
        try:
            self.publisher.start(newest, self.version_path(), self.seen_positions())
            self.watch.lap("starting")
            while not self.is_done():
                if not self.collect():
                    break
                self.publisher.poll()
                while self.train():
                    self.publish()
                if self.rating_is_due():
                    self.rate()
            self.save_learner()
            self.write_metrics()
            self.commit()
        finally:
            self.workers.close()
            self.publisher.close()
            self.metrics.close()
        return self.state

    # --- play, store ---

    def start_workers(self) -> Workers:
        """The workers; they play as soon as a version is published."""
        self.report("starting workers")
        config = self.config
        spec = WorkerSpec(
            games=config.games,
            search=config.search,
            selfplay=config.selfplay,
            network=config.model,
            height=config.height,
            width=config.width,
            run_seed=config.seed,
            device=config.device,
        )
        return start_workers(config.cluster, spec, first_game=self.state.next_game, stop=self._stop)

    def newest_checkpoint(self) -> Checkpoint:
        """The newest version; stored again from the learner's weights if it cannot be read."""
        try:
            return Checkpoint.load(self.version_path())
        except CheckpointError as error:
            _log.warning("%s; stored again from the learner's weights", error)
            return self.save_checkpoint(self.learner, self.state.version)

    def choose_evaluator(self, newest: Checkpoint) -> Choice:
        """The kinds of evaluators to play with; only "auto" looks at the clock."""
        config = self.config
        if config.evaluator != AUTO or config.cluster.kind == "local" or not self.has_device():
            choice = fixed_choice(config.evaluator, config.device)
        else:
            self.report("choosing an evaluator")
            positions = self.seen_positions()
            choice = measured_choice(newest.network, config.device, config.batch_size, positions)
        self.metrics.text("evaluator", choice.said, self.state.samples)
        self.report("choosing an evaluator", notice=f"evaluator: {choice.said}")
        return choice

    def start_publisher(self, workers: Workers, choice: Choice) -> Publisher:
        """What hands versions to the workers."""
        return Publisher(
            workers,
            choice,
            device=self.config.device if self.has_device() else "cpu",
            batch_size=self.config.batch_size,
            background=self.config.cluster.kind != "local",
        )

    def has_device(self) -> bool:
        """Whether this process has the kind of device that the workers compute on."""
        return self.config.device == "cpu" or torch.cuda.is_available()

    def seen_positions(self) -> Positions:
        """Positions by which evaluators are scaled and compared: of the replay, if it has enough.

        They depend on the run's seed, the version and the replay only.
        """
        config, count = self.config, CALIBRATED + COMPARED
        rng = np.random.default_rng([config.seed, 2, self.state.version])
        if self.replay.window < COMPARED:
            return random_positions(config.entries, count, config.height, config.width, rng)
        samples = self.replay.sample(count, rng, counted=False)
        return Positions.of(make_batch(samples, config.height, config.width, rng))

    def collect(self) -> bool:
        """Wait for games and store them. Returns False where the run shall stop instead."""
        assert self.workers is not None
        chunk = self.workers.collect()
        self.rates.waited(self.watch.lap("waiting"))
        if chunk is not None:
            self.store(chunk)
            self.collect_arrived()
        return chunk is not None

    def collect_arrived(self) -> None:
        """Store the games that have arrived, so that no worker waits for this thread."""
        assert self.workers is not None
        for _ in range(MOST_CHUNKS):
            chunk = None
            if not self.is_done() and self.workers.ready():
                chunk = self.workers.collect()
            if chunk is None:
                break
            self.store(chunk)
        self._looked = time.monotonic()

    def store(self, chunk: Chunk) -> None:
        """Store a chunk: records, then replay, then the state that counts them."""
        state = self.state
        self.records.append(game.record for game in chunk.games)
        for game in chunk.games:
            self.replay.add(game.samples, version=game.record.versions[-1][1])
            state.samples += len(game.samples)
        self.replay.flush()
        state.games += len(chunk.games)
        state.evaluations += chunk.work.evaluations
        self.commit()
        self.metrics.played(chunk)
        self.rates.add(chunk.work)
        self.report("self-play", notice=self.news(chunk))
        self.watch.lap("storing")

    def news(self, chunk: Chunk) -> str:
        """What a worker has to say that has not been said yet."""
        if chunk.notice in self._said:
            return ""
        self._said.add(chunk.notice)
        return chunk.notice

    def commit(self) -> None:
        """Make all that has been stored count."""
        now = time.monotonic()
        self.state.seconds += now - self._clock
        self._clock = now
        self.state.stored = self.replay.total
        if self.workers is not None:
            self.state.next_game = self.workers.next_game
        self.folder.commit(self.state)

    # --- train, publish ---

    def open_learner(self) -> Learner:
        """The learner as stored; a new run's is initialised from the seed and is version 0."""
        config, folder = self.config, self.folder.folder("learner")
        torch.manual_seed(config.seed)
        try:
            learner = Learner(config.learner, Network(config.model), folder)
        except ValueError as error:
            raise RunError(str(error)) from error
        if (folder / STATE_FILE).exists():
            learner.load(folder)
        elif self.state.version:
            raise RunError(f"{folder / STATE_FILE} is missing: restore it or start a new run")
        else:
            self.save_checkpoint(learner, version=0)
        self.state.steps = learner.steps
        self.state.version = learner.steps // config.loop.publish_steps
        return learner

    def steps_wanted(self) -> int:
        """Optimiser steps in all that the set ratio asks for, less those given up."""
        samples = int(self.config.loop.reuse * self.state.samples)
        return samples // self.config.learner.batch_size - self.state.waived

    def steps_owed(self) -> int:
        """Optimiser steps that the set ratio asks for, up to the run's goal, and not made yet."""
        if self.state.samples < self.config.loop.warmup:
            return 0
        wanted = min(self.steps_wanted(), self.config.stop.steps or self.steps_wanted())
        return wanted - self.learner.steps

    def train(self) -> bool:
        """Make the steps owed, up to the next version's. Returns whether to publish that one.

        It ends early, after a while, where more games have arrived.
        """
        publish_steps, first = self.config.loop.publish_steps, self.learner.steps
        count = min(self.steps_owed(), publish_steps - first % publish_steps)
        for batch in ahead(self.batch, self.steps_until_games(first, count)):
            if self._stop():
                return False
            self.step(batch)
        made = self.learner.steps - first
        if made < count:
            self.waive()
        return made > 0 and self.learner.steps % publish_steps == 0

    def steps_until_games(self, first: int, count: int) -> Iterator[int]:
        """Numbers of steps to make; it ends early where it is time for games that have arrived."""
        assert self.workers is not None
        for step in range(first, first + count):
            yield step
            if time.monotonic() > self._looked + TRAINING_SECONDS and self.workers.ready():
                return

    def waive(self) -> None:
        """Give up the steps by which the learner has fallen behind further since the last time.

        They are not made up for later, on samples that have grown old.
        """
        owed, kept = self.steps_owed(), max(self._backlog, self.config.loop.publish_steps)
        if owed > kept:
            self.state.waived += owed - int(kept)
        self._backlog = min(owed, kept)

    def batch(self, step: int) -> Batch:
        """What a step trains on. Its chances depend on the run's seed and the step only."""
        rng = np.random.default_rng([self.config.seed, 1, step])
        samples = self.replay.sample(self.config.learner.batch_size, rng)
        return make_batch(samples, self.config.height, self.config.width, rng)

    def step(self, batch: Batch) -> None:
        """One optimiser step."""
        self.watch.lap("batches")
        metrics = self.learner.step(batch, self.fraction() or 0.0)
        self.metrics.learned(metrics)
        self._losses.append(metrics)
        if self.learner.steps % 5 == 0:
            self.report("learning")
        self.watch.lap("training")

    def publish(self) -> None:
        """Store the averaged weights as a new version, then the learner; hand the version out."""
        assert self.publisher is not None
        state = self.state
        state.version = self.learner.steps // self.config.loop.publish_steps
        checkpoint = self.save_checkpoint(self.learner, state.version)
        self.save_learner()
        self.write_metrics()
        self.commit()
        self.publisher.publish(checkpoint, self.version_path(), self.seen_positions())
        self.report("publishing")
        self.watch.lap("publishing")

    def version_path(self) -> Path:
        """The newest version's checkpoint."""
        return self.checkpoints / checkpoint_name(self.state.version)

    def save_checkpoint(self, learner: Learner, version: int) -> Checkpoint:
        """Store the averaged weights as a version."""
        meta = CheckpointMeta(
            network=self.config.model,
            games=self.config.entries,
            step=learner.steps,
            version=version,
            run_id=self.folder.run_id,
        )
        path = self.checkpoints / checkpoint_name(version)
        checkpoint = Checkpoint(network=learner.ema_network, meta=meta)
        try:
            checkpoint.save(path)
        except OSError as error:
            raise cannot_write(path, error) from error
        return checkpoint

    def save_learner(self) -> None:
        """Store the learner's state in place of the last one; the next commit counts its steps."""
        folder = self.folder.folder("learner")
        try:
            self.learner.save(folder)
        except OSError as error:
            raise cannot_write(folder / STATE_FILE, error) from error
        self.state.steps = self.learner.steps

    def write_metrics(self) -> None:
        """One point of every curve."""
        replay = self.replay.statistics(self.state.version)
        workers, publisher = self.workers, self.publisher
        assert workers is not None and publisher is not None
        spent = {f"time/loop_{part}": share for part, share in shares(self.watch.take()).items()}
        others = (
            publisher.take_curves()
            | spent
            | {
                "learn/calibration_error": self.learner.calibration.error(),
                "replay/age": replay.age,
                "replay/reuse": replay.reuse,
                "replay/window": replay.window,
                "replay/memory_mib": replay.memory / 2**20,
                "run/games": self.state.games,
                "run/steps": self.learner.steps,
                "run/version": self.state.version,
                "run/minutes": self.state.seconds / 60,
                "run/workers_replaced": workers.replaced,
            }
        )
        self.metrics.write(self.state.samples, others)
        self.learner.calibration.clear()

    # --- gauntlet ---

    def rating_is_due(self) -> bool:
        """Whether enough versions have been published since the last rating."""
        every, ratings = self.config.loop.rate_versions, self.state.ratings
        last = ratings[-1].version if ratings else 0
        return every > 0 and self.state.version >= last + every

    def rate(self) -> None:
        """Let the newest version meet the two that were rated last; version 0 is the anchor.

        What was played before a crash is kept: the gauntlet's folder goes on.
        """
        state, config = self.state, self.config
        samples = state.samples
        newest, anchor = checkpoint_name(state.version), checkpoint_name(0)
        opponents = [0, *(rating.version for rating in state.ratings)][-2:]
        search = dataclasses.replace(config.search, simulations=config.gauntlet.simulations)
        device = str(self.learner.device)
        names = dict.fromkeys([anchor, *map(checkpoint_name, opponents), newest])
        estimates: dict[str, Estimate] = {}
        for rules, opening in config.rated_games:
            gauntlet = Gauntlet(
                [
                    checkpoint_player(self.checkpoints / name, search, device=device)
                    for name in names
                ],
                config.gauntlet,
                self.folder.folder("gauntlet") / game_folder(rules, opening),
                rules=rules,
                opening=opening,
                pairs=[(newest, checkpoint_name(opponent)) for opponent in opponents],
                anchor=anchor,
            )
            result = gauntlet.run(
                lambda done, planned: self.report("gauntlet"), stop=self.stop_rating
            )
            estimate = result.rating(newest)
            if self._stop() or estimate is None:
                return
            estimates[f"{rules.name}/{opening}"] = estimate
        self.note_rating(estimates, samples)
        self._backlog = math.inf

    def stop_rating(self) -> bool:
        """Asked at each turn of the games: stores what has arrived meanwhile."""
        assert self.publisher is not None
        self.watch.lap("gauntlet")
        self.collect_arrived()
        self.publisher.poll()
        return self._stop()

    def note_rating(self, estimates: dict[str, Estimate], samples: int) -> None:
        """Keep the newest version's rating, the mean over the rated games; draw each one's.

        `samples` is how many there were when the rating began.
        """
        state, parts = self.state, list(estimates.values())
        elo = float(np.mean([part.elo for part in parts]))
        error = float(np.linalg.norm([part.error for part in parts])) / len(parts)
        state.ratings.append(Rating(version=state.version, samples=samples, elo=elo, error=error))
        self.metrics.rated(samples, Estimate(elo=elo, error=error))
        for name, part in estimates.items() if len(estimates) > 1 else ():
            self.metrics.rated(samples, part, game=name)
        self.commit()
        self.report("gauntlet")
        self.watch.lap("gauntlet")

    # --- the end, and what is shown ---

    def is_done(self) -> bool:
        """Whether the goal is reached or the run shall stop."""
        fraction = self.fraction()
        return self._stop() or (fraction is not None and fraction >= 1)

    def fraction(self) -> float | None:
        """Share of the goal that is reached: the furthest of the limits; None without a limit."""
        stop, state = self.config.stop, self.state
        reached = [
            done / limit
            for done, limit in (
                (self.seconds() / 60, stop.minutes),
                (state.games, stop.games),
                (self.learner.steps, stop.steps),
            )
            if limit
        ]
        return min(1.0, max(reached)) if reached else None

    def seconds(self) -> float:
        """Training time up to now, over all sessions."""
        return self.state.seconds + time.monotonic() - self._clock

    def report(self, phase: str, notice: str = "") -> None:
        """Tell the display how far the run has come, and a line that is to stay."""
        state, fraction = self.state, self.fraction()
        names = ("policy_loss", "value_loss")
        losses = {
            name: float(np.mean([step[name] for step in self._losses]))
            for name in names
            if self._losses
        }
        left = None
        if fraction is not None and fraction > self._first_fraction:
            left = (1 - fraction) / (fraction - self._first_fraction)
            left *= time.monotonic() - self._started
        self._report(
            Progress(
                phase=phase,
                games=state.games,
                samples=state.samples,
                steps=self.learner.steps,
                version=state.version,
                seconds=self.seconds(),
                positions_per_second=self.rates.positions,
                evaluations_per_second=self.rates.evaluations,
                workers_wait=self.rates.workers_wait,
                learner_waits=(
                    None if self.config.cluster.kind == "local" else self.rates.learner_waits
                ),
                losses=losses,
                elo=(state.ratings[-1].elo, state.ratings[-1].error) if state.ratings else None,
                fraction=fraction,
                seconds_left=left,
                evaluator=self.publisher.kind if self.publisher else "",
                notice=notice,
            )
        )


class Rates:
    """What the last `window` seconds have brought."""

    def __init__(self, window: float = 20.0) -> None:
        self._window = window
        #: When; positions, evaluations, workers' seconds, their waiting, the loop's waiting.
        self._events: deque[tuple[float, ...]] = deque()
        self._began = time.monotonic()

    def add(self, work: Work) -> None:
        """Count what a chunk has brought."""
        seconds, waiting = sum(work.parts.values()), work.parts.get("waiting", 0.0)
        self._note(work.plies, work.evaluations, seconds, waiting, 0.0)

    def waited(self, seconds: float) -> None:
        """Count the seconds of a wait for games that ends now."""
        self._note(0, 0, 0.0, 0.0, seconds)

    def _note(self, *what: float) -> None:
        now = time.monotonic()
        self._events.append((now, *what))
        while self._events[0][0] < now - self._window:
            self._events.popleft()

    def _sum(self, column: int) -> float:
        begin = time.monotonic() - self._window
        return sum(event[column] for event in self._events if event[0] >= begin)

    @property
    def _span(self) -> float:
        return min(self._window, time.monotonic() - self._began)

    @property
    def positions(self) -> float:
        """Positions played per second."""
        return self._sum(1) / self._span if self._span else 0.0

    @property
    def evaluations(self) -> float:
        """Positions evaluated by the network per second."""
        return self._sum(2) / self._span if self._span else 0.0

    @property
    def workers_wait(self) -> float:
        """Share of the workers' time in which they waited for the loop."""
        seconds = self._sum(3)
        return self._sum(4) / seconds if seconds else 0.0

    @property
    def learner_waits(self) -> float:
        """Share of the time in which the loop waited for games."""
        return min(1.0, self._sum(5) / self._span) if self._span else 0.0


def train(
    config: RunConfig,
    folder: RunFolder,
    *,
    report: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
) -> RunState:
    """Start or go on with the run in a folder until its goal is reached or `stop` returns true.

    `report` is called now and then with the progress. Raises `StorageError` (a full disk),
    `ClusterError` (workers) and the learner's errors; the folder can be gone on with after any.
    """
    return Loop(config, folder, report=report, stop=stop).run()
