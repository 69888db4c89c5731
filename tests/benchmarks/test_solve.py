"""The judge of benchmarks/solve.py; whether training reaches its targets is for the benchmark."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import solve
from engine import Position
from engine.evaluators import HashEvaluator
from engine.solver import Solver


def test_what_is_judged() -> None:
    solver, rng = Solver(solve.RULES), np.random.default_rng(3)
    positions = solve.random_positions(solver, 12, rng)
    near = solve.near_play_positions(solver, 6, rng)
    openings = solve.winning_openings(solver, 8, rng)
    for group in (positions, near, openings):
        assert len({position.key for position in group}) == len(group)
    assert all(solver.solve(position) in (1, -1) for position in positions + near)
    assert all(o.seat == "A" and solver.solve(o) == 1 for o in openings)
    assert 0 <= solve.games_won(solver, HashEvaluator(), openings[:2], rng) <= 1


def test_the_best_defence_blocks_and_takes_wins() -> None:
    solver, rng = Solver(solve.RULES), np.random.default_rng(0)
    blocked = Position.from_setup(
        solve.RULES, black=["a1", "b1", "c1"], white=["a6", "c6"], to_play="white"
    )
    assert blocked.action_name(solve.best_defence(solver, blocked, rng)) == "d1"
    won = Position.from_setup(
        solve.RULES, black=["a1", "b1", "c1"], white=["a6", "b6", "c6"], to_play="white"
    )
    assert won.action_name(solve.best_defence(solver, won, rng)) == "d6"


@pytest.mark.slow
def test_a_tiny_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"GAMES": 2, "POSITIONS": 8, "NEAR_PLAY": 4}.items():
        monkeypatch.setattr(solve, name, value)
    monkeypatch.setattr(solve, "RESULTS", tmp_path)
    folder = str(tmp_path / "run")
    monkeypatch.setattr(sys, "argv", ["solve", "--minutes", "0.2", "--folder", folder])
    solve.main()
    assert (tmp_path / "solve.json").exists()
