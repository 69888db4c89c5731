"""Moves that do not wait for the network when they are due."""

import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bots.clock import SAFETY, Clock
from bots.patience import (
    LEAST_WAKING,
    MOST_OF_IT,
    MOST_WAKING,
    NEAR,
    NeighbourEvaluator,
    PatientEvaluator,
)
from bots.player import UNLIMITED, Limit, Player
from engine import OPTIONS, Position, RuleSet
from engine.evaluators import Evaluator, HashEvaluator
from engine.features import features
from engine.search import SearchConfig

#: A test that waits so long has failed.
PATIENCE = 60


class Stuck(HashEvaluator):
    """A network that answers only while the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.calls, self.threads = threading.Event(), 0, set[int]()
        self.gate.set()
        self.inside = self.together = 0

    def evaluate(self, *batch: Any) -> Any:
        self.calls += 1
        self.threads.add(threading.get_ident())
        self.inside += 1
        self.together = max(self.together, self.inside)
        assert self.gate.wait(PATIENCE), "a move waited for the network"
        self.inside -= 1
        return super().evaluate(*batch)


@pytest.fixture
def network() -> Iterator[Stuck]:
    network = Stuck()
    yield network
    network.gate.set()


def batch(position: Position) -> tuple[Any, Any, Any]:
    planes, globals_, _ = features(position)
    return planes[None], globals_[None], np.zeros(1, np.uint64)


def player(network: Evaluator) -> Player:
    config = SearchConfig(simulations=UNLIMITED, arena_nodes=1 << 14)
    thinker = Player(network, config, Position(RuleSet.preset("gomoku")), height=15, width=15)
    thinker.warm_up()
    return thinker


def test_a_move_is_played_though_the_network_does_not_answer(network: Stuck) -> None:
    thinker = player(network)
    thinker.play("h8")
    network.gate.clear()
    for _ in range(2):
        thinker._step = 1.0
        action = thinker.choose(thinker.limit_by(Clock(move=0.2), time.monotonic()))
        assert abs(action % 15 - 7) <= 2 and abs(action // 15 - 7) <= 2, "beside the stone"
    asked = network.calls
    network.gate.set()
    result = thinker.think(Limit(simulations=8))
    assert result.simulations == 8
    assert network.calls > asked
    assert np.ptp(result.priors) > 0.001, "nothing is kept of what was not the network's"
    assert not thinker._is_blind


def test_a_search_ends_with_the_first_answer_that_is_late(network: Stuck) -> None:
    thinker = player(network)
    thinker._step = 1e-4
    limit = dataclasses.replace(
        thinker.limit_by(Clock(move=0.5), time.monotonic()), until=time.monotonic() + PATIENCE
    )
    calls = network.calls + 50

    def watch() -> bool:
        if network.calls >= calls:
            network.gate.clear()
            thinker._evaluator._near = 1.0
        return False

    result = thinker.think(limit, watch)
    assert 50 <= result.simulations < 500, "no answers of its own fill the tree"
    assert thinker._is_blind


def test_a_glance_waits_for_the_network_after_a_move_in_time(network: Stuck) -> None:
    thinker = player(network)
    seen = thinker.glance().priors.tolist()
    thinker._step = 1.0
    network.gate.clear()
    thinker.choose(thinker.limit_by(Clock(move=0.1), time.monotonic()))
    threading.Timer(0.05, network.gate.set).start()
    assert thinker.glance().priors.tolist() == seen


def test_players_of_one_network_take_turns(network: Stuck) -> None:
    """Its memory is one: an answer that one player does not wait for is not over for the others."""
    shared = PatientEvaluator(network)
    first, second = (player(shared) for _ in range(2))
    network.gate.clear()
    first._step = 1.0
    first.choose(first.limit_by(Clock(move=0.1), time.monotonic()))
    threading.Timer(0.05, network.gate.set).start()
    second.think(Limit(simulations=3))
    assert network.together == 1


def test_expecting_to_wake_late_leaves_the_network_its_share() -> None:
    patient = PatientEvaluator(HashEvaluator())
    for allowed in (0.02, 0.05, 1.0):
        now = time.monotonic()
        patient._waking = MOST_WAKING
        patient.wait_until(now + allowed)
        assert (1 - MOST_OF_IT) * allowed <= patient._end - now <= allowed
    for _ in range(100):
        patient.wait_until(time.monotonic() + 0.01)
    assert patient._waking == LEAST_WAKING, "what was seen once is not expected for ever"


def test_the_network_is_asked_by_one_thread_while_there_is_time(network: Stuck) -> None:
    patient, asked = PatientEvaluator(network), batch(Position(RuleSet.preset("gomoku")))
    expected = HashEvaluator().evaluate(*asked)
    for due in (None, time.monotonic() + 1000):
        patient.wait_until(due, 1.0)
        for found, right in zip(patient.evaluate(*asked), expected, strict=True):
            assert (found == right).all()
    assert network.threads == {threading.get_ident()}
    patient.wait_until(time.monotonic() + 1000, 1001 / NEAR)
    for found, right in zip(patient.evaluate(*asked), expected, strict=True):
        assert (found == right).all()
    assert len(network.threads) == 2
    assert not patient.is_late


def test_one_question_at_a_time(network: Stuck) -> None:
    patient, asked = PatientEvaluator(network), batch(Position(RuleSet.preset("gomoku")))
    network.gate.clear()
    for _ in range(3):
        patient.wait_until(time.monotonic(), 1.0)
        patient.evaluate(*asked)
        assert patient.is_late
    network.gate.set()
    patient.wait_until(None, 1.0)
    patient.evaluate(*asked)
    assert not patient.is_late
    assert network.calls == 2


def test_what_goes_wrong_in_the_thread_is_told() -> None:
    class Broken(HashEvaluator):
        def evaluate(self, *_: Any) -> Any:
            raise ValueError("broken")

    patient = PatientEvaluator(Broken())
    for due in (None, time.monotonic() + 1000):
        patient.wait_until(due, 1000.0)
        with pytest.raises(ValueError, match="broken"):
            patient.evaluate(*batch(Position(RuleSet.preset("gomoku"))))


def test_neighbours_of_stones_are_preferred() -> None:
    position = Position(RuleSet.preset("gomoku"))
    asked = batch(position)
    logits, values = NeighbourEvaluator().evaluate(*asked)
    assert logits.shape == (1, 225 + len(OPTIONS))
    assert not logits.any()
    assert values.tolist() == [0.0]
    for move in ("a1", "a2", "o15"):
        position.play(move)
    logits, _ = NeighbourEvaluator().evaluate(*batch(position))
    board = logits[0, :225].reshape(15, 15)
    assert board[2, 0] == pytest.approx(2**0.5)
    assert board[13, 13] == 1
    assert board[7, 7] == 0
    assert not logits[0, 225:].any()


def test_patience_is_the_limit_but_for_the_safety() -> None:
    assert Clock().patience is None
    assert Clock(move=0.0).patience is None, "at once: what one evaluation takes"
    assert Clock(move=1.0).patience == pytest.approx(1 - SAFETY)
    assert Clock(move=1.0, left=0.5).patience == pytest.approx(0.5 - SAFETY)
    assert Clock(move=0.06).patience == pytest.approx(0.03)
