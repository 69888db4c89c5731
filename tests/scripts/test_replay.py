"""scripts.replay: a recorded game comes out the same, or the first difference is named."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from model.checkpoint import Checkpoint, CheckpointMeta
from model.games import GameEntry
from model.network import Network
from model.positions import random_positions
from model.serving import CALIBRATED, prepare, save_prepared
from scripts.replay import first_difference, main, read_config
from scripts.settings import Settings
from selfplay.cluster import Worker, WorkerSpec
from selfplay.records import RecordLog, read_records

CONFIG = {
    "run": "small",
    "game": {"preset": "mnk", "rules": {"width": 5, "height": 4, "line_length": 4}},
    "opening": {"name": "swap-1st"},
    "model": {"blocks": 1, "channels": 8, "pool_channels": 4, "head_channels": 4, "hidden": 8},
    "search": {"simulations": 12},
    "selfplay": {"games": 4, "fast_simulations": 6},
    "cluster": {"kind": "local"},
    "seed": 5,
}


@pytest.fixture(scope="module", params=["", "onnx-int8"])
def run(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A run folder with a few games in which the weights have changed.

    Without a stored evaluator, as older runs, or with what served each version.
    """
    path = tmp_path_factory.mktemp("runs") / "small"
    path.mkdir()
    settings = OmegaConf.merge(OmegaConf.structured(Settings), OmegaConf.create(CONFIG))
    (path / "config.yaml").write_text(OmegaConf.to_yaml(settings))
    config = read_config(path)
    worker = Worker(
        WorkerSpec(
            games=config.games,
            search=config.search,
            selfplay=config.selfplay,
            network=config.model,
            height=config.height,
            width=config.width,
            run_seed=config.seed,
        )
    )
    (path / "checkpoints").mkdir()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    log = RecordLog(path / "records")
    entries = [GameEntry(rules=each.rules, opening=each.opening) for each in config.games]
    for version in range(3):
        network = Network(config.model)
        checkpoint = Checkpoint(network=network, meta=CheckpointMeta(network=config.model))
        stem = checkpoint.save(path / "checkpoints" / f"v{version:06d}")
        served = None
        if request.param:
            rng = np.random.default_rng(version)
            positions = random_positions(entries, CALIBRATED + 50, 4, 5, rng)
            prepared = prepare(network, positions, [request.param], "cpu", 4)
            save_prepared(stem, prepared)
            served = prepared.served
            assert served.kind == request.param
        worker.load(version, checkpoint.weights, served)
        chunk = worker.play(range(4 * version, 4 * version + 4), games=2)
        log.append(game.record for game in chunk.games)
    return path


def test_a_game_comes_out_the_same(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = list(read_records(run / "records"))
    changed = next(record for record in records if len(record.versions) > 1)
    assert main([str(run), changed.id]) == 0
    shown = capsys.readouterr().out
    assert f"The same: all {len(changed.actions)} plies" in shown
    assert f"{changed.id}: mnk, opening swap-1st, run seed 5" in shown
    assert main([str(run), str(records[0].seed["game"])]) == 0


def test_the_first_difference_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = next(iter(read_records(run / "records")))
    other = dataclasses.replace(record, seed={"run": 6, "game": record.seed["game"]})
    RecordLog(tmp_path / "records").append([other])
    for name in ("config.yaml", "checkpoints"):
        (tmp_path / name).symlink_to(run / name)
    assert main([str(tmp_path), record.id]) == 3
    assert "DIFFERENT: at ply " in capsys.readouterr().out
    shorter = dataclasses.replace(record, actions=record.actions[:-1])
    assert first_difference(record, shorter).endswith("now it is the end")
    drawn = dataclasses.replace(record, versions=[(0, 9)])
    assert "versions" in first_difference(record, drawn)


def test_what_cannot_be_played_again_is_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = {
        (str(tmp_path), "1"): "holds no game records; give the folder of a run",
        (str(run), "g99999999"): "no game called g99999999, but ",
    }
    for argv, message in cases.items():
        assert main(argv) == 1
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1
    numbers = sorted(record.seed["game"] for record in read_records(run / "records"))
    assert f"numbers {numbers[0]} to {numbers[-1]}" in error
    record = next(iter(read_records(run / "records")))
    RecordLog(tmp_path / "records").append([record])
    assert main([str(tmp_path), record.id]) == 1
    assert "config.yaml: No such file" in capsys.readouterr().err
    (tmp_path / "config.yaml").symlink_to(run / "config.yaml")
    assert main([str(tmp_path), record.id]) == 1
    assert "v000000.json: cannot be read" in capsys.readouterr().err


def test_what_served_a_version_and_cannot_now_is_one_line(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    for version in range(3):
        (copy / "checkpoints" / f"v{version:06d}.evaluator").write_bytes(b"nonsense")
    assert main([str(copy), "0"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "truncated or damaged; restore it, or delete it" in said
    if not (run / "checkpoints" / "v000000.evaluator").exists():
        return
    monkeypatch.setattr("model.evaluator._what_fails", lambda kind: "does not work here")
    assert main([str(run), "0"]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "onnx-int8, which does not work here" in said
