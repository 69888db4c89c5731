"""Records: what is written is read again, and what a kill or a full disk leaves harms nothing."""

import errno
import json
import logging
import os
from pathlib import Path

import pytest

from engine.referee import judge
from selfplay.records import GameRecord, RecordError, RecordLog, read_records, record_files
from selfplay.storage import StorageError
from tests.selfplay.samples import some_record


def test_a_record_is_one_line_and_comes_back_equal() -> None:
    record = some_record(12)
    line = record.to_line()
    assert "\n" not in line
    assert GameRecord.from_line(line) == record
    assert record.id == "g00000012" and record.winner == "v000001"


def test_fields_of_the_future_are_ignored() -> None:
    data = json.loads(some_record().to_line()) | {"clock": [1, 2]}
    assert GameRecord.from_line(json.dumps(data)) == some_record()


def test_the_referee_accepts_a_line_as_it_is() -> None:
    record = some_record(3)
    answer = judge(json.loads(record.to_line()))
    assert answer["error"] is None
    assert [ply["action"] for ply in answer["plies"]] == record.actions


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "format 2 is newer"),
        ({"format": "1"}, "format: '1'"),
        ({"game": "chess"}, "rules.name: 'irensei' is not the game 'chess'"),
        ({"rules": {"name": "chess"}}, "game: 'chess' is not one of"),
        ({"rules": {"name": "irensei", "line": 5}}, "rules.line: no such rule"),
        ({"actions": [1]}, "actions: 1 is not of type str"),
        ({"actions": None}, "actions: None"),
        ({"seats": {"A": "x"}}, "B: missing"),
        ({"versions": [[0]]}, "versions"),
        ({"seed": {"run": True, "game": 1}}, "run: True"),
        ({"result": {"winner_seat": "C", "winner_colour": None, "reason": ""}}, "winner_seat: 'C'"),
    ],
)
def test_what_is_no_record_is_refused(change: dict[str, object], message: str) -> None:
    data = json.loads(some_record().to_line()) | change
    with pytest.raises(RecordError, match=message):
        GameRecord.from_line(json.dumps(data))


@pytest.mark.parametrize("line", [b"", b"{", b"[1]", b"\xff\xfe", b'{"format":1}'])
def test_lines_that_are_something_else_are_refused(line: bytes) -> None:
    with pytest.raises(RecordError):
        GameRecord.from_line(line)


def test_files_are_rotated_and_read_in_order(tmp_path: Path) -> None:
    records = [some_record(i) for i in range(10)]
    log = RecordLog(tmp_path, games_per_file=4)
    log.append(records[:1])
    log.append(records[1:7])
    RecordLog(tmp_path, games_per_file=4).append(records[7:])
    assert [path.name for path in record_files(tmp_path)] == [
        "games-000000.jsonl",
        "games-000001.jsonl",
        "games-000002.jsonl",
    ]
    assert list(read_records(tmp_path)) == records


def test_a_torn_line_is_passed_over_and_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records = [some_record(i) for i in range(3)]
    RecordLog(tmp_path).append(records)
    (path,) = record_files(tmp_path)
    whole = path.read_bytes()
    line = records[2].to_line().encode() + b"\n"
    for kept in (1, len(line) // 2, len(line) - 1):
        path.write_bytes(whole[: len(whole) - len(line) + kept])
        assert list(read_records(tmp_path)) == records[:2]
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            RecordLog(tmp_path).append([some_record(9)])
        assert f"its {kept} bytes were moved to games-000000.jsonl.torn" in caplog.text
        assert list(read_records(tmp_path)) == [*records[:2], some_record(9)]
    aside = path.with_name(path.name + ".torn").read_bytes().split(b"\n")
    assert aside == [line[:1], line[: len(line) // 2], line[:-1], b""]


def test_a_file_of_nothing_but_a_torn_line_is_repaired(tmp_path: Path) -> None:
    (tmp_path / "games-000000.jsonl").write_bytes(b"x" * 200_000)
    RecordLog(tmp_path).append([some_record(1)])
    assert list(read_records(tmp_path)) == [some_record(1)]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    RecordLog(tmp_path).append([some_record(0), some_record(1)])
    (path,) = record_files(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"g00000001"', b'"g00000001'))
    reader = read_records(tmp_path)
    assert next(reader) == some_record(0)
    with pytest.raises(RecordError, match=r"games-000000.jsonl, line 2: not JSON"):
        next(reader)


def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = RecordLog(tmp_path)
    log.append([some_record(0)])
    write = os.write

    def full(descriptor: int, data: memoryview) -> int:
        if len(data) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StorageError, match=r"games-000000.jsonl: the disk is full"):
            log.append([some_record(1), some_record(2)])
    assert list(read_records(tmp_path)) == [some_record(0)]
    log.append([some_record(1)])
    assert list(read_records(tmp_path)) == [some_record(0), some_record(1)]


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        RecordLog(tmp_path / "file" / "records")
