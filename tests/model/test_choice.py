"""Which evaluator a run plays with."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model import choice as choice_module
from model import evaluator
from model.choice import AUTO, check_name, fixed_choice, measured_choice, timed
from model.evaluator import EXACT, TorchEvaluator, evaluator_for
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


def test_names_mean_kinds_with_float32_in_the_end() -> None:
    assert fixed_choice("onnx-int8", "cpu").kinds == ("onnx-int8", "onnx")
    assert fixed_choice("torch", "cpu").kinds == ("torch",)
    assert fixed_choice(AUTO, "cpu").kinds == ("onnx-int8", "onnx")
    assert fixed_choice(AUTO, "cuda:1").kinds == ("torch-bf16", "torch")
    assert fixed_choice("onnx", "cuda").kinds == ("torch",)


def test_what_cannot_be_had_is_replaced_by_the_nearest_kind(
    monkeypatch: pytest.MonkeyPatch, forgetful: None
) -> None:
    monkeypatch.setattr("model.evaluator.is_installed", lambda: False)
    missing = fixed_choice("openvino-int8", "cpu")
    assert missing.kinds == ("onnx-int8", "onnx") and missing.wanted == "openvino-int8"
    reason = "openvino-int8: is not installed (pip install 'narabe[openvino]')"
    assert missing.said == f"onnx-int8; left out {reason}"
    assert fixed_choice("openvino", "cpu").kinds == ("onnx",)
    elsewhere = fixed_choice("onnx-int8", "cuda")
    assert elsewhere.kinds == ("torch-bf16", "torch")
    assert elsewhere.said.endswith("onnx-int8: computes on the CPU only, not on cuda")


@pytest.fixture
def forgetful() -> Iterator[None]:
    """What works here is tried anew, and again afterwards."""
    evaluator._what_fails.cache_clear()
    yield
    evaluator._what_fails.cache_clear()


IMPORT = "raise ImportError('libopenvino.so: cannot open shared object file')"
READING = """
class Core:
    def read_model(self, network):
        raise RuntimeError("Check 'false' failed\\nat core.cpp")
"""


@pytest.fixture(params=[IMPORT, READING])
def broken_openvino(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    forgetful: None,
) -> None:
    (tmp_path / "openvino.py").write_text(request.param)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "openvino", raising=False)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def test_a_broken_extra_is_left_out(positions: Positions, broken_openvino: None) -> None:
    chosen = fixed_choice("openvino-int8", "cpu")
    assert chosen.kinds == ("onnx-int8", "onnx")
    assert "openvino-int8: does not work here (" in chosen.said and "\n" not in chosen.said
    taken = measured_choice(wild_network(PRESETS["b2c16"]), "cpu", 8, positions, seconds=0.1)
    assert not {"openvino", "openvino-int8"} & set(taken.kinds)
    assert "; left out openvino and openvino-int8: does not work here (" in taken.said
    sys.modules.pop("openvino", None)


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_without_onnx_pytorch_plays(
    package: str, positions: Positions, monkeypatch: pytest.MonkeyPatch, forgetful: None
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("model.evaluator.is_installed", lambda: False)
    chosen = fixed_choice("onnx-int8", "cpu")
    assert chosen.kinds == ("torch",)
    assert f"onnx-int8 and onnx: does not work here ({package} cannot be imported" in chosen.said
    network = wild_network(PRESETS["b2c16"])
    taken = measured_choice(network, "cpu", 8, positions, seconds=0.1)
    assert set(taken.kinds) <= {"torch", "torch-bf16"} and taken.kinds[-1] == "torch"
    assert isinstance(evaluator_for(network), TorchEvaluator)


def test_a_kind_that_fails_on_the_network_is_left_out(
    positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = choice_module.evaluator_for

    def failing(network: Any, device: str, batch_size: int, served: Any) -> Any:
        if served.kind == "torch-bf16":
            raise RuntimeError("no such instruction\nmore")
        return original(network, device, batch_size, served)

    monkeypatch.setattr(choice_module, "evaluator_for", failing)
    taken = measured_choice(wild_network(PRESETS["b2c16"]), "cpu", 8, positions, seconds=0.1)
    assert "torch-bf16" not in taken.kinds
    assert "torch-bf16: failed (no such instruction)" in taken.said
    assert "torch-bf16 0" not in taken.said


def test_a_network_of_no_numbers_is_told_in_words(
    positions: Positions,
    recwarn: pytest.WarningsRecorder,
    monkeypatch: pytest.MonkeyPatch,
    forgetful: None,
) -> None:
    network = wild_network(PRESETS["b2c16"])
    with torch.no_grad():
        network.stem.weight[0] = float("nan")
    monkeypatch.setattr("model.evaluator.is_installed", lambda: False)
    taken = measured_choice(network, "cpu", 8, positions, seconds=0.1)
    assert taken.kinds == ("onnx",)
    assert taken.said.startswith("onnx; left out ")
    assert "onnx-int8: failed (the network's weights are no finite numbers)" in taken.said
    assert not [each for each in recwarn if each.category is RuntimeWarning]


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
    said = "torch-bf16, the fastest that agrees; positions/s: torch-bf16 5, onnx-int8 4, torch 3"
    assert taken.said.startswith(said) and taken.wanted == "torch-bf16"
    monkeypatch.setattr("model.agreement.VALUE_ERROR", 1e-5)
    taken = measured_choice(network, "cpu", 8, positions)
    assert taken.kinds == ("torch",)
    assert "torch-bf16 5, onnx-int8 4" in taken.said
    assert "torch-bf16: differs (policy by " in taken.said.partition("; left out ")[2]


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


def test_everything_is_imported_without_onnx(tmp_path: Path) -> None:
    """A run, its messages of errors and its players, where both packages are broken."""
    for package in ("onnx", "onnxruntime"):
        (tmp_path / f"{package}.py").write_text("raise OSError('undefined symbol')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import model.export, selfplay.loop\n"
        "from scripts.train import explained; explained(lambda: None)\n"
        "from model.choice import fixed_choice; print(*fixed_choice('auto', 'cpu').kinds)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("torch\n", "")
