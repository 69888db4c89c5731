"""benchmarks/table.py: what is said about figures, and on what they were measured."""

import subprocess
from pathlib import Path

import pytest

from benchmarks import table
from benchmarks.table import Row, Target


def test_tasks_take_turns_forwards_and_backwards() -> None:
    order: list[str] = []

    def task(name: str) -> int:
        order.append(name)
        return 1

    found = table.rounds({"a": lambda: task("a"), "b": lambda: task("b")}, 3)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert {name: len(values) for name, values in found.items()} == {"a": 3, "b": 3}


def test_a_ratio_is_that_of_each_round() -> None:
    ours, theirs = [1.0, 2.0, 4.0, 8.0], [2.0, 4.0, 8.0, 16.0]
    assert table.compared(ours, theirs) == (0.5, 0.0)
    ratio, spread = table.compared([1.0, 2.0, 3.0, 4.0, 5.0], [1.0] * 5)
    assert (ratio, spread) == (3.0, 1.0)
    assert table.compared([3.0], [2.0]) == (1.5, None)


def test_spread() -> None:
    assert table.spread([9.0, 10.0, 11.0]) == pytest.approx(0.1)
    assert table.spread([10.0]) is None
    assert table.rates({"once": lambda: 1}, 1)["once"][1] is None


def test_only_what_was_repeated_has_a_spread(capsys: pytest.CaptureFixture[str]) -> None:
    table.show(
        "title",
        [
            Row(what="once", value=1.0, unit="us"),
            Row(what="often", value=1.0, unit="us", spread=0.0),
            Row(what="beside", value=1.0, unit="us", reference="it", ratio=2.0),
            Row(what="in turn", value=1.0, unit="", reference="it", ratio=2.0, ratio_spread=0.004),
        ],
    )
    once, often, beside, in_turn = capsys.readouterr().out.splitlines()[2:]
    assert "±" not in once and "± 0.0 %" in often
    assert beside.endswith("    2.00 x it") and "±" not in beside
    assert in_turn.endswith("   2.000 ±0.004 x it")


def test_a_target_that_was_not_measured_is_not_missed() -> None:
    target = Target(what="memory", most=100)
    assert target.met([]) is None
    assert target.met([Row(what="memory", value=100.0, unit="MiB")]) is True
    assert target.met([Row(what="memory", value=101.0, unit="MiB")]) is False


def test_the_machine_is_described() -> None:
    said = table.machine()
    assert str(said["memory"]).endswith(" GiB")
    assert "numpy " in str(said["packages"]) and "torch " in str(said["packages"])
    assert str(said["date"]).endswith("+00:00")
    command = ["git", "rev-parse", "HEAD"]
    here = Path(table.__file__).parent
    head = subprocess.run(command, cwd=here, capture_output=True, text=True).stdout.strip()
    assert head.startswith(str(said["commit"]).removesuffix("-dirty"))
