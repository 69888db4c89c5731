import dataclasses
import errno
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from model.checkpoint import Checkpoint
from selfplay import loop as loop_module
from selfplay.cluster import LocalWorkers
from selfplay.loop import Loop, Progress, Rates, RunConfig, StopConfig, train
from selfplay.records import read_records
from selfplay.replay import ReplayBuffer
from selfplay.run import RunFolder, RunState, checkpoint_name, recover
from selfplay.storage import StorageError
from selfplay.worker import Work
from tests.selfplay.small import BATCH, small_config


def run(
    config: RunConfig, path: Path, stop: Callable[[], bool] = lambda: False
) -> tuple[RunState, list[Progress]]:
    seen: list[Progress] = []
    with RunFolder.open(path) if RunFolder.exists(path) else RunFolder.create(path, "") as folder:
        return train(config, folder, report=seen.append, stop=stop), seen


def scalars(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Curves as TensorBoard shows them."""
    events = EventAccumulator(str(path / "logs"))
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def check_stores(config: RunConfig, path: Path) -> RunState:
    """What is stored agrees with what is counted, and no game counts twice."""
    with RunFolder.open(path) as folder:
        replay = ReplayBuffer(folder.path / "replay", config.replay)
        state = recover(folder, replay)
    records = list(read_records(path / "records"))
    assert len(records) == state.games
    assert len({record.id for record in records}) == state.games
    assert all(record.seed["game"] < state.next_game for record in records)
    searched = sum(len(record.actions) - record.versions[0][0] for record in records)
    assert searched == state.samples == state.stored == replay.total
    return state


def test_the_loop_goes_round_and_everything_is_there(tmp_path: Path) -> None:
    config = small_config(games=40, rate_versions=3)
    state, seen = run(config, tmp_path)
    assert state.games >= 40
    # The set ratio: 4 training samples for each new one.
    assert state.steps == 4 * state.samples // BATCH
    assert state.version == state.steps // 8
    for version in range(state.version + 1):
        assert Checkpoint.load(tmp_path / "checkpoints" / f"v{version:06d}").meta.version == version
    assert check_stores(config, tmp_path).games == state.games
    assert [rating.version for rating in state.ratings] == sorted(
        rating.version for rating in state.ratings
    )
    assert {progress.phase for progress in seen} >= {"self-play", "learning", "gauntlet"}
    assert seen[-1].fraction == 1
    assert seen[-1].losses.keys() == {"policy_loss", "value_loss"}


CURVES = """
learn/loss learn/policy_loss learn/value_loss learn/policy_entropy learn/agreement learn/lr
learn/gradient_norm learn/calibration_error
policy/entropy policy/agreement_with_network policy/divergence_from_network
value/network_error value/search_error value/calibration_error
game/length game/legal_actions outcome/draws outcome/seat_A_wins outcome/seat_B_wins
outcome/black_wins outcome/white_wins
speed/games_per_second speed/positions_per_second speed/evaluations_per_second search/batch_fill
replay/age replay/reuse replay/window elo/rating elo/low elo/high
memory/learner_mib memory/worker_mib memory/available_mib
evaluator/policy_kl evaluator/top1_agreement evaluator/value_error evaluator/fallback
evaluator/seconds
"""


def test_every_curve_is_drawn(tmp_path: Path) -> None:
    _, seen = run(small_config(games=30, rate_versions=2, evaluator="auto"), tmp_path)
    assert seen[-1].evaluator == "onnx-int8"
    notices = [progress.notice for progress in seen if progress.notice]
    assert notices == ["evaluator: onnx-int8 (auto without measuring)"]
    curves = scalars(tmp_path)
    assert set(CURVES.split()) <= curves.keys()
    assert {tag for tag in curves if tag.startswith("opening/choose/")}
    events = EventAccumulator(str(tmp_path / "logs"), size_guidance={"images": 0})
    events.Reload()
    tags: dict[str, Any] = events.Tags()
    assert set(tags["images"]) == {"game/policy", "game/end", "value/calibration"}
    assert {"config/text_summary", "evaluator/text_summary"} <= set(tags["tensors"])


def test_a_rate_that_falls_to_the_goal(tmp_path: Path) -> None:
    config = small_config(games=30)
    config.learner.schedule, config.learner.schedule_steps = "cosine", 0
    config.learner.schedule_factor = 0.0
    run(config, tmp_path)
    rates = [rate / config.learner.lr for _, rate in scalars(tmp_path)["learn/lr"]]
    assert len(rates) > 3
    assert rates[1:] == sorted(rates[1:], reverse=True)
    assert rates[-1] < 0.1
    with pytest.raises(ValueError, match=r"learner.schedule_steps: 0 .* this run has none"):
        dataclasses.replace(config, stop=StopConfig())


@pytest.mark.parametrize("evaluator", ["onnx", "auto"])
def test_the_same_seed_gives_the_same_games_and_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluator: str
) -> None:
    losses: list[float] = []
    step = loop_module.Learner.step

    def noting(self: Any, *given: Any) -> dict[str, float]:
        metrics = step(self, *given)
        losses.append(metrics["loss"])
        return metrics

    monkeypatch.setattr(loop_module.Learner, "step", noting)
    found = []
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        run(small_config(games=24, seed=seed, evaluator=evaluator), tmp_path / name)
        found.append(([*read_records(tmp_path / name / "records")], losses.copy()))
        losses.clear()
    assert found[0] == found[1]
    assert found[0][1]
    assert found[0] != found[2]
    assert len({version for game in found[0][0] for _, version in game.versions}) > 3


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    first, _ = run(small_config(games=20, rate_versions=2), tmp_path)
    config = small_config(games=45, rate_versions=2)
    second, _ = run(config, tmp_path)
    assert second.games >= 45
    assert second.sessions == 2
    assert second.seconds > first.seconds
    assert second.ratings[: len(first.ratings)] == first.ratings
    assert second.steps == 4 * second.samples // BATCH
    check_stores(config, tmp_path)
    for tag, points in scalars(tmp_path).items():
        steps = [step for step, _ in points]
        assert steps == sorted(set(steps)), tag
        if tag.startswith(("learn/", "game/")):
            assert steps[0] <= first.samples < steps[-1]
    # Nothing is left to do.
    assert run(config, tmp_path)[0].games == second.games


@pytest.fixture
def slow_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two chunks of games have always arrived when a step has been made."""
    monkeypatch.setattr(loop_module, "TRAINING_SECONDS", 0.0)
    monkeypatch.setattr(loop_module, "MOST_CHUNKS", 1)
    monkeypatch.setattr(LocalWorkers, "ready", lambda workers: True)


@pytest.mark.usefixtures("slow_learner")
def test_workers_never_wait_for_a_slow_learner(tmp_path: Path) -> None:
    """Games that have arrived are stored before more is learnt; the ratio falls."""
    config = small_config(games=90, rate_versions=1)
    state, seen = run(config, tmp_path)
    wanted = 4 * state.samples // BATCH
    assert 0 < state.steps < state.waived < wanted
    # Only by what had piled up before, in the warm-up and in ratings, is it still behind.
    assert wanted - state.waived - state.steps < wanted / 2
    assert state.version == state.steps // config.loop.publish_steps > 0
    check_stores(config, tmp_path)
    # Also while versions are rated.
    rated = [progress.games for progress in seen if progress.phase == "gauntlet"]
    assert len(set(rated)) > 1
    # A state of before this was counted is read as well.
    text = (tmp_path / "state.json").read_text()
    (tmp_path / "state.json").write_text(re.sub(r'"waived": \d+,?', "", text))
    assert check_stores(config, tmp_path).waived == 0
    # Where fewer steps are wanted than were waived, learning goes on all the same.
    (tmp_path / "state.json").write_text(text)
    config.loop.reuse, config.stop.games = 0.5, state.games + 60
    assert run(config, tmp_path)[0].steps > state.steps


@pytest.mark.usefixtures("slow_learner")
def test_a_slow_learner_makes_the_steps_of_its_goal(tmp_path: Path) -> None:
    state, _ = run(small_config(steps=17), tmp_path)
    assert state.steps == 17
    assert state.waived > 0


@pytest.mark.parametrize("limit", [{"steps": 17}, {"minutes": 0.005}])
def test_other_goals(tmp_path: Path, limit: dict[str, Any]) -> None:
    state, _ = run(small_config(**limit), tmp_path)
    assert state.steps == 17 if "steps" in limit else state.seconds >= 0.3


def test_a_stop_keeps_what_has_been_learnt(tmp_path: Path) -> None:
    """Also steps since the last version."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 400

    state, _ = run(small_config(games=1000), tmp_path, stop)
    assert state.games < 1000
    config = small_config(games=1)
    with RunFolder.open(tmp_path) as folder:
        again = Loop(config, folder)
        assert again.learner.steps == state.steps
        assert again.state.version == state.version
        again.metrics.close()


def test_a_full_disk_stops_the_run_and_damages_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(games=30)
    fsync = os.fsync
    room = 0

    def full(descriptor: int) -> None:
        nonlocal room
        room -= 1
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    for writes in (5, 12, 40, 41, 42, 43, 44, 45):
        room = writes
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="the disk is full"):
            run(small_config(games=10_000), tmp_path)
        monkeypatch.setattr(os, "fsync", fsync)
        if (tmp_path / "run.json").exists():
            check_stores(config, tmp_path)
    state, _ = run(config, tmp_path)
    assert state.games >= 30


def test_damaged_shards_do_not_stop_a_run(tmp_path: Path) -> None:
    first, _ = run(small_config(games=20), tmp_path)
    shard = sorted((tmp_path / "replay").glob("*.shard"))[-1]
    shard.write_bytes(shard.read_bytes()[:100])
    second, _ = run(small_config(games=40), tmp_path)
    assert list((tmp_path / "replay" / "quarantine").glob("*.shard"))
    assert second.samples > first.samples
    assert second.stored < second.samples


def _session(path: Path) -> None:
    run(small_config(games=10**9, rate_versions=4), path)


@pytest.fixture
def chances() -> Iterator[random.Random]:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # shown when the test fails
    yield random.Random(seed)


@pytest.mark.parametrize("kind", [".json", ".safetensors"])
def test_a_damaged_newest_version_is_stored_again(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    state, _ = run(small_config(steps=16), tmp_path)
    path = tmp_path / "checkpoints" / f"{checkpoint_name(state.version)}{kind}"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    run(small_config(steps=24), tmp_path)
    assert path.read_bytes() == whole
    assert f"{path}: truncated" in caplog.text and "stored again" in caplog.text


def test_killed_at_random_moments_a_run_goes_on(tmp_path: Path, chances: random.Random) -> None:
    """The real thing, with Ray and from the command line, is in tests/scripts/test_crash.py."""
    config = small_config(games=10**9, rate_versions=4)
    last = RunState()
    for _ in range(8):
        process = get_context("fork").Process(target=_session, args=(tmp_path,))
        process.start()
        before = last.games
        while process.is_alive() and not (tmp_path / "run.json").exists():
            sleep(0.01)
        sleep(chances.uniform(0.0, 0.6))
        process.kill()
        process.join()
        state = check_stores(config, tmp_path)
        assert state.games >= before
        assert state.samples >= last.samples
        assert state.steps >= last.steps
        assert state.ratings[: len(last.ratings)] == last.ratings
        last = state
    done, _ = run(small_config(games=last.games + 10, rate_versions=4), tmp_path)
    assert done.steps == 4 * done.samples // BATCH
    check_stores(config, tmp_path)
    for tag, points in scalars(tmp_path).items():
        steps = [step for step, _ in points]
        assert steps == sorted(steps), tag


def test_rates_of_the_last_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rates = Rates(window=20.0)
    assert rates.positions == rates.workers_wait == rates.learner_waits == 0.0
    now = 110.0
    rates.waited(4.0)
    rates.add(Work(plies=50, evaluations=900, parts={"network": 9.0, "waiting": 1.0}))
    assert (rates.positions, rates.evaluations) == (5.0, 90.0)
    assert (rates.workers_wait, rates.learner_waits) == pytest.approx((0.1, 0.4))
    now = 125.0
    rates.waited(1.0)
    rates.add(Work(plies=30, evaluations=100, parts={"network": 6.0, "waiting": 4.0}))
    assert rates.positions == 4.0
    assert (rates.workers_wait, rates.learner_waits) == pytest.approx((0.25, 0.25))
    now = 140.0
    assert rates.positions == 1.5 and rates.learner_waits == pytest.approx(0.05)
