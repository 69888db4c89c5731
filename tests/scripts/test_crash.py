"""`kill -9` of the whole process tree of a run with Ray, at random moments, and going on."""

import random
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from omegaconf import OmegaConf

from scripts.settings import resume, run_config
from selfplay.run import RunFolder, RunState
from tests.scripts.test_train import SMALL
from tests.selfplay.test_loop import check_stores, scalars


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started, Ray's processes included, without a warning."""
    root = psutil.Process(process.pid)
    for each in [root, *root.children(recursive=True)]:
        each.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_survives_kills_of_the_whole_tree(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # shown when the test fails
    rng = random.Random(seed)
    small = [*SMALL.split(), "cluster=ray", "cluster.workers=2", "cluster.object_store_mb=80"]
    arguments = ["run=crash", f"runs={tmp_path}", *small, "cluster.chunk_seconds=0.5"]
    command = [sys.executable, "-m", "scripts.train", *arguments, "loop.rate_versions=2"]
    command += ["gauntlet.games=4", "gauntlet.simulations=4", "stop.games=1000000"]
    path = tmp_path / "crash"
    last = RunState()
    for _ in range(5):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        # At times before anything is stored, mostly while the loop goes round.
        deadline = time.monotonic() + (rng.uniform(1, 10) if rng.random() < 0.2 else 120)
        state = path / "state.json"
        before = state.read_bytes() if state.exists() else b""
        while time.monotonic() < deadline and (not state.exists() or state.read_bytes() == before):
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 4))
        kill_tree(process)
        if not RunFolder.exists(path):
            continue
        config = run_config(resume((path / "config.yaml").read_text(), OmegaConf.create({}), []))
        now = check_stores(config, path)
        assert (now.games, now.samples, now.steps) >= (last.games, last.samples, last.steps)
        assert now.ratings[: len(last.ratings)] == last.ratings
        last = now
    assert last.games
    done = subprocess.run([*command, f"stop.games={last.games + 5}"], check=True, timeout=300)
    assert done.returncode == 0
    final = check_stores(config, path)
    assert final.games >= last.games + 5
    # The goal may come while steps are owed, but never are there more than the set ratio's.
    assert last.steps < final.steps <= 4 * final.samples // 16 - final.waived
    for tag, points in scalars(path).items():
        steps = [step for step, _ in points]
        assert steps == sorted(steps), tag
