"""benchmarks/memory.py judges what it has read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import memory as bench
from benchmarks import table

READINGS = [(1.0, 400.0), (2.0, 480.0), (3.0, 490.0), (4.0, 485.0)]


@pytest.mark.parametrize(
    ("readings", "well"),
    [
        (READINGS, True),
        (READINGS[:2], True),  # too short for growth
        ([*READINGS, (5.0, 497.0)], False),
        ([(1.0, 1600.0), *READINGS], False),
    ],
)
def test_memory_is_judged(
    readings: list[tuple[float, float]],
    well: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def memory(minutes: float) -> Iterator[tuple[float, float]]:
        yield from readings

    monkeypatch.setattr(bench, "memory", memory)
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    assert bench.main(["5"]) is well
    assert ("MISSED" in capsys.readouterr().out) is not well
    assert (tmp_path / "memory.json").exists()
