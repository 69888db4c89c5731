"""Wins by threats before the search: played without the network, and defended against."""

import re
import time

import numpy as np
import pytest

from bots.gtp_analysis import report
from bots.player import Limit, Player
from bots.terminal import _judgement
from bots.threats import LookOut
from bots.tree import Trees
from bots.yixin import DETAIL, LiveReport
from engine import Position, RuleSet
from engine.evaluators import HashEvaluator, UniformEvaluator
from engine.search import SearchConfig

GOMOKU = RuleSet.preset("gomoku")
#: Black's h8 makes two open threes.
TWO_THREES = {"black": ["f8", "g8", "h6", "h7"], "white": ["a1", "a15", "o1", "o15"]}
#: White must stop an open three.
OPEN_THREE = {"black": ["g8", "h8", "i8"], "white": ["a1", "o15"], "to_play": "white"}


class Counting(UniformEvaluator):
    """Counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self.asked += len(keys)
        return super().evaluate(planes, globals_, keys)


def player(position: Position, evaluator: Counting | None = None, **options: object) -> Player:
    search = options.pop("search", SearchConfig(simulations=60))
    return Player(
        evaluator or Counting(),
        search,  # type: ignore[arg-type]
        position,
        height=position.rules.height,
        width=position.rules.width,
        **options,  # type: ignore[arg-type]
    )


def test_a_win_is_played_without_the_network() -> None:
    evaluator = Counting()
    thinker = player(Position.from_setup(GOMOKU, **TWO_THREES), evaluator)
    result = thinker.think()
    assert (result.proven, result.value, result.simulations) == (1, 1.0, 0)
    assert list(result.actions) == list(thinker.position.legal_actions())
    assert thinker.position.action_name(thinker.choose()) == "h8"
    assert evaluator.asked == 0
    reading = thinker.read()
    assert reading is not None
    assert reading.plies_to_end() == {result.action: 5}
    line = thinker.line(result.action)
    assert line[0].action == result.action
    assert all(node.value == 1 for node in line)
    assert thinker.line(0) == []
    judged = _judgement(thinker, result)
    assert judged.startswith("[a proven win in 5 plies at most: h8 ")


def test_viewers_are_told_the_line() -> None:
    thinker = player(Position.from_setup(GOMOKU, **TWO_THREES))
    told = report(thinker, thinker.think(), kata=False)
    assert re.match(r"info move H8 visits 1 winrate 10000 .* pv H8( [A-P]\d+){4}$", told), told
    live = LiveReport(thinker, thinker.position.action_name, DETAIL)
    lines = list(live.at_end())
    assert "INFO EVAL +M5" in lines
    assert any(line.startswith("INFO BESTLINE h8 ") for line in lines)


def test_the_win_is_carried_out() -> None:
    evaluator, rng = Counting(), np.random.default_rng(0)
    for _ in range(10):
        thinker = player(Position.from_setup(GOMOKU, **TWO_THREES), evaluator)
        while thinker.position.outcome is None:
            legal = thinker.position.legal_actions()
            black = thinker.position.to_play == "black"
            thinker.play(thinker.choose() if black else int(rng.choice(legal)))
        assert thinker.position.outcome.winner_colour == "black"
        assert thinker.position.ply <= 5
    assert evaluator.asked == 0


def test_only_defences_are_searched() -> None:
    thinker = player(Position.from_setup(GOMOKU, **OPEN_THREE))
    result = thinker.think()
    name = thinker.position.action_name
    visited = {name(int(a)) for a in result.actions[result.visits > 0]}
    assert visited == {"f8", "j8"}
    assert set(result.proofs[result.visits == 0].tolist()) == {-1}
    assert result.proven is None
    assert name(thinker.choose()) in visited
    reading = thinker.read()
    assert reading is not None
    lost = thinker.position.parse_action("a3")
    assert reading.plies_to_end()[lost] == 4
    assert name(thinker.line(lost)[0].action) == "a3"
    assert len(thinker.line(lost)) == 4


def test_all_is_lost_slowly() -> None:
    """White cannot stop two open threes; its own fours on row 4 take Black two plies to answer."""
    black, white = ["g8", "h8", "i8", "c3", "c4", "c5", "o4"], ["a1", "o15", "l4", "m4", "n4"]
    evaluator = Counting()
    lost = Position.from_setup(GOMOKU, black=black, white=white, to_play="white")
    thinker = player(lost, evaluator)
    result = thinker.think()
    assert (result.proven, result.value) == (-1, -1)
    assert evaluator.asked == 1
    reading = thinker.read()
    assert reading is not None
    lengths = reading.plies_to_end()
    assert set(lengths) == set(result.actions.tolist())
    assert lengths[thinker.position.parse_action("a3")] == 4
    chosen = thinker.choose()
    assert thinker.position.action_name(chosen) in ("j4", "k4")
    assert lengths[chosen] == max(lengths.values()) > 4


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_defences_hold_for_any_search(kind: str) -> None:
    search = SearchConfig(kind=kind, simulations=40)
    thinker = player(Position.from_setup(GOMOKU, **OPEN_THREE), search=search)
    assert thinker.position.action_name(thinker.choose()) in ("f8", "j8")


def test_a_tree_that_is_kept_is_told_too() -> None:
    position = Position(GOMOKU)
    thinker = player(position)
    for action in ("g8", "a1", "h8", "o15"):
        thinker.think()
        thinker.play(action)
    thinker.think()
    thinker.play("i8")
    result = thinker.think()
    lost = result.proofs == -1
    assert {thinker.position.action_name(int(a)) for a in result.actions[~lost]} == {"f8", "j8"}
    thinker.undo()
    assert thinker.think().proven is None or thinker.think().proven == 1


def test_it_can_be_switched_off() -> None:
    position = Position.from_setup(GOMOKU, **TWO_THREES)
    for options in ({"threats": 0}, {"search": SearchConfig(simulations=20, solver=False)}):
        evaluator = Counting()
        result = player(position, evaluator, **options).think()
        assert result.proven is None
        assert evaluator.asked > 0


def test_it_repeats_itself_where_nothing_limits_time() -> None:
    position = Position.from_setup(GOMOKU, **OPEN_THREE)
    first, second = (player(position).think() for _ in range(2))
    assert first.visits.tolist() == second.visits.tolist()


def test_looking_takes_no_time_that_is_not_there() -> None:
    position = Position.from_setup(GOMOKU, **TWO_THREES)
    look_out = LookOut()
    look_out.look(position, 1 << 40, time.monotonic() - 1)
    assert look_out.found.win is None
    thinker = player(position, threats=1 << 40)
    began = time.monotonic()
    thinker.think(Limit(until=began + 0.4))
    assert time.monotonic() - began < 5


def test_a_small_tree_has_room_for_losses() -> None:
    search = SearchConfig(simulations=1 << 20)
    thinker = player(Position.from_setup(GOMOKU, **OPEN_THREE), search=search, memory=1 << 20)
    assert thinker.think().simulations > 0


def test_gumbel_roots_consider_what_does_not_lose() -> None:
    rules = RuleSet.preset("gomoku", size=9)
    trees = Trees(
        1,
        SearchConfig(kind="gumbel", simulations=16, gumbel_actions=4, arena_nodes=1000),
        height=9,
        width=9,
        cache_mib=0,
    )
    trees.start(0, Position(rules), seed=0)
    trees.step(HashEvaluator())
    kept = trees.result(0).actions[[3, 40, 77]].tolist()
    lost = {int(a): None for a in trees.result(0).actions if a not in kept}
    trees.give_up(0, lost)  # type: ignore[arg-type]
    trees.run(HashEvaluator())
    result = trees.result(0)
    assert sorted(result.actions[result.visits > 0].tolist()) == kept
    assert result.visits.sum() == 16
    assert result.visits[result.visits > 0].min() <= 3 < 6 <= result.visits.max(), "halved"
    assert result.action in kept
