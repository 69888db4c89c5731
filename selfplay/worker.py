"""Self-play of many games at once: one evaluator, one search batch, one generator per game.

Every game draws all of its chances (rule set, random opening plies, full or fast searches, search
noise, temperature) from generators seeded with (run seed, game index), and its tree never sees
another game; the symmetry under which the network sees it follows from (run seed, weights version).
So any game of a run can be played again alone, with the same result: `play_again`.
"""

import dataclasses
import functools
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine import Position, RuleSet
from engine.evaluators import Evaluator
from engine.openings import opening as find_opening
from engine.search import SearchBatch, SearchConfig, SearchResult, choose
from model.buckets import write_in_place
from model.targets import Sample
from selfplay.records import GameRecord
from selfplay.stopwatch import Stopwatch


@dataclass(slots=True, kw_only=True, frozen=True)
class GameChoice:
    """One entry of the weighted list from which each self-play game draws what it plays."""

    rules: RuleSet
    opening: str = "none"
    #: How often it is drawn, relative to the others' weights.
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.weight < math.inf:
            raise ValueError(
                f"games: the weight {self.weight} of {self.rules.name} is not positive"
            )


@dataclass(slots=True, kw_only=True)
class SelfPlayConfig:
    """How self-play games are played."""

    #: Games that one worker plays at the same time; together they fill the network's batches.
    games: int = 32
    #: Search threads of a worker, among which its games are shared out: more than one where a GPU
    #: would wait for the trees.
    threads: int = 1
    #: A worker's memory for the network's answers, in MiB: positions met again are not asked about
    #: again. It changes no game. Threads share it out: each has a cache of its own.
    cache_mib: int = 32
    #: Share of plies searched in full (`search.simulations`, with root noise). The others are
    #: searched fast and teach no policy: playout cap randomisation, Wu 2019 (arXiv:1902.10565),
    #: section 3.1, which uses 0.25. 1 searches every ply in full.
    full_fraction: float = 0.25
    #: Simulations of a fast search (without noise); never more than a full one has.
    fast_simulations: int = 32
    #: Plies at the start of a game whose actions are drawn at `temperature`; Silver et al. 2018
    #: (AlphaZero) use 30 at 1.0 on larger boards.
    temperature_plies: int = 16
    temperature: float = 1.0
    #: Temperature of the later plies; 0 plays the action that the search prefers.
    late_temperature: float = 0.0
    #: Up to this many uniformly random plies (the number is drawn too) begin each game.
    random_plies: int = 0
    #: A seat resigns when the root values of its last `resign_plies` own plies are all below minus
    #: this; 0 switches resignation off.
    resign_value: float = 0.0
    resign_plies: int = 3
    #: Share of games in which nobody resigns, to see how often resigning would have been wrong
    #: (Silver et al. 2017, AlphaGo Zero, Methods: 0.1).
    never_resign_fraction: float = 0.1

    def __post_init__(self) -> None:
        for name, low, high in (
            ("games", 1, 65536),
            ("threads", 1, 1024),
            ("cache_mib", 0, 1 << 20),
            ("full_fraction", 0.0, 1.0),
            ("fast_simulations", 1, 10**9),
            ("temperature_plies", 0, 10**9),
            ("temperature", 0.0, 100.0),
            ("late_temperature", 0.0, 100.0),
            ("random_plies", 0, 10**6),
            ("resign_value", 0.0, 1.0),
            ("resign_plies", 1, 10**6),
            ("never_resign_fraction", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"selfplay.{name}: {value} is outside {low}..{high}")
        if self.threads > self.games:
            raise ValueError(
                f"selfplay.threads: {self.threads} is more than selfplay.games ({self.games})"
            )

    @property
    def of_a_thread(self) -> "SelfPlayConfig":
        """The share of one search thread."""
        return dataclasses.replace(
            self,
            games=-(-self.games // self.threads),
            threads=1,
            cache_mib=self.cache_mib // self.threads,
        )


#: Games in a batch from which on more of them are hardly faster on a core.
ENOUGH = 32


def batch_size(games: int, search: SearchConfig) -> int:
    """Positions of an evaluation for so many games: half of what they could ask about.

    So the next plies of the other half can wait for one another while batches stay full: what
    Python needs for them is in the processor's caches for all but the first. Where few games would
    make small batches, an eighth has to do.
    """
    return max(games // 2, min(games - games // 8, ENOUGH)) * search.leaves_per_step


#: No prior counts as less in a divergence.
_LEAST_LOG = math.log(1e-12)
#: What `offered` calls a stone placed where an option could have been taken.
STONE = "stone"


@functools.cache
def offered(opening: str, phase: str) -> tuple[str, ...]:
    """What a phase of an opening lets a seat choose from; empty where it only asks for a point."""
    row = next(row for row in find_opening(opening).phases if row.name == phase)
    return (*row.options, STONE) if row.options and row.point else tuple(row.options)


@dataclass(slots=True, kw_only=True, frozen=True)
class OpeningChoice:
    """What a seat chose of `offered` in a phase, and how search valued its position."""

    phase: str
    option: str
    seat: str
    root_value: float


@dataclass(slots=True, kw_only=True)
class GameStatistics:
    """What the curves need to know about one finished game.

    The arrays have one entry per searched ply, in order, those about policies one per ply that was
    searched in full; values are for the seat to act then.
    """

    plies: int
    legal_actions: np.ndarray
    """int32 [plies searched]."""
    full: np.ndarray
    """bool: searched in full."""
    network_value: np.ndarray
    """float32: the network's value of the position before search."""
    root_value: np.ndarray
    """float32: search's value."""
    outcome: np.ndarray
    """int8: the game's result, +1, 0 or -1."""
    entropy: np.ndarray
    """float32: entropy of the policy target, nats."""
    divergence: np.ndarray
    """float32: Kullback-Leibler divergence of the network's policy from the target, nats."""
    agreement: np.ndarray
    """bool: search's first choice is the network's."""
    choices: list[OpeningChoice]
    """What was chosen in phases of the opening with options, in order."""
    would_resign: str | None = None
    """The seat that would have resigned in a game played out to check, if any."""


@dataclass(slots=True, kw_only=True)
class FinishedGame:
    """A game's record, its training samples (one per searched ply, in order) and statistics."""

    record: GameRecord
    samples: list[Sample]
    statistics: GameStatistics


@dataclass(slots=True, kw_only=True)
class Work:
    """What a worker did during a call of `play`; sums, so that several can be added."""

    seconds: float = 0.0
    plies: int = 0
    evaluations: int = 0
    """Positions that the network evaluated."""
    batches: int = 0
    """Calls of the evaluator."""
    capacity: int = 0
    """Positions that those calls could have held."""
    search: dict[str, int] = field(default_factory=dict)
    """`SearchBatch.statistics`, counted over this work only."""
    parts: dict[str, float] = field(default_factory=dict)
    """Seconds by what they went to: trees, network, plies, and waiting between calls."""

    def __iadd__(self, other: "Work") -> "Work":
        for name in ("seconds", "plies", "evaluations", "batches", "capacity"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name, count in other.search.items():
            self.search[name] = self.search.get(name, 0) + count
        for name, seconds in other.parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + seconds
        return self


@dataclass(slots=True, kw_only=True, eq=False)
class _Game:
    """A game under way in one slot of the batch."""

    index: int
    rng: np.random.Generator
    position: Position
    choice: GameChoice
    resigns: bool
    full: bool
    versions: list[tuple[int, int]] = field(default_factory=list)
    plies: list["_SearchedPly"] = field(default_factory=list)
    choices: list[OpeningChoice] = field(default_factory=list)
    #: Consecutive plies of each seat with a value below the resignation threshold.
    hopeless: dict[str, int] = field(default_factory=lambda: {"A": 0, "B": 0})
    would_resign: str | None = None


@dataclass(slots=True, kw_only=True)
class _SearchedPly:
    """What is kept of a search: noted when it ends, while all of it is in the caches."""

    seat: str
    sample: Sample
    """Its outcome is known when the game has ended, unless search has proven it."""
    proven: bool
    legal_actions: int
    network_value: float
    target: tuple[float, float, bool] | None
    """Entropy, divergence and agreement of the policy target of a full search."""


class SelfPlay:
    """Plays games in parallel slots; games under way stay in their slots between calls of `play`.

    `height` and `width` are the network's board, at least as large as every game's. `checkpoint_id`
    names a weights version in records.
    """

    def __init__(
        self,
        *,
        games: Sequence[GameChoice],
        search: SearchConfig,
        config: SelfPlayConfig,
        height: int,
        width: int,
        run_seed: int,
        checkpoint_id: Callable[[int], str] = "v{:06d}".format,
    ) -> None:
        self.games = list(games)
        self.search = search
        self.config = config
        self.run_seed = run_seed
        self.checkpoint_id = checkpoint_id
        weights = np.array([choice.weight for choice in games], dtype=np.float64)
        #: Chances that a game is one of the first so many.
        self._chances = (weights / weights.sum()).cumsum()
        self._batch = SearchBatch(
            config.games,
            search,
            height=height,
            width=width,
            batch_size=self.batch_size,
            # With more leaves, which of them it answers at once would depend on the other games.
            cache_mib=config.cache_mib if search.leaves_per_step == 1 else 0,
        )
        self._slots: list[_Game | None] = [None] * config.games
        self._under_way = 0
        self._indices: deque[int] = deque()
        self._evaluator: Evaluator | None = None
        self._version = -1
        self._next: tuple[Evaluator, int] | None = None
        self._counted: dict[str, int] = {}
        self._work = Work()
        self._watch = Stopwatch()
        self._finished: list[FinishedGame] = []
        #: Games that have finished in all calls of `play`.
        self.played = 0

    @functools.cached_property
    def batch_size(self) -> int:
        """The most positions that one evaluation holds."""
        return batch_size(self.config.games, self.search)

    @property
    def indices_left(self) -> int:
        """Game indices that were handed over and not started yet."""
        return len(self._indices)

    def ply(self, slot: int) -> int | None:
        """The ply that a slot's game has come to; None where no game is under way."""
        game = self._slots[slot]
        return None if game is None else game.position.ply

    def add_indices(self, indices: Sequence[int]) -> None:
        """Hand over the indices of the next games to start."""
        self._indices.extend(indices)

    def set_evaluator(self, evaluator: Evaluator, version: int) -> None:
        """Use this weights version from each game's next ply on.

        Within a ply the version never changes, so that a record's `versions` say all that is needed
        to play the game again: `play` first lets all searches under way end with the old one.
        """
        if self._evaluator is None:
            self._use(evaluator, version)
        else:
            self._next = (evaluator, version)

    def play(
        self,
        *,
        games: int,
        seconds: float = math.inf,
        stop: Callable[[], bool] = lambda: False,
    ) -> tuple[list[FinishedGame], Work]:
        """Play until `games` games have finished, the time is over, or no index is left.

        Games that finish at the same step are all returned. Returns them with the work done. With a
        limit on seconds (or `stop`) the cut, not the games, depends on the machine's speed.
        """
        if self._evaluator is None:
            raise RuntimeError("SelfPlay.play: set_evaluator comes first")
        began = time.perf_counter()
        self._watch.lap("waiting")
        self._work, self._finished = Work(), []
        if not self._under_way:
            self._take_next()
        self._fill()
        while len(self._finished) < games and self._under_way:
            self._step()
            if time.perf_counter() - began > seconds or stop():
                break
        self._work.seconds = time.perf_counter() - began
        self._work.search, self._work.parts = self._count_search(), self._watch.take()
        return self._finished, self._work

    def _step(self) -> None:
        """One batch through the network; then the plies of all searches that have ended.

        They wait as long as the other games fill a batch: then many end together, and the first of
        them brings Python into the processor's caches for the others.
        """
        self._search()
        ready = self._batch.finished()
        searching = self._under_way - len(ready)
        if self._next is not None:
            if searching:
                return
            self._take_next()
        elif searching * self.search.leaves_per_step >= self.batch_size:
            return
        finished = len(self._finished)
        for i in ready:
            self._end_ply(i)
        if len(self._finished) > finished:
            self._fill()
        self._watch.lap("plies")

    def _search(self) -> None:
        """One step of `SearchBatch.step`, with its times."""
        assert self._evaluator is not None
        batch, work = self._batch, self._work
        rows = batch.collect()
        self._watch.lap("trees")
        if not rows:
            return
        answers = self._evaluator.evaluate(
            batch.planes[:rows], batch.globals_[:rows], batch.keys[:rows]
        )
        self._watch.lap("network")
        batch.apply(*answers)
        self._watch.lap("trees")
        work.evaluations += rows
        work.batches += 1
        work.capacity += self.batch_size

    def _take_next(self) -> None:
        """Go over to the new weights, if there are any."""
        if self._next is not None:
            self._use(*self._next)
            self._next = None
            self._batch.forget()

    def _use(self, evaluator: Evaluator, version: int) -> None:
        """Ask this evaluator from now on; batches are made where it reads them, if it can tell."""
        self._evaluator, self._version = evaluator, version
        # Of the version alone, so that a game can be played again by itself.
        self._batch.turn = int(np.random.default_rng([self.run_seed, 3, version]).integers(8))
        write_in_place(self._batch, evaluator)

    def _fill(self) -> None:
        """Start the next games in free slots."""
        for i, game in enumerate(self._slots):
            if game is None and self._indices:
                self._start(i, self._indices.popleft())

    def _start(self, i: int, index: int) -> None:
        config = self.config
        rng = game_generator(self.run_seed, index)
        chance = rng.random() * self._chances[-1]
        choice = self.games[int(self._chances.searchsorted(chance, side="right"))]
        resigns = config.resign_value > 0 and rng.random() >= config.never_resign_fraction
        position = Position(choice.rules, choice.opening)
        if config.random_plies:
            _play_randomly(position, int(rng.integers(config.random_plies + 1)), rng)
        full = self._draw_full(rng)
        simulations = self._simulations(full)
        self._batch.start(i, position, rng, simulations=simulations, noise=full)
        self._slots[i] = game = _Game(
            index=index,
            rng=rng,
            position=self._batch.root(i),
            choice=choice,
            resigns=resigns,
            full=full,
        )
        self._under_way += 1
        self._note_version(game)

    def _draw_full(self, rng: np.random.Generator) -> bool:
        """Whether the next search is full."""
        return bool(rng.random() < self.config.full_fraction)

    def _simulations(self, full: bool) -> int:
        most = self.search.simulations
        return most if full else min(self.config.fast_simulations, most)

    def _note_version(self, game: _Game) -> None:
        """Note with which weights the game goes on."""
        if not game.versions or game.versions[-1][1] != self._version:
            game.versions.append((game.position.ply, self._version))

    def _end_ply(self, i: int) -> None:
        """Play the action that slot i's search has led to; go on with the game or finish it."""
        game, result = self._slots[i], self._batch.result(i)
        assert game is not None
        position = game.position
        seat = position.seat
        game.plies.append(_searched_ply(game, result))
        self._work.plies += 1
        if self._resigns(game, seat, result.value):
            return self._finish(i, "B" if seat == "A" else "A", "resign")
        early = position.ply < self.config.temperature_plies
        temperature = self.config.temperature if early else self.config.late_temperature
        action = choose(result, temperature, game.rng)
        if offered(position.opening, position.phase):
            option = STONE if action < position.rules.points else position.action_name(action)
            game.choices.append(
                OpeningChoice(
                    phase=position.phase, option=option, seat=seat, root_value=result.value
                )
            )
        game.full = self._draw_full(game.rng)
        simulations = self._simulations(game.full)
        self._batch.advance(i, action, simulations=simulations, noise=game.full)
        outcome = position.outcome
        if outcome is not None:
            return self._finish(i, outcome.winner_seat, outcome.reason)
        return self._note_version(game)

    def _resigns(self, game: _Game, seat: str, value: float) -> bool:
        """Whether the seat gives the game up now."""
        threshold = self.config.resign_value
        if not threshold:
            return False
        game.hopeless[seat] = game.hopeless[seat] + 1 if value < -threshold else 0
        if game.hopeless[seat] < self.config.resign_plies:
            return False
        if game.resigns:
            return True
        game.would_resign = game.would_resign or seat
        return False

    def _finish(self, i: int, winner: str | None, reason: str) -> None:
        game = self._slots[i]
        assert game is not None
        self._slots[i] = None
        self._under_way -= 1
        self.played += 1
        self._batch.stop(i)
        outcomes = [_outcome(winner, ply.seat) for ply in game.plies]
        for ply, outcome in zip(game.plies, outcomes, strict=True):
            if not ply.proven:
                ply.sample.outcome = outcome
        self._finished.append(
            FinishedGame(
                record=self._record(game, winner, reason),
                samples=[ply.sample for ply in game.plies],
                statistics=_statistics(game, outcomes),
            )
        )

    def _record(self, game: _Game, winner: str | None, reason: str) -> GameRecord:
        position, rules = game.position, game.choice.rules
        checkpoint = self.checkpoint_id(game.versions[-1][1])
        return GameRecord(
            game=rules.name,
            rules=rules,
            opening=game.choice.opening,
            actions=[position.action_name(action) for action in position.actions],
            seats={"A": checkpoint, "B": checkpoint},
            versions=list(game.versions),
            result={
                "winner_seat": winner,
                "winner_colour": None if winner is None else position.colour_of(winner),
                "reason": reason,
            },
            seed={"run": self.run_seed, "game": game.index},
        )

    def _count_search(self) -> dict[str, int]:
        """The search's counters since the last call."""
        now = dict(self._batch.statistics())
        fresh = {name: count - self._counted.get(name, 0) for name, count in now.items()}
        self._counted = now
        return fresh


def game_generator(run_seed: int, index: int) -> np.random.Generator:
    """The generator from which one game of a run draws all its chances."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([run_seed, index])))


def play_again(
    record: GameRecord,
    *,
    games: Sequence[GameChoice],
    search: SearchConfig,
    config: SelfPlayConfig,
    height: int,
    width: int,
    evaluator: Callable[[int], Evaluator],
) -> FinishedGame:
    """Play a recorded self-play game again from its seed, alone, under the same configuration.

    `evaluator` gives the evaluator of a weights version. With the versions' weights unchanged, the
    game returned equals the recorded one.
    """
    player = SelfPlay(
        games=games,
        search=search,
        config=dataclasses.replace(config, games=1),
        height=height,
        width=width,
        run_seed=record.seed["run"],
    )
    player.add_indices([record.seed["game"]])
    (_, version), *changes = record.versions
    player.set_evaluator(evaluator(version), version)
    while True:
        ply = player.ply(0)
        if changes and ply is not None and ply + 1 == changes[0][0]:
            version = changes.pop(0)[1]
            player.set_evaluator(evaluator(version), version)
        finished, _ = player.play(games=1, seconds=0)
        if finished:
            return finished[0]


def _play_randomly(position: Position, plies: int, rng: np.random.Generator) -> None:
    """Play uniformly random actions, ending before one that would end the game."""
    for _ in range(plies):
        position.play(int(rng.choice(position.legal_actions())))
        if position.outcome is not None:
            position.undo()
            return


def _outcome(winner: str | None, seat: str) -> int:
    """A game's result for a seat: +1, 0 or -1."""
    return 0 if winner is None else 1 if winner == seat else -1


_NOTHING = np.zeros(0, np.int32), np.zeros(0, np.float32)
"""The actions that a fast search teaches, and their probabilities."""


def _searched_ply(game: _Game, result: SearchResult) -> _SearchedPly:
    """What is kept of the search that has just ended; a fast search teaches no policy.

    What search has proven is the truth about the position, whatever comes of the game after it.
    """
    (actions, policy), target = _NOTHING, None
    if game.full:
        taught = result.policy.nonzero()[0]
        actions, policy = result.actions[taught], result.policy[taught]
        target = _target(policy, result.log_priors[taught], result)
    sample = Sample(
        packed=game.position.pack(),
        rules=game.choice.rules,
        opening=game.choice.opening,
        actions=actions,
        policy=policy,
        outcome=result.proven or 0,
        root_value=min(1.0, max(-1.0, result.value)),
        policy_weight=1.0 if game.full else 0.0,
    )
    return _SearchedPly(
        seat=game.position.seat,
        sample=sample,
        proven=result.proven is not None,
        legal_actions=len(result.actions),
        network_value=result.network_value,
        target=target,
    )


def _target(
    policy: np.ndarray, log_priors: np.ndarray, result: SearchResult
) -> tuple[float, float, bool]:
    """`_SearchedPly.target`; `policy` [k], none of it 0, and its actions' log priors [k]."""
    logs = np.log(policy)
    entropy = -float(policy @ logs)
    divergence = -entropy - float(policy @ np.maximum(log_priors, _LEAST_LOG))
    agrees = result.policy.argmax() == result.log_priors.argmax()
    return entropy, divergence, bool(agrees)


def _statistics(game: _Game, outcomes: list[int]) -> GameStatistics:
    plies = game.plies
    targets = [ply.target for ply in plies if ply.target is not None]
    entropy, divergence, agreement = zip(*targets, strict=True) if targets else ((), (), ())
    return GameStatistics(
        plies=game.position.ply,
        legal_actions=np.array([ply.legal_actions for ply in plies], dtype=np.int32),
        full=np.array([ply.target is not None for ply in plies], dtype=np.bool_),
        network_value=np.array([ply.network_value for ply in plies], dtype=np.float32),
        root_value=np.array([ply.sample.root_value for ply in plies], dtype=np.float32),
        outcome=np.array(outcomes, dtype=np.int8),
        entropy=np.array(entropy, dtype=np.float32),
        divergence=np.array(divergence, dtype=np.float32),
        agreement=np.array(agreement, dtype=np.bool_),
        choices=game.choices,
        would_resign=game.would_resign,
    )
