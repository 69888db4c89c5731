import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine import RuleSet
from selfplay.records import GameRecord, RecordLog, read_records
from selfplay.run import RunError, RunFolder, RunState, recover


def record(index: int) -> GameRecord:
    return GameRecord(
        game="mnk",
        rules=RuleSet.preset("mnk"),
        opening="none",
        actions=["a1"],
        seats={"A": "v000000", "B": "v000000"},
        versions=[(0, 0)],
        result={"winner_seat": None, "winner_colour": None, "reason": "full-board"},
        seed={"run": 0, "game": index},
    )


def test_a_run_is_made_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "first"
    assert not RunFolder.exists(path)
    with RunFolder.create(path, "seed: 1\n") as folder:
        run_id = folder.run_id
        assert folder.load_state() == RunState()
        folder.commit(RunState(games=3, seconds=1.5))
    assert RunFolder.exists(path)
    with RunFolder.open(path) as folder:
        assert folder.run_id == run_id
        assert folder.config_yaml == "seed: 1\n"
        assert folder.load_state() == RunState(games=3, seconds=1.5)


def test_a_folder_with_something_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="not empty"):
        RunFolder.create(tmp_path, "")
    with pytest.raises(RunError, match=r"run\.json is missing"):
        RunFolder.open(tmp_path)


def test_an_attempt_that_was_killed_early_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "config.yaml").touch()
    (tmp_path / ".tmp-0123").touch()
    RunFolder.create(tmp_path, "").close()


def test_a_newer_format_and_damage_are_refused_with_one_line(tmp_path: Path) -> None:
    RunFolder.create(tmp_path, "").close()
    meta = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(meta | {"format": 99}))
    with pytest.raises(RunError, match=r"format 99.*use a newer narabe"):
        RunFolder.open(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(meta))
    with RunFolder.open(tmp_path) as folder:
        (tmp_path / "state.json").write_text('{"games": 1')
        with pytest.raises(RunError, match=r"state\.json is damaged"):
            folder.load_state()
        (tmp_path / "state.json").write_text('{"games": "one"}')
        with pytest.raises(RunError, match="'games' is missing or not of type int"):
            folder.load_state()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, ""):
        code = (
            "import sys; from pathlib import Path; from selfplay.run import RunFolder, RunError\n"
            "try: RunFolder.open(Path(sys.argv[1]))\n"
            "except RunError as error: print(error)"
        )
        command = [sys.executable, "-c", code, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "in use by process" in done.stdout
    RunFolder.open(tmp_path).close()


@pytest.mark.parametrize("in_replay", [False, True])
def test_a_crash_within_a_chunk_is_made_good(tmp_path: Path, in_replay: bool) -> None:
    """A chunk of 3 games and 30 samples has its records, perhaps its samples, but no commit."""
    with RunFolder.create(tmp_path, "") as folder:
        log = RecordLog(folder.folder("records"), games_per_file=4)
        log.append(record(index) for index in range(5))
        folder.commit(RunState(games=5, samples=50, stored=40, next_game=5))
        log.append(record(index) for index in (5, 9, 6))
        state = recover(folder, stored_samples=70 if in_replay else 40)
        kept = [each.seed["game"] for each in read_records(folder.path / "records")]
    if in_replay:
        assert (state.games, state.samples, state.stored, state.next_game) == (8, 80, 70, 10)
        assert kept == [0, 1, 2, 3, 4, 5, 9, 6]
    else:
        assert (state.games, state.samples, state.stored, state.next_game) == (5, 50, 40, 5)
        assert kept == [0, 1, 2, 3, 4]
    RecordLog(tmp_path / "records", games_per_file=4).append([record(20)])


def test_samples_lost_to_damage_stay_counted(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "") as folder:
        folder.commit(RunState(games=5, samples=50, stored=50))
        state = recover(folder, stored_samples=32)
    assert (state.games, state.samples, state.stored) == (5, 50, 32)
