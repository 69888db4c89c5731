"""Each experiment for a laptop, two minutes: the loop goes round, it learns, its bot plays."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from engine.referee import judge
from scripts.gtp_game import GtpProgram, play_game
from selfplay.records import read_records

EXPERIMENTS = ("irensei", "connect-go", "renju-soosorv8", "gomoku-swap2", "family")
#: Little play before learning begins and small steps, so that two minutes show whether losses fall.
SHORT = ["loop.warmup=200", "loop.publish_steps=10", "loop.rate_versions=0", "stop.minutes=2"]
SHORT += ["learner.batch_size=32", "learner.warmup_steps=10"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_two_minutes(experiment: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.train", f"experiment={experiment}", "run=smoke"]
    done = subprocess.run(
        [*command, f"runs={tmp_path}", *SHORT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    run = tmp_path / "smoke"
    losses = curve(run / "logs", "learn/loss")
    assert len(losses) >= 2
    assert losses[-1] < losses[0], losses
    for record in read_records(run / "records"):
        answer = judge(json.loads(record.to_line()))
        assert answer["error"] is None
        assert answer["result"] == record.result
    newest = sorted((run / "checkpoints").glob("*.json"))[-1]
    export = [sys.executable, "-m", "scripts.export", str(newest), str(run / "bot")]
    subprocess.run([*export, "--simulations", "16"], check=True)
    bot = [sys.executable, "-m", "scripts.play", str(run / "bot")]
    with GtpProgram("one", bot) as one, GtpProgram("two", bot) as two:
        assert play_game(one, two)["result"]["reason"]


def curve(folder: Path, name: str) -> list[float]:
    """The values of a TensorBoard curve."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return [event.value for event in events.Scalars(name)]
