import json
from pathlib import Path

import pytest

from engine import storage
from engine.storage import atomic_write, atomic_write_json


def test_files_are_written_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    atomic_write(file, b"old")
    atomic_write(str(file), b"new")
    assert file.read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("failing", ["fsync", "open"])
def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    file = tmp_path / "a.bin"
    atomic_write(file, b"old")

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if failing == "fsync":
            patch.setattr(storage.os, "fsync", full)
        else:
            patch.setattr(Path, "open", full)
        with pytest.raises(OSError, match="No space left"):
            atomic_write(file, b"new")
    assert file.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.bin"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        atomic_write(tmp_path / "none" / "a.bin", b"")


def test_json_is_strict(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    atomic_write_json(file, {"name": "並べ", "x": [1, 0.1]})
    assert json.loads(file.read_text(encoding="utf-8")) == {"name": "並べ", "x": [1, 0.1]}
    assert file.read_text(encoding="utf-8").endswith("}\n")
    for bad, error in (({"x": float("nan")}, ValueError), ({"x": object()}, TypeError)):
        with pytest.raises(error):
            atomic_write_json(file, bad)
    assert json.loads(file.read_text(encoding="utf-8"))["x"] == [1, 0.1]
