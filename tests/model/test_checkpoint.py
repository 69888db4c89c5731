import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from engine import storage
from engine.features import FEATURES_VERSION
from model.checkpoint import (
    Checkpoint,
    CheckpointError,
    CheckpointMeta,
    GameEntry,
    checkpoint_stem,
    read_meta,
)
from model.network import PRESETS, Network
from tests.model.material import GAMES, TINY, wild_network


def stored(folder: Path, name: str = "v000007") -> Path:
    """The stem of a stored checkpoint."""
    games = [GameEntry(rules=rules, opening=opening) for rules, opening in GAMES]
    meta = CheckpointMeta(network=TINY, games=games, step=700, version=7, run_id="r1")
    return Checkpoint(network=wild_network(), meta=meta).save(folder / name)


@pytest.mark.parametrize("name", ["v000007", "v000007.json", "v000007.safetensors", "net.v1.2"])
def test_what_is_stored_comes_back(tmp_path: Path, name: str) -> None:
    stem = stored(tmp_path, name)
    assert stem == checkpoint_stem(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"{stem.name}.json",
        f"{stem.name}.safetensors",
    ]
    loaded = Checkpoint.load(tmp_path / name)
    assert loaded.meta.games == [
        GameEntry(rules=rules, opening=opening) for rules, opening in GAMES
    ]
    assert (loaded.meta.step, loaded.meta.version, loaded.meta.run_id) == (700, 7, "r1")
    assert loaded.meta.features_version == FEATURES_VERSION
    assert read_meta(stem) == loaded.meta
    assert not loaded.network.training and loaded.network.config == TINY
    for name_, tensor in wild_network().state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name_], tensor)


def test_the_json_says_what_the_weights_are(tmp_path: Path) -> None:
    stem = stored(tmp_path)
    data = json.loads(stem.with_suffix(".json").read_text())
    assert data["format"] == 1 and data["network"]["blocks"] == 2
    assert data["rule_sets"][0]["game"] == "irensei"
    assert data["rule_sets"][0]["opening"] == "swap-1st"
    assert set(data["rule_sets"][0]) == {"game", "rules", "opening"}


def test_weights_for_other_processes_are_copies(tmp_path: Path) -> None:
    network = wild_network().channels_last()
    checkpoint = Checkpoint(network=network, meta=CheckpointMeta(network=TINY))
    weights = checkpoint.weights
    before = weights["stem.weight"].copy()
    assert weights["stem.weight"].flags.c_contiguous
    with torch.no_grad():
        network.stem.weight.zero_()
    np.testing.assert_array_equal(weights["stem.weight"], before)


def test_weights_in_another_memory_layout_are_stored_alike(tmp_path: Path) -> None:
    meta = CheckpointMeta(network=TINY)
    files = []
    for name, network in (("a", wild_network()), ("b", wild_network().channels_last())):
        stem = Checkpoint(network=network, meta=meta).save(tmp_path / name)
        files.append(stem.with_suffix(".safetensors").read_bytes())
    assert files[0] == files[1]


def edit(stem: Path, **changes: Any) -> None:
    """Change fields of the JSON; a value of `...` removes one."""
    file = stem.with_suffix(".json")
    data = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in data.items() if value is not ...}))


def cut(suffix: str, size: int) -> Callable[[Path], None]:
    def damage(stem: Path) -> None:
        file = stem.with_suffix(suffix)
        file.write_bytes(file.read_bytes()[:size])

    return damage


def flip(stem: Path) -> None:
    file = stem.with_suffix(".safetensors")
    data = bytearray(file.read_bytes())
    data[-5] ^= 1
    file.write_bytes(data)


def other_weights(stem: Path) -> None:
    """A torn pair: weights written, their JSON not."""
    other = Checkpoint(network=wild_network(seed=1), meta=CheckpointMeta(network=TINY))
    other.save(stem.with_name("other"))
    stem.with_name("other.safetensors").replace(stem.with_suffix(".safetensors"))


def replace_tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Callable[[Path], None]:
    """Weights of another kind, with a JSON that agrees to them."""

    def damage(stem: Path) -> None:
        file = stem.with_suffix(".safetensors")
        tensors = load_file(file)
        change(tensors)
        save_file(tensors, file)
        edit(stem, weights_sha256=hashlib.sha256(file.read_bytes()).hexdigest())

    return damage


def no_tensors(stem: Path) -> None:
    stem.with_suffix(".safetensors").write_bytes(b"PK\x03\x04 a pickle in a zip")
    digest = hashlib.sha256(stem.with_suffix(".safetensors").read_bytes()).hexdigest()
    edit(stem, weights_sha256=digest)


def removed(suffix: str) -> Callable[[Path], None]:
    return lambda stem: stem.with_suffix(suffix).unlink()


def changed(**changes: Any) -> Callable[[Path], None]:
    return lambda stem: edit(stem, **changes)


def text(content: str) -> Callable[[Path], None]:
    return lambda stem: stem.with_suffix(".json").write_text(content) and None


JSON, WEIGHTS = "v000007.json", "v000007.safetensors"
DAMAGES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "no json": (removed(".json"), JSON, "cannot be read.*side by side"),
    "no weights": (removed(".safetensors"), WEIGHTS, "cannot be read.*side by side"),
    "empty json": (cut(".json", 0), JSON, "truncated"),
    "truncated json": (cut(".json", 100), JSON, "truncated"),
    "truncated weights": (cut(".safetensors", 3000), WEIGHTS, "truncated or damaged"),
    "empty weights": (cut(".safetensors", 0), WEIGHTS, "truncated or damaged"),
    "flipped bit": (flip, WEIGHTS, "truncated or damaged"),
    "torn pair": (other_weights, WEIGHTS, "not the weights that v000007.json describes"),
    "binary json": (text("\x00\x01"), JSON, "truncated or no JSON"),
    "foreign json": (text('{"model": "resnet"}'), JSON, "not a narabe checkpoint"),
    "json list": (text("[1, 2]"), JSON, "not a narabe checkpoint"),
    "newer format": (changed(format=2), JSON, "newer narabe.*update"),
    "no format": (changed(format=...), JSON, "damaged"),
    "odd format": (changed(format="1"), JSON, "damaged"),
    "newer features": (changed(features_version=99), JSON, "features version 99.*has"),
    "no features": (changed(features_version=...), JSON, "features version None"),
    "no network": (changed(network=...), JSON, "'network' is missing"),
    "bad network": (changed(network={"blocks": 0}), JSON, "model.blocks"),
    "unknown network": (changed(network={"layers": 3}), JSON, "damaged.*layers"),
    "bad rules": (
        changed(rule_sets=[{"rules": {"name": "chess"}, "opening": "none"}]),
        JSON,
        "chess",
    ),
    "bad opening": (changed(rule_sets=[{"rules": {}, "opening": "e4"}]), JSON, "e4"),
    "bad games": (changed(rule_sets=[1]), JSON, "not a list of games"),
    "bad step": (changed(step=None), JSON, "damaged"),
    "no hash": (changed(weights_sha256=...), WEIGHTS, "damaged"),
    "other size": (
        changed(network=dataclasses.asdict(PRESETS["b4c32"])),
        WEIGHTS,
        "tensor .* is missing",
    ),
    "other shape": (
        changed(network=dataclasses.asdict(dataclasses.replace(TINY, hidden=9))),
        WEIGHTS,
        r"the network in the .json has float32 \[",
    ),
    "foreign tensors": (
        replace_tensors(lambda tensors: tensors.update(extra=torch.zeros(1))),
        WEIGHTS,
        "tensor extra is unknown",
    ),
    "missing tensor": (
        replace_tensors(lambda tensors: tensors.__delitem__("value.bias")),
        WEIGHTS,
        "tensor value.bias is missing",
    ),
    "other type": (
        replace_tensors(lambda tensors: tensors.update({"value.bias": torch.zeros(3).half()})),
        WEIGHTS,
        r"value.bias is float16 \[3\]",
    ),
    "no safetensors": (no_tensors, WEIGHTS, "not a safetensors file"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_bad_checkpoints_are_refused_with_one_clear_line(tmp_path: Path, name: str) -> None:
    damage, file, message = DAMAGES[name]
    stem = stored(tmp_path)
    damage(stem)
    with pytest.raises(CheckpointError, match=message) as caught:
        Checkpoint.load(stem)
    assert str(caught.value).startswith(f"{tmp_path / file}: ")
    assert "\n" not in str(caught.value)


def test_a_full_disk_leaves_no_half_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        stored(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_checkpoints_travel_between_devices(tmp_path: Path) -> None:
    network = Network(TINY).cuda()
    stem = Checkpoint(network=network, meta=CheckpointMeta(network=TINY)).save(tmp_path / "gpu")
    assert Checkpoint.load(stem).network.value.bias.device.type == "cpu"
    assert Checkpoint.load(stem, "cuda").network.value.bias.device.type == "cuda"
