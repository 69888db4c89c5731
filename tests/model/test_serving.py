"""int8 networks: calibrated, compared with float32, stored, passed over where not close."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model import serving
from model.agreement import Agreement, Answers, agreement
from model.calibration import activation_ranges
from model.checkpoint import CheckpointError
from model.evaluator import Served, evaluator_for, why_not
from model.games import GameEntry
from model.network import PRESETS, NetworkConfig
from model.positions import Positions, random_positions
from model.serving import (
    CALIBRATED,
    DamagedError,
    load_served,
    make_served,
    prepare,
    save_prepared,
)
from tests.model.material import IRENSEI, RECTANGLE, SMALL, wild_network

GAMES = [GameEntry(rules=IRENSEI, opening="swap-1st"), GameEntry(rules=RECTANGLE)]
NO_POOLING = NetworkConfig(
    blocks=1, channels=4, pool_every=0, pool_channels=4, head_channels=4, hidden=4
)


@pytest.fixture(scope="module")
def positions() -> Positions:
    """Of boards that fill the canvas, and of smaller ones."""
    return random_positions(GAMES, CALIBRATED + 200, 9, 9, np.random.default_rng(0))


def test_random_positions_are_of_all_games_and_can_be_played_on(positions: Positions) -> None:
    assert len(positions) == CALIBRATED + 200
    assert positions.planes.shape[2:] == (9, 9)
    assert positions.legal.any(axis=1).all()
    again = random_positions(GAMES, 50, 9, 9, np.random.default_rng(0))
    np.testing.assert_array_equal(again.planes, positions.planes[:50])
    sizes = set(positions.planes[:, 0].sum(axis=(1, 2)).astype(int))
    assert len(sizes) > 1


def test_agreement_is_what_it_says() -> None:
    legal = np.array([[True, True, False], [True, True, False]])
    positions = Positions(np.zeros((2, 1)), np.zeros((2, 1)), legal)  # type: ignore[arg-type]

    class Says:
        def __init__(self, first: float, value: float) -> None:
            self.first, self.value = first, value

        def evaluate(self, *inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            logits = np.array([[self.first, 0.0, 99.0], [0.0, 3.0, 99.0]], np.float32)
            return logits, np.array([self.value, 0.0], np.float32)

    one, other = (Answers.of(Says(*said), positions) for said in ((1.0, 0.5), (-1.0, 0.1)))
    same, found = agreement(one, one, positions), agreement(one, other, positions)
    assert same == Agreement(policy_kl=0.0, top1=1.0, value_error=0.0) and same.is_close
    p = 1 / (1 + np.exp(-1.0))
    expected = (p * np.log(p / (1 - p)) + (1 - p) * np.log((1 - p) / p)) / 2
    assert found.policy_kl == pytest.approx(expected, rel=1e-5)
    assert (found.top1, found.value_error) == (0.5, pytest.approx(0.2))
    assert not found.is_close
    assert not dataclasses.replace(same, policy_kl=float("nan")).is_close
    assert found.curves().keys() == {
        "evaluator/policy_kl",
        "evaluator/top1_agreement",
        "evaluator/value_error",
    }


def test_ranges_hold_what_a_network_computes(positions: Positions) -> None:
    network = wild_network(PRESETS["b2c16"])
    ranges = activation_ranges(network, positions.part(slice(0, 64)))
    with torch.inference_mode():
        planes = torch.from_numpy(positions.planes[:64]).float()
        bias = network.stem_globals(torch.from_numpy(positions.globals_[:64]))[:, :, None, None]
        stem = network.stem(planes)
    on_board = planes[:, :1].bool().expand_as(stem)
    x = torch.relu(stem + bias)[on_board]
    assert 0.8 * x.max() < ranges["blocks.0.first.input"][1] <= x.max()
    # Of the stem only what the ReLU lets through.
    useful = torch.maximum(stem, -bias)[on_board]
    low, high = ranges["stem"]
    assert stem.min() < useful.min() <= low < 0 < high <= useful.max()
    assert ranges["blocks.1.pooled"][0] == ranges["head_points.input"][0] == 0
    assert all(low <= 0 < high for low, high in ranges.values())
    assert not any(layer._forward_hooks for layer in network.modules())


@pytest.mark.parametrize("kind", ["onnx-int8", "openvino-int8", "torch-bf16", "openvino"])
@pytest.mark.parametrize("config", [PRESETS["b2c16"], PRESETS["b4c32"], NO_POOLING])
def test_fast_kinds_say_nearly_the_same(
    kind: str, config: NetworkConfig, positions: Positions
) -> None:
    if reason := why_not(kind, "cpu"):
        pytest.skip(reason)
    prepared = prepare(wild_network(config), positions, [kind], "cpu", 64)
    assert prepared.served.kind == kind
    close = prepared.agreements[kind]
    assert close.policy_kl < 2e-3 and close.top1 > 0.7 and close.value_error < 0.01


def test_the_canvas_does_not_matter_to_int8(positions: Positions) -> None:
    """Nothing reaches the board from beside it."""
    network = wild_network(PRESETS["b2c16"])
    served = make_served("onnx-int8", network, positions)
    evaluator = evaluator_for(network, "cpu", 8, served)
    game, keys = GameEntry(rules=SMALL), np.zeros(8, np.uint64)
    values = []
    for size in (5, 9):
        shown = random_positions([game], 8, size, size, np.random.default_rng(3))
        values.append(evaluator.evaluate(shown.planes, shown.globals_, keys)[1])
    np.testing.assert_array_equal(*values)


def test_the_same_positions_make_the_same_network(positions: Positions) -> None:
    served = [make_served("onnx-int8", wild_network(PRESETS["b2c16"]), positions) for _ in range(2)]
    assert served[0] == served[1]


def test_what_is_not_close_is_passed_over(
    positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = wild_network(PRESETS["b2c16"])
    ranges = dict.fromkeys(activation_ranges(network, positions.part(slice(0, 64))), (0.0, 0.02))
    monkeypatch.setattr(serving, "activation_ranges", lambda *_: ranges)
    prepared = prepare(network, positions, ["onnx-int8", "torch-bf16", "onnx"], "cpu", 16)
    assert prepared.served == Served(kind="torch-bf16")
    assert not prepared.agreements["onnx-int8"].is_close
    assert prepared.curves("onnx-int8")["evaluator/fallback"] == 1
    assert prepare(network, positions, ["onnx-int8"], "cpu", 16).served.kind == "onnx"
    exact = prepare(network, positions, ["onnx"], "cpu", 16)
    assert exact.agreements == {} and exact.curves("onnx")["evaluator/fallback"] == 0
    assert exact.curves("openvino-int8")["evaluator/fallback"] == 1


def test_what_fails_is_passed_over(
    positions: Positions, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    network = wild_network(PRESETS["b2c16"])
    original = serving.int8_file

    def failing(kind: str, *arguments: Any) -> bytes:
        if kind == "openvino-int8":
            raise RuntimeError("Check 'false' failed")
        return original(kind, *arguments)

    monkeypatch.setattr(serving, "int8_file", failing)
    prepared = prepare(network, positions, ["openvino-int8", "onnx-int8", "onnx"], "cpu", 16)
    assert prepared.served.kind == "onnx-int8"
    assert prepared.failures == {"openvino-int8": "Check 'false' failed"}
    with torch.no_grad():
        network.stem.weight[0] = float("inf")
    prepared = prepare(network, positions, ["onnx-int8", "onnx"], "cpu", 16)
    assert prepared.served == Served(kind="onnx")
    assert prepared.failures == {"onnx-int8": "the network's weights are no finite numbers"}
    assert not [each for each in recwarn if each.category is RuntimeWarning]


def test_what_serves_a_version_is_stored_beside_it(tmp_path: Path, positions: Positions) -> None:
    path = tmp_path / "v000003"
    assert load_served(path) is None
    network = wild_network(PRESETS["b2c16"])
    for kind in ("onnx-int8", "onnx"):
        prepared = prepare(network, positions, [kind], "cpu", 16)
        save_prepared(path, prepared)
        assert load_served(path.with_suffix(".safetensors")) == prepared.served
    assert [file.name for file in tmp_path.iterdir()] == ["v000003.evaluator"]


@pytest.mark.parametrize("damage", ["cut", "foreign", "newer"])
def test_damaged_files_are_one_line(tmp_path: Path, positions: Positions, damage: str) -> None:
    path, file = tmp_path / "v000003", tmp_path / "v000003.evaluator"
    save_prepared(path, prepare(wild_network(), positions, ["onnx"], "cpu", 16))
    whole = file.read_bytes()
    change = {
        "cut": whole[: len(whole) // 2],
        "foreign": b"nonsense",
        "newer": whole.replace(b'kind\\": \\"onnx', b'kind\\": \\"abcd'),
    }[damage]
    assert change != whole
    file.write_bytes(change)
    with pytest.raises(CheckpointError) as caught:
        load_served(path)
    assert isinstance(caught.value, DamagedError) == (damage != "newer")
    assert str(caught.value).startswith(f"{file}: ") and "\n" not in str(caught.value)
