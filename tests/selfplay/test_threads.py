"""Search threads change which games are played beside each other, and nothing else."""

import dataclasses

import pytest
import torch

from model.buckets import BucketEvaluator
from model.evaluator import Served
from model.network import Network
from selfplay.cluster import Worker, WorkerSpec
from selfplay.loop import RunConfig
from selfplay.records import GameRecord
from selfplay.worker import SelfPlayConfig
from tests.selfplay.small import small_config

GAMES = 12


def worker_of(config: RunConfig, **selfplay: int) -> Worker:
    """A worker of a run whose self-play differs in these keys."""
    return Worker(
        WorkerSpec(
            games=config.games,
            search=config.search,
            selfplay=dataclasses.replace(config.selfplay, **selfplay),
            network=config.model,
            height=config.height,
            width=config.width,
            run_seed=1,
        )
    )


def played(threads: int) -> tuple[dict[int, GameRecord], int]:
    """The first games of a worker with so many threads by index, and its evaluations."""
    config = small_config()
    torch.manual_seed(0)
    weights = {name: t.numpy() for name, t in Network(config.model).state_dict().items()}
    worker = worker_of(config, threads=threads, cache_mib=0)
    worker.load(0, weights)
    chunk = worker.play(range(GAMES), games=GAMES)
    assert len(chunk.games) == GAMES
    assert 0 < chunk.work.seconds <= sum(chunk.work.parts.values()) + 1
    return {game.record.seed["game"]: game.record for game in chunk.games}, chunk.work.evaluations


def test_threads_without_games_are_refused() -> None:
    with pytest.raises(ValueError, match=r"selfplay\.threads: 3 is more than .*games \(2\)"):
        SelfPlayConfig(games=2, threads=3)


def test_threads_play_the_same_games() -> None:
    alone, evaluations = played(1)
    for threads in (2, 3):
        together, counted = played(threads)
        assert together == alone
        assert counted == evaluations


def test_indices_are_shared_out_evenly_and_chunks_add_up() -> None:
    config = small_config()
    worker = worker_of(config, threads=2)
    worker.load(0, {name: t.numpy() for name, t in Network(config.model).state_dict().items()})
    seen = []
    for first in range(0, 40, 10):
        chunk = worker.play(range(first, first + 10), games=4)
        seen += [game.record.seed["game"] for game in chunk.games]
    assert len(seen) == len(set(seen)) >= 16


def test_no_thread_waits_for_another_ones_games() -> None:
    config = small_config()
    worker = worker_of(config, threads=2)
    worker.load(0, {name: t.numpy() for name, t in Network(config.model).state_dict().items()})
    one, other = worker._plays
    one.add_indices(range(20))  # the other one has no games at all
    chunk = worker.play([], games=6)
    assert 6 <= len(chunk.games) == one.played < 20 and other.played == 0
    assert len(worker.play([], games=2).games) >= 2


@pytest.mark.parametrize("kind", ["onnx", "torch"])
def test_each_thread_writes_where_the_one_network_reads(kind: str) -> None:
    config = small_config()
    worker = worker_of(config, threads=2)
    weights = {name: t.numpy() for name, t in Network(config.model).state_dict().items()}
    worker.load(0, weights, Served(kind=kind))
    batches = [play._batch for play in worker._plays]
    evaluators = [play._evaluator for play in worker._plays]
    for batch, evaluator in zip(batches, evaluators, strict=True):
        assert isinstance(evaluator, BucketEvaluator)
        assert batch.planes is evaluator.inputs(config.height, config.width)[0]
    assert batches[0].planes is not batches[1].planes
