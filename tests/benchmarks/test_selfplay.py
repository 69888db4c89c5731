"""benchmarks/selfplay.py measures what it says; no speed is asserted."""

import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import selfplay as bench
from benchmarks import table
from benchmarks.evaluators import random_network
from engine import RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchConfig
from model.checkpoint import Checkpoint, CheckpointMeta
from model.choice import AUTO
from model.evaluator import KINDS
from model.games import GameEntry
from model.network import PRESETS
from selfplay.worker import GameChoice, SelfPlay, SelfPlayConfig

RULES = RuleSet.preset("gomoku", size=6)


def plies_of(worker: SelfPlay) -> list[int]:
    return [worker.ply(slot) or 0 for slot in range(worker.config.games)]


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
    assert set(plies_of(empty)) == {0}
    assert statistics.mean(plies_of(worker)) > 5 and len(set(plies_of(worker))) > 8
    assert worker.config == empty.config  # the search of runs from now on


def test_the_fastest_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CHOOSING", 0.0)
    case = bench.Case(rules=RULES, network=PRESETS["b2c16"], kind=AUTO)
    assert case.serve()[1].kind in KINDS


def test_games_of_its_own_are_spread_over_their_length() -> None:
    worker = SelfPlay(
        games=[GameChoice(rules=RULES)],
        search=SearchConfig(simulations=16),
        config=SelfPlayConfig(games=32),
        height=6,
        width=6,
        run_seed=0,
    )
    usual = worker.config
    worker.set_evaluator(HashEvaluator(), 0)
    length = bench.play_ahead(worker)
    plies = plies_of(worker)
    assert length / 3 < statistics.mean(plies) < 2 * length / 3
    assert min(plies) < length / 4 and max(plies) > 3 * length / 4
    assert worker.config is usual


def test_a_trained_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "GAMES", 8)
    monkeypatch.setattr(bench, "COMPARED", 20)
    network = random_network(PRESETS["b2c16"])
    meta = CheckpointMeta(network=network.config, games=[GameEntry(rules=RULES)])
    path = Checkpoint(network=network, meta=meta).save(tmp_path / "v000001")
    length, ply, spared = bench.checkpoint_rows(path, 0.2)
    assert 0 < ply.value < length.value
    assert spared.what == "v000001, simulations an evaluation" and spared.value > 1


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
    assert bench.main(["--memory", "5"]) is well
    assert ("MISSED" in capsys.readouterr().out) is not well
    assert (tmp_path / "memory.json").exists()
