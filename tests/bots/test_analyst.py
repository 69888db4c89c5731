"""The analyst: many positions at once, in one thread, each searched as if it were alone."""

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bots.analyst import Analysis, Analyst, Closed, Query, Ticket
from bots.player import Limit, Player
from engine import Position, RuleSet
from engine.evaluators import Evaluator, HashEvaluator, UniformEvaluator
from engine.search import SearchConfig

GOMOKU = RuleSet.preset("gomoku", size=9)
RENJU = RuleSet.preset("renju", size=11)
SOON = 20.0


class Slow:
    """Answers as another evaluator does, after a while, and remembers the batches' sizes."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.batches: list[int] = []
        self.fails = False
        self._inner = HashEvaluator()

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.fails:
            raise RuntimeError("no network")
        time.sleep(self.seconds)
        self.batches.append(len(keys))
        return self._inner.evaluate(planes, globals_, keys)


class Desk:
    """An analyst and what it says."""

    def __init__(self, evaluator: Evaluator | None = None, **options: Any) -> None:
        options.setdefault("trees_mib", 64)
        self.analyst = Analyst(evaluator or HashEvaluator(), SearchConfig(), **options)
        self.said: queue.Queue[Analysis] = queue.Queue()

    def ask(self, position: Position | None = None, **options: Any) -> Ticket:
        query = Query(position=position or Position(GOMOKU), report=self.said.put, **options)
        return self.analyst.submit(query)

    def hear(self) -> Analysis:
        return self.said.get(timeout=SOON)

    def hear_all(self, count: int) -> list[Analysis]:
        return [self.hear() for _ in range(count)]


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.analyst.close()


def positions(count: int) -> list[Position]:
    """Of several games, on boards of two sizes."""
    rng = np.random.default_rng(count)
    made = []
    for number in range(count):
        position = Position(RENJU, "swap-2") if number % 3 else Position(GOMOKU)
        for _ in range(number % 7):
            position.play(int(rng.choice(position.legal_actions())))
        made.append(position)
    return made


def test_each_is_searched_as_if_it_were_alone() -> None:
    """However many others there are: what a `Player` finds, with the same simulations."""
    slow = Slow()
    desk = Desk(slow, slots=8)
    asked = positions(40)
    for position in asked:
        desk.ask(position, simulations=150, lines=2)
    said = desk.hear_all(len(asked))
    desk.analyst.close()
    assert {len(analysis.query.position.actions) for analysis in said} == set(range(7))
    for analysis in said:
        position, result = analysis.query.position, analysis.result
        assert analysis.final
        assert result is not None
        rules = position.rules
        alone = Player(
            HashEvaluator(),
            SearchConfig(),
            position,
            height=rules.height,
            width=rules.width,
            threats=0,
        )
        expected = alone.think(Limit(simulations=150))
        assert result.visits.tolist() == expected.visits.tolist()
        assert result.value == expected.value
        lines = [alone.line(action) for action in result.actions[list(analysis.ranking[:2])]]
        assert [list(line) for line in analysis.lines] == lines
    assert max(slow.batches) > 1, "searched together"


def test_limits(desk: Desk) -> None:
    desk.ask(simulations=1)
    only = desk.hear().result
    assert only is not None
    assert only.simulations == 1
    began = time.monotonic()
    desk.ask(seconds=0.3)
    assert desk.hear().final
    desk.ask(until=time.monotonic() + 0.3)
    assert desk.hear().final
    assert time.monotonic() - began < SOON
    desk.ask(until=0.0)
    assert desk.hear().result is not None, "there is an answer whatever the time"
    with pytest.raises(ValueError, match="less than 1"):
        desk.ask(simulations=0)


def test_a_search_without_limits_ends_where_its_tree_does() -> None:
    desk = Desk(UniformEvaluator(), trees_mib=1, slots=2)
    desk.ask()
    result = desk.hear().result
    desk.analyst.close()
    assert result is not None
    assert 500 < result.simulations < 5000


def test_a_finished_game_is_refused(desk: Desk) -> None:
    position = Position(RuleSet.preset("mnk"))
    for action in ["a1", "a2", "b1", "b2", "c1"]:
        position.play(action)
    with pytest.raises(ValueError, match="over"):
        desk.ask(position)


def test_proofs_end_a_search_and_say_how_long_it_takes(desk: Desk) -> None:
    rules = RuleSet.preset("gomoku", size=9)
    desk.ask(
        Position.from_setup(rules, black=["d5", "e5", "f5"], white=["a1", "a3"]),
        simulations=5000,
        lines=3,
    )
    analysis = desk.hear()
    assert analysis.result is not None
    assert analysis.result.proven == 1
    assert analysis.plies_to_end[analysis.result.action] == 3
    assert analysis.lines[0][0].action == analysis.result.action


def test_reports_during_the_search(desk: Desk) -> None:
    desk.ask(simulations=20_000, every=0.0)
    said = desk.hear_all(3)
    counts = [analysis.result.simulations for analysis in said if analysis.result is not None]
    assert counts == sorted(counts)
    assert not any(analysis.final for analysis in said)
    while not desk.hear().final:
        pass


def test_cancelling(desk: Desk) -> None:
    tickets = [desk.ask(simulations=10**6) for _ in range(40)]
    for ticket in tickets:
        ticket.cancel()
    said = desk.hear_all(40)
    assert all(analysis.final and analysis.cancelled for analysis in said)
    assert sum(analysis.result is None for analysis in said) >= 24, "those that never began"
    tickets[0].cancel()
    desk.ask(simulations=2)
    assert not desk.hear().cancelled


def order_of(desk: Desk, priorities: list[int]) -> list[int]:
    """The priorities as their queries end, when all come while another one is searched."""
    held = threading.Event()
    desk.analyst.submit(
        Query(
            position=Position(GOMOKU),
            report=lambda _: bool(held.wait(SOON)),
            simulations=1,
            priority=99,
        )
    )
    for priority in priorities:
        desk.ask(simulations=80, priority=priority)
    held.set()
    return [analysis.query.priority for analysis in desk.hear_all(len(priorities))]


def test_higher_priorities_first() -> None:
    desk = Desk(slots=1)
    assert order_of(desk, [0, 5, -3, 5, 1]) == [5, 5, 1, 0, -3]
    desk.analyst.close()


def test_a_higher_priority_takes_a_place() -> None:
    desk = Desk(Slow(0.001), slots=2)
    desk.ask(simulations=400, seed=1)
    desk.ask(simulations=400, seed=2)
    time.sleep(0.1)
    desk.ask(simulations=20, priority=1, seed=3)
    said = desk.hear_all(3)
    desk.analyst.close()
    assert [analysis.query.seed for analysis in said] == [3, 1, 2]
    assert [analysis.result.simulations for analysis in said if analysis.result] == [20, 400, 400]


def test_many_boards_share_the_memory_of_few() -> None:
    desk = Desk(slots=4, canvases=2, trees_mib=4)
    sizes = [*range(5, 16), 5, 7]
    for size in sizes:
        desk.ask(Position(RuleSet.preset("gomoku", size=size)), simulations=100)
    said = desk.hear_all(len(sizes))
    assert sorted(analysis.query.position.rules.width for analysis in said) == sorted(sizes)
    assert len(desk.analyst._rooms) <= 2
    desk.analyst.close()


def test_an_evaluator_that_fails_costs_its_queries_only(capfd: pytest.CaptureFixture[str]) -> None:
    slow = Slow()
    desk = Desk(slow)
    slow.fails = True
    desk.ask(simulations=50)
    failed = desk.hear()
    assert failed.final
    assert failed.error == "RuntimeError: no network"
    slow.fails = False
    desk.ask(simulations=50)
    assert desk.hear().error is None
    desk.analyst.close()
    assert "no network" in capfd.readouterr().err


def test_a_client_that_fails_costs_itself_only(
    desk: Desk, capfd: pytest.CaptureFixture[str]
) -> None:
    def report(analysis: Analysis) -> None:
        raise KeyError("client")

    desk.analyst.submit(Query(position=Position(GOMOKU), report=report, simulations=9, every=0.0))
    desk.ask(simulations=2000)
    assert desk.hear().final
    assert "client" in capfd.readouterr().err


def test_closing() -> None:
    desk = Desk(slots=2)
    for _ in range(6):
        desk.ask(simulations=300)
    desk.analyst.close(finish=True)
    said = desk.hear_all(6)
    assert [analysis.result.simulations for analysis in said if analysis.result] == [300] * 6
    with pytest.raises(Closed):
        desk.ask()
    desk = Desk(slots=2)
    for _ in range(6):
        desk.ask()
    desk.analyst.close()
    assert all(analysis.cancelled for analysis in desk.hear_all(6))


def test_evaluations_are_kept_until_they_are_forgotten() -> None:
    slow = Slow()
    desk = Desk(slow)
    evaluated = []
    for forget in (False, False, True):
        if forget:
            desk.analyst.forget()
        before = sum(slow.batches)
        desk.ask(simulations=200)
        desk.hear()
        evaluated.append(sum(slow.batches) - before)
    desk.analyst.close()
    assert evaluated[1] < evaluated[0] / 2
    assert evaluated[2] == evaluated[0]
    assert desk.analyst.statistics()["evaluations"] == sum(evaluated)


def test_a_choice_ends_when_it_is_settled(desk: Desk) -> None:
    position = Position.from_setup(
        GOMOKU, black=["d5", "e5", "f5"], white=["a1", "a3", "c5"], to_play="white"
    )
    desk.ask(position, simulations=5000, settle=True)
    result = desk.hear().result
    assert result is not None
    assert result.proven is None
    assert result.simulations < 5000


def test_a_win_by_threats_needs_no_network() -> None:
    evaluator = Slow()
    desk = Desk(evaluator)
    two_threes = {"black": ["c5", "d5", "e3", "e4"], "white": ["a1", "a9", "i1", "i9"]}
    position = Position.from_setup(GOMOKU, **two_threes)  # type: ignore[arg-type]
    desk.ask(position, simulations=60, threats=20_000)
    analysis = desk.hear()
    desk.analyst.close()
    assert analysis.final and analysis.result is not None
    assert analysis.result.proven == 1
    action = analysis.result.action
    assert position.action_name(action) == "e5"
    assert analysis.result.actions[analysis.ranking[0]] == action
    assert analysis.lines[0][0].action == action
    assert analysis.plies_to_end[action] == len(analysis.lines[0])
    assert evaluator.batches == []


def test_the_network_can_be_asked_about_a_win_by_threats() -> None:
    evaluator = Slow()
    desk = Desk(evaluator)
    two_threes = {"black": ["c5", "d5", "e3", "e4"], "white": ["a1", "a9", "i1", "i9"]}
    position = Position.from_setup(GOMOKU, **two_threes)  # type: ignore[arg-type]
    desk.ask(position, simulations=60, threats=20_000, opinion=True)
    found = desk.hear()
    desk.ask(position, simulations=1)
    plain = desk.hear()
    desk.analyst.close()
    assert found.final and found.result is not None and plain.result is not None
    assert found.result.proven == 1 and plain.result.proven is None
    assert position.action_name(found.result.action) == "e5"
    assert found.result.log_priors.tolist() == plain.result.log_priors.tolist()
    assert found.result.network_value == plain.result.network_value
    assert 0 < sum(evaluator.batches) < 5


@pytest.mark.parametrize("white", [["a1", "i9"], ["a1", "i9", "a2"]])
def test_priors_are_the_networks_where_moves_lose_to_threats(desk: Desk, white: list[str]) -> None:
    """Also where all of them do: the other seat has an open four already."""
    black = ["d5", "e5", "f5", "g5"][: len(white) + 1]
    position = Position.from_setup(GOMOKU, black=black, white=white, to_play="white")
    results = []
    for threats in (0, 20_000, 20_000):
        desk.ask(position, simulations=20, threats=threats)
        results.append(desk.hear().result)
    plain, *others = results
    assert plain is not None
    for result in others:
        assert result is not None
        assert (result.proofs == -1).sum() >= 70
        assert result.priors.tolist() == plain.priors.tolist()
        assert result.priors.sum() == pytest.approx(1)


def test_what_loses_to_threats_is_not_searched() -> None:
    desk = Desk()
    open_three = {"black": ["d5", "e5", "f5"], "white": ["a1", "i9"], "to_play": "white"}
    position = Position.from_setup(GOMOKU, **open_three)  # type: ignore[arg-type]
    found = []
    for threats in (0, 20_000):
        desk.ask(position, simulations=60, threats=threats)
        result = desk.hear().result
        assert result is not None
        found.append({position.action_name(int(a)) for a in result.actions[result.visits > 0]})
    # The tree is another one afterwards: nothing is left of what was given up.
    desk.ask(position, simulations=60)
    again = desk.hear().result
    desk.analyst.close()
    defences = {"b5", "c5", "g5", "h5"}
    assert found[1] <= defences and not found[0] <= defences
    assert again is not None
    assert {position.action_name(int(a)) for a in again.actions[again.visits > 0]} == found[0]
