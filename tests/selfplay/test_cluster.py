import dataclasses
import math
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from model.serving import load_served
from selfplay import cluster
from selfplay.cluster import WORKER_ENVIRONMENT, ClusterConfig, ClusterError, _ray_started
from selfplay.loop import Progress, train
from selfplay.records import read_records
from selfplay.run import RunFolder
from tests.selfplay.small import small_config
from tests.selfplay.test_loop import check_stores


@pytest.mark.parametrize(
    ("key", "value"),
    [("kind", "slurm"), ("chunk_games", 0), ("workers", -1), ("gpus", -0.5), ("gpus", math.nan)],
)
def test_impossible_values_are_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"cluster\.{key}"):
        ClusterConfig(**{key: value})


def self_play_processes() -> list[psutil.Process]:
    """The processes in which Ray's actors are."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE and "_Actor" in " ".join(process.cmdline())
    ]


def versions_played(run: Path) -> set[int]:
    """The weights versions in the records of a run."""
    records = read_records(run / "records")
    return {version for record in records for _, version in record.versions}


def test_a_killed_worker_is_replaced_and_the_run_goes_on(tmp_path: Path) -> None:
    config = small_config(kind="ray", evaluator="onnx-int8", games=10**9)
    killed: list[int] = []
    games_then = 0
    phases: list[str] = []
    enough = threading.Event()

    def report(progress: Progress) -> None:
        nonlocal games_then
        phases.append(progress.phase)
        if not killed and progress.games >= 6:
            worker = self_play_processes()[0]
            daemon = worker.parent()
            assert daemon is not None
            # Workers inherit it; their own would be hidden by the name that Ray gives them.
            assert daemon.environ().keys() >= WORKER_ENVIRONMENT.keys()
            # Ray makes them nice: the learner comes first on a machine that they share.
            assert worker.nice() >= min(19, psutil.Process().nice() + 1)
            worker.kill()
            killed.append(worker.pid)
            games_then = progress.games
        replaced = killed and len(self_play_processes()) == 2
        # The weights come round: later games are played by later versions.
        if replaced and progress.games >= games_then + 20 and len(versions_played(tmp_path)) > 2:
            enough.set()

    began = time.monotonic()
    handler = signal.getsignal(signal.SIGTERM)
    with RunFolder.create(tmp_path, "") as folder:
        state = train(
            config,
            folder,
            report=report,
            stop=lambda: enough.is_set() or time.monotonic() - began > 200,
        )
    assert enough.is_set()
    assert killed[0] not in [process.pid for process in self_play_processes()]
    assert state.games >= games_then + 20
    # The stop may come while steps are owed, but never are there more than the set ratio's.
    assert 0 < state.steps <= 4 * state.samples // 16 - state.waived
    check_stores(config, tmp_path)
    for version in versions_played(tmp_path):
        served = load_served(tmp_path / "checkpoints" / f"v{version:06d}")
        assert served is not None and served.kind == "onnx-int8"
    assert signal.getsignal(signal.SIGTERM) is handler
    # Nothing is left running.
    deadline = time.monotonic() + 20
    while self_play_processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not self_play_processes()


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    config = small_config(kind="ray")
    config.cluster.address = "127.0.0.1:1"
    with (
        RunFolder.create(tmp_path, "") as folder,
        pytest.raises(ClusterError, match=r"cannot join the Ray cluster at '127.0.0.1:1'"),
    ):
        train(config, folder)


def test_gpus_that_the_cluster_lacks_are_one_line(tmp_path: Path) -> None:
    config = small_config(kind="ray", games=10)
    config.cluster = dataclasses.replace(config.cluster, gpus=4096.0)
    lacking = r"cluster\.gpus: \d workers with 4096 of a GPU each"
    with RunFolder.create(tmp_path, "") as folder, pytest.raises(ClusterError, match=lacking):
        train(config, folder, report=lambda progress: None)


def grants_a_tebibyte() -> bool:
    """Whether it has as much, or grants any memory that is asked for until it is used."""
    setting = Path("/proc/sys/vm/overcommit_memory")
    always = not setting.exists() or setting.read_text().strip() == "1"
    return always or psutil.virtual_memory().total >= 1 << 40


@pytest.mark.parametrize("kind", ["local", "ray"])
@pytest.mark.skipif(grants_a_tebibyte(), reason="the system grants a TiB")
def test_memory_that_a_worker_lacks_is_one_line(kind: str, tmp_path: Path) -> None:
    config = small_config(kind=kind, games=10)
    config.selfplay = dataclasses.replace(config.selfplay, cache_mib=1 << 20)
    lacking = r"a self-play worker on \S+ lacks the memory .* lower selfplay\.cache_mib \(1048576\)"
    with RunFolder.create(tmp_path, "") as folder, pytest.raises(ClusterError, match=lacking):
        train(config, folder)


def test_a_worker_that_lacks_an_extra_plays_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def why_not(kind: str, device: str) -> str:
        return "is not installed" if kind == "onnx-int8" else ""

    monkeypatch.setattr(cluster, "why_not", why_not)  # there, not where the run chooses
    notices: list[str] = []

    def report(progress: Progress) -> None:
        if "worker" in progress.notice:
            notices.append(progress.notice)

    config = small_config(evaluator="onnx-int8", games=20)
    with RunFolder.create(tmp_path, "") as folder:
        state = train(config, folder, report=report)
    assert state.games >= 20 and state.version > 0
    (notice,) = notices  # said once, not with every chunk
    assert notice.endswith(" evaluates with onnx: onnx-int8 is not installed")


@pytest.mark.slow
def test_a_run_joins_a_cluster_of_two_machines_and_leaves_it_alone(tmp_path: Path) -> None:
    from ray.cluster_utils import Cluster

    machine = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    machines = Cluster(initialize_head=True, head_node_args=machine)
    try:
        machines.add_node(num_cpus=1, object_store_memory=80 << 20)
        config = small_config(kind="ray", games=30)
        config.cluster.address = machines.address
        with RunFolder.create(tmp_path, "") as folder:
            state = train(config, folder)
        assert state.games >= 30
        check_stores(config, tmp_path)
        assert not any(node.dead_processes() for node in machines.list_all_nodes())
    finally:
        machines.shutdown()


def test_a_sigterm_while_ray_starts_is_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def init(**settings: object) -> None:
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))  # as Ray does
        signal.raise_signal(signal.SIGTERM)
        raise OSError("no cluster")

    monkeypatch.setattr(ray, "init", init)
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        with pytest.raises(ClusterError, match="no cluster"):
            _ray_started(ClusterConfig())
        assert came == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_sigterm_once_ray_runs_leaves_no_stack(capfd: pytest.CaptureFixture[str]) -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        ray = _ray_started(ClusterConfig(workers=1))
        signal.raise_signal(signal.SIGTERM)
        ray.shutdown()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert came == [signal.SIGTERM]
    assert "SIGTERM" not in capfd.readouterr().err
