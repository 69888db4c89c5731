"""The player: it follows a game, keeps its tree, and finds what search finds."""

import numpy as np
import pytest

from bots.player import Player
from engine import IllegalAction, Position, RuleSet
from engine.evaluators import HashEvaluator, UniformEvaluator
from engine.search import SearchConfig

GAMES = [
    (RuleSet.preset("mnk", width=4, height=3), "none"),
    (RuleSet.preset("gomoku", size=6, line_length=4), "swap-2"),
    (RuleSet.preset("irensei", size=5, line_length=3, gutter=1), "swap-5"),
]


class Counting:
    """An evaluator that knows nothing but how many positions it was asked about."""

    def __init__(self) -> None:
        self.positions = 0
        self._inner = UniformEvaluator()

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        self.positions += len(keys)
        return self._inner.evaluate(planes, globals_, keys)


def player(
    rules: RuleSet, opening: str = "none", simulations: int = 40, **options: object
) -> Player:
    search = options.pop("search", None) or SearchConfig(simulations=simulations)
    return Player(
        options.pop("evaluator", None) or HashEvaluator(),  # type: ignore[arg-type]
        search,  # type: ignore[arg-type]
        Position(rules, opening),
        height=rules.height,
        width=rules.width,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize(("rules", "opening"), GAMES)
def test_a_whole_game_by_itself(rules: RuleSet, opening: str, kind: str) -> None:
    thinker = player(rules, opening, search=SearchConfig(kind=kind, simulations=24))
    follower = Position(rules, opening)
    while thinker.position.outcome is None and follower.ply < 100:
        result = thinker.think()
        assert list(result.actions) == list(follower.legal_actions())
        action = thinker.choose()
        thinker.play(action)
        follower.play(action)
        assert thinker.position.key == follower.key
    if thinker.position.outcome is not None:
        with pytest.raises(ValueError, match="over"):
            thinker.think()


def test_the_tree_is_kept_between_moves() -> None:
    rules = RuleSet.preset("gomoku", size=7)
    evaluator = Counting()
    thinker = player(rules, simulations=60, evaluator=evaluator)
    thinker.play(thinker.choose())
    first = evaluator.positions
    kept = thinker.think().simulations
    assert kept >= 60
    assert evaluator.positions < 2 * first
    evaluator.positions = 0
    thinker.think()
    assert evaluator.positions == 0


def test_moves_of_the_other_player_are_followed() -> None:
    rules = RuleSet.preset("mnk")
    thinker = player(rules)
    thinker.think()
    for action in ("a1", "b2", "c3"):
        thinker.play(action)
    assert thinker.choose() in thinker.position.legal_actions()
    with pytest.raises(IllegalAction, match="occupied"):
        thinker.play("a1")
    assert thinker.position.ply == 3


def test_undo_forgets_what_followed() -> None:
    rules = RuleSet.preset("mnk")
    thinker = player(rules)
    start = thinker.position.key
    with pytest.raises(ValueError, match="undo"):
        thinker.undo()
    for _ in range(3):
        thinker.play(thinker.choose())
    for _ in range(3):
        thinker.undo()
    assert thinker.position.key == start
    assert len(thinker.think().actions) == 9


def test_undo_from_the_end_of_a_game() -> None:
    thinker = player(RuleSet.preset("mnk"))
    for action in ("a1", "a2", "b1", "b2", "c1"):
        thinker.play(action)
    thinker.undo()
    assert thinker.position.action_name(thinker.choose()) == "c1"


def test_the_winning_move_is_found_by_either_seat() -> None:
    rules = RuleSet.preset("mnk")
    for actions, best in ((["a1", "a2", "b1", "b2"], "c1"), (["a1", "a2", "b1", "b2", "c3"], "c2")):
        thinker = player(rules, simulations=100, evaluator=UniformEvaluator())
        for action in actions:
            thinker.play(action)
        assert thinker.position.action_name(thinker.choose()) == best
        assert thinker.think().proven == 1


def test_temperature_varies_games_and_seeds_repeat_them() -> None:
    rules = RuleSet.preset("gomoku", size=6)

    def first_moves(seed: int) -> list[int]:
        thinker = player(rules, temperature=1.0, seed=seed, simulations=16)
        for _ in range(4):
            thinker.play(thinker.choose())
        return thinker.position.actions

    assert first_moves(1) == first_moves(1)
    assert len({tuple(first_moves(seed)) for seed in range(6)}) > 1


def test_reset_begins_again() -> None:
    rules = RuleSet.preset("mnk")
    thinker = player(rules)
    thinker.play(thinker.choose())
    position = Position(rules)
    thinker.reset(position)
    thinker.play("a1")
    assert position.ply == 0
    assert thinker.position.ply == 1
