"""Which evaluator a run plays with."""

from typing import Any

import numpy as np
import pytest

from model import choice as choice_module
from model.choice import AUTO, check_name, fixed_choice, measured_choice, timed
from model.evaluator import EXACT
from model.games import GameEntry
from model.network import PRESETS
from model.positions import Positions, random_positions
from model.serving import CALIBRATED
from tests.model.material import SMALL, wild_network


@pytest.fixture(scope="module")
def positions() -> Positions:
    games = [GameEntry(rules=SMALL)]
    return random_positions(games, CALIBRATED + 100, 5, 5, np.random.default_rng(0))


def test_misspelt_names_are_refused_naming_the_key() -> None:
    check_name("auto")
    check_name("onnx-int8")
    with pytest.raises(ValueError, match=r"^evaluator: 'onnx-int' is not known.*onnx-int8"):
        check_name("onnx-int")
    with pytest.raises(ValueError, match=r"there are auto, torch, "):
        check_name("x")


def test_names_mean_kinds_with_float32_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fixed_choice("onnx-int8", "cpu").kinds == ("onnx-int8", "onnx")
    assert fixed_choice("torch", "cpu").kinds == ("torch",)
    assert fixed_choice(AUTO, "cpu").kinds == ("onnx-int8", "onnx")
    assert fixed_choice(AUTO, "cuda:1").kinds == ("torch-bf16", "torch")
    monkeypatch.setattr("model.evaluator.is_installed", lambda: False)
    missing = fixed_choice("openvino-int8", "cpu")
    assert missing.kinds == ("onnx",)
    assert "openvino-int8 is not installed (pip install 'narabe[openvino]')" in missing.said
    assert fixed_choice("onnx-int8", "cuda").kinds == ("torch",)


def test_the_fastest_that_agrees_is_taken(
    positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = wild_network(PRESETS["b2c16"])
    rates = {"torch": [3.0], "torch-bf16": [5.0, 9.0, 1.0], "onnx": [2.0], "onnx-int8": [4.0]}

    def pretended(tasks: dict[str, Any], seconds: float) -> dict[str, list[float]]:
        return {kind: rates.get(kind, [1.0]) for kind in tasks}

    monkeypatch.setattr(choice_module, "timed", pretended)
    taken = measured_choice(network, "cpu", 8, positions)
    assert taken.kinds == ("torch-bf16", "onnx-int8", "torch")
    assert taken.said.startswith("torch-bf16; positions/s: torch-bf16 5, onnx-int8 4, torch 3")
    monkeypatch.setattr("model.agreement.VALUE_ERROR", 1e-5)
    taken = measured_choice(network, "cpu", 8, positions)
    assert taken.kinds == ("torch",)
    assert "torch-bf16 5 (differs: policy by " in taken.said


def test_measuring_ends_in_float32(positions: Positions) -> None:
    taken = measured_choice(wild_network(PRESETS["b2c16"]), "cpu", 8, positions, seconds=0.2)
    assert taken.kinds[-1] in EXACT and not set(taken.kinds[:-1]) & set(EXACT)


def test_tasks_take_turns() -> None:
    order: list[str] = []

    def task(name: str) -> int:
        order.append(name)
        return 10

    rates = timed({name: lambda name=name: task(name) for name in "ab"}, 0.0)
    assert order == ["a", "b"] * choice_module.ROUNDS
    assert all(rate > 0 for name in rates for rate in rates[name])
