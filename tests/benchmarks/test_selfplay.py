"""benchmarks/selfplay.py measures what it says; no speed is asserted."""

import pytest

from benchmarks import selfplay as bench
from engine import RuleSet
from model.network import PRESETS


def test_rows_of_a_small_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SIMULATIONS", 8)
    rules = RuleSet.preset("gomoku", size=6)
    case = bench.Case(rules=rules, network=PRESETS["b2c16"], least=0.5)
    rows = {row.what: row for row in bench.selfplay_rows(case, 0.1, 1)}
    whole = rows["self-play, 6x6 b2c16"]
    assert whole.value > 0 and whole.ratio is not None and whole.ratio > 0
    parts = [rows[f"  {part}, 6x6 b2c16"].value for part in ("trees", "network", "plies")]
    assert sum(parts) == pytest.approx(100)
    assert rows["simulations an evaluation, 6x6 b2c16"].value >= 1
    learner = bench.learner_rows(case, 2, 1)[0]
    assert learner.value > 0 and learner.ratio is not None
