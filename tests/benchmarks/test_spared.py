"""benchmarks/spared.py and progress.py: games in progress, and what is spared in them."""

import statistics
from pathlib import Path

import pytest

from benchmarks import spared as bench
from benchmarks.command import BenchmarkError
from benchmarks.evaluators import random_network
from benchmarks.progress import play_ahead, plies_of
from engine import RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchConfig
from model.checkpoint import Checkpoint, CheckpointMeta
from model.games import GameEntry
from model.network import PRESETS
from selfplay.worker import GameChoice, SelfPlay, SelfPlayConfig

RULES = RuleSet.preset("gomoku", size=6)
SMALL = (
    *("game=mnk", "game.rules.size=5", "game.rules.line_length=4", "opening=none", "model=b2c16"),
    *("cluster=local", "cluster.chunk_games=3", "selfplay.games=4", "search.simulations=8"),
    "evaluator=onnx",
)


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
    length = play_ahead(worker)
    plies = plies_of(worker)
    assert length / 3 < statistics.mean(plies) < 2 * length / 3
    assert min(plies) < length / 4 and max(plies) > 3 * length / 4
    assert worker.config is usual


def test_a_trained_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "COMPARED", 20)
    network = random_network(PRESETS["b2c16"])
    meta = CheckpointMeta(network=network.config, games=[GameEntry(rules=RULES)])
    path = Checkpoint(network=network, meta=meta).save(tmp_path / "v000001")
    length, ply, spared = bench.checkpoint_rows(path, "this", 0.2)
    assert 0 < ply.value < length.value
    assert spared.what == "simulations an evaluation, this" and spared.value > 1


def test_a_network_that_is_trained_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "MINUTES", 0.01)
    monkeypatch.setattr(bench, "SECONDS", 0.1)
    monkeypatch.setattr(bench, "SETTINGS", SMALL)
    *_, row = bench.trained_rows()
    assert row.what == bench.TARGET.what and row.value >= 1


def test_a_network_that_cannot_be_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "SETTINGS", ["game=nonsense"])
    with pytest.raises(BenchmarkError, match=r"the network was not trained: .*nonsense"):
        bench.trained_rows()
