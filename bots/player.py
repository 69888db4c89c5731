"""A player: one game, a search tree that is kept between moves, an evaluator and limits."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable

import numpy as np

from bots.clock import Clock, longest_to_go, moves_to_go
from bots.levels import Level, find_level
from bots.patience import NeighbourEvaluator, PatientEvaluator
from bots.threats import LookOut
from bots.tree import SLICE, Reading, Tree, best_proven, is_settled, read
from engine import Ply, Position
from engine.evaluators import Evaluator
from engine.search import SearchBatch, SearchConfig, SearchResult, TreeNode, choose

#: Simulations of a player that time alone limits: more than any machine makes in a move.
UNLIMITED = 1 << 30
#: Room for a tree, in nodes, where nothing says how much memory there is: for searches that only
#: time or the other side ends. What is not used costs nothing.
NODES = 400_000
#: Seconds that it takes for a move where nothing limits its time either.
SECONDS = 5.0
#: Evaluations kept, in MiB: what a take-back makes necessary again costs no network.
CACHE_MIB = 32

#: Positions made for wins by threats before a search, where nothing else is said: some ten
#: milliseconds.
THREAT_NODES = 50_000

#: Trees of fewer simulations are read in no time; larger ones take this long at most, in seconds.
QUICKLY_READ, READING = 2000, 0.2

#: A player that may resign does so when its last so many own searches all expected a loss.
RESIGN_TURNS = 3

#: Asked between evaluations: True ends the search.
Watch = Callable[[], bool]

_DECAY = 0.98
#: How fast the mean of the steps' times follows the last one.
_FOLLOW = 0.1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Where one search ends: at whichever comes first."""

    #: Simulations; None: the player's own.
    simulations: int | None = None
    #: When to end (`time.monotonic()`); None: time does not matter.
    until: float | None = None
    #: When the move is played without an answer of the network's, if that is not there by then.
    due: float | None = None
    #: Whether the network takes too long to be asked even once.
    blind: bool = False

    def shared(self, now: float, searches: int, kept: float = 0.0) -> Limit:
        """The first of so many searches within this limit, of which `kept` seconds are not used."""

        def share(end: float | None) -> float | None:
            return None if end is None else now + max(0.0, end - kept - now) / searches

        return dataclasses.replace(self, until=share(self.until), due=share(self.due))


class Player:
    """Follows a game and says what it would play, for whichever seat is to act.

    The tree of the last search is kept: what was played since is followed down it, what was taken
    back before the next search leaves it as it was, and a take-back beyond its root grows it again
    from kept evaluations.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        config: SearchConfig,
        position: Position,
        *,
        height: int,
        width: int,
        temperature: float = 0.0,
        seed: int | None = 0,
        resign: float | None = None,
        memory: int | None = None,
        repeatable: bool = False,
        level: int | None = None,
        threats: int = THREAT_NODES,
    ) -> None:
        """`height` and `width` are those of the network's canvas, at least the board's.

        With `temperature` above 0, actions are drawn by their visits and games vary with `seed`
        (None: each time). With `resign`, `resigns` says when its expectation is lost: at or below
        -`resign`, in [-1, 1]. `memory` limits the tree and the kept evaluations together, in bytes.
        With `repeatable`, `limit_by` heeds no clock. `level` is one of `bots.levels` (None: the
        highest). `threats` positions at most are made for wins by threats before each search; 0:
        none. Raises `ValueError` for a board larger than the canvas, no such level, and what
        `check_options` refuses.
        """
        check_options(temperature=temperature, seed=seed, resign=resign)
        self._evaluator = (
            evaluator if isinstance(evaluator, PatientEvaluator) else PatientEvaluator(evaluator)
        )
        self._repeatable = repeatable
        self._config = config
        self._canvas = (height, width)
        self._temperature = temperature
        self._first = (seed, find_level(level))
        self._random = np.random.default_rng(seed)
        self._resign = resign
        self._hopes: dict[str, list[float]] = {}
        self._level = self._first[1]
        #: Seconds of the slowest recent step of a search, and of the mean one: what it costs to ask
        #: the network once.
        self._step = self._cost = 0.0
        self._memory = memory
        self._tree = self._make_tree(memory)
        self._path: list[int] | None = None
        #: Whether the tree or the kept evaluations know what is not the network's.
        self._is_blind = False
        self._position = position.copy()
        # Proofs are of no use to a search that heeds none.
        self._threats = threats if config.solver else 0
        self._look_out = LookOut()
        self._won: SearchResult | None = None

    def _make_tree(self, memory: int | None) -> Tree:
        height, width = self._canvas
        config, cache = self._config, CACHE_MIB
        if not config.arena_nodes:
            nodes = NODES if config.simulations >= UNLIMITED else max(config.nodes, NODES)
            config = dataclasses.replace(config, arena_nodes=nodes)
        if memory is not None:
            cache = min(cache, memory >> 22)
        # A tree takes two arenas, the second one for what is kept of the first.
        arena = Tree(config, height=height, width=width, cache_mib=0).tree_bytes
        if memory is not None and 2 * arena > memory - (cache << 20):
            nodes = config.nodes * max(0, memory - (cache << 20)) // (2 * arena)
            config = dataclasses.replace(config, arena_nodes=max(2 * SLICE, nodes))
        return Tree(config, height=height, width=width, cache_mib=cache)

    def limit_memory(self, memory: int | None) -> None:
        """Use at most so many bytes from now on, as `memory` at the start.

        Another limit than before forgets the tree.
        """
        if memory != self._memory:
            self._memory, self._tree, self._path = memory, self._make_tree(memory), None

    def set_level(self, number: int) -> None:
        """Play at a level of `bots.levels` from now on. Raises `ValueError` where there is none."""
        self._level = find_level(number)

    def forget(self) -> None:
        """Forget the tree, all evaluations and what was seen of threats."""
        self._forget_tree()
        self._won = None
        self._look_out = LookOut()

    def _forget_tree(self) -> None:
        self._tree.forget()
        self._path, self._is_blind = None, False

    def renew(self, position: Position) -> None:
        """Be as a new player at a copy of this position, within the same memory."""
        self.reset(position)
        self.forget()
        seed, self._level = self._first
        self._random = np.random.default_rng(seed)

    def warm_up(self) -> None:
        """Evaluate once: the first time takes longer, and should not count on a clock."""
        if self._position.outcome is None:
            self.think(Limit(simulations=1))

    # --- the game ---

    def reset(self, position: Position) -> None:
        """Begin (again) from a copy of this position."""
        if not (self._path is not None and _goes_on(self._position, position)):
            self._path = None
        self._position = position.copy()
        self._hopes.clear()

    @property
    def position(self) -> Position:
        """The game's position. Not to be played on: use `play` and `undo`."""
        return self._position

    def play(self, action: int | str) -> Ply:
        """Play an action of either seat. Raises `IllegalAction`; nothing has changed then."""
        return self._position.play(action)

    def undo(self) -> None:
        """Take the last action back. Raises `ValueError` at the start of the game."""
        if not self._position.actions:
            raise ValueError("there is nothing to undo")
        self._position.undo()
        self._hopes.clear()

    # --- thinking ---

    def limit_by(self, clock: Clock, began: float, simulations: int | None = None) -> Limit:
        """The limit of a move whose time runs since `began` (`time.monotonic()`) on this clock.

        A player that plays repeatably is limited by simulations alone.
        """
        position = self._position
        stones = int(np.count_nonzero(position.board))
        points = position.rules.points
        usual, longest = moves_to_go(points, stones), longest_to_go(points, stones)
        seconds = clock.seconds(usual, longest, self._cost)
        budget = self._config.simulations
        if simulations is not None:
            budget = min(budget, simulations)
        if seconds is None and budget >= UNLIMITED:
            seconds = SECONDS
        until = None if seconds is None or self._repeatable else began + seconds
        if until is None:
            return Limit(simulations=budget)
        blind = clock.is_nearly_empty(longest, self._cost)
        patience = clock.patience
        due = None if patience is None else began + patience
        return Limit(simulations=budget, until=until, due=due, blind=blind)

    def think(self, limit: Limit | None = None, watch: Watch | None = None) -> SearchResult:
        """Search the position for the seat to act, to the limit or until `watch` ends it.

        Raises `ValueError` when the game is over.
        """
        return self._search(limit or Limit(), watch, settle=False)

    def glance(self) -> SearchResult:
        """What the network alone says of the position, by one evaluation: nothing is searched.

        Raises `ValueError` when the game is over.
        """
        config = dataclasses.replace(
            self._config, kind="puct", simulations=1, solver=False, arena_nodes=0
        )
        height, width = self._canvas
        tree = SearchBatch(1, config, height=height, width=width)
        tree.start(0, self._position, seed=0)
        tree.step(self._evaluator)
        return tree.result(0)

    def choose(self, limit: Limit | None = None, watch: Watch | None = None) -> int:
        """Think, and choose an action without playing it. Raises `ValueError` as `think` does.

        The search stops as soon as the best action cannot change any more. A proven win is won in
        the fewest plies that are known, a proven loss is lost in the most. A lower level chooses as
        `bots.levels` says, from a search that begins with nothing.
        """
        limit = limit or Limit()
        if self._level is not None:
            return self._choose_at(self._level, limit, watch)
        result = self._search(limit, watch, settle=self._temperature <= 0)
        self._hopes.setdefault(self._position.seat, []).append(result.value)
        if result.proven is None:
            return choose(result, self._temperature, self._random)
        return self._best_proven(result, limit)

    def _choose_at(self, level: Level, limit: Limit, watch: Watch | None) -> int:
        """What the highest level has found before would help a lower one."""
        self._path = None
        limit = dataclasses.replace(limit, simulations=level.limit(self._budget(limit)))
        result = self._search(limit, watch, settle=False)
        self._hopes.setdefault(self._position.seat, []).append(result.value)
        return level.choose(result, self._temperature, self._random)

    def _budget(self, limit: Limit) -> int:
        """Simulations that a limit allows."""
        budget = self._config.simulations if limit.simulations is None else limit.simulations
        # Gumbel search's schedule is written out for the whole budget.
        gumbel = self._config.kind == "gumbel"
        return min(budget, self._config.simulations) if gumbel else budget

    def _search(self, limit: Limit, watch: Watch | None, *, settle: bool) -> SearchResult:
        if self._position.outcome is not None:
            raise ValueError("the game is over")
        budget = self._budget(limit)
        threats = self._threats if self._level is None else 0
        # What asking the network once takes is kept for that.
        self._look_out.look(self._position, threats, limit.until, kept=self._step)
        self._won = self._look_out.result()
        if self._won is not None:
            return self._won
        if self._is_blind and not limit.blind:
            self._forget_tree()
        self._evaluator.wait_until(limit.due, self._step)
        evaluator = NeighbourEvaluator() if limit.blind else self._evaluator
        self._follow(budget)
        self._tree.give_up(0, self._look_out.found.losses)
        stop = _Stop(self, limit, watch, budget if settle else None)
        try:
            self._tree.grow(evaluator, budget, stop)
        finally:
            self._is_blind |= limit.blind or self._evaluator.is_late
            self._evaluator.wait_until(None)
        if not limit.blind:
            self._step, self._cost = stop.step, stop.cost
        return self._tree.result(0)

    def _follow(self, budget: int) -> None:
        """Bring the tree's root to the position."""
        actions = self._position.actions
        path = self._path
        if path is None or path != actions[: len(path)]:
            seed = int(self._random.integers(2**63))
            self._tree.plant(self._position, seed, budget)
        elif path == actions:
            self._tree.ask(budget)
        else:
            for action in actions[len(path) :]:
                self._tree.descend(action, budget)
        self._path = actions.copy()

    def _best_proven(self, result: SearchResult, limit: Limit) -> int:
        if not result.proven or not self._may_read(limit):
            return result.action
        reading = self.read()
        return best_proven(result, reading.plies_to_end() if reading else {})

    def _may_read(self, limit: Limit) -> bool:
        """Whether there is time to read the tree."""
        small = self._tree.simulations(0) < QUICKLY_READ
        return small or limit.until is None or limit.until - time.monotonic() > READING

    # --- what the last search found; for the position it was made in ---

    def result(self) -> SearchResult:
        """What the last search found so far. Raises `ValueError` before there was any."""
        return self._won or self._tree.result(0)

    def line(self, action: int) -> list[TreeNode]:
        """The last search's most visited line of play from an action of its position."""
        won = None if self._won is None else self._look_out.reading()
        return self._tree.line(0, action) if won is None else won.line(action)

    def read(self) -> Reading | None:
        """The nodes of the last search's tree; None where they are too many to read."""
        if self._won is not None:
            return self._look_out.reading()
        return read(self._tree)

    # --- giving up and agreeing ---

    def resigns(self) -> bool:
        """Whether the seat to act gives up; never, unless `resign` was given.

        It does when its last `RESIGN_TURNS` calls of `choose` in this game expected at most
        -`resign`, or the last one found a proven loss.
        """
        hopes = self._hopes.get(self._position.seat, [])[-RESIGN_TURNS:]
        if self._resign is None or not hopes:
            return False
        lost = all(hope <= -self._resign for hope in hopes)
        return hopes[-1] == -1 or (len(hopes) == RESIGN_TURNS and lost)

    def accepts_draw(
        self, seat: str, limit: Limit | None = None, watch: Watch | None = None
    ) -> bool:
        """Whether a seat agrees to a draw that it is offered: where it expects no more than that.

        Raises `ValueError` when the game is over.
        """
        result = self.think(limit, watch)
        return (result.value if seat == self._position.seat else -result.value) <= 0


class _Stop:
    """Asked between evaluations of a search: whether it ends now."""

    def __init__(
        self, player: Player, limit: Limit, watch: Watch | None, settle: int | None
    ) -> None:
        """`settle`: the search's budget, where it ends once its best action cannot change."""
        self._tree, self._limit, self._watch, self._settle = player._tree, limit, watch, settle
        self._evaluator = player._evaluator
        self.step, self.cost = player._step, player._cost
        self._began = self._last = time.monotonic()
        self._first = self._looked = self._tree.simulations(0)
        self._gumbel = player._config.kind == "gumbel"

    def __call__(self) -> bool:
        now = time.monotonic()
        # The slowest recent step is what the next one may take; twice that, on a loaded machine.
        took, self._last = now - self._last, now
        self.step = max(took, _DECAY * self.step)
        # What follows would be grown without the network.
        if self._evaluator.is_late:
            return True
        # Much less than the mean is a step that did not ask the network.
        if took > _FOLLOW * self.cost:
            self.cost += _FOLLOW * (took - self.cost) if self.cost else took
        until = self._limit.until
        if until is not None and now + 2 * self.step >= until:
            return True
        return (self._watch is not None and self._watch()) or self._is_settled(now)

    def _is_settled(self, now: float) -> bool:
        done = self._tree.simulations(0)
        if self._settle is None or self._gumbel or done < self._looked + SLICE // 4:
            return False
        self._looked = done
        remaining: float = self._settle - done
        if self._limit.until is not None and now > self._began:
            # Twice as many as the speed so far promises.
            speed = (done - self._first) / (now - self._began)
            remaining = min(remaining, 2 * speed * (self._limit.until - now))
        return is_settled(self._tree.result(0), remaining)


def _goes_on(earlier: Position, later: Position) -> bool:
    """Whether both are positions of one game, so that a tree of the one can serve the other."""
    same = (earlier.rules, earlier.opening) == (later.rules, later.opening)
    return same and earlier.setup is None and later.setup is None


def check_options(*, temperature: float, seed: int | None, resign: float | None) -> None:
    """Raise `ValueError`, which begins with the option's name, for what no player can have."""
    if not 0 <= temperature < math.inf:
        raise ValueError(f"temperature: {temperature} is not a number from 0")
    if seed is not None and seed < 0:
        raise ValueError(f"seed: {seed} is not a whole number from 0")
    if resign is not None and not -1 <= resign <= 1:
        raise ValueError(f"resign: {resign} is not a number from -1 to 1")


def unlimited(config: SearchConfig) -> SearchConfig:
    """The same search, limited by time alone; by PUCT, since Gumbel search plans its budget."""
    return dataclasses.replace(config, kind="puct", simulations=UNLIMITED, arena_nodes=0)
