"""Search: golden trees, rows that do not touch each other, proofs, seats, memory, Gumbel."""

import dataclasses
import json

import numpy as np
import pytest

from benchmarks.fingerprint import fingerprint
from engine import IllegalAction, Position, RuleSet
from engine._search import draw
from engine.evaluators import Evaluator, HashEvaluator, UniformEvaluator
from engine.roots import halving_schedule
from engine.search import SearchBatch, SearchConfig, SearchResult, choose
from tests.engine import golden

TICTACTOE = RuleSet.preset("mnk")
FOUR = RuleSet.preset("mnk", width=6, height=6, line_length=4)
SMALL_IRENSEI = RuleSet.preset("irensei", size=7, line_length=4, gutter=1)


def search(
    position: Position,
    config: SearchConfig,
    evaluator: Evaluator | None = None,
    *,
    seed: int = 0,
    noise: bool = False,
) -> SearchResult:
    rules = position.rules
    batch = SearchBatch(1, config, height=rules.height, width=rules.width)
    batch.start(0, position, seed, noise=noise)
    batch.run(evaluator or UniformEvaluator())
    return batch.result(0)


@pytest.mark.parametrize("name", golden.CASES)
def test_golden_trees(name: str) -> None:
    stored = json.loads((golden.FOLDER / f"{name}.json").read_text())
    assert golden.grow(golden.CASES[name]) == stored


def test_fingerprint_of_the_whole_search() -> None:
    assert fingerprint() == FINGERPRINT


FINGERPRINT = "9beb1c3458051c2f"


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize("batch_size", [4, 7, 12])
def test_rows_do_not_depend_on_their_neighbours(kind: str, batch_size: int) -> None:
    config = SearchConfig(simulations=60, kind=kind, leaves_per_step=2, random_symmetry=True)
    starts = [Position(SMALL_IRENSEI, name) for name in ("none", "swap-1st", "swap-2", "swap-5")]
    together = SearchBatch(4, config, height=9, width=8, batch_size=batch_size)
    for index, position in enumerate(starts):
        together.start(index, position, seed=index, noise=True)
    together.run(HashEvaluator())
    for index, position in enumerate(starts):
        alone = SearchBatch(1, config, height=9, width=8)
        alone.start(0, position, seed=index, noise=True)
        alone.run(HashEvaluator())
        assert np.array_equal(alone.tree(0), together.tree(index))


@pytest.mark.parametrize(("kind", "leaves"), [("puct", 1), ("puct", 3), ("gumbel", 1)])
def test_trees_searched_side_by_side_are_those_searched_alone(kind: str, leaves: int) -> None:
    """More trees than walk together, and long ways."""
    config = SearchConfig(kind=kind, simulations=300, leaves_per_step=leaves)
    together = SearchBatch(40, config, height=6, width=6, batch_size=35)
    deepest = 0
    for index in range(40):
        together.start(index, Position(FOUR), seed=index, noise=True)
    together.run(HashEvaluator())
    for index in range(40):
        alone = SearchBatch(1, config, height=6, width=6)
        alone.start(0, Position(FOUR), seed=index, noise=True)
        alone.run(HashEvaluator())
        tree = alone.tree(0)
        assert np.array_equal(tree, together.tree(index))
        depth = np.zeros(len(tree), int)
        for at, parent in enumerate(tree[1:, 0].astype(int), start=1):
            depth[at] = depth[parent] + 1
        deepest = max(deepest, depth.max())
    assert deepest > 4


@pytest.mark.parametrize("leaves", [1, 3])
def test_backup_keeps_its_books(leaves: int) -> None:
    config = SearchConfig(simulations=300, leaves_per_step=leaves)
    batch = SearchBatch(1, config, height=7, width=7)
    batch.start(0, Position(SMALL_IRENSEI, "swap-2"), seed=3, noise=True)
    batch.run(HashEvaluator())
    tree = batch.tree(0)
    visits, children = tree[:, 2], np.zeros(len(tree))
    np.add.at(children, tree[1:, 0].astype(int), visits[1:])
    inner = children > 0
    assert np.array_equal(visits[inner], children[inner] + 1)
    assert (np.abs(tree[:, 3]) <= visits).all()
    assert batch.result(0).visits.sum() == batch.result(0).simulations == 300


def test_evaluation_of_the_position_that_was_sent() -> None:
    """The batch's features and keys are those of the positions that the tree says."""
    from engine.features import features

    batch = SearchBatch(1, SearchConfig(simulations=20), height=7, width=7)
    start = Position(SMALL_IRENSEI, "swap-1st")
    batch.start(0, start, seed=0)
    made: list[list[int]] = []
    while rows := batch.collect():
        node = len(batch.tree(0)) - 1
        path: list[int] = []
        while node:
            path.insert(0, int(batch.tree(0)[node, 1]))
            node = int(batch.tree(0)[node, 0])
        position = start.copy()
        for action in path:
            position.play(action)
        planes, globals_, _ = features(position)
        assert rows == 1
        assert np.array_equal(batch.planes[0], planes)
        assert np.array_equal(batch.globals_[0], globals_)
        assert int(batch.keys[0]) == position.key
        made.append(path)
        batch.apply(*HashEvaluator().evaluate(batch.planes[:1], batch.globals_[:1], batch.keys[:1]))
    assert len(made) == 21 and len({tuple(path) for path in made}) == 21


# --- proofs ---------------------------------------------------------------------------------------


VALUES: dict[int, int] = {}


def exact_value(position: Position) -> int:
    """Plain minimax over seats: +1, 0, -1 for the seat to act. Remembers every position below."""
    if position.outcome is not None:
        return position.outcome.value(position.seat)
    if position.key not in VALUES:
        best = -1
        for action in position.legal_actions():
            after = position.copy()
            after.play(int(action))
            value = exact_value(after)
            best = max(best, value if after.seat == position.seat else -value)
        VALUES[position.key] = best
    return VALUES[position.key]


class ExactEvaluator:
    """Uniform priors and exact values, looked up by key."""

    def __init__(self, root: Position) -> None:
        exact_value(root)

    def evaluate(
        self, planes: np.ndarray, globals_: np.ndarray, keys: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        logits, _ = UniformEvaluator().evaluate(planes, globals_, keys)
        return logits, np.array([VALUES[int(key)] for key in keys], np.float32)


def tictactoe(opening: str, moves: str) -> Position:
    position = Position(TICTACTOE, opening)
    for move in moves.split():
        position.play(move)
    return position


# Seat A wins, seat B wins, and openings in which one seat acts twice (three times) in a row.
FORCED = [
    ("none", "a1 b1 a2 b2"),
    ("none", "a1 b2 b1 a3"),
    ("none", "b1 a1 c2"),
    ("none", "a1 b1 c3"),
    ("swap-1st", "b2"),
    ("swap-1st", "a1 white"),
    ("swap", "b2 a2"),
    ("swap", "a1 b1 a2"),
    ("swap-2", "a1 b2"),
    ("swap-2", "a1 b1 c3 more"),
    ("swap-5", "a1 b2 a2"),
]


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
@pytest.mark.parametrize(("opening", "moves"), FORCED)
def test_exact_evaluator_finds_the_best_result(kind: str, opening: str, moves: str) -> None:
    position = tictactoe(opening, moves)
    evaluator = ExactEvaluator(position)
    config = SearchConfig(simulations=150, kind=kind, solver=False)
    result = search(position, config, evaluator)
    after = position.copy()
    after.play(result.action)
    reached = exact_value(after) * (1 if after.seat == position.seat else -1)
    assert reached == exact_value(position)
    if abs(exact_value(position)) == 1:
        assert np.sign(result.value) == exact_value(position)


# The same kinds with few enough plies to go for a proof of every line, draws too.
PROVABLE = [
    ("none", "a1 b1 a2 b2"),
    ("none", "a1 b2 b1 c1 a3"),
    ("none", "b2 a1 c1 a3 a2 c2"),
    ("swap-1st", "b2 white a1 c1 a3"),
    ("swap-1st", "a1 black b2 b1"),
    ("swap", "a1 b1 a2 white"),
    ("swap-2", "a1 b2 c3 more b1 a3"),
    ("swap-5", "a1 b2 a2 pass c3 b1"),
]


@pytest.mark.parametrize(("opening", "moves"), PROVABLE)
def test_solver_proves_the_exact_value(opening: str, moves: str) -> None:
    position = tictactoe(opening, moves)
    result = search(position, SearchConfig(simulations=20000), HashEvaluator())
    assert result.proven == exact_value(position) == result.value


def test_seats_that_act_twice_appear_in_these_games() -> None:
    position = tictactoe("swap", "b2")
    assert position.seat == "A"
    position.play("a2")
    assert position.seat == "A"


def test_a_proven_win_takes_the_policy_and_ends_the_search() -> None:
    position = Position.from_setup(FOUR, black=["a1", "b1", "c1"], white=["a3", "b3", "c3"])
    for kind in ("puct", "gumbel"):
        result = search(position, SearchConfig(simulations=2000, kind=kind))
        assert result.proven == 1 and position.action_name(result.action) == "d1"
        assert result.policy[list(result.actions).index(result.action)] == 1
        assert result.simulations < 2000


def after(rules: RuleSet, moves: str) -> Position:
    position = Position(rules)
    for move in moves.split():
        position.play(move)
    return position


def test_a_win_in_one_is_seen_without_searching() -> None:
    result = search(after(FOUR, "c3 a1 d3 a2 e3 f6"), SearchConfig(simulations=50))
    assert (result.proven, result.simulations) == (1, 1)
    assert Position.action_name(Position(FOUR), result.action) in ("b3", "f3")
    assert result.policy.max() == 1


def test_an_open_three_loses_at_sight() -> None:
    # White cannot stop both ends: each of its moves is answered by a four.
    rows = SearchBatch(1, SearchConfig(simulations=100), height=6, width=6)
    rows.start(0, after(FOUR, "c3 a1 d3 a2 e3"), 0)
    rows.run(UniformEvaluator())
    assert rows.result(0).proven == -1
    assert rows.statistics()["evaluations"] == 1
    assert rows.result(0).simulations <= 36 - 5
    # Whatever White plays, its answer is a new root, which takes the win.
    rows.advance(0, Position(FOUR).parse_action("b3"))
    rows.run(UniformEvaluator())
    assert rows.result(0).proven == 1
    assert rows.result(0).action == Position(FOUR).parse_action("f3")


def child_after(rules: RuleSet, moves: str, position: Position | None = None) -> tuple[int, int]:
    """(proof, edges) of the node that search makes for the last move, the first one that it tries.

    The proof is 1 where seat A wins, 2 where B does, 0 where nobody is seen to.
    """
    *before, last = moves.split()
    position = position or after(rules, " ".join(before))
    point = position.parse_action(last)

    class OneMove(UniformEvaluator):
        def evaluate(self, planes, globals_, keys):  # type: ignore[no-untyped-def]
            logits, values = super().evaluate(planes, globals_, keys)
            logits[:, point] += 10
            return logits, values

    batch = SearchBatch(1, SearchConfig(simulations=1), height=rules.height, width=rules.width)
    batch.start(0, position, 0)
    batch.run(OneMove())
    assert batch.tree(0)[1, 1] == point
    return int(batch.tree(0)[1, 5]), int(batch.tree(0)[1, 6])


def test_one_threat_leaves_one_move_and_two_lose() -> None:
    # Black has three stones in a row after d1, and an open three after b3.
    assert child_after(FOUR, "b1 a1 c1 a6 d1") == (0, 1)
    assert child_after(FOUR, "c3 a1 d3 a6 b3") == (1, 0)
    assert child_after(FOUR, "c3 a1 d3 a6 f6") == (0, 36 - 5)


def test_a_threat_that_a_capture_or_a_closed_end_answers_is_no_proof() -> None:
    capturing = RuleSet.preset("irensei", size=7, line_length=4, gutter=0)
    caro = RuleSet.preset("caro", size=7, line_length=4)
    for rules, passes in ((capturing, 1), (caro, 0)):
        assert child_after(rules, "c3 a1 d3 a6 b3") == (0, 49 - 5 + passes)


def test_a_threat_on_a_forbidden_point_wins() -> None:
    # White threatens h8, where a black stone would make an overline; then one that only fills it.
    rules = RuleSet.preset("renju")
    black = ["e8", "f8", "g8", "i8", "j8", "h3"]
    position = Position.from_setup(rules, black=black, white=["h4", "h5", "h6"], to_play="white")
    assert child_after(rules, "h7", position) == (2, 0)
    black[1] = "a8"
    position = Position.from_setup(rules, black=black, white=["h4", "h5", "h6"], to_play="white")
    assert child_after(rules, "h7", position) == (0, 1)


@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_a_root_that_must_block_does(kind: str) -> None:
    # A closed four on 15x15, where uniform priors would hardly come upon the one answer.
    position = after(RuleSet.preset("gomoku"), "h8 a1 i8 a15 j8 g8 k8")
    result = search(position, SearchConfig(kind=kind, simulations=64))
    assert len(result.actions) == 225 - 7
    assert result.proven is None
    if kind == "puct":
        assert result.action == position.parse_action("l8")


def test_without_proofs_nothing_is_seen_at_sight() -> None:
    config = SearchConfig(simulations=50, solver=False)
    assert search(after(FOUR, "c3 a1 d3 a2 e3 f6"), config).simulations == 50


def test_a_lost_move_is_never_in_the_policy() -> None:
    """White must block at d1: everything else loses at once."""
    position = Position.from_setup(
        FOUR, black=["a1", "b1", "c1"], white=["a3", "f6"], to_play="white"
    )
    result = search(position, SearchConfig(simulations=3000))
    assert position.action_name(result.action) == "d1"
    block = result.actions == position.parse_action("d1")
    assert result.policy[block] == 1
    assert (result.proofs[~block] == -1).all()


def test_proven_nodes_are_never_searched_again() -> None:
    """Once a node is proven, nothing below it gets further visits: its children's stay put."""
    position = Position.from_setup(
        FOUR, black=["a1", "b1", "c1"], white=["a3", "f6"], to_play="white"
    )
    batch = SearchBatch(1, SearchConfig(simulations=3000), height=6, width=6)
    batch.start(0, position, seed=0)
    frozen: dict[int, np.ndarray] = {}
    while batch.step(HashEvaluator()):
        tree = batch.tree(0)
        for node in np.flatnonzero(tree[:, 5]):
            children = tree[1:][tree[1:, 0] == node][:, 2]
            assert np.array_equal(frozen.setdefault(int(node), children), children)
    assert len(frozen) > 30


# --- roots, reuse, memory -------------------------------------------------------------------------


def test_advance_keeps_the_subtree() -> None:
    batch = SearchBatch(1, SearchConfig(simulations=200), height=6, width=6)
    batch.start(0, Position(FOUR), seed=0)
    batch.run(HashEvaluator())
    before = batch.result(0)
    spent = batch.statistics()["evaluations"]
    kept = int(before.visits[list(before.actions).index(before.action)])
    batch.advance(0, before.action)
    assert batch.position(0).actions == [before.action]
    assert batch.tree(0)[0, 2] == kept
    with pytest.raises(ValueError, match="no result before"):
        batch.result(0)  # the node was made with its best edges only
    batch.run(HashEvaluator())
    assert batch.result(0).simulations == 200
    assert batch.statistics()["evaluations"] - spent <= 200 - (kept - 1) + 1
    fresh = search(batch.position(0), SearchConfig(simulations=200), HashEvaluator())
    assert np.allclose(fresh.priors, batch.result(0).priors, atol=1e-6)


def test_a_full_arena_stops_and_says_so() -> None:
    config = SearchConfig(simulations=500, arena_nodes=100)
    batch = SearchBatch(1, config, height=6, width=6)
    batch.start(0, Position(FOUR), seed=0)
    batch.run(HashEvaluator())
    assert batch.finished() == [0]
    assert batch.statistics()["full"] == 1
    assert len(batch.tree(0)) <= 100
    assert 80 < batch.result(0).simulations < 500
    assert batch.tree_bytes < 100 * (64 + 10 * (36 + 16))


def test_a_forced_block_costs_no_evaluation() -> None:
    """Black makes a three each turn: White's answers are nodes, but no rows."""
    position = Position.from_setup(FOUR, black=["b2", "c2"], white=["a2", "f6"], to_play="black")
    batch = SearchBatch(1, SearchConfig(simulations=200), height=6, width=6)
    batch.start(0, position, seed=0)
    batch.run(HashEvaluator())
    tree, counts = batch.tree(0), batch.statistics()
    forced = tree[1:][(tree[1:, 6] == 1) & (tree[1:, 5] == 0)]
    assert len(forced) > 10
    assert len(tree) > counts["evaluations"] + counts["terminals"]


PLIES = 6
CACHED = [
    ("gomoku", {"size": 7}, "swap-2"),
    ("irensei", {"size": 5, "line_length": 4, "gutter": 0}, "swap-5"),
    ("connect-go", {"size": 6}, "none"),
    ("renju", {"size": 9}, "soosorv-2"),
    ("mnk", {"width": 5, "height": 4, "line_length": 4, "ply_limit": 14}, "swap"),
]


@pytest.mark.parametrize(("preset", "fields", "opening"), CACHED)
@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_the_cache_changes_no_tree(
    preset: str, fields: dict[str, int], opening: str, kind: str
) -> None:
    """Trees of several games that share a cache, small enough to forget, against lonely ones."""
    rules = RuleSet.preset(preset, **fields)
    config = SearchConfig(kind=kind, simulations=60, random_symmetry=True)
    size = {"height": rules.height, "width": rules.width}
    shared = SearchBatch(4, config, **size, cache_mib=1)
    alone = [SearchBatch(1, config, **size) for _ in range(4)]
    for move in range(2 * PLIES):
        for i, batch in enumerate(alone):
            if move % PLIES == 0:  # all games, and then the same ones again
                shared.start(i, Position(rules, opening), seed=i, noise=True)
                batch.start(0, Position(rules, opening), seed=i, noise=True)
            elif batch.position(0).outcome is None:
                action = batch.result(0).action
                batch.advance(0, action, noise=True)
                shared.advance(i, action, noise=True)
            batch.run(HashEvaluator())
        shared.run(HashEvaluator())
        for i, batch in enumerate(alone):
            assert np.array_equal(shared.tree(i), batch.tree(0))
    evaluations = sum(batch.statistics()["evaluations"] for batch in alone)
    counts = shared.statistics()
    assert counts["evaluations"] + counts["cached"] == evaluations
    assert counts["cached"] > evaluations // 4


def test_an_emptied_cache_answers_nothing() -> None:
    batch = SearchBatch(2, SearchConfig(simulations=50), height=6, width=6, cache_mib=1)
    spent = []
    for index in (0, 1, 0):
        batch.start(index, Position(FOUR), seed=0)
        batch.run(HashEvaluator())
        spent.append(batch.statistics()["evaluations"] - sum(spent))
        if index:
            batch.forget()
    assert spent[1] == 1 < spent[0] == spent[2]


def test_random_symmetry_leaves_the_search_of_a_symmetric_evaluator_alone() -> None:
    turned = SearchConfig(simulations=100, random_symmetry=True)
    results = [search(Position(FOUR), turned, seed=seed) for seed in range(6)]
    plain = search(Position(FOUR), SearchConfig(simulations=100))
    assert all(np.array_equal(result.visits, plain.visits) for result in results)


def test_random_symmetry_turns_what_the_network_sees() -> None:
    config = SearchConfig(simulations=1, random_symmetry=True)
    seen = set()
    for seed in range(40):
        batch = SearchBatch(1, config, height=6, width=6)
        position = Position(FOUR)
        position.play("b1")
        batch.start(0, position, seed)
        batch.collect()
        seen.add(int(np.flatnonzero(batch.planes[0, 2])[0]))
    assert len(seen) == 8


def test_noise_changes_priors_in_the_tree_only() -> None:
    quiet = search(Position(FOUR), SearchConfig(simulations=50), HashEvaluator(), seed=1)
    noisy = search(
        Position(FOUR), SearchConfig(simulations=50), HashEvaluator(), seed=1, noise=True
    )
    assert np.allclose(quiet.priors, noisy.priors)
    assert not np.array_equal(quiet.visits, noisy.visits)


def test_illegal_advance_leaves_the_tree_alone() -> None:
    batch = SearchBatch(1, SearchConfig(simulations=20), height=6, width=6)
    batch.start(0, Position(FOUR, "swap-1st"), seed=0)
    batch.run(HashEvaluator())
    before = batch.tree(0)
    with pytest.raises(IllegalAction):
        batch.advance(0, FOUR.points)
    assert np.array_equal(batch.tree(0), before)


def test_bad_answers_are_refused() -> None:
    batch = SearchBatch(1, SearchConfig(simulations=20), height=6, width=6)
    batch.start(0, Position(FOUR), seed=0)
    assert batch.collect() == 1
    with pytest.raises(ValueError, match="not finite"):
        batch.apply(np.zeros((1, 52), np.float32), np.array([np.nan], np.float32))
    with pytest.raises(ValueError, match=r"returned the value -1e\+38"):
        batch.apply(np.zeros((1, 52), np.float32), np.array([-1e38], np.float32))
    with pytest.raises(ValueError, match="apply"):
        batch.apply(np.zeros((1, 51), np.float32), np.zeros(1, np.float32))
    with pytest.raises(ValueError, match="in flight"):
        batch.advance(0, 0)
    batch.apply(np.zeros((1, 52), np.float32), np.zeros(1, np.float32))


def test_a_board_larger_than_the_canvas_is_refused() -> None:
    batch = SearchBatch(1, SearchConfig(simulations=20), height=5, width=6)
    with pytest.raises(ValueError, match="canvas"):
        batch.start(0, Position(FOUR), seed=0)


@pytest.mark.parametrize("field", ["simulations", "leaves_per_step"])
def test_impossible_configurations_are_refused(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        SearchConfig(**{field: 0})
    with pytest.raises(ValueError, match="kind"):
        SearchConfig(kind="alphabeta")
    with pytest.raises(ValueError, match=r"search\.arena_nodes: 1 has no room"):
        SearchConfig(arena_nodes=1)


# --- Gumbel ---------------------------------------------------------------------------------------


def test_halving_schedule() -> None:
    schedule = halving_schedule(4, 16)
    assert schedule.tolist() == [0] * 4 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, 5]
    assert halving_schedule(1, 3).tolist() == [0, 1, 2]


def test_gumbel_visits_follow_the_schedule() -> None:
    config = SearchConfig(simulations=16, kind="gumbel", gumbel_actions=4)
    result = search(Position(FOUR), config, HashEvaluator(), seed=2, noise=True)
    assert sorted(result.visits[result.visits > 0]) == [2, 2, 6, 6]
    assert result.visits[list(result.actions).index(result.action)] == 6


def test_gumbel_improves_the_policy_at_16_simulations() -> None:
    """The improved policy is worth more than the prior under exact values, by a clear margin."""
    position = tictactoe("none", "a1 b1")
    evaluator = ExactEvaluator(position)
    config = SearchConfig(simulations=16, kind="gumbel", solver=False)
    gains = []
    for seed in range(20):
        result = search(position, config, evaluator, seed=seed, noise=True)
        worth = []
        for action in result.actions:
            after = position.copy()
            after.play(int(action))
            worth.append(-exact_value(after))
        gains.append(float((result.policy - result.priors) @ np.array(worth)))
        assert worth[list(result.actions).index(result.action)] == max(worth)
    assert min(gains) > 0.1


def test_choose_by_temperature() -> None:
    result = search(Position(FOUR), SearchConfig(simulations=100), HashEvaluator())
    rng = np.random.default_rng(0)
    assert choose(result, 0, rng) == result.action
    drawn = [choose(result, 1.0, rng) for _ in range(4000)]
    counts = np.array([drawn.count(int(action)) for action in result.actions]) / 4000
    assert np.abs(counts - result.policy).max() < 0.03
    sharp = [choose(result, 0.5, rng) for _ in range(4000)]
    counts = np.array([sharp.count(int(action)) for action in result.actions]) / 4000
    assert np.abs(counts - result.policy**2 / (result.policy**2).sum()).max() < 0.03
    highest = result.actions[result.policy == result.policy.max()]
    assert all(choose(result, 1e-4, rng) in highest for _ in range(50))


@pytest.mark.parametrize("power", [1.0, 0.25, 7.0, 1e300])
def test_what_has_no_share_is_never_drawn(power: float) -> None:
    policy = np.array([0, 0.5, 0, 0.25, 0.25, 0], np.float32)
    found = {draw(policy, power, chance) for chance in np.linspace(0, 1, 1000, endpoint=False)}
    assert found == ({1} if power > 100 else {1, 3, 4})
    assert draw(policy, power, 0.0) == 1
    assert draw(np.array([0, 1, 0], np.float32), power, np.nextafter(1, 0)) == 1


def test_noise_is_a_draw_from_a_dirichlet_distribution() -> None:
    config = SearchConfig(simulations=1, noise_fraction=1.0, noise_alpha_total=2.0)
    rows = [search(Position(TICTACTOE), config, seed=seed, noise=True) for seed in range(20)]
    assert all(np.allclose(row.priors, 1 / 9) for row in rows)  # told without noise
    mixed = [first_choice(config, seed) for seed in range(3000)]
    # Each of nine actions is as likely to get the most; the noise decides alone.
    assert np.abs(np.bincount(mixed, minlength=9) / 3000 - 1 / 9).max() < 0.03


def first_choice(config: SearchConfig, seed: int) -> int:
    batch = SearchBatch(1, dataclasses.replace(config, simulations=2), height=3, width=3)
    batch.start(0, Position(TICTACTOE), seed, noise=True)
    batch.run(UniformEvaluator())
    return int(batch.tree(0)[1, 1])


def test_memory_that_does_not_fit_the_batches_is_refused() -> None:
    batch = SearchBatch(4, SearchConfig(simulations=8), height=6, width=6)
    batch.start(0, Position(RuleSet.preset("mnk", size=6, line_length=4)), seed=0)
    planes, globals_ = batch.planes, batch.globals_
    wide = np.zeros((4, *planes.shape[1:3], 7), np.uint8)
    for wrong in (planes[:3], wide, planes.astype(np.float32)):
        with pytest.raises(ValueError, match="do not fit an array"):
            batch.write_into(wrong, globals_)
    batch.collect()
    with pytest.raises(ValueError, match="apply the batch in flight first"):
        batch.write_into(planes.copy(), globals_)


@pytest.mark.parametrize("leaves", [1, 4, 40])
@pytest.mark.parametrize("solver", [True, False])
def test_what_a_root_knows_of_its_children_is_up_to_date(leaves: int, solver: bool) -> None:
    """Also with more descents under way than are noted one by one."""
    config = SearchConfig(simulations=400, leaves_per_step=leaves, solver=solver)
    batch = SearchBatch(2, config, height=6, width=6)
    positions = [Position(FOUR), Position(FOUR)]
    for name in ("c3", "d4", "c4"):
        positions[1].play(name)
    for index, position in enumerate(positions):
        batch.start(index, position, seed=index)
    known = 0
    while batch.step(HashEvaluator()):
        for index in range(2):
            assert batch._core.stale_edges(index) == []
            known = max(known, batch.simulations(index))
    assert known >= 400
    # And in the tree that goes on below a move.
    batch.advance(0, batch.result(0).action)
    while batch.step(HashEvaluator()):
        assert batch._core.stale_edges(0) == []
