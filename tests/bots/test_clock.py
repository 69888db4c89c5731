"""Clocks: how long a move may take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.clock import SAFETY, Clock, longest_to_go, margin, moves_to_go

SECONDS = st.floats(0, 10_000)


def test_without_limits_there_is_no_hurry() -> None:
    assert Clock().seconds(30) is None


def test_a_limit_a_move_is_used_but_for_the_margin() -> None:
    assert Clock(move=5.0).seconds(30) == pytest.approx(5.0 - margin(5.0))
    assert Clock(move=0.0).seconds(30) == 0.0
    assert Clock(move=5.0, left=1000.0).seconds(30) == pytest.approx(5.0 - margin(5.0))


def test_of_very_short_limits_most_is_kept_for_a_loaded_machine() -> None:
    for limit in (0.1, 0.15, 0.2):
        seconds = Clock(move=limit).seconds(30)
        assert seconds is not None
        assert limit - seconds >= 0.08
        assert seconds > 0.01, "some evaluations more than one"


def test_the_games_time_is_shared_among_its_moves() -> None:
    assert Clock(left=300.0).seconds(30) == pytest.approx(10.0, abs=0.1)
    assert Clock(left=300.0, increment=2.0).seconds(30) == pytest.approx(12.0, abs=0.1)
    assert Clock(left=300.0, stones=100).seconds(10) == pytest.approx(3.0, abs=0.1)
    assert Clock(left=-3.0).seconds(30) == 0.0


@given(move=SECONDS | st.none(), left=SECONDS, increment=SECONDS, moves=st.integers(0, 400))
def test_the_move_is_there_before_every_limit(
    move: float | None, left: float, increment: float, moves: int
) -> None:
    seconds = Clock(move=move, left=left, increment=increment).seconds(moves)
    assert seconds is not None
    for limit in (move, left):
        assert limit is None or seconds <= max(0.0, limit - SAFETY)


def test_a_whole_game_stays_within_its_time() -> None:
    clock = Clock(left=60.0)
    for played in range(100):
        seconds = clock.seconds(moves_to_go(225, 2 * played), longest_to_go(225, 2 * played))
        assert seconds is not None
        clock.spend(seconds + 0.02)
    assert clock.left is not None
    assert clock.left > 0


def test_byo_yomi_follows_the_main_time() -> None:
    clock = Clock(left=10.0, period=30.0, period_stones=3)
    clock.spend(11.0)
    assert clock.left == pytest.approx(29.0, abs=0.01)
    assert clock.stones == 2, "the move that crossed into the period is its first"
    for _ in range(2):
        assert clock.seconds(50) == pytest.approx(14.5, abs=0.2)
        clock.spend(14.4)
    assert (clock.left, clock.stones) == (30.0, 3)


@pytest.mark.parametrize("left", [0.0, 1.0, 10.0])
@pytest.mark.parametrize("stones", [1, 5])
def test_byo_yomi_is_used_from_the_start(left: float, stones: int) -> None:
    """The main time goes beside it, and is not kept for its own sake."""
    clock, moves = Clock(left=left, period=2.0 * stones, period_stones=stones), 0
    while moves < 30:
        seconds = clock.seconds(40)
        assert seconds is not None
        assert 1.7 < seconds < 3
        clock.spend(seconds)
        assert clock.stones or clock.left
        assert clock.left is not None
        assert clock.left > 0
        moves += 1
        assert clock.stones or moves < left / 1.7 + 1, "the period has begun"


def left_after(moves: int, clock: Clock, cost: float, points: int = 225) -> float:
    """What is left of a clock after so many moves, none of which takes less than `cost`.

    What is planned is used but for a cost, since an evaluation more would not fit.
    """
    for played in range(moves):
        usual, longest = moves_to_go(points, 2 * played), longest_to_go(points, 2 * played)
        seconds = clock.seconds(usual, longest, cost)
        assert seconds is not None
        clock.spend(max(cost, seconds - cost))
        assert clock.left is not None
        assert clock.left > 0
    return clock.left or 0.0


@pytest.mark.parametrize(
    ("left", "increment", "cost", "most"),
    [
        (3.0, 0.0, 0.001, 0.35),
        (3.0, 0.0, 0.013, 0.4),
        (3.0, 0.0, 0.03, 0.5),
        (10.0, 0.0, 0.013, 0.25),
        (60.0, 0.0, 0.013, 0.15),
        (1.0, 0.05, 0.001, 0.4),
        (1.0, 0.05, 0.013, 0.5),
    ],
)
def test_short_clocks_are_used(left: float, increment: float, cost: float, most: float) -> None:
    clock = Clock(left=left, increment=increment)
    assert left_after(25, clock, cost) < most * left


@pytest.mark.parametrize("increment", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("left", [1.0, 3.0, 10.0, 60.0])
def test_a_game_that_fills_the_board_is_not_lost_on_time(left: float, increment: float) -> None:
    assert left_after(112, Clock(left=left, increment=increment), 0.001) > 0


def test_an_increment_is_spent() -> None:
    clock = Clock(left=1.0, increment=0.2)
    left_after(60, clock, 0.001)
    seconds = clock.seconds(10)
    assert seconds is not None
    assert 0.18 < seconds < 0.2


def test_what_moves_take_beyond_their_plan_is_measured() -> None:
    clock = Clock(move=1.0)
    for _ in range(30):
        planned = clock.seconds(10)
        assert planned is not None
        clock.spend(planned + 0.03)
    assert clock.overhead == pytest.approx(0.03, abs=0.001)
    clock.seconds(10)
    clock.spend(0.1)
    assert clock.overhead < 0.03


def test_a_clock_is_nearly_empty_where_nothing_comes_back() -> None:
    assert Clock(left=0.05).is_nearly_empty(50, 0.02)
    assert not Clock(left=0.05).is_nearly_empty(50, 0.0005), "the network is quick enough"
    for other in (
        Clock(move=0.05),
        Clock(left=1.0),
        Clock(left=-0.05),
        Clock(left=0.05, increment=0.1),
        Clock(left=0.05, period=1.0, period_stones=1),
        Clock(left=0.05, stones=3),
    ):
        assert not other.is_nearly_empty(50, 0.02)
