"""The benchmarks of evaluators and of int8 play, made small."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import evaluators, int8
from model.checkpoint import Checkpoint, CheckpointMeta
from model.games import GameEntry
from model.network import PRESETS
from selfplay.gauntlet import Gauntlet, GauntletConfig
from selfplay.players import random_player
from selfplay.records import read_records
from tests.model.material import SMALL

GAME = GameEntry(rules=SMALL)


def test_each_kind_has_a_row_beside_pytorch() -> None:
    network = evaluators.random_network(PRESETS["b2c16"])
    rows = evaluators.rows("5x5", evaluators.tried(network, GAME, 0.0, compared=20))
    assert rows[0].what == "5x5, torch" and rows[0].ratio == 1.0
    assert {"5x5, onnx-int8", "5x5, torch-bf16"} <= {row.what for row in rows}
    assert all("PyTorch eager; KL " in row.reference and row.value > 0 for row in rows)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Something like a run's folder: a checkpoint and games."""
    network = evaluators.random_network(PRESETS["b2c16"])
    (tmp_path / "checkpoints").mkdir()
    meta = CheckpointMeta(network=network.config, games=[GAME])
    Checkpoint(network=network, meta=meta).save(tmp_path / "checkpoints" / "v000001")
    first, second = random_player(), random_player()
    second.name = "other"
    Gauntlet(
        [first, second],
        GauntletConfig(games=4),
        tmp_path / "records",
        rules=GAME.rules,
        opening=GAME.opening,
    ).run()
    return tmp_path


def test_positions_are_those_of_the_records(run: Path) -> None:
    records = list(read_records(run / "records"))
    positions = int8.positions_of(records, 30, np.random.default_rng(0))
    assert len(positions) == 30 and positions.planes.shape[2:] == (5, 5)
    assert positions.legal.any(axis=1).all()


def test_int8_meets_float32(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(int8, "COMPARED", 50)
    int8.main([str(run), "--games", "4", "--simulations", "4"])
    shown = capsys.readouterr().out
    assert "onnx-int8 against float32, mnk 5x5, 4 simulations: " in shown
