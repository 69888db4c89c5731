"""benchmarks/search.py measures what it says; no speed is asserted."""

import math
import shutil
import subprocess
import sys

import pytest

from benchmarks import search as bench
from benchmarks import trees
from engine import RuleSet

SMALL = {
    "gomoku 7x7": RuleSet.preset("gomoku", size=7),
    "irensei 5x5": RuleSet.preset("irensei", size=5, line_length=5, gutter=0),
}


def test_rows_of_small_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "GAMES", SMALL)
    monkeypatch.setattr(bench, "SIMULATIONS", (20,))
    monkeypatch.setattr(trees, "PLIES", 3)
    rows = {row.what: row for row in bench.search_rows(1)}
    assert len(rows) == 4 * len(SMALL)
    for game in SMALL:
        whole, outside, tree = (
            rows[f"{part}, {game}, 20"].value
            for part in ("search", "rules and features", "tree alone")
        )
        assert math.isclose(whole - outside, tree)
        # A node and its edges, of which there are fewer than one for each simulation.
        assert 40 < rows[f"memory, {game}, 20"].value < 400


def test_rollouts_are_taken_off() -> None:
    assert bench.ROLLOUTS == (1, 4)
    assert bench.without_rollouts(4 + 7, 4 + 4 * 7) == pytest.approx(4)


def test_peers_that_are_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "GAMES", {"gomoku 15x15": SMALL["gomoku 7x7"]})
    monkeypatch.setattr(bench, "SIMULATIONS", (10, 20))
    monkeypatch.setattr(trees, "PLIES", 3)
    monkeypatch.setattr(bench, "library", lambda name: None)
    for row in bench.peer_rows(2):
        assert row.ratio is None and "not installed (pip install 'narabe[bench]')" in row.reference
        assert row.spread is not None


def test_openspiel_beside_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspiel")
    monkeypatch.setattr(bench, "SPIEL_SEARCHES", 1)
    everything, _ = bench.peer_rows(1)
    assert everything.reference.startswith("OpenSpiel's MCTS in C++, its rollouts taken off: ")
    assert everything.ratio is not None and everything.ratio_spread is None


def test_the_work_without_a_tree_is_that_of_the_search() -> None:
    searched = trees.Searched(SMALL["gomoku 7x7"], 20, trees=3)
    simulations = searched.search()
    assert searched.without_tree()() == simulations == 3 * (20 + 1)  # the roots' own too


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="counts with valgrind")
def test_instructions_are_those_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "GAMES", {"gomoku 15x15": SMALL["gomoku 7x7"]})
    monkeypatch.setattr(bench, "COUNTED", 1)
    (row,) = bench.instruction_rows()
    assert 5_000 < row.value < 100_000


def test_the_program_that_is_counted_imports_nothing_large() -> None:
    command = "import sys, benchmarks.trees; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert "engine.search" in done.stdout
    assert not {"torch", "onnxruntime", "ray", "scipy"} & set(done.stdout.split())
