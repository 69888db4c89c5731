"""The player: it follows a game, keeps its tree, and finds what search finds."""

import time

import numpy as np
import pytest

from bots.player import UNLIMITED, Limit, Player, unlimited
from bots.tree import Reading
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


class Slow:
    """An evaluator that takes a while, and longer each time that it is asked to be."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        time.sleep(self.seconds)
        return HashEvaluator().evaluate(planes, globals_, keys)


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.6])
def test_a_search_ends_before_its_time(seconds: float) -> None:
    thinker = player(RuleSet.preset("gomoku"), simulations=1 << 20, evaluator=Slow(0.01))
    thinker.warm_up()
    began = time.monotonic()
    result = thinker.think(Limit(until=began + seconds))
    assert time.monotonic() - began < seconds + 3, "a million simulations would take longer"
    assert 1 <= result.simulations < 1 << 20
    if seconds > 0.5:
        assert result.simulations > 5, "the time was used"


def test_a_search_without_evaluations_looks_at_the_clock_too() -> None:
    """All leaves end the game, or are remembered: nothing asks the evaluator any more."""
    thinker = player(
        RuleSet.preset("mnk", width=4, height=4, line_length=4),
        search=SearchConfig(simulations=1 << 22, arena_nodes=1 << 16, solver=False),
    )
    for action in ["a1", "b1", "c1", "d1", "a2", "b2", "c2", "d2", "b3", "a3", "d3", "c3"]:
        thinker.play(action)
    began = time.monotonic()
    thinker.think(Limit(until=began + 0.3))
    assert time.monotonic() - began < 5


def test_simulations_are_limited_for_one_search() -> None:
    thinker = player(RuleSet.preset("gomoku"), simulations=500)
    assert thinker.think(Limit(simulations=7)).simulations == 7
    assert thinker.think().simulations == 500


def test_gumbel_search_plans_its_budget() -> None:
    config = SearchConfig(kind="gumbel", simulations=32)
    thinker = player(RuleSet.preset("gomoku"), search=config)
    assert thinker.think(Limit(simulations=UNLIMITED)).simulations == 32
    thinker = player(RuleSet.preset("gomoku"), search=unlimited(config))
    assert thinker.think(Limit(until=time.monotonic() + 0.1)).simulations > 32


def test_a_watch_ends_the_search() -> None:
    asked = []

    def watch() -> bool:
        asked.append(1)
        return len(asked) == 5

    thinker = player(RuleSet.preset("gomoku"), simulations=500)
    assert thinker.think(watch=watch).simulations < 20
    assert len(asked) == 5


@pytest.mark.parametrize("seed", range(6))
def test_choosing_stops_early_with_the_move_of_the_whole_search(seed: int) -> None:
    rules = RuleSet.preset("gomoku", size=6, line_length=4)
    counting, whole = Counting(), player(rules, simulations=400, evaluator=HashEvaluator(seed))
    counting._inner = HashEvaluator(seed)  # type: ignore[assignment]
    settled = player(rules, simulations=400, evaluator=counting)
    assert settled.choose() == whole.think().action
    assert counting.positions <= 400


def test_an_only_move_is_not_thought_about() -> None:
    rules = RuleSet.preset("mnk")
    counting = Counting()
    thinker = player(rules, simulations=400, evaluator=counting)
    for action in ["a1", "b1", "c1", "a2", "c2", "b2", "b3", "c3"]:
        thinker.play(action)
    assert thinker.position.action_name(thinker.choose()) == "a3"
    assert counting.positions <= 1


def test_a_take_back_keeps_the_tree() -> None:
    counting = Counting()
    thinker = player(RuleSet.preset("gomoku", size=7), simulations=60, evaluator=counting)
    first = thinker.think()
    for _ in range(2):
        thinker.play(thinker.choose())
        thinker.think()
    asked = counting.positions
    for _ in range(2):
        thinker.undo()
    again = thinker.think()
    assert counting.positions - asked <= 3, "all but the roots' evaluations are remembered"
    np.testing.assert_array_equal(again.visits, first.visits)
    thinker.play(thinker.choose())
    thinker.undo()
    asked = counting.positions
    thinker.think()
    assert counting.positions == asked


def test_a_board_given_again_keeps_the_tree() -> None:
    rules, counting = RuleSet.preset("gomoku", size=7), Counting()
    thinker = player(rules, simulations=60, evaluator=counting)
    position = Position(rules)
    position.play(thinker.choose())
    kept = int(thinker.result().visits.max())
    counting.positions = 0
    thinker.reset(position)
    thinker.think()
    assert counting.positions <= 61 - kept + 1


def test_the_quickest_win_is_chosen() -> None:
    """Black has an open three and a closed four: five is there at once."""
    rules = RuleSet.preset("gomoku", size=9)
    thinker = player(rules, simulations=400, evaluator=UniformEvaluator())
    thinker.reset(
        Position.from_setup(
            rules,
            black=["c3", "d3", "e3", "a9", "b9", "c9", "d9"],
            white=["a1", "a3", "a5", "a7", "i1", "i3", "i5"],
        )
    )
    assert thinker.position.action_name(thinker.choose()) == "e9"


def test_lengths_of_proofs() -> None:
    rules = RuleSet.preset("gomoku", size=9)
    thinker = player(rules, simulations=2000, evaluator=UniformEvaluator())
    thinker.reset(
        Position.from_setup(rules, black=["d5", "e5", "f5"], white=["a1", "a3"], to_play="black")
    )
    result = thinker.think()
    assert result.proven == 1
    reading = thinker.read()
    assert reading is not None
    lengths = reading.plies_to_end()
    assert lengths[thinker.choose()] == 3, "an open four, a block, five"


def test_a_lost_game_is_lost_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = RuleSet.preset("gomoku", size=9)
    thinker = player(rules, simulations=2000, evaluator=UniformEvaluator())
    thinker.reset(
        Position.from_setup(
            rules, black=["d5", "e5", "f5", "g5"], white=["a1", "a3", "i9"], to_play="white"
        )
    )
    result = thinker.think()
    assert result.proven == -1
    reading = thinker.read()
    assert reading is not None
    lengths = reading.plies_to_end()
    assert set(lengths.values()) == {2}, "black wins at once, whatever white does"
    monkeypatch.setattr(Reading, "plies_to_end", lambda _: lengths | {72: 6, 73: 4})
    assert thinker.choose() == 72


def test_resigning_is_off_unless_asked_for() -> None:
    rules = RuleSet.preset("mnk", width=5, height=5, line_length=4)
    lost = Position.from_setup(rules, black=["b2", "c2", "d2"], white=["a5", "e5"], to_play="white")
    for resign, wanted in ((None, False), (0.9, True)):
        thinker = player(rules, simulations=100, resign=resign)
        thinker.reset(lost)
        assert not thinker.resigns()
        thinker.choose()
        assert thinker.resigns() == wanted


def test_a_draw_is_accepted_by_who_expects_no_more() -> None:
    thinker = player(RuleSet.preset("mnk"), simulations=20_000, evaluator=UniformEvaluator())
    assert thinker.accepts_draw("A") or thinker.accepts_draw("B")
    for action in ["a1", "a2", "b1", "b2"]:
        thinker.play(action)
    assert not thinker.accepts_draw("A")
    assert thinker.accepts_draw("B")


def test_memory_limits_the_tree() -> None:
    thinker = player(
        RuleSet.preset("gomoku"), simulations=1 << 20, memory=4 << 20,
        search=SearchConfig(simulations=1 << 20),
    )  # fmt: skip
    result = thinker.think(Limit(until=time.monotonic() + 20))
    assert result.simulations < 100_000, "the tree is full"
    thinker.limit_memory(None)
    assert thinker.think(Limit(simulations=10)).simulations == 10


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("temperature", (-1.0, float("nan"), float("inf"))),
        ("seed", (-1,)),
        ("resign", (2.0, -2.0, float("nan"))),
    ],
)
def test_numbers_out_of_their_range_are_refused(option: str, values: tuple[float, ...]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=f"^{option}: {value} is not a "):
            player(GAMES[0][0], **{option: value})


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_a_glance_asks_the_network_once_and_leaves_the_search_alone(kind: str) -> None:
    evaluator = Counting()
    search = SearchConfig(kind=kind, simulations=24)
    thinker = player(RuleSet.preset("gomoku", size=7), evaluator=evaluator, search=search)
    found = thinker.think()
    asked = evaluator.positions
    result = thinker.glance()
    assert evaluator.positions == asked + 1
    assert (result.simulations, result.value, result.proven) == (0, 0.0, None)
    assert result.priors == pytest.approx(np.full(49, 1 / 49))
    assert thinker.result().visits.tolist() == found.visits.tolist()
