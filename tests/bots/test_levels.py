"""Levels: legal at every one, weaker and stronger, and the same again with the same seed."""

import itertools
import math

import numpy as np
import pytest

from benchmarks import levels as bench
from bots.gtp_extensions import ExtendedGtpSession
from bots.levels import HIGHEST, LEVELS, find_level
from bots.player import Player
from engine import Position, RuleSet
from engine.evaluators import Evaluator, HashEvaluator, UniformEvaluator
from engine.search import SearchConfig
from selfplay.players import bot_player, mcts_player
from tests.bots.talk import GAMES, Gomocup, new_player

SMALL = RuleSet.preset("gomoku", size=7, line_length=4)
OPENINGS = [
    (RuleSet.preset("renju", size=9), "soosorv-8"),
    (RuleSet.preset("gomoku", size=9), "swap-2"),
    (RuleSet.preset("irensei", size=9, line_length=5, gutter=1), "swap-5"),
]


class Central:
    """An evaluator that likes the board's centre, so that a policy shows."""

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        logits, values = UniformEvaluator().evaluate(planes, globals_, keys)
        height, width = planes.shape[2:]
        rows, columns = np.divmod(np.arange(height * width), width)
        away = np.maximum(abs(rows - height // 2), abs(columns - width // 2))
        logits[:, : height * width] -= 2 * away
        return logits, values


def player(level: int | None, evaluator: Evaluator, seed: int, simulations: int = 64) -> Player:
    return Player(
        evaluator, SearchConfig(simulations=simulations), Position(SMALL),
        height=7, width=7, level=level, seed=seed,
    )  # fmt: skip


def played(level: int | None, seed: int) -> list[int]:
    one = player(level, HashEvaluator(), seed)
    while one.position.outcome is None:
        one.play(one.choose())
    return one.position.actions


def test_levels_differ_in_one_direction() -> None:
    levels = list(LEVELS.values())
    assert [level.number for level in levels] == list(range(1, 11))
    for lower, higher in itertools.pairwise(levels):
        assert lower.careless >= higher.careless
        assert lower.softness >= higher.softness
        assert lower.limit(10**6) <= higher.limit(10**6)
    assert find_level(None) is find_level(HIGHEST) is None
    for number in (0, 11, -1):
        with pytest.raises(ValueError, match="1 to 10"):
            find_level(number)


@pytest.mark.parametrize("number", LEVELS)
@pytest.mark.parametrize(("rules", "opening"), OPENINGS, ids=lambda value: str(value)[:8])
def test_every_level_plays_legal_games(rules: RuleSet, opening: str, number: int) -> None:
    one = new_player(rules, opening, level=number, simulations=4)
    while one.position.outcome is None and one.position.ply < 120:
        one.play(one.choose())  # raises for anything illegal
    assert one.position.phase in ("play", "over")


@pytest.mark.parametrize("number", [1, 5, 8, 10])
def test_a_seed_repeats_a_level(number: int) -> None:
    assert played(number, 7) == played(number, 7)
    others = [played(number, seed) for seed in range(4)]
    if number < HIGHEST:
        assert len({tuple(game) for game in others}) > 1


def test_the_highest_level_is_the_bot_as_it_is() -> None:
    assert played(HIGHEST, 1) == played(None, 1)


def test_the_lowest_level_knows_where_to_begin_and_little_else() -> None:
    """Its first moves are drawn from the network's policy, flattened, not evenly."""
    first = [player(1, Central(), seed).choose() for seed in range(300)]
    rings = [max(abs(p // 7 - 3), abs(p % 7 - 3)) for p in first]
    even = [1 / 49, 8 / 49, 16 / 49, 24 / 49]
    shares = [rings.count(ring) / len(rings) for ring in range(4)]
    assert shares[0] + shares[1] > 1.3 * (even[0] + even[1])
    assert shares[3] > 0.1, "nearly at random"


def test_what_was_found_before_helps_no_lower_level() -> None:
    fresh, helped = player(8, HashEvaluator(), 3), player(8, HashEvaluator(), 3)
    fresh._random, helped._random = np.random.default_rng(5), np.random.default_rng(5)
    fresh.choose()
    helped.choose()
    for each in (fresh, helped):
        each.reset(Position(SMALL))
        each._random = np.random.default_rng(9)
    helped.set_level(HIGHEST)
    helped.think()
    helped.set_level(8)
    helped._random = np.random.default_rng(9)
    assert helped.choose() == fresh.choose()
    assert helped.result().visits.tolist() == fresh.result().visits.tolist()


def test_the_gauntlet_of_levels(tmp_path, exported_bot) -> None:  # type: ignore[no-untyped-def]
    bot = bot_player(exported_bot, simulations=8)
    levels, ratings = bench.play(bot, [LEVELS[1], LEVELS[6], LEVELS[10]], tmp_path, games=4)
    lines = bench.table(levels, ratings)
    assert len(lines) == 4
    assert [line.split()[0] for line in lines[1:]] == ["1", "6", "10"]
    assert all(math.isfinite(ratings[name].elo) for name in ("level-1", "level-6", "level-10"))


def test_levels_of_plain_search_are_ordered(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Even without a network to be careless with: the far ends of the list."""
    bot = mcts_player(200)
    bot.games = [(RuleSet.preset("mnk", width=5, height=5, line_length=4), "none")]
    _, ratings = bench.play(bot, [LEVELS[1], LEVELS[10]], tmp_path, games=20)
    assert ratings.difference("level-10", "level-1").elo > 150


def test_gtp_s_level() -> None:
    session = ExtendedGtpSession("stub", GAMES, new_player)
    assert session.answer("narabe-level 11") == "? level: 11 is not one of 1 to 10\n\n"
    assert session.answer("narabe-level 1") == "= \n\n"
    moves = set()
    for _ in range(4):
        moves.add(session.answer("genmove b"))
        session.answer("clear_board")
    assert len(moves) == 1, "each game draws the same again, by its seed"
    vertices = {session.answer(f"genmove {colour}") for colour in "bwbwbwbw"}
    session.answer("narabe-level 10")
    session.answer("clear_board")
    assert vertices != {session.answer(f"genmove {colour}") for colour in "bwbwbwbw"}


def test_gomocup_s_level() -> None:
    manager = Gomocup(simulations=32)
    assert manager.send("INFO level 11") == ["ERROR INFO level: 11 is not one of 1 to 10"]
    assert manager.send("START 15", "INFO level 1") == ["OK"]
    moves = set()
    for _ in range(4):
        moves.add(manager.move("BEGIN"))
        manager.send("RESTART")
    assert len(moves) > 1
    manager.send("INFO level 10")
    moves = set()
    for _ in range(3):
        moves.add(manager.move("BEGIN"))
        manager.send("RESTART")
    assert len(moves) == 1
