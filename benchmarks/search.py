"""What a simulation costs: everything, and the tree alone; memory, instructions, and peers.

`python -m benchmarks.search` prints one table and stores it as JSON. 64 trees are searched at once
with an evaluator that always says the same, on one core: descent, real moves, legality, features,
expansion and backup are in the figures, a network is not. *The tree alone* is what is left when the
same moves, lists of actions and features are made without a tree (`engine._playout.retrace`).

Instructions are counted by valgrind's callgrind, where it is installed, as the difference between
two runs. OpenSpiel and mctx come with the extra `bench`; without them the table says "not
installed". OpenSpiel's search in C++ has no evaluator but random rollouts, which take nearly all of
its time. So it is timed with one and with four a simulation, and what a rollout costs is taken off:
what is left is its tree, and the moves and lists of actions for it. It plays for lines of two on
the same board, so that rollouts are short and little is taken off; 800 simulations, because at 200
it has looked at no more than the root's 225 children and has expanded none of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.command import run
from benchmarks.table import (
    INSTALL,
    Row,
    Target,
    begin,
    compared,
    library,
    report,
    rounds,
    spread,
)
from benchmarks.trees import GAMES, TREES, Searched

SIMULATIONS = (200, 800)
#: Trees whose instructions are counted, fifty times as slowly.
COUNTED = 16

#: OpenSpiel's game, the rollouts a simulation with which it is timed, and its searches in a round.
SPIEL_GAME = "gomoku(size=15,connect=2)"
ROLLOUTS = (1, 4)
SPIEL_SEARCHES = 10

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


def search_rows(repeats: int) -> list[Row]:
    """Microseconds and bytes a simulation of each game."""
    rows = []
    for simulations in SIMULATIONS:
        searched = {game: Searched(rules, simulations) for game, rules in GAMES.items()}
        for each in searched.values():
            each.search()
        tasks = {f"search, {game}": each.search for game, each in searched.items()}
        tasks |= {f"rules, {game}": each.without_tree() for game, each in searched.items()}
        found = _seconds(tasks, repeats)
        for game, each in searched.items():
            everything, outside = found[f"search, {game}"], found[f"rules, {game}"]
            alone = [all_ - rules for all_, rules in zip(everything, outside, strict=True)]
            of = f"{game}, {simulations}"
            rows += [
                _time_row(f"search, {of}", everything),
                _time_row(f"rules and features, {of}", outside),
                _time_row(f"tree alone, {of}", alone),
                Row(what=f"memory, {of}", value=_bytes(each), unit="bytes/simulation"),
            ]
    return rows


def _seconds(tasks: dict[str, Callable[[], int]], repeats: int) -> dict[str, list[float]]:
    """Seconds a simulation of each task in each round."""
    return {name: [1 / rate for rate in found] for name, found in rounds(tasks, repeats).items()}


def _time_row(what: str, seconds: list[float]) -> Row:
    value = 1e6 * statistics.median(seconds)
    return Row(what=what, value=value, unit="us/simulation", spread=spread(seconds))


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
        few, many = (_instructions(game, searches) for searches in (1, 2))
        value = (many - few) / (COUNTED * 200)
        rows.append(Row(what=f"instructions, {game}, 200", value=value, unit="/simulation"))
    return rows


def _instructions(game: str, searches: int) -> int:
    """Of a process that searches a few trees so many times and imports little else."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable]
    command += ["-m", "benchmarks.trees", game, str(searches), str(COUNTED)]
    # The threads of numpy's BLAS would spin, now and then, for tens of millions of instructions.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None
    return int(found[1])


# --- peers --------------------------------------------------------------------------------------


def peer_rows(repeats: int) -> list[Row]:
    """The same work by others, on gomoku 15x15."""
    few, many = (Searched(GAMES["gomoku 15x15"], simulations) for simulations in SIMULATIONS)
    few.search()
    many.search()
    tasks = {"few": few.search, "rules": few.without_tree(), "many": many.search}
    spiel, mctx = library("pyspiel"), library("mctx")
    if spiel is not None:
        tasks |= {f"spiel, {count}": _spiel_task(spiel, count) for count in ROLLOUTS}
    if mctx is not None:
        tasks["mctx"] = _mctx_task(mctx)
    seconds = _seconds(tasks, repeats)
    alone = [all_ - rules for all_, rules in zip(seconds["few"], seconds["rules"], strict=True)]
    theirs = None
    if spiel is not None:
        times = zip(*(seconds[f"spiel, {count}"] for count in ROLLOUTS), strict=True)
        theirs = [without_rollouts(*each) for each in times]
    peer = "OpenSpiel's MCTS in C++, its rollouts taken off"
    return [
        _peer_row("everything, gomoku 15x15, 800, again", seconds["many"], peer, theirs),
        _peer_row(
            "tree alone, gomoku 15x15, 200, again",
            alone,
            "mctx in JAX, which plays no game",
            seconds.get("mctx"),
        ),
    ]


def without_rollouts(few: float, many: float) -> float:
    """Seconds a simulation without rollouts, from those with either number of `ROLLOUTS`."""
    fewest, most = ROLLOUTS
    return few - fewest * (many - few) / (most - fewest)


def _peer_row(what: str, ours: list[float], peer: str, theirs: list[float] | None) -> Row:
    """A row of seconds a simulation in each round."""
    row = Row(
        what=what,
        value=1e6 * statistics.median(ours),
        unit="us/simulation",
        reference=f"{peer}: not installed ({INSTALL})",
        spread=spread(ours),
    )
    if theirs is None:
        return row
    ratio, ratio_spread = compared(theirs, ours)
    said = f"{peer}: {1e6 * statistics.median(theirs):.1f} us"
    return dataclasses.replace(row, reference=said, ratio=ratio, ratio_spread=ratio_spread)


def _spiel_task(spiel: Any, rollouts: int) -> Callable[[], int]:
    """Searches with so many random rollouts a simulation: it has no other evaluator in C++.

    So many searches that rollouts, whose lengths vary, take about the same time in each round.
    """
    game, simulations = spiel.load_game(SPIEL_GAME), SIMULATIONS[-1]
    evaluator = spiel.RandomRolloutEvaluator(rollouts, 1)
    bot = spiel.MCTSBot(game, evaluator, 1.25, simulations, 1024, False, 1, False)
    state = game.new_initial_state()

    def task() -> int:
        for _ in range(SPIEL_SEARCHES):
            bot.mcts_search(state)
        return simulations * SPIEL_SEARCHES

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
    repeats, rounds_ = (2, 2) if quick else (5, 8)
    return search_rows(repeats) + peer_rows(rounds_) + ([] if quick else instruction_rows())


def main(arguments: list[str] | None = None) -> None:
    """Prints and stores all of it; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="rough figures in seconds, no counts")
    asked = parser.parse_args(arguments)
    begin()
    name = "search-quick" if asked.quick else "search"
    report(name, "search, one core", measure(asked.quick), TARGETS)


if __name__ == "__main__":
    sys.exit(run(main))
