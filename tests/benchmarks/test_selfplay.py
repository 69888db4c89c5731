"""benchmarks/selfplay.py measures what it says; no speed is asserted."""

import statistics

import pytest

from benchmarks import selfplay as bench
from benchmarks.progress import plies_of
from engine import RuleSet
from engine.evaluators import HashEvaluator
from model.choice import AUTO
from model.evaluator import KINDS
from model.network import PRESETS

RULES = RuleSet.preset("gomoku", size=6)


def test_rows_of_a_small_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SIMULATIONS", 8)
    case = bench.Case(rules=RULES, network=PRESETS["b2c16"], least=0.5)
    rows = {row.what: row for row in bench.selfplay_rows(case, 0.1, 1)}
    whole = rows["self-play, 6x6 b2c16"]
    assert whole.value > 0 and whole.ratio is not None and whole.ratio > 0
    parts = [rows[f"  {part}, 6x6 b2c16"].value for part in ("trees", "network", "plies")]
    assert sum(parts) == pytest.approx(100)
    assert rows["simulations an evaluation, 6x6 b2c16"].value >= 1
    assert "cached: " in rows["simulations an evaluation, 6x6 b2c16"].reference
    learner = bench.learner_rows(case, 2, 1)[0]
    assert learner.value > 0 and learner.ratio is not None


def test_games_begin_in_progress() -> None:
    case = bench.Case(rules=RULES, network=PRESETS["b2c16"])
    empty = case.worker(HashEvaluator(), cache_mib=0)
    worker = case.worker(HashEvaluator(), cache_mib=0, in_progress=True)
    assert not any(plies_of(empty))
    assert statistics.mean(plies_of(worker)) > 5 and len(set(plies_of(worker))) > 8
    assert worker.config == empty.config  # the search of runs from now on


def test_the_fastest_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CHOOSING", 0.0)
    case = bench.Case(rules=RULES, network=PRESETS["b2c16"], kind=AUTO)
    assert case.serve()[1].kind in KINDS
