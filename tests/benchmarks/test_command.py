"""Benchmarks as commands: what they cannot use is one line and an exit status."""

import errno
import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import (
    cuda,
    engine,
    evaluators,
    int8,
    memory,
    optimizers,
    search,
    selfplay,
    shares,
    spared,
    table,
    versions,
)
from benchmarks.command import BenchmarkError, run

HERE = str(Path(versions.__file__).parents[1])
Main = Callable[[list[str]], object]


@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (cuda.main, ["--nonsense"]),
        (int8.main, [HERE, "--kind", "nonsense"]),
        (memory.main, ["-1"]),
        (memory.main, ["0"]),
        (memory.main, ["nan"]),
        (memory.main, ["much"]),
        (int8.main, [HERE, "--games", "0"]),
        (int8.main, [HERE, "--simulations", "-4"]),
        (int8.main, [HERE, "--seed", "-1"]),
        (versions.main, ["/nope"]),
        (versions.main, [HERE, "--pairs", "0"]),
        (versions.main, [HERE, "--simulations", "0"]),
        (versions.main, [HERE, "--seconds", "nan"]),
        (versions.main, [HERE, "--rules", "[1]"]),
        (versions.main, [HERE, "--rules", "x"]),
        (versions.main, [HERE, "--game", "nonsense"]),
        (shares.main, ["one", "two", "three"]),
    ],
)
def test_arguments_that_cannot_be(main: Main, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("main", "arguments", "said"),
    [
        (evaluators.main, ["--checkpoint", "/nope"], "/nope.json: cannot be read"),
        (spared.main, ["/nope"], "/nope.json: cannot be read"),
        (versions.main, [HERE, "--checkpoint", "/nope"], "/nope.json: cannot be read"),
        (versions.main, [HERE, "--rules", '{"sizze": 3}'], "rules.sizze: no such rule"),
        (versions.main, [HERE, "--plies", "200"], "--plies 200: 0 to 8 are sure to end no game"),
        (int8.main, ["/nope"], "/nope holds no checkpoints"),
        (shares.main, ["/nope"], "cannot use /nope: No such file"),
    ],
)
def test_what_is_not_there_is_one_line(
    main: Main,
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(table, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["benchmarks/this.py"])
    assert run(functools.partial(main, arguments)) == 1  # type: ignore[arg-type]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("this: ") and said in line


@pytest.mark.parametrize("part", [engine, search, evaluators, selfplay, optimizers])
def test_results_that_cannot_be_stored_are_noticed_first(
    part: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").write_text("a file where the folder should be")
    monkeypatch.setattr(table, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(sys, "argv", ["benchmark"])
    for measuring in ("measure", "exact_samples"):
        monkeypatch.setattr(part, measuring, _never, raising=False)
    with pytest.raises(BenchmarkError, match="cannot store results in"):
        part.main()  # type: ignore[attr-defined]


def _never(*arguments: object, **others: object) -> None:
    raise AssertionError("it was measured")


def test_status() -> None:
    assert run(lambda: None) == 0 == run(lambda: True)
    assert run(lambda: False) == 1


def test_what_nobody_has_foreseen_keeps_its_traceback() -> None:
    def broken() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken)


def test_an_error_of_the_system_names_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "some/file")

    assert run(broken) == 1
    assert capsys.readouterr().err.endswith(": cannot use some/file: Permission denied\n")


# --- shares -------------------------------------------------------------------------------------

ROWS = [
    {"what": "self-play, 9x9 b4c32", "value": 20_000.0},
    {"what": "  trees, 9x9 b4c32", "value": 8.0},
    {"what": "  network, 9x9 b4c32", "value": 92.0},
]


def test_a_part_that_nothing_fell_to(tmp_path: Path) -> None:
    file = tmp_path / "selfplay.json"
    file.write_text(json.dumps({"rows": ROWS}))
    (cost,) = shares.read(file).values()
    assert cost == pytest.approx({"network": 46.0, "trees": 4.0, "plies": 0.0})
    shares.main([str(file), str(tmp_path / "picture.png")])
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["", '{"rows": 3', "[]", '{"rows": [{"value": 1}]}', "\xff"])
def test_files_that_hold_something_else(text: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(BenchmarkError, match="does not hold what benchmarks store"):
        shares.read(file)


def test_results_without_selfplay(tmp_path: Path) -> None:
    file = tmp_path / "engine.json"
    file.write_text('{"rows": []}')
    with pytest.raises(BenchmarkError, match="holds no self-play"):
        shares.read(file)


def test_the_newest_results_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "RESULTS", tmp_path)
    with pytest.raises(BenchmarkError, match=r"no selfplay.json or bench.json"):
        shares.newest()
    for age, name in enumerate(("bench.json", "selfplay.json")):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    assert shares.newest().name == "bench.json"
    os.utime(tmp_path / "selfplay.json", (2000, 2000))
    assert shares.newest().name == "selfplay.json"
