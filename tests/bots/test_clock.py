"""Clocks: how long a move may take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.clock import SAFETY, Clock, margin, moves_to_go

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
        seconds = clock.seconds(moves_to_go(225, 2 * played))
        assert seconds is not None
        clock.spend(seconds + 0.02)
    assert clock.left is not None
    assert clock.left > 0


def test_byo_yomi_follows_the_main_time() -> None:
    clock = Clock(left=10.0, period=30.0, period_stones=3)
    clock.spend(11.0)
    assert (clock.left, clock.stones) == (30.0, 3)
    for _ in range(3):
        assert clock.seconds(50) == pytest.approx(10.0, abs=0.2)
        clock.spend(10.0)
    assert (clock.left, clock.stones) == (30.0, 3)
