"""What every game with every opening must do, whatever its rules are."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from engine import OPTIONS, REASONS, IllegalAction, Outcome, Position, RuleSet, features, symmetry
from tests.reference.adapters import engine_rules
from tests.reference.crowding import small_games
from tests.reference.rules import PRESETS

PLIES = 60
#: No random game on these boards is longer, captures or not.
MOST_PLIES = 3000
REFUSALS = {"occupied", "suicide", "superko", "forbidden", "equivalent", "not-in-this-phase"}
REFUSALS |= {"game-over"}

COMBINATIONS = [
    (engine_rules(rules), opening) for name in PRESETS for rules, opening in small_games(name)
]
every_game = pytest.mark.parametrize(
    ("rules", "opening"),
    COMBINATIONS,
    ids=[f"{r.name}-{r.width}x{r.height}-{r.line_length}-{o}" for r, o in COMBINATIONS],
)


def other(name: str) -> str:
    return {"A": "B", "B": "A", "black": "white", "white": "black"}[name]


def random_game(rules: RuleSet, opening: str, seed: int = 0) -> Iterator[Position]:
    """The same position again after every action of a random game, from the start on.

    Moves that end the game by a line are mostly avoided, so that boards fill up.
    """
    rng = random.Random(seed)
    position = Position(rules, opening)
    yield position
    while position.outcome is None and position.ply < PLIES:
        for _ in range(4):
            action = int(rng.choice(position.legal_actions()))
            after = position.copy()
            after.play(action)
            if after.outcome is None:
                break
        position.play(action)
        yield position


def finished_game(rules: RuleSet, opening: str, seed: int) -> Position:
    """The end of a random game: any legal action, a pass now and then."""
    rng = random.Random(seed)
    position = Position(rules, opening)
    while position.outcome is None:
        assert position.ply < MOST_PLIES
        position.play(int(rng.choice(position.legal_actions())))
    return position


def snapshot(position: Position) -> tuple[object, ...]:
    """All that can be seen of a position."""
    return (
        position.key,
        position.stones_key,
        position.rows(),
        position.to_play,
        position.seat,
        position.phase,
        position.ply,
        position.colour_of("A"),
        position.outcome,
        tuple(position.actions),
        tuple(position.legal_actions()),
        position.pack(),
    )


def set_up_again(position: Position) -> Position:
    """The same stones and colour to play, without history."""
    board = position.board.reshape(-1)
    return Position.from_setup(
        position.rules,
        black=np.flatnonzero(board == 1).tolist(),
        white=np.flatnonzero(board == 2).tolist(),
        to_play=position.to_play,
        opening=position.opening,
    )


# -- legal actions -------------------------------------------------------------------------------


@every_game
def test_legal_actions_are_accepted_and_all_others_refused(rules: RuleSet, opening: str) -> None:
    for position in random_game(rules, opening):
        legal = position.legal_actions()
        assert legal.dtype == np.int32
        assert list(legal) == sorted(set(legal))
        before = snapshot(position)
        for action in range(rules.num_actions):
            reason = position.why_illegal(action)
            assert position.is_legal(action) == (reason is None) == (action in legal)
            if reason is None:
                position.copy().play(action)
            else:
                assert reason in REFUSALS
                with pytest.raises(IllegalAction) as refusal:
                    position.play(action)
                assert refusal.value.reason == reason
        assert snapshot(position) == before


@pytest.mark.parametrize("opening", ["none", "swap-2", "soosorv-8", "taraguchi-10"])
@pytest.mark.parametrize("preset", sorted(set(PRESETS) - {"mnk"}))
def test_also_on_the_presets_own_boards(preset: str, opening: str) -> None:
    rules = RuleSet.preset(preset)
    for position in random_game(rules, opening):
        legal = set(position.legal_actions().tolist())
        assert legal == {action for action in range(rules.num_actions) if position.is_legal(action)}
        assert position.key == position.recomputed_key()
        if position.ply == 14:
            break
    again = Position(rules, opening)
    for action in position.actions:
        again.play(action)
    assert snapshot(again) == snapshot(position)


@every_game
def test_no_action_outside_the_list(rules: RuleSet, opening: str) -> None:
    position = Position(rules, opening)
    outside: list[int | str] = [
        -1,
        rules.num_actions,
        2**40,
        f"a{rules.height + 1}",
        "a0",
        "z1",
        "13",
        "",
        "four",
    ]
    for action in outside:
        assert not position.is_legal(action)
        with pytest.raises(IllegalAction) as refusal:
            position.play(action)
        assert refusal.value.reason in {"off-board", "unknown-action"}


@every_game
def test_names(rules: RuleSet, opening: str) -> None:
    position = Position(rules, opening)
    names = [position.action_name(action) for action in range(rules.num_actions)]
    assert [position.parse_action(name) for name in names] == list(range(rules.num_actions))
    assert names[0] == "a1"
    assert names[rules.width] == "a2"
    assert tuple(names[rules.points :]) == OPTIONS


# -- copy, undo, replay --------------------------------------------------------------------------


@every_game
def test_copy_undo_and_replay_agree(rules: RuleSet, opening: str) -> None:
    position = Position(rules, opening)
    seen = []
    for position in random_game(rules, opening, seed=1):
        seen.append(snapshot(position))
        replayed = Position(rules, opening)
        for action in position.actions:
            replayed.play(action)
        assert snapshot(replayed) == seen[-1]
        twin = position.copy()
        assert snapshot(twin) == seen[-1]
        if position.outcome is None:
            twin.play(int(twin.legal_actions()[-1]))
            assert snapshot(position) == seen[-1]
            twin.undo()
            assert snapshot(twin) == seen[-1]
    for expected in reversed(seen[:-1]):
        position.undo()
        assert snapshot(position) == expected
    with pytest.raises(IndexError):
        position.undo()


@every_game
def test_a_stone_and_what_it_takes_make_the_next_board(rules: RuleSet, opening: str) -> None:
    rng = random.Random(2)
    position = Position(rules, opening)
    while position.outcome is None and position.ply < PLIES:
        expected = position.board.reshape(-1).copy()
        colour, offers = {"black": 1, "white": 2}[position.to_play], position.phase == "offer"
        action = int(rng.choice(position.legal_actions()))
        ply = position.play(action)
        if action < rules.points and not offers:
            expected[action] = colour
        expected[ply.captured] = 0
        board = position.board.reshape(-1)
        changed = np.flatnonzero(board != expected)
        assert set(changed) <= set(ply.switched)
        assert (board[changed] + expected[changed] == 3).all()


# -- keys ----------------------------------------------------------------------------------------


@every_game
def test_the_incremental_key_is_the_recomputed_key(rules: RuleSet, opening: str) -> None:
    for seed in (3, 4, 5):
        for position in random_game(rules, opening, seed):
            assert position.recomputed_key() == position.key


def played(rules: RuleSet, actions: str, opening: str = "none") -> Position:
    position = Position(rules, opening)
    for action in actions.split():
        position.play(action)
    return position


IRENSEI = RuleSet.preset("irensei", size=5, line_length=5, gutter=0)


def test_equal_keys_whatever_the_order() -> None:
    keys = {
        played(IRENSEI, "a1 e5 c3 e4").key,
        played(IRENSEI, "c3 e4 a1 e5").key,
        played(IRENSEI, "pass e5 a1 pass c3 e4").key,
        Position.from_setup(IRENSEI, black=["a1", "c3"], white=["e4", "e5"]).key,
    }
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("one", "another", "opening", "overrides"),
    [
        pytest.param("a1", "a2", "none", {}, id="stones"),
        pytest.param("a1 b1", "b1 a1", "none", {}, id="colours"),
        pytest.param("pass", "", "none", {}, id="pass and colour to play"),
        pytest.param("a1 b1 pass", "a1 pass pass", "none", {}, id="over"),
        pytest.param("a1 black", "a1 white", "swap-1st", {}, id="seats"),
        pytest.param("a1", "a1 white", "swap-1st", {}, id="phase"),
        pytest.param("a1 b1 c1 more", "a1 b1 c1", "swap-2", {}, id="phase, more"),
        pytest.param("a1 b1", "a1 pass b1", "swap-5", {}, id="owners in the opening"),
        pytest.param("a1 pass", "a1", "swap-5", {}, id="token"),
        pytest.param(
            "pass e5 a1 pass c3 e4",
            "a1 pass c3 e5 pass e4",
            "none",
            {"pass_tiebreak": True},
            id="first passer",
        ),
        pytest.param(
            "pass e5 a1 pass c3 e4", "a1 e5 c3 e4", "none", {"ply_limit": 50}, id="plies left"
        ),
    ],
)
def test_keys_differ(one: str, another: str, opening: str, overrides: dict[str, object]) -> None:
    fields = {"size": 5, "line_length": 5, "gutter": 0} | overrides
    rules = RuleSet.preset("irensei", **fields)
    assert played(rules, one, opening).key != played(rules, another, opening).key


def test_the_key_knows_the_ko() -> None:
    """Black has just taken c3; White may not retake, but may on the same stones without history."""
    ko = played(IRENSEI, "b3 d4 c4 e3 c2 d2 a1 c3 d3")
    assert ko.why_illegal("c3") == "superko"
    free = set_up_again(ko)
    assert free.rows() == ko.rows()
    assert free.is_legal("c3")
    assert free.key != ko.key


# -- outcomes ------------------------------------------------------------------------------------


@every_game
def test_an_outcome_is_one_seats_win_and_the_others_loss(rules: RuleSet, opening: str) -> None:
    for seed in range(8):
        end = finished_game(rules, opening, seed)
        assert end.outcome is not None
        check_outcome(end, end.outcome)


def check_outcome(position: Position, outcome: Outcome) -> None:
    assert outcome.reason in REASONS
    assert position.phase == "over"
    assert len(position.legal_actions()) == 0
    assert {position.why_illegal(a) for a in range(position.rules.num_actions)} == {"game-over"}
    seat, colour = outcome.winner_seat, outcome.winner_colour
    assert (seat is None) == (colour is None)
    if seat is not None and colour is not None:
        assert position.colour_of(seat) == colour
        assert position.colour_of(other(seat)) == other(colour)
        check_line(position, outcome, colour)


def check_line(position: Position, outcome: Outcome, winner: str) -> None:
    """The line is of stones of the colour that made it, the last one placed among them."""
    assert bool(outcome.line) == (outcome.reason in ("line", "overline"))
    if outcome.line:
        maker = other(winner) if outcome.reason == "overline" else winner
        stones = position.board.reshape(-1)[list(outcome.line)]
        assert set(stones) == {1 if maker == "black" else 2}
        switched = position.rules.capture == "switch"  # then any stone may have made it
        assert position.actions[-1] in outcome.line or switched
        assert list(outcome.line) == sorted(set(outcome.line))


# -- symmetries ----------------------------------------------------------------------------------


@every_game
def test_symmetries_commute_with_play(rules: RuleSet, opening: str) -> None:
    moves = [
        symmetry.canvas_actions(rules, rules.height, rules.width, number)
        for number in range(symmetry.count(rules))
    ]
    twins = [Position(rules, opening) for _ in moves]
    done = 0
    for position in random_game(rules, opening, seed=6):
        for number, (move, twin) in enumerate(zip(moves, twins, strict=True)):
            for action in position.actions[done:]:
                twin.play(int(move[action]))
            assert set(twin.legal_actions()) == set(move[position.legal_actions()])
            assert (twin.seat, twin.to_play, twin.phase) == (
                position.seat,
                position.to_play,
                position.phase,
            )
            check_turned_outcome(position, twin, move)
            # The network sees the turned position as the position turned.
            turned, whole = features.features(position, symmetry=number), features.features(twin)
            for seen, expected in zip(turned, whole, strict=True):
                assert np.array_equal(seen, expected)
        done = position.ply


def check_turned_outcome(position: Position, twin: Position, move: np.ndarray) -> None:
    one, two = position.outcome, twin.outcome
    assert (one is None) == (two is None)
    if one is not None and two is not None:
        assert (one.winner_seat, one.reason) == (two.winner_seat, two.reason)
        assert {int(move[point]) for point in one.line} == set(two.line)


def test_symmetries_are_different_permutations() -> None:
    for rules, _ in COMBINATIONS:
        shape = rules.height, rules.width
        found = [symmetry.canvas_actions(rules, *shape, s) for s in range(symmetry.count(rules))]
        assert len({tuple(moves) for moves in found}) == len(found)
        assert len(found) == (8 if rules.width == rules.height else 4)
        assert all(sorted(moves) == list(range(rules.num_actions)) for moves in found)
        assert list(found[0]) == list(range(rules.num_actions))


# -- what is printed, packed and shown to the network --------------------------------------------


@every_game
def test_rows_board_and_diagram_agree(rules: RuleSet, opening: str) -> None:
    for position in random_game(rules, opening, seed=7):
        rows = position.rows().split("/")
        assert ["".join(".XO"[stone] for stone in row) for row in position.board[::-1]] == rows
        diagram = str(position).splitlines()[: rules.height]
        drawn = ["".join(line.split()[1:]).replace(",", ".") for line in diagram]
        assert drawn == rows
        assert [int(line.split()[0]) for line in diagram] == list(range(rules.height, 0, -1))


@every_game
def test_rows_can_be_set_up_again(rules: RuleSet, opening: str) -> None:
    for position in random_game(rules, opening, seed=8):
        if position.outcome is None:
            again = set_up_again(position)
            assert again.rows() == position.rows()
            assert again.stones_key == position.stones_key
            assert again.to_play == position.to_play
            assert again.colour_of(again.seat) == position.to_play
            assert again.recomputed_key() == again.key


@every_game
def test_packed_positions_decode_to_their_features(rules: RuleSet, opening: str) -> None:
    positions = [p.copy() for p in random_game(rules, opening, seed=9) if p.outcome is None]
    packed = [position.pack() for position in positions]
    assert len({len(data) for data in packed}) == 1
    height, width = max(rules.height, rules.width) + 1, max(rules.height, rules.width) + 2
    for number in range(symmetry.count(rules)):
        symmetries = np.full(len(packed), number)
        planes, globals_, legal = features.decode(rules, opening, packed, symmetries, height, width)
        for row, position in enumerate(positions):
            expected = features.features(position, height, width, number)
            assert np.array_equal(planes[row], expected[0])
            assert np.array_equal(globals_[row], expected[1])
            assert np.array_equal(legal[row], expected[2])


@pytest.mark.parametrize(
    ("rows", "said"),
    [([1], "row 1 of a batch of 1"), ([-1], "row -1"), ([0, 0], "differ in number")],
)
def test_rows_that_a_batch_lacks_are_refused(rows: list[int], said: str) -> None:
    position, batch = Position(RuleSet.preset("mnk")), features.empty_batch(1, 3, 3)
    packed, turns = [position.pack()], np.zeros(1, np.int64)
    with pytest.raises(ValueError, match=said):
        features.decode_into(batch, np.array(rows), position.rules, "none", packed, turns)
    assert not batch[0].any()


@every_game
def test_features_show_the_position(rules: RuleSet, opening: str) -> None:
    height, width = rules.height + 1, rules.width + 2
    actions = symmetry.canvas_actions(rules, height, width, 0)
    for position in random_game(rules, opening, seed=10):
        planes, _, legal = features.features(position, height, width)
        shown = dict(zip(features.PLANES, planes, strict=True))
        board = np.zeros((height, width), np.int8)
        board[: rules.height, : rules.width] = position.board
        own, theirs = (1, 2) if position.to_play == "black" else (2, 1)
        assert np.array_equal(shown["own"], board == own)
        assert np.array_equal(shown["other"], board == theirs)
        assert shown["on_board"].sum() == rules.points
        assert shown["on_board"][: rules.height, : rules.width].all()
        assert set(np.flatnonzero(legal)) == set(actions[position.legal_actions()])
        assert np.array_equal(shown["legal"].reshape(-1), legal[: height * width])
