"""Versions reach the workers when they are ready, in order, and as they were served before."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.checkpoint import Checkpoint, CheckpointMeta
from model.choice import Choice
from model.evaluator import Served
from model.games import GameEntry
from model.network import NetworkConfig
from model.positions import Positions, random_positions
from model.serving import CALIBRATED, Prepared, load_served
from selfplay import publisher as publisher_module
from selfplay.publisher import Publisher
from selfplay.storage import StorageError
from tests.model.material import TINY, wild_network
from tests.selfplay.small import RULES

INT8 = Choice(kinds=("onnx-int8", "onnx"), wanted="onnx-int8", said="")


class Workers:
    """Notes what is published."""

    def __init__(self) -> None:
        self.versions: list[tuple[int, str]] = []

    def publish(self, version: int, weights: Any, served: Served | None = None) -> None:
        assert served is not None
        self.versions.append((version, served.kind))


@pytest.fixture
def workers() -> Workers:
    return Workers()


@pytest.fixture(scope="module")
def positions() -> Positions:
    games = [GameEntry(rules=RULES)]
    return random_positions(games, CALIBRATED + 50, 4, 5, np.random.default_rng(0))


def checkpoint(version: int, config: NetworkConfig = TINY) -> Checkpoint:
    meta = CheckpointMeta(network=config, version=version)
    return Checkpoint(network=wild_network(config, seed=version), meta=meta)


def publisher(workers: Any, choice: Choice = INT8, *, background: bool = False) -> Publisher:
    return Publisher(workers, choice, device="cpu", batch_size=8, background=background)


def test_at_once_where_nothing_runs_beside(
    workers: Workers, tmp_path: Path, positions: Positions
) -> None:
    ours = publisher(workers)
    ours.publish(checkpoint(1), tmp_path / "v000001", positions)
    assert workers.versions == [(1, "onnx-int8")] and ours.kind == "onnx-int8"
    served = load_served(tmp_path / "v000001")
    assert served is not None and served.kind == "onnx-int8" and served.int8
    assert ours.take_curves().keys() == {
        "evaluator/policy_kl",
        "evaluator/top1_agreement",
        "evaluator/value_error",
        "evaluator/fallback",
        "evaluator/seconds",
    }
    assert ours.take_curves() == {}
    ours.close()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Versions are made ready when this event is set."""
    event = threading.Event()
    original = publisher_module.prepare

    def waiting(*arguments: Any) -> Prepared:
        assert event.wait(60)
        return original(*arguments)

    monkeypatch.setattr(publisher_module, "prepare", waiting)
    yield event
    event.set()


def test_the_old_weights_play_until_the_new_ones_are_ready(
    workers: Workers, tmp_path: Path, positions: Positions, held: threading.Event
) -> None:
    ours = publisher(workers, background=True)
    ours.publish(checkpoint(1), tmp_path / "v000001", positions)
    ours.poll()
    assert workers.versions == [] and load_served(tmp_path / "v000001") is None
    held.set()
    ours.publish(checkpoint(2), tmp_path / "v000002", positions)
    assert workers.versions[0] == (1, "onnx-int8")
    ours.poll(wait=True)
    assert [version for version, _ in workers.versions] == [1, 2]
    ours.close()


def test_a_run_goes_on_with_what_served_a_version(
    workers: Workers, tmp_path: Path, positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, exact = tmp_path / "v000001", Choice(kinds=("onnx",), wanted="onnx", said="")
    publisher(workers).start(checkpoint(1), path, positions)
    first = load_served(path)
    others = positions.part(slice(50, None))
    publisher(workers, exact).start(checkpoint(1), path, others)
    assert load_served(path) == first
    monkeypatch.setattr(publisher_module, "why_not", lambda *_: "is not installed")
    publisher(workers, exact).start(checkpoint(1), path, others)
    assert load_served(path) == Served(kind="onnx")
    assert [kind for _, kind in workers.versions] == ["onnx-int8", "onnx-int8", "onnx"]


def test_a_full_disk_is_told(
    workers: Workers, tmp_path: Path, positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(publisher_module, "save_prepared", full)
    with pytest.raises(StorageError, match="v000001"):
        publisher(workers).publish(checkpoint(1), tmp_path / "v000001", positions)
    assert workers.versions == []


def test_a_damaged_evaluator_is_made_again(
    workers: Workers, tmp_path: Path, positions: Positions, caplog: pytest.LogCaptureFixture
) -> None:
    path, file = tmp_path / "v000001", tmp_path / "v000001.evaluator"
    publisher(workers).start(checkpoint(1), path, positions)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    publisher(workers).start(checkpoint(1), path, positions)
    assert file.read_bytes() == whole
    assert workers.versions == [(1, "onnx-int8")] * 2
    (line,) = caplog.messages
    assert line.startswith(f"{file}: truncated or damaged; ") and "made again" in line


def test_what_fails_or_is_not_there_is_told_once_and_counted(
    workers: Workers,
    tmp_path: Path,
    positions: Positions,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing(*_: Any) -> bytes:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr("model.serving.int8_file", failing)
    ours = publisher(workers)
    for version in (1, 2):
        ours.publish(checkpoint(version), tmp_path / f"v00000{version}", positions)
        assert ours.take_curves()["evaluator/fallback"] == 1
    assert caplog.messages == [
        "evaluator: onnx-int8 failed (no such instruction); onnx plays instead"
    ]
    missing = Choice(kinds=("onnx",), wanted="openvino", said="")
    ours = publisher(workers, missing)
    ours.publish(checkpoint(3), tmp_path / "v000003", positions)
    assert ours.take_curves()["evaluator/fallback"] == 1
    assert [kind for _, kind in workers.versions] == ["onnx"] * 3
