"""A player and its clock, which only evaluations move."""

import time
from concurrent.futures import Future, wait
from types import SimpleNamespace
from typing import Any

import pytest

from bots import patience
from bots.clock import SAFETY, Clock
from bots.player import UNLIMITED, Limit, Player
from bots.threats import LEAST, SHARE, LookOut
from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchConfig

#: Nobody makes a line here: games fill the board, with 50 own moves each.
ENDLESS = RuleSet.preset("mnk", width=10, height=10, line_length=11)


class Costly(HashEvaluator):
    """A network that takes its time, and is the only thing that does."""

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.seconds, self.now, self.calls = seconds, 100.0, 0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(patience, "wait", self.wait)

    def wait(self, asked: list[Future[Any]], timeout: float | None) -> Any:
        """Waits for the answer, and goes by this clock for whether it came in time."""
        until = None if timeout is None else self.now + timeout
        done, _ = wait(asked)
        if until is None or self.now <= until:
            return SimpleNamespace(done=done)
        self.now = until
        return SimpleNamespace(done=set())

    def evaluate(self, *batch: Any) -> Any:
        self.calls += 1
        self.now += self.seconds
        return super().evaluate(*batch)


def player(rules: RuleSet, network: Costly, **options: Any) -> Player:
    return Player(
        network,
        SearchConfig(simulations=UNLIMITED, arena_nodes=1 << 16),
        Position(rules),
        height=rules.height,
        width=rules.width,
        **options,
    )


def play_by_clocks(thinker: Player, network: Costly, clocks: list[Clock]) -> None:
    """A whole game of the player with itself, which loses none of it on time."""
    thinker.warm_up()
    while thinker.position.outcome is None:
        clock, began = clocks[thinker.position.ply % 2], network.now
        thinker.play(thinker.choose(thinker.limit_by(clock, began)))
        clock.spend(network.now - began)
        assert clock.left is not None
        assert clock.left > 0


@pytest.mark.parametrize("seconds", [0.005, 0.03, 0.1, 0.3])
@pytest.mark.parametrize(("left", "increment"), [(1.0, 0.0), (3.0, 0.0), (1.0, 0.15)])
def test_no_game_is_lost_on_time_however_long(
    left: float, increment: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = Costly(seconds, monkeypatch)
    clocks = [Clock(left=left, increment=increment) for _ in range(2)]
    play_by_clocks(player(ENDLESS, network), network, clocks)


@pytest.mark.parametrize(
    ("left", "period", "stones"), [(1.0, 2.0, 1), (3.0, 5.0, 5), (0.0, 1.0, 1)]
)
def test_byo_yomi_is_thought_through(
    left: float, period: float, stones: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = Costly(0.005, monkeypatch)
    thinker = player(ENDLESS, network)
    thinker.warm_up()
    clock = Clock(left=left, period=period, period_stones=stones)
    for _ in range(30):
        began = network.now
        thinker.think(thinker.limit_by(clock, began))
        thinker.play(int(thinker.position.legal_actions()[0]))
        assert network.now - began > 0.7 * period / stones
        clock.spend(network.now - began)
        assert clock.left is not None
        assert clock.left > 0


def test_the_network_is_not_asked_on_a_nearly_empty_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = Costly(0.03, monkeypatch)
    thinker = player(RuleSet.preset("gomoku"), network)
    thinker.warm_up()
    thinker.play("h8")
    asked = network.calls
    assert thinker.limit_by(Clock(left=0.1), network.now).blind
    thinker.play(thinker.choose(thinker.limit_by(Clock(left=0.1), network.now)))
    assert network.calls == asked
    assert thinker.think(Limit(simulations=1)).simulations == 1
    assert network.calls > asked, "what was found without it is not kept"
    assert thinker._look_out._position is not None, "what was seen of threats is"
    repeatable = player(RuleSet.preset("gomoku"), network, repeatable=True)
    repeatable.warm_up()
    assert not repeatable.limit_by(Clock(left=0.1), network.now).blind


def test_a_known_position_is_not_evaluated_when_there_is_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = Costly(0.01, monkeypatch)
    thinker = player(RuleSet.preset("gomoku"), network)
    found = thinker.think(Limit(simulations=50))
    asked = network.calls
    assert thinker.choose(Limit(until=network.now)) == found.action
    assert network.calls == asked


def test_a_short_limit_leaves_its_time_to_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Costly(0.015, monkeypatch)
    thinker = player(RuleSet.preset("gomoku"), network)
    thinker.warm_up()
    looked: list[float] = []

    def look(_: LookOut, _position: Position, _nodes: int, until: float) -> None:
        looked.append(until - network.now)

    monkeypatch.setattr(LookOut, "_look", look)
    for move, seconds in (("h8", 0.016), ("h9", 0.415)):
        thinker.play(move)
        thinker.think(Limit(until=network.now + seconds))
    assert looked == [pytest.approx(LEAST, abs=1e-4), pytest.approx(SHARE * 0.4, abs=1e-3)]


def test_a_move_of_a_short_limit_is_one_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Costly(0.02, monkeypatch)
    thinker = player(RuleSet.preset("gomoku"), network)
    thinker.warm_up()
    for _ in range(10):
        began = network.now
        thinker.play(thinker.choose(thinker.limit_by(Clock(move=0.1), began)))
        assert network.now - began <= 0.1 - SAFETY
