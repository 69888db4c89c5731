"""Ratings against hand-computed cases and simulated players."""

import math
from itertools import pairwise

import numpy as np
import pytest

from selfplay.ratings import ELO, Z95, Estimate, Score, rate


def test_two_players_have_the_rating_of_the_formula() -> None:
    # 30 wins, 10 draws, 20 losses: 35 points of 60, plus half a virtual game for each.
    ratings = rate({("new", "old"): Score(wins=30, draws=10, losses=20)}, anchor="old")
    p = 35.5 / 61
    assert ratings["new"].elo == pytest.approx(400 * math.log10(35.5 / 25.5), abs=1e-3)
    assert ratings["new"].error == pytest.approx(Z95 / math.sqrt(61 * p * (1 - p)) / ELO, rel=1e-4)
    assert ratings["old"] == Estimate(elo=0, error=0)


def test_a_known_score_is_a_known_number_of_points() -> None:
    # 10:1 odds are 400 points; without a noticeable prior they come out exactly.
    ratings = rate({("a", "b"): Score(wins=1000, losses=100)}, anchor="b", prior_games=1e-9)
    assert ratings["a"].elo == pytest.approx(400, abs=1e-3)


def test_games_count_the_same_in_either_order() -> None:
    one = rate({("a", "b"): Score(wins=7, draws=2, losses=1)}, anchor="b")
    other = rate({("b", "a"): Score(wins=1, draws=2, losses=7)}, anchor="b")
    both = rate({("a", "b"): Score(wins=7), ("b", "a"): Score(wins=1, draws=2)}, anchor="b")
    assert one["a"].elo == pytest.approx(other["a"].elo) == pytest.approx(both["a"].elo)


def test_a_chain_adds_up() -> None:
    step = Score(wins=750, losses=250)
    ratings = rate({("b", "a"): step, ("c", "b"): step}, anchor="a", prior_games=1e-9)
    assert ratings["b"].elo == pytest.approx(400 * math.log10(3), abs=1e-3)
    assert ratings["c"].elo == pytest.approx(800 * math.log10(3), abs=1e-3)
    # Independent links: variances add; the difference over one link has that link's own error.
    assert ratings["c"].error == pytest.approx(math.sqrt(2) * ratings["b"].error, rel=1e-6)
    assert ratings.difference("c", "b").error == pytest.approx(ratings["b"].error, rel=1e-6)


@pytest.mark.parametrize("wins", [1, 100, 10_000])
def test_a_player_that_wins_all_has_a_finite_rating(wins: int) -> None:
    ratings = rate({("a", "b"): Score(wins=wins)}, anchor="b")
    assert ratings["a"].elo == pytest.approx(400 * math.log10((wins + 0.5) / 0.5), abs=0.01)
    assert math.isfinite(ratings["a"].error) and ratings["a"].error > ratings["a"].elo / 10


def test_a_long_chain_of_all_wins_is_solved() -> None:
    names = [f"v{i}" for i in range(30)]
    scores = {(b, a): Score(wins=40) for a, b in pairwise(names)}
    ratings = rate(scores, anchor="v0")
    elo = np.array([ratings[name].elo for name in names])
    assert np.all(np.diff(elo) > 300) and elo[-1] < 30_000


def test_only_draws_are_no_difference() -> None:
    assert rate({("a", "b"): Score(draws=12)}, anchor="a")["b"].elo == pytest.approx(0, abs=1e-6)


def test_players_that_no_game_connects_with_the_anchor_have_no_rating() -> None:
    scores = {
        ("a", "anchor"): Score(wins=3, losses=2),
        ("x", "y"): Score(wins=1),
        ("a", "x"): Score(),
    }
    ratings = rate(scores, anchor="anchor")
    assert ratings.players == ["anchor", "a"]
    assert "x" not in ratings and "a" in ratings
    with pytest.raises(KeyError):
        ratings["y"]


def test_nobody_has_played() -> None:
    assert rate({}, anchor="only").players == ["only"]


def test_impossible_input_is_refused() -> None:
    with pytest.raises(ValueError, match="itself"):
        rate({("a", "a"): Score(wins=1)}, anchor="a")
    with pytest.raises(ValueError, match="prior_games"):
        rate({("a", "b"): Score(wins=1)}, anchor="a", prior_games=0)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    truth = {"anchor": 0.0, "a": 80.0, "b": 180.0, "c": -120.0}
    names, rng = list(truth), np.random.default_rng(3)
    inside = total = 0
    for _ in range(150):
        scores = {}
        for i, first in enumerate(names):
            for second in names[i + 1 :]:
                p = 1 / (1 + math.exp(-ELO * (truth[first] - truth[second])))
                wins = int(rng.binomial(60, p))
                scores[first, second] = Score(wins=wins, losses=60 - wins)
        ratings = rate(scores, anchor="anchor")
        for name in names[1:]:
            inside += abs(ratings[name].elo - truth[name]) <= ratings[name].error
            total += 1
    # 450 intervals; 95% +- three standard errors (with some room for their correlation).
    assert 0.91 < inside / total < 0.985
