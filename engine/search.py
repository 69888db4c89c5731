"""Batched tree search: many games' trees, one batch of leaves for the network a step.

The search knows neither game nor network. A step is `collect` (fills a batch with leaf features),
an evaluator's answer, and `apply`. Inside, both run without the GIL.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import roots, symmetry
from engine._search import SearchCore, draw
from engine.evaluators import Evaluator, Floats, Planes
from engine.features import blank
from engine.openings import opening_number
from engine.position import Position

Ints = NDArray[np.int32]


#: Largest factor that a search may be given: beyond it scores are no longer told apart.
MOST = 1e6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchConfig:
    """How trees are searched. The defaults for PUCT and noise are AlphaZero's published ones."""

    #: "puct", or "gumbel": Gumbel noise with sequential halving at the root, PUCT below.
    kind: str = "puct"
    #: Simulations a move (counted at the root, those kept from the last move included).
    simulations: int = 200
    #: PUCT: exploration is c_init + log((1 + N + c_base) / c_base) (Silver et al. 2018).
    c_init: float = 1.25
    c_base: float = 19652.0
    #: First-play urgency: unvisited moves are worth the parent's value less this times the square
    #: root of the visited moves' prior mass (as in Leela Chess Zero and KataGo).
    fpu_reduction: float = 0.25
    #: Share of Dirichlet noise in the root's priors, where noise is asked for (Silver et al. 2018).
    noise_fraction: float = 0.25
    #: Dirichlet alpha is this over the number of legal actions: 0.03 on an empty 19x19 board.
    noise_alpha_total: float = 10.83
    #: Gumbel: actions considered at the root, and the scale of values against logits:
    #: (c_visit + most visits) * c_scale * q, q in [0, 1] (Danihelka et al. 2022).
    gumbel_actions: int = 16
    gumbel_c_visit: float = 50.0
    gumbel_c_scale: float = 1.0
    #: Leaves that one tree may have in flight, and what each counts as meanwhile (in losses).
    leaves_per_step: int = 1
    virtual_loss: float = 1.0
    #: Proven results propagate and are not searched again.
    solver: bool = True
    #: Positions made at each new leaf to find a win by continuous fours, which proves it; 0: none.
    threat_nodes: int = 0
    #: The network sees each search through a random symmetry of the board; in self-play, all that
    #: one version of the weights searches through the same, so that they share evaluations.
    random_symmetry: bool = False
    #: Nodes that a tree has room for; 0: enough for `simulations`. A full tree stops and says so.
    arena_nodes: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("puct", "gumbel"):
            raise ValueError(f"search.kind: {self.kind!r} is neither 'puct' nor 'gumbel'")
        for field, low in (
            ("simulations", 1),
            ("gumbel_actions", 2),
            ("leaves_per_step", 1),
            ("arena_nodes", 0),
            ("threat_nodes", 0),
        ):
            if getattr(self, field) < low:
                raise ValueError(f"search.{field}: {getattr(self, field)} is less than {low}")
        if self.arena_nodes == 1:
            raise ValueError("search.arena_nodes: 1 has no room for a move; give 0, or 2 and more")
        if not 0 <= self.noise_fraction <= 1:
            raise ValueError(f"search.noise_fraction: {self.noise_fraction} is outside 0..1")
        # Not (a < b), since comparisons with NaN are false.
        for field in ("c_base", "noise_alpha_total"):
            if not getattr(self, field) > 0:
                raise ValueError(f"search.{field}: {getattr(self, field)} is not positive")
        for field in (
            "c_init",
            "c_base",
            "fpu_reduction",
            "noise_alpha_total",
            "gumbel_c_visit",
            "gumbel_c_scale",
            "virtual_loss",
        ):
            if not 0 <= getattr(self, field) <= MOST:
                raise ValueError(f"search.{field}: {getattr(self, field)} is outside 0..{MOST:g}")

    @property
    def nodes(self) -> int:
        """Room of one tree's arena, in nodes."""
        # Forced moves make nodes of their own.
        return self.arena_nodes or 2 * self.simulations + self.leaves_per_step + 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found at its root. Arrays run over the k legal actions, ascending.

    Values are expectations in [-1, 1] for the seat to act.
    """

    #: [k] action indices.
    actions: Ints
    #: [k] visit counts.
    visits: Ints
    #: [k] logarithms of the network's prior probabilities, without noise.
    log_priors: Floats
    #: [k] mean values; exact where proven, 0 where unvisited.
    q: Floats
    #: [k] +1, 0, -1 where the action's result is proven, 2 where it is not.
    proofs: NDArray[np.int8]
    #: [k] training target: the visits' distribution, or Gumbel's improved policy; sums to 1.
    policy: Floats
    #: Value of the root: exact where proven, else the mean of its simulations (PUCT) or the
    #: improved policy's value (Gumbel).
    value: float
    #: The network's own value of the root.
    network_value: float
    #: +1, 0, -1 where the root's result is proven, else None.
    proven: int | None
    #: The best action.
    action: int
    #: Simulations that the root has seen.
    simulations: int

    @property
    def priors(self) -> Floats:
        """[k] the network's prior probabilities, without noise."""
        return np.exp(self.log_priors)


class TreeNode(NamedTuple):
    """A node of a line of play."""

    #: The action that leads to it.
    action: int
    visits: int
    #: Mean value for seat A, in [-1, 1].
    value: float


class SearchBatch:
    """Trees of up to `trees` games on one canvas of `height` x `width` points.

    `planes`, `globals_` and `keys` hold the batch in flight in their first rows: what `collect`
    filled and `apply` wants answered.
    """

    def __init__(
        self,
        trees: int,
        config: SearchConfig,
        *,
        height: int,
        width: int,
        batch_size: int | None = None,
        cache_mib: int = 0,
    ) -> None:
        """`cache_mib` MiB keep evaluations, so that positions met again cost none; 0 keeps none.

        With one leaf in flight that changes no tree. Raises `ValueError` where a batch cannot hold
        the leaves of one tree.
        """
        self.config = config
        self.height, self.width = height, width
        size = trees * config.leaves_per_step if batch_size is None else batch_size
        if trees < 1 or size < config.leaves_per_step:
            raise ValueError(
                f"search: {trees} trees with {config.leaves_per_step} leaves a step"
                f" do not fit batches of {size}"
            )
        settings = {
            "c_init": config.c_init,
            "c_base": config.c_base,
            "fpu_reduction": config.fpu_reduction,
            "virtual_loss": config.virtual_loss,
            "gumbel_c_visit": config.gumbel_c_visit,
            "gumbel_c_scale": config.gumbel_c_scale,
            "leaves_per_step": config.leaves_per_step,
            "solver": config.solver,
            "threat_nodes": config.threat_nodes if config.solver else 0,
        }
        self._core = SearchCore(trees, size, height, width, config.nodes, cache_mib << 20, settings)
        self.planes, self.globals_ = self._core.planes, self._core.globals_
        self.keys = self._core.keys
        self._roots: list[Position | None] = [None] * trees
        self._rngs = [np.random.default_rng(0)] * trees
        self._noise = [False] * trees
        #: The symmetry under which the network sees each tree; None before its first search.
        self._turns: list[int | None] = [None] * trees
        #: The symmetry of all searches from now on, where `random_symmetry` asks for any; a number
        #: from 0 on, taken modulo those that a board has. None draws one for each search.
        self.turn: int | None = None

    def __len__(self) -> int:
        """Number of trees."""
        return len(self._roots)

    @property
    def batch_size(self) -> int:
        """The most rows of a batch."""
        return self._core.batch_size

    def write_into(self, planes: Planes, globals_: Floats) -> None:
        """Makes batches in these arrays from now on, which an evaluator may read in place.

        `planes` [n, C, H, W], `globals_` [n, G] of this canvas, n at least a batch's rows, both
        contiguous. Raises `ValueError` for other shapes and types, and while a batch is in flight.
        """
        self._not_in_flight()
        for given, own in ((planes, self.planes), (globals_, self.globals_)):
            fits = len(given) >= self._core.batch_size and given.shape[1:] == own.shape[1:]
            if not fits or given.dtype != own.dtype:
                raise ValueError(
                    f"search: batches of {self._core.batch_size} rows {own.shape[1:]} {own.dtype}"
                    f" do not fit an array {given.shape} {given.dtype}"
                )
        self._core.write_into(planes, globals_)
        self.planes, self.globals_ = planes, globals_

    def start(
        self,
        index: int,
        position: Position,
        seed: int | np.random.Generator,
        simulations: int | None = None,
        noise: bool = False,
    ) -> None:
        """Plants tree `index` anew at a position; its noise and symmetries are drawn from `seed`.

        Raises `ValueError` for a finished game and for a board larger than the canvas.
        """
        if position.outcome is not None:
            raise ValueError("search: the game is over")
        self._not_in_flight()
        self._rngs[index] = np.random.default_rng(seed)
        self._roots[index] = position.copy()
        self._turns[index] = None
        self._core.start(index, position._core, opening_number(position.opening))
        self._begin(index, simulations, noise)

    def advance(
        self, index: int, action: int, simulations: int | None = None, noise: bool = False
    ) -> None:
        """Plays an action at the root of tree `index` and keeps what is known below it.

        Gumbel search plants the tree anew: its schedule counts visits from nothing. When the game
        ends the tree asks for nothing more. Raises `IllegalAction`.
        """
        self._not_in_flight()
        position = self.root(index)
        position.play(action)
        self._core.advance(index, action, self.config.kind == "puct")
        if position.outcome is None:
            self._begin(index, simulations, noise)

    def extend(self, index: int, simulations: int) -> None:
        """Searches tree `index` on as it is, to this many simulations at its root.

        Gumbel search writes its schedule out anew, for the whole number.
        """
        self._not_in_flight()
        self.root(index)
        self._core.extend(index, simulations)
        if self.config.kind == "gumbel" and self._core.root_is_expanded(index):
            self._draw_gumbels(index)

    def forget(self) -> None:
        """Empties the cache of evaluations; to be called before another evaluator answers."""
        self._core.forget()

    def stop(self, index: int) -> None:
        """Tree `index` asks for nothing more until it is started again."""
        self._not_in_flight()
        self._core.stop(index)

    def collect(self) -> int:
        """Fills the batch with leaves; returns their number, 0 when nothing needs the network."""
        rows: int = self._core.collect()
        return rows

    def apply(self, logits: Floats, values: Floats) -> None:
        """Answers the batch in flight: logits [n, H*W + 16], values [n] for the seats to act.

        Raises `ValueError` for wrong shapes, for numbers that are not finite, and for values that
        are no expectations in [-1, 1].
        """
        for index in self._core.apply(
            np.ascontiguousarray(logits, np.float32), np.ascontiguousarray(values, np.float32)
        ):
            self._dress_root(index)

    def step(self, evaluator: Evaluator) -> int:
        """One `collect`, answered by the evaluator; returns the batch's rows."""
        rows = self.collect()
        if rows:
            self.apply(
                *evaluator.evaluate(self.planes[:rows], self.globals_[:rows], self.keys[:rows])
            )
        return rows

    def run(self, evaluator: Evaluator) -> None:
        """Searches until every tree has its simulations."""
        while self.step(evaluator):
            pass

    def finished(self) -> list[int]:
        """The trees that have their simulations, are proven, or are full; ascending."""
        return self._core.finished()

    def position(self, index: int) -> Position:
        """A copy of the root's position."""
        return self.root(index).copy()

    def root(self, index: int) -> Position:
        """The root's own position, which goes on with the tree and is not to be played on.

        Raises `ValueError` where no tree was started.
        """
        position = self._roots[index]
        if position is None:
            raise ValueError(f"search: tree {index} was not started")
        return position

    def tree(self, index: int) -> NDArray[np.float64]:
        """[nodes, 7]: tree `index` in the order in which its nodes were made, the root first.

        Columns: parent, action that led there (0 for the root), visits, sum of values for seat A,
        seat (0 is A), proof (0 none, 1 A wins, 2 B wins, 3 draw), number of legal actions.
        """
        return self._core.node_table(index)

    def simulations(self, index: int) -> int:
        """Simulations that the root of tree `index` has seen."""
        return int(self._core.root_values(index)[3]) if self._core.root_is_expanded(index) else 0

    def line(self, index: int, action: int) -> list[TreeNode]:
        """The most visited way down tree `index` from an action of the root.

        Empty where that was not visited.
        """
        return [TreeNode(*node) for node in self._core.line(index, action)]

    def threat_plies(self, index: int) -> list[int]:
        """For each node of tree `index`, plies of the win by fours found there; 0: none was."""
        return self._core.threat_plies(index)

    def used_bytes(self, index: int) -> int:
        """Memory that tree `index` takes up in its arena now."""
        return self._core.used_bytes(index)

    @property
    def tree_bytes(self) -> int:
        """Memory of one tree when its arena is full; pages never touched cost nothing."""
        return self._core.arena_bytes

    def statistics(self) -> dict[str, int]:
        """Counts since the batch was made.

        steps, simulations, evaluations (rows), terminals (simulations that needed no network),
        cached (simulations that the cache answered), collisions, full (arenas found full), depth
        (summed over simulations).
        """
        return dict(self._core.statistics)

    def result(self, index: int) -> SearchResult:
        """What tree `index` knows now. Raises `ValueError` before its root was evaluated."""
        if not self._core.root_is_expanded(index):
            raise ValueError(f"search: tree {index} has no result before its root is evaluated")
        actions, visits, q, logits, proofs, policy, best = self._core.root_edges(index)
        mean, network_value, proof, simulations = self._core.root_values(index)
        value = mean
        if self.config.kind == "gumbel":
            edges = roots.RootEdges(visits=visits, q=q, logits=logits, proofs=proofs)
            gumbel = self._gumbel_root(index, actions, edges)
            best, policy, value = gumbel.choice(), gumbel.policy(), gumbel.value()
        proven = None if proof == roots.UNPROVEN else proof
        return SearchResult(
            actions=actions,
            visits=visits,
            log_priors=logits,
            q=q,
            proofs=proofs,
            policy=policy,
            value=value if proven is None else float(proven),
            network_value=network_value,
            proven=proven,
            action=int(actions[best]),
            simulations=simulations,
        )

    # --- the root ---

    def _not_in_flight(self) -> None:
        if self._core.rows:
            raise ValueError("search: apply the batch in flight first")

    def _begin(self, index: int, simulations: int | None, noise: bool) -> None:
        budget = self.config.simulations if simulations is None else simulations
        rules, rng = self.root(index).rules, self._rngs[index]
        turn = 0
        if self.config.random_symmetry:
            count = symmetry.count(rules)
            turn = int(rng.integers(count)) if self.turn is None else self.turn % count
        if self._turns[index] != turn:
            canvas = symmetry.canvas_actions(rules, self.height, self.width, turn)
            planes = blank(rules, self.height, self.width, turn)
            self._core.turn(index, canvas, planes, turn)
            self._turns[index] = turn
        self._core.begin(index, budget)
        self._noise[index] = noise
        if self._core.root_is_expanded(index):
            self._dress_root(index)

    def _dress_root(self, index: int) -> None:
        """Once the root's priors are known."""
        self._core.settle_root(index)
        self._prepare_root(index)

    def _prepare_root(self, index: int) -> None:
        """Dirichlet or Gumbel noise on the root's priors."""
        if self.config.kind == "gumbel":
            self._draw_gumbels(index)
        elif self._noise[index] and self.config.noise_fraction:
            count = self._core.root_size(index)
            # Scaled to the sum 1, as it will be, this is a draw from a Dirichlet distribution.
            noise = self._rngs[index].standard_gamma(self.config.noise_alpha_total / count, count)
            self._core.mix_noise(index, noise, self.config.noise_fraction)

    def _draw_gumbels(self, index: int) -> None:
        """Gumbel noise (zeros where no noise is asked for) and the actions that it makes best."""
        actions, _, _, logits, proofs, *_ = self._core.root_edges(index)
        gumbels = np.zeros(len(actions), np.float32)
        if self._noise[index]:
            gumbels = self._rngs[index].gumbel(size=len(gumbels)).astype(np.float32)
        lost = proofs == -1
        considered = min(self.config.gumbel_actions, max(1, int(np.count_nonzero(~lost))))
        best = np.lexsort((-(gumbels + logits), lost))[:considered]
        schedule = roots.halving_schedule(considered, self._core.budget(index))
        self._core.set_gumbel(index, actions, gumbels, actions[best], schedule)

    def _gumbel_root(self, index: int, actions: Ints, edges: roots.RootEdges) -> roots.GumbelRoot:
        return roots.GumbelRoot(
            edges=edges,
            gumbels=self._core.gumbels(index, actions),
            mixed_value=self._core.mixed_value(index),
            c_visit=self.config.gumbel_c_visit,
            c_scale=self.config.gumbel_c_scale,
        )


def choose(result: SearchResult, temperature: float, rng: np.random.Generator) -> int:
    """An action drawn from the policy sharpened by 1/temperature; at 0 the best one."""
    if temperature <= 0 or result.proven is not None:
        return result.action
    return int(result.actions[draw(result.policy, 1 / temperature, rng.random())])
