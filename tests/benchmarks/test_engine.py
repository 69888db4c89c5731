"""benchmarks/engine.py runs and measures what it says; no speed is asserted."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks import engine as bench
from benchmarks import table
from engine import RuleSet

TINY = bench.Effort(seconds=0.001, repeats=1, oracle=4, random=4, slow=1)
GAMES = {
    "gomoku 15x15": RuleSet.preset("gomoku"),
    "irensei 5x5": RuleSet.preset("irensei", size=5, line_length=5, gutter=0),
}


def check(rows: list[table.Row]) -> None:
    assert len({row.what for row in rows}) == len(rows)
    for row in rows:
        assert row.value > 0 and math.isfinite(row.value)
        assert row.ratio is None or row.ratio > 0
        if row.ratio is None and row.reference:
            assert "not installed (pip install 'narabe[bench]')" in row.reference


def absent(_name: str) -> None:
    return None


def test_playouts_without_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "library", absent)
    rows = bench.playout_rows(TINY, GAMES)
    check(rows)
    assert len(rows) == 4
    assert "OpenSpiel gomoku 15x15 in C++: not installed" in rows[0].reference


def test_playouts_beside_openspiel() -> None:
    pytest.importorskip("pyspiel")
    rows = {row.what: row for row in bench.playout_rows(TINY, GAMES)}
    check(list(rows.values()))
    assert rows["playouts, gomoku 15x15"].ratio is not None
    assert rows["OpenSpiel gomoku 15x15, from Python"].reference == "the same in C++"
    assert "OpenSpiel mnk 15x15, in C++" in rows


def test_the_rows_of_the_other_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "library", absent)
    parts = (bench.opening_rows, bench.forbidden_rows, bench.superko_rows, bench.copy_rows)
    rows = [row for part in parts for row in part(TINY)]
    check(rows)
    assert {target.what for target in bench.TARGETS} - {row.what for row in rows} == {
        target.what for target in bench.TARGETS if "playouts" in target.what
    }


def test_the_package_renju_forbids_the_same_points() -> None:
    renju = pytest.importorskip("renju")
    for position in bench.random_positions(3, np.random.default_rng(0)):
        found = bench.renju_fouls(renju, position.board.tolist())
        assert found == [divmod(point, 15) for point in position._core.fouls()]


def test_random_positions_are_blacks() -> None:
    for position in bench.random_positions(12, np.random.default_rng(1)):
        assert position.outcome is None and position.to_play == "black"


def test_targets() -> None:
    row = table.Row(what="copy", value=100.0, unit="ns", reference="it", ratio=3.0)
    assert bench.Target(what="copy", most=150).said([row]) == "reached copy: 100, at most 150"
    assert bench.Target(what="copy", least=5, ratio=True).said([row]) == (
        "MISSED  copy: 3, at least 5 times it"
    )
    assert bench.Target(what="copy", most=1).said([]) == "not measured: copy: at most 1"


def test_a_quick_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "QUICK", TINY)
    monkeypatch.setattr(bench, "library", absent)
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    bench.main(["--quick"])
    stored = json.loads((tmp_path / "engine-quick.json").read_text())
    printed = capsys.readouterr().out
    assert all(row["what"] in printed for row in stored["rows"])
    assert "not measured: playouts, gomoku 15x15" in printed
    assert "pip install 'narabe[bench]'" in printed
