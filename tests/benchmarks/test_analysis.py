"""benchmarks/analysis.py measures what it says; no speed is asserted."""

import pytest

from benchmarks import analysis as bench
from engine import RuleSet
from model.network import PRESETS


def test_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SIMULATIONS", 8)
    monkeypatch.setattr(bench, "PLIES", 3)
    case = bench.Case(rules=RuleSet.preset("gomoku", size=6), network=PRESETS["b2c16"])
    row = bench.row_of(case, 0.2, 2)
    assert row.what == "analysis, 6x6 b2c16"
    assert row.value > 0 and row.ratio is not None and row.ratio > 0
