import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine import RuleSet
from selfplay.records import GameRecord, RecordLog, read_records
from selfplay.replay import ReplayBuffer, ReplayConfig
from selfplay.run import RunError, RunFolder, RunState, recover
from tests.selfplay.samples import some_samples


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
        (path / "config.yaml").unlink()
        with pytest.raises(RunError, match=r"config\.yaml: cannot be read .*; restore it"):
            _ = folder.config_yaml


def test_a_folder_with_something_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RunError, match="not empty"):
        RunFolder.create(tmp_path, "")
    with pytest.raises(RunError, match=r"run\.json is missing"):
        RunFolder.open(tmp_path)


def test_an_attempt_that_was_killed_early_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    (tmp_path / "config.yaml").touch()
    (tmp_path / "state.json").touch()
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
        (tmp_path / "state.json").unlink()
        with pytest.raises(RunError, match=r"state\.json is missing.*restore it"):
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


@pytest.mark.parametrize("in_replay", [0, 7, 30])
def test_a_crash_within_a_chunk_is_made_good(tmp_path: Path, in_replay: int) -> None:
    """A chunk of 3 games and 30 samples has its records, perhaps some samples, but no commit."""
    config = ReplayConfig(min_window=100, shard_samples=16)
    samples = some_samples(80)
    with RunFolder.create(tmp_path, "") as folder:
        log = RecordLog(folder.folder("records"), games_per_file=4)
        replay = ReplayBuffer(folder.folder("replay"), config)
        log.append(record(index) for index in range(5))
        replay.add(samples[:50], version=1)
        replay.flush()
        folder.commit(RunState(games=5, samples=50, stored=50, next_game=5))
        log.append(record(index) for index in (5, 9, 6))
        replay.add(samples[50 : 50 + in_replay], version=1)
        replay.flush()
        replay = ReplayBuffer(folder.folder("replay"), config)
        state = recover(folder, replay)
        assert (state.games, state.samples, state.stored) == (5, 50, 50)
        assert [each.seed["game"] for each in read_records(folder.path / "records")] == [*range(5)]
        # Both stores go on from there.
        replay.add(samples[70:], version=2)
        replay.flush()
        RecordLog(folder.path / "records", games_per_file=4).append([record(20)])
        replay = ReplayBuffer(folder.folder("replay"), config)
        drawn = replay.sample(2000, np.random.default_rng(0))
        assert {sample.packed for sample in drawn} == {
            sample.packed for sample in samples[:50] + samples[70:]
        }


def test_samples_lost_to_damage_stay_counted(tmp_path: Path) -> None:
    with RunFolder.create(tmp_path, "") as folder:
        replay = ReplayBuffer(folder.folder("replay"), ReplayConfig())
        replay.add(some_samples(32), version=1)
        replay.flush()
        folder.commit(RunState(games=5, samples=50, stored=50))
        state = recover(folder, replay)
    assert (state.games, state.samples, state.stored) == (5, 50, 32)
