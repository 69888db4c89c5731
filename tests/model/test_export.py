import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from engine.search import SearchConfig
from model import export as export_module
from model.bot import BotError, is_bot, read_bot
from model.checkpoint import Checkpoint, CheckpointError, CheckpointMeta, GameEntry
from model.export import CHECK_GAMES, TOLERANCE, ExportError, export, largest_difference
from model.network import PRESETS, NetworkConfig
from model.onnx_evaluator import OnnxError, OnnxEvaluator
from model.onnx_graph import onnx_network
from scripts.export import main
from tests.model.material import GAMES, TINY, wild_network

ROOT = Path(__file__).parents[2]
NO_POOLING = NetworkConfig(
    blocks=1, channels=4, pool_every=0, pool_channels=4, head_channels=4, hidden=4
)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    games = [GameEntry(rules=rules, opening=opening) for rules, opening in GAMES]
    meta = CheckpointMeta(network=TINY, games=games, step=700, version=7, run_id="r1")
    return Checkpoint(network=wild_network(), meta=meta).save(tmp_path / "checkpoints-v000007")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare on the checkpoint's own games only: the larger boards have a test of their own."""
    monkeypatch.setattr(export_module, "CHECK_GAMES", ())


@pytest.mark.parametrize("config", [TINY, NO_POOLING, PRESETS["b4c32"]])
def test_the_onnx_network_equals_the_network_on_boards_of_all_sizes(config: NetworkConfig) -> None:
    network = wild_network(config)
    assert largest_difference(network, onnx_network(network), CHECK_GAMES) < TOLERANCE / 10


def test_a_difference_is_seen() -> None:
    network, other = wild_network(), wild_network()
    with torch.no_grad():
        other.policy_options.bias[3] += 0.01
    assert largest_difference(network, onnx_network(other), CHECK_GAMES[:1]) > TOLERANCE
    with torch.no_grad():
        other.policy_options.bias[3] = torch.nan
    assert not largest_difference(network, onnx_network(other), CHECK_GAMES[:1]) <= TOLERANCE


def test_the_onnx_file_is_whole_and_keeps_the_weights_names() -> None:
    network = wild_network()
    model = onnx.load_from_string(onnx_network(network))
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    assert set(network.state_dict()) <= {tensor.name for tensor in model.graph.initializer}
    assert onnx_network(network) == onnx_network(wild_network())


def test_a_bot_folder_has_all_that_a_bot_needs(tmp_path: Path, checkpoint: Path) -> None:
    folder = tmp_path / "bots" / "first"
    search = SearchConfig(kind="gumbel", simulations=32)
    assert not is_bot(folder)
    written = export(checkpoint, folder, search)
    assert is_bot(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["bot.json", "network.onnx", "play"]
    assert read_bot(folder) == written
    assert written.name == "r1-checkpoints-v000007" and written.search == search
    assert [(game.rules, game.opening) for game in written.games] == list(GAMES)
    assert (written.step, written.version, written.network["blocks"]) == (700, 7, 2)
    assert os.access(folder / "play", os.X_OK)
    assert np.isfinite(OnnxEvaluator(folder / "network.onnx").evaluate(*blank())[0]).all()


def blank() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from engine.features import GLOBALS, PLANES

    planes = np.ones((1, len(PLANES), 5, 5), np.float32)
    return planes, np.zeros((1, len(GLOBALS)), np.float32), np.zeros(1, np.uint64)


@pytest.mark.usefixtures("few")
def test_an_older_bot_is_replaced_and_other_folders_are_not(
    tmp_path: Path, checkpoint: Path
) -> None:
    export(checkpoint, tmp_path / "bot")
    assert export(checkpoint, tmp_path / "bot", name="second").name == "second"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("dear")
    with pytest.raises(ExportError, match="files of something else"):
        export(checkpoint, tmp_path / "other")
    with pytest.raises(ExportError, match="is a file"):
        export(checkpoint, tmp_path / "other" / "letter.txt")


@pytest.mark.usefixtures("few")
def test_a_network_that_says_something_else_is_not_written(
    tmp_path: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        export_module, "onnx_network", lambda network: onnx_network(wild_network(seed=1))
    )
    with pytest.raises(ExportError, match="differ from the checkpoint's"):
        export(checkpoint, tmp_path / "bot")
    assert not (tmp_path / "bot").exists()


def test_a_missing_checkpoint_is_no_bot(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read"):
        export(tmp_path / "v000001", tmp_path / "bot")
    assert not (tmp_path / "bot").exists()


def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(argument) for argument in arguments], text=True, capture_output=True, **options
    )


def test_a_bot_needs_neither_torch_nor_onnx(tmp_path: Path) -> None:
    (tmp_path / "network.onnx").write_bytes(onnx_network(wild_network()))
    code = (
        "import sys; from model.bot import is_bot; from model.onnx_evaluator import OnnxEvaluator;"
        f" OnnxEvaluator({str(tmp_path / 'network.onnx')!r});"
        " print({'torch', 'onnx', 'ray', 'hydra', 'safetensors'} & set(sys.modules))"
    )
    done = run(sys.executable, "-c", code, cwd=ROOT)
    assert done.stdout.strip() == "set()", done.stderr


@pytest.mark.usefixtures("few")
def test_the_launcher_says_what_is_missing(tmp_path: Path, checkpoint: Path) -> None:
    export(checkpoint, tmp_path / "bot")
    done = run(sys.executable, "-I", "-S", tmp_path / "bot" / "play", cwd=tmp_path)
    assert done.returncode == 1
    assert "'pip install narabe'" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.usefixtures("few")
def test_the_launcher_finds_the_python_that_exported_it(tmp_path: Path, checkpoint: Path) -> None:
    export(checkpoint, tmp_path / "bot")
    launcher = tmp_path / "bot" / "play"
    other = tmp_path / "python"
    other.symlink_to(Path(sys.executable).resolve())
    done = run(other, "-I", "-S", launcher, "--help", cwd=tmp_path)
    assert done.returncode == 0 and "BOT" in done.stdout, done.stderr
    launcher.write_text(launcher.read_text().replace(sys.executable, "/nowhere/python"))
    done = run(other, "-I", "-S", launcher, cwd=tmp_path)
    assert done.returncode == 1 and f"{other} lacks narabe" in done.stderr


def edit(folder: Path, **changes: Any) -> None:
    file = folder / "bot.json"
    data = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in data.items() if value is not ...}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no json": (lambda f: (f / "bot.json").unlink(), "bot.json", "cannot be read"),
    "no network": (lambda f: (f / "network.onnx").unlink(), "network.onnx", "cannot be read"),
    "truncated": (lambda f: (f / "bot.json").write_text('{"form'), "bot.json", "truncated"),
    "foreign": (lambda f: (f / "bot.json").write_text("{}"), "bot.json", "not a narabe bot"),
    "newer": (lambda f: edit(f, format=3), "bot.json", "newer narabe"),
    "odd": (lambda f: edit(f, format=...), "bot.json", "damaged"),
    "features": (lambda f: edit(f, features_version=99), "bot.json", "features version 99"),
    "search": (lambda f: edit(f, search={"simulations": 0}), "bot.json", "search.simulations"),
    "rules": (lambda f: edit(f, rule_sets=[{}]), "bot.json", "not a list of games"),
    "name": (lambda f: edit(f, name=...), "bot.json", "'name' is missing"),
    "other network": (lambda f: (f / "network.onnx").write_bytes(b""), "network.onnx", "truncated"),
}


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", DAMAGES)
def test_bad_bots_are_refused_with_one_clear_line(
    tmp_path: Path, checkpoint: Path, name: str
) -> None:
    damage, file, message = DAMAGES[name]
    folder = tmp_path / "bot"
    export(checkpoint, folder)
    damage(folder)
    with pytest.raises(BotError, match=message) as caught:
        read_bot(folder)
    assert str(caught.value).startswith(f"{folder / file}: ") and "\n" not in str(caught.value)


def foreign_network() -> bytes:
    """A valid ONNX file of something else."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    opset = [helper.make_opsetid("", 17)]
    return bytes(helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


def test_bad_networks_are_refused_with_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "network.onnx"
    whole = onnx_network(wild_network())
    contents = {
        "truncated or no ONNX": [b"", b"nonsense", whole[: len(whole) // 2]],
        "not a network exported by narabe": [foreign_network()],
        "no such file": [None],
    }
    for message, versions in contents.items():
        for content in versions:
            file.unlink(missing_ok=True)
            if content is not None:
                file.write_bytes(content)
            with pytest.raises(OnnxError, match=message) as caught:
                OnnxEvaluator(file)
            assert str(caught.value).startswith(f"{file}: ") and "\n" not in str(caught.value)


def test_a_network_for_other_features_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "network.onnx"
    file.write_bytes(onnx_network(wild_network()))
    monkeypatch.setattr("model.onnx_evaluator.PLANES", ("on_board",))
    with pytest.raises(OnnxError, match="this narabe makes 1 and"):
        OnnxEvaluator(file)


@pytest.mark.usefixtures("few")
def test_the_script_exports_and_says_so(
    tmp_path: Path, checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bot"
    assert main([str(checkpoint), str(folder), "--simulations", "50", "--name", "mine"]) == 0
    assert "mine is in" in capsys.readouterr().out
    assert read_bot(folder).search == dataclasses.replace(SearchConfig(), simulations=50)
    network = (folder / "network.onnx").read_bytes()
    assert hashlib.sha256(network).hexdigest() == read_bot(folder).network_sha256
    for bad in (
        [str(tmp_path / "none"), str(folder)],
        [str(checkpoint), str(folder), "--simulations=0"],
    ):
        assert main(bad) == 1
        error = capsys.readouterr().err
        assert error.startswith("export: ") and error.count("\n") == 1
