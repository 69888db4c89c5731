"""The loops behind benchmarks/engine.py do what they are timed for: each beside `Position`."""

from functools import reduce
from operator import xor

import pytest

from engine import Position, RuleSet
from engine._playout import (
    list_fouls,
    list_legal,
    look_up,
    playout,
    playouts,
    remembered,
    repeat_copy,
)
from engine.openings import OPENINGS
from engine.position import rule_table
from engine.rules import PRESETS

WORD = 2**64 - 1

SMALL = RuleSet.preset("irensei", size=5, line_length=5, gutter=0)
GAMES = {
    **PRESETS,
    "small irensei": SMALL,
    "suicide": RuleSet.preset("irensei", size=5, line_length=5, gutter=0, suicide=True),
    "small connect-go": RuleSet.preset("connect-go", size=6),
    "small renju": RuleSet.preset("renju", size=9),
}


class Generator:
    """xorshift64* and the mixing of seeds, once more."""

    def __init__(self, seed: int) -> None:
        value = seed + 0x9E3779B97F4A7C15 & WORD
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & WORD
        value = (value ^ value >> 27) * 0x94D049BB133111EB & WORD
        self.state = value ^ value >> 31

    def below(self, limit: int) -> int:
        self.state ^= self.state >> 12
        self.state ^= self.state << 25 & WORD
        self.state ^= self.state >> 27
        return (self.state * 0x2545F4914F6CDD1D & WORD) // 2**32 * limit // 2**32


def replayed(rules: RuleSet, actions: list[int], opening: str = "none") -> Position:
    position = Position(rules, opening)
    for action in actions:
        position.play(action)
    return position


@pytest.mark.parametrize("lists", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_the_games_are_legal_and_add_up(name: str, lists: bool) -> None:
    rules = GAMES[name]
    cap, table = 2 * rules.points, rule_table(rules, "none")
    games = [playout(table, 40 + i, lists, cap) for i in range(4)]
    positions = [replayed(rules, actions) for actions in games]
    assert len({position.key for position in positions}) == len(games)
    for position, actions in zip(positions, games, strict=True):
        assert position.outcome is not None or len(actions) == cap
    assert playouts(table, 4, 40, lists, cap) == (
        sum(map(len, games)),
        4,
        reduce(xor, (position.key for position in positions)),
    )


@pytest.mark.parametrize("name", GAMES)
def test_lists_are_drawn_from_evenly(name: str) -> None:
    rules = GAMES[name]
    position, generator = Position(rules), Generator(7)
    for action in playout(rule_table(rules, "none"), 7, True, 2 * rules.points):
        legal = [a for a in position.legal_actions() if a < rules.points]
        legal = legal or list(position.legal_actions())
        assert action == legal[generator.below(len(legal))]
        position.play(action)


@pytest.mark.parametrize("name", GAMES)
def test_points_are_drawn_until_one_is_legal(name: str) -> None:
    """A pass means that no point is legal; every first stone comes up about as often."""
    rules = GAMES[name]
    position = Position(rules)
    for action in playout(rule_table(rules, "none"), 7, False, 2 * rules.points):
        if action >= rules.points:
            assert all(a >= rules.points for a in position.legal_actions())
        position.play(action)
    small = rule_table(RuleSet.preset("mnk"), "none")
    first = [playout(small, seed, False, 1)[0] for seed in range(900)]
    assert min(first.count(point) for point in range(9)) > 60


@pytest.mark.parametrize("opening", OPENINGS)
def test_openings(opening: str) -> None:
    rules = RuleSet.preset("renju")
    table = rule_table(rules, opening)
    for lists in (False, True):
        games = [playout(table, seed, lists, 400) for seed in range(8)]
        keys = [replayed(rules, actions, opening).key for actions in games]
        assert playouts(table, 8, 0, lists, 400)[2] == reduce(xor, keys)


def test_a_game_ends_at_the_cap() -> None:
    table = rule_table(SMALL, "none")
    assert playouts(table, 3, 1, False, 6)[:2] == (18, 3)
    assert playouts(table, 0, 1, False, 6) == (0, 0, 0)
    assert len(playout(table, 1, True, 6)) == 6
    assert playout(table, 1, True, 0) == []


def test_copies() -> None:
    position = replayed(SMALL, playout(rule_table(SMALL, "none"), 1, False, 40))
    for copies in (0, 1, 2, 5):
        for with_history in (False, True):
            assert repeat_copy(position._core, copies, with_history) == position.key


def test_lists_and_look_ups() -> None:
    renju = RuleSet.preset("renju")
    positions = [
        replayed(rules, playout(rule_table(rules, "none"), seed, False, 30))
        for rules in (SMALL, renju)
        for seed in range(4)
    ]
    cores = [position._core for position in positions]
    assert list_legal(cores) == sum(len(position.legal_actions()) for position in positions)
    assert list_legal([]) == 0
    judged = cores[4:]
    assert list_fouls(judged) == sum(len(core.fouls()) for core in judged)
    assert remembered(cores[0]) == positions[0].ply + 1
    assert 0 <= look_up(cores[0], 50) <= 50
