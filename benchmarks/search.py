"""What a simulation costs: everything, and the tree alone; memory, instructions, and peers.

`python -m benchmarks.search` prints one table and stores it as JSON. 64 trees are searched at once
with an evaluator that always says the same, on one core: descent, real moves, legality, features,
expansion and backup are in the figures, a network is not. *The tree alone* is what is left when the
same moves, lists of actions and features are made without a tree (`engine._playout.retrace`).

Instructions are counted by valgrind's callgrind, where it is installed, as the difference between
two runs. OpenSpiel comes with the extra `bench`, mctx with `pip install mctx`; without them the
table says "not installed".
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.table import Row, Target, describe, library, rates, report
from engine import OPTIONS, Position, RuleSet
from engine._playout import retrace
from engine.evaluators import Floats, Keys
from engine.search import SearchBatch, SearchConfig
from engine.symmetry import canvas_actions

GAMES = {
    "gomoku 15x15": RuleSet.preset("gomoku"),
    "renju 15x15": RuleSet.preset("renju"),
    "irensei 19x19": RuleSet.preset("irensei"),
    "connect-go 19x19": RuleSet.preset("connect-go"),
}
SIMULATIONS = (200, 800)
TREES = 64
#: Random plies before the search, so that there are stones on the board.
PLIES = 10

TARGETS = (
    *(
        Target(what=f"search, {game}, {simulations}", most=most)
        for game, most in (("gomoku 15x15", 3), ("renju 15x15", 5), ("irensei 19x19", 5))
        for simulations in SIMULATIONS
    ),
    *(
        Target(what=f"tree alone, {game}, {simulations}", most=most)
        for game, most in (("gomoku 15x15", 1.0), ("irensei 19x19", 1.3))
        for simulations in SIMULATIONS
    ),
    Target(what="memory, gomoku 15x15, 800", most=200),
)


class ConstantEvaluator:
    """Equal logits and the value 0, from memory that is made once."""

    def __init__(self, rules: RuleSet, rows: int) -> None:
        self._logits = np.zeros((rows, rules.points + len(OPTIONS)), np.float32)
        self._values = np.zeros(rows, np.float32)

    def evaluate(self, planes: Floats, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """The first rows of it."""
        return self._logits[: len(keys)], self._values[: len(keys)]


class Searched:
    """64 trees of a game after a few random plies, searched over and over again."""

    def __init__(self, rules: RuleSet, simulations: int, trees: int = TREES) -> None:
        self.roots = [_after_random_plies(rules, seed) for seed in range(trees)]
        self.batch = SearchBatch(
            trees,
            SearchConfig(simulations=simulations),
            height=rules.height,
            width=rules.width,
        )
        self._evaluator = ConstantEvaluator(rules, trees)

    def search(self) -> int:
        """One search of all trees; returns the simulations."""
        before = self.batch.statistics()["simulations"]
        for index, root in enumerate(self.roots):
            self.batch.start(index, root, seed=index)
        self.batch.run(self._evaluator)
        return self.batch.statistics()["simulations"] - before

    def without_tree(self) -> Callable[[], int]:
        """A task: moves, lists and features of all nodes of the trees; counts simulations."""
        tables = [self.batch.tree(index)[:, :2] for index in range(len(self.roots))]
        # Shorter trees end in nodes that are none.
        traces = np.full((2, max(map(len, tables)), len(tables)), -1, np.int32)
        for index, table in enumerate(tables):
            traces[:, : len(table), index] = table.T
        parents, actions = traces
        cores = [root._core for root in self.roots]
        rules = self.roots[0].rules
        canvas = canvas_actions(rules, rules.height, rules.width, 0)
        # Nodes have been visited once for each simulation below them and once for their own.
        simulations = sum(int(self.batch.tree(index)[0, 2]) for index in range(len(self.roots)))

        def task() -> int:
            retrace(cores, parents, actions, canvas)
            return simulations

        return task


def _after_random_plies(rules: RuleSet, seed: int) -> Position:
    rng = np.random.default_rng(seed)
    position = Position(rules)
    for _ in range(PLIES):
        position.play(int(rng.choice(position.legal_actions())))
    return position


def search_rows(repeats: int) -> list[Row]:
    """Microseconds and bytes a simulation of each game."""
    rows = []
    for simulations in SIMULATIONS:
        searched = {game: Searched(rules, simulations) for game, rules in GAMES.items()}
        for each in searched.values():
            each.search()
        tasks = {f"search, {game}": each.search for game, each in searched.items()}
        tasks |= {f"rules, {game}": each.without_tree() for game, each in searched.items()}
        found = rates(tasks, repeats)
        for game, each in searched.items():
            everything, spread = found[f"search, {game}"]
            outside, _ = found[f"rules, {game}"]
            of = f"{game}, {simulations}"
            rows += [
                _time_row(f"search, {of}", 1 / everything, spread),
                _time_row(f"rules and features, {of}", 1 / outside, found[f"rules, {game}"][1]),
                _time_row(f"tree alone, {of}", 1 / everything - 1 / outside, spread),
                Row(what=f"memory, {of}", value=_bytes(each), unit="bytes/simulation"),
            ]
    return rows


def _time_row(what: str, seconds: float, spread: float) -> Row:
    return Row(what=what, value=1e6 * seconds, unit="us/simulation", spread=spread)


def _bytes(searched: Searched) -> float:
    trees = range(len(searched.roots))
    used = sum(searched.batch.used_bytes(index) for index in trees)
    return used / sum(searched.batch.result(index).simulations for index in trees)


# --- instructions -------------------------------------------------------------------------------


def instruction_rows() -> list[Row]:
    """Instructions a simulation, by callgrind; none without valgrind."""
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: no instructions are counted")
        return []
    rows = []
    for game in GAMES:
        few, many = (_instructions(game, searches) for searches in (1, 3))
        value = (many - few) / (2 * TREES * 200)
        rows.append(Row(what=f"instructions, {game}, 200", value=value, unit="/simulation"))
    return rows


def _instructions(game: str, searches: int) -> int:
    """Of a process that searches the trees with 200 simulations each so many times."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable]
    command += ["-m", "benchmarks.search", "--counted", game, str(searches)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None
    return int(found[1])


# --- peers --------------------------------------------------------------------------------------


def peer_rows(repeats: int) -> list[Row]:
    """The same work by others, on gomoku 15x15 with 200 simulations."""
    ours = Searched(GAMES["gomoku 15x15"], 200)
    ours.search()
    tasks: dict[str, Callable[[], int]] = {"ours": ours.search, "rules": ours.without_tree()}
    spiel, mctx = library("pyspiel"), library("mctx")
    if spiel is not None:
        tasks["spiel"] = _spiel_task(spiel)
    if mctx is not None:
        tasks["mctx"] = _mctx_task(mctx)
    found = rates(tasks, repeats)
    everything = 1 / found["ours"][0]
    alone = everything - 1 / found["rules"][0]
    theirs = None if spiel is None else 1 / found["spiel"][0]
    compiled = None if mctx is None else 1 / found["mctx"][0]
    return [
        _peer_row("everything", everything, "OpenSpiel's MCTS in C++, one rollout each", theirs),
        _peer_row("tree alone", alone, "mctx in JAX, which plays no game", compiled),
    ]


def _peer_row(what: str, ours: float, peer: str, theirs: float | None) -> Row:
    said = f"{peer}: not installed" if theirs is None else f"{peer}: {1e6 * theirs:.1f} us"
    return Row(
        what=f"{what}, gomoku 15x15, 200, again",
        value=1e6 * ours,
        unit="us/simulation",
        reference=said,
        ratio=None if theirs is None else theirs / ours,
    )


def _spiel_task(spiel: Any) -> Callable[[], int]:
    """A search with a random rollout a simulation: it has no other evaluator in C++."""
    game = spiel.load_game("gomoku(size=15,connect=5)")
    evaluator = spiel.RandomRolloutEvaluator(1, 1)
    bot = spiel.MCTSBot(game, evaluator, 1.25, 200, 256, False, 1, False)
    state = game.new_initial_state()

    def task() -> int:
        bot.mcts_search(state)
        return 200

    return task


def _mctx_task(mctx: Any) -> Callable[[], int]:
    """MuZero's search compiled by JAX for 64 trees of 225 actions; the model says nothing."""
    jax, jnp = library("jax"), library("jax.numpy")
    assert jax is not None and jnp is not None  # mctx needs them
    actions, simulations = 225, 200
    root = mctx.RootFnOutput(
        prior_logits=jnp.zeros((TREES, actions)),
        value=jnp.zeros(TREES),
        embedding=jnp.zeros((TREES, 1)),
    )

    def model(params: Any, key: Any, action: Any, embedding: Any) -> Any:
        output = mctx.RecurrentFnOutput(
            reward=jnp.zeros(TREES),
            discount=-jnp.ones(TREES),
            prior_logits=jnp.zeros((TREES, actions)),
            value=jnp.zeros(TREES),
        )
        return output, embedding

    def plan(key: Any) -> Any:
        return mctx.muzero_policy(
            params=(), rng_key=key, root=root, recurrent_fn=model, num_simulations=simulations
        ).action

    search = jax.jit(plan)
    search(jax.random.PRNGKey(0)).block_until_ready()  # compiles

    def task() -> int:
        search(jax.random.PRNGKey(int(time.time()))).block_until_ready()
        return TREES * simulations

    return task


def measure(quick: bool) -> list[Row]:
    """All rows."""
    repeats = 2 if quick else 7
    return search_rows(repeats) + peer_rows(repeats) + ([] if quick else instruction_rows())


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="rough figures in seconds, no counts")
    parser.add_argument("--counted", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.counted:
        searched = Searched(GAMES[asked.counted[0]], 200)
        for _ in range(int(asked.counted[1])):
            searched.search()
        return
    describe()
    name = "search-quick" if asked.quick else "search"
    report(name, "search, one core", measure(asked.quick), TARGETS)


if __name__ == "__main__":
    main()
