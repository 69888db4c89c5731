"""Each experiment for a laptop, two minutes: the loop goes round, it learns, its bot plays."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.referee import judge
from model.checkpoint import Checkpoint
from model.losses import Losses, compute_losses
from model.targets import make_batch
from scripts.gtp_game import GtpProgram, play_game
from selfplay.records import read_records
from selfplay.replay import ReplayBuffer, ReplayConfig

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
    first, *_, last = (stored_losses(run, path) for path in versions(run))
    assert last.policy < first.policy
    assert last.value < first.value
    for record in read_records(run / "records"):
        answer = judge(json.loads(record.to_line()))
        assert answer["error"] is None
        assert answer["result"] == record.result
    newest = versions(run)[-1]
    export = [sys.executable, "-m", "scripts.export", str(newest), str(run / "bot")]
    subprocess.run([*export, "--simulations", "16"], check=True)
    bot = [sys.executable, "-m", "scripts.play", str(run / "bot")]
    with GtpProgram("one", bot) as one, GtpProgram("two", bot) as two:
        assert play_game(one, two)["result"]["reason"]


def versions(run: Path) -> list[Path]:
    """The weights' versions, the untrained one first."""
    return sorted((run / "checkpoints").glob("*.json"))


@torch.inference_mode()
def stored_losses(run: Path, path: Path) -> Losses:
    """A version's losses on what the run has stored at its end, the same for all versions."""
    checkpoint, rng = Checkpoint.load(path), np.random.default_rng(0)
    sides = [(entry.rules.height, entry.rules.width) for entry in checkpoint.meta.games]
    height, width = map(max, zip(*sides, strict=True))
    samples = ReplayBuffer(run / "replay", ReplayConfig()).sample(512, rng, counted=False)
    batch = make_batch(samples, height, width, rng)
    policy, value = checkpoint.network(batch.planes, batch.globals_)
    return compute_losses(policy, value, batch, value_mix=0.0)
