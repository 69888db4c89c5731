"""The threat search: its claims by replay and by the exact solver, and positions of each kind."""

import gzip
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import Position, RuleSet, symmetry
from engine.evaluators import HashEvaluator
from engine.roots import UNPROVEN
from engine.search import SearchBatch, SearchConfig
from engine.solver import Solver
from engine.threats import KINDS, ThreatSearch, defences, find_win
from tests.engine.threat_checks import PLENTY, confirm, crowded_game, played_game

DATA = Path(__file__).parents[1] / "data"


def mnk(width: int, height: int, line: int, **rules: object) -> RuleSet:
    return RuleSet.preset("mnk", width=width, height=height, line_length=line, **rules)


GAMES = {
    "freestyle": RuleSet.preset("gomoku", size=7),
    "freestyle-8x6": RuleSet.preset("gomoku", width=8, height=6),
    "exact": RuleSet.preset("gomoku-standard", size=7),
    "renju": RuleSet.preset("renju", size=7),
    "renju-without-passes": RuleSet.preset("renju", size=7, passing=False, pass_after=0),
    "renju-fouls-lose": RuleSet.preset(
        "renju", size=7, forbidden="loss", passing=False, pass_after=0
    ),
    "caro": RuleSet.preset("caro", size=7),
    "caro-overlines": RuleSet.preset("caro-overlines", size=7),
    "three-on-4x5": mnk(4, 5, 3),
    "four-on-5x6": mnk(5, 6, 4),
    "six-on-9x8": mnk(9, 8, 6),
    "overlines-lose": mnk(6, 6, 4, overline="asymmetric"),
    "ply-limit": mnk(6, 6, 4, ply_limit=20),
    "passes": mnk(6, 5, 4, passing=True, pass_tiebreak=True),
    "irensei": RuleSet.preset("irensei", size=7, line_length=4, gutter=1),
    "irensei-overlines-lose": RuleSet.preset(
        "irensei", size=6, line_length=4, gutter=0, overline="symmetric-loss"
    ),
    "irensei-suicide": RuleSet.preset("irensei", size=6, line_length=4, gutter=0, suicide=True),
    "connect-go": RuleSet.preset("connect-go", size=6, line_length=4),
    "connect-go-without-suicide": RuleSet.preset(
        "connect-go", size=6, line_length=4, suicide=False
    ),
}


def check_claims(rules: RuleSet, seed: int, positions: int, longest: int) -> None:
    """Confirm what is found in so many positions of crowded games."""
    rng, search, seen, found = np.random.default_rng(seed), ThreatSearch(rules), 0, 0
    while seen < positions:
        for position in crowded_game(rules, rng):
            seen += 1
            for kind in KINDS:
                before = position.key, position.actions.copy()
                win = search.win(position, kind=kind, nodes=5000)
                assert (position.key, position.actions) == before
                if win is not None and 1 < win.plies <= longest:
                    found += 1
                    confirm(search, position.copy(), win, kind)
    assert found


@pytest.mark.parametrize("game", GAMES)
def test_every_claim_holds_against_all_defences(game: str) -> None:
    check_claims(GAMES[game], 1, 400, 5)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_every_claim_holds_in_many_games(game: str) -> None:
    check_claims(GAMES[game], 2, 1000, 9)


PLAYED = {
    "freestyle": RuleSet.preset("gomoku", size=9),
    "exact": RuleSet.preset("gomoku-standard", size=8),
    "renju": RuleSet.preset("renju", size=9),
    "caro": RuleSet.preset("caro", size=8),
    "irensei": RuleSet.preset("irensei", size=7, line_length=4, gutter=0),
    "connect-go": RuleSet.preset("connect-go", size=6, line_length=4),
}


@pytest.mark.parametrize("game", PLAYED)
def test_claims_hold_in_games_of_plain_tree_search(game: str) -> None:
    rng, search, found = np.random.default_rng(10), ThreatSearch(PLAYED[game]), 0
    for _ in range(4):
        for position in played_game(PLAYED[game], rng, 60):
            for kind in KINDS:
                win = search.win(position, kind=kind)
                if win is not None and 1 < win.plies <= 5:
                    found += 1
                    confirm(search, position.copy(), win, kind)
    assert found


def test_claims_hold_among_many_forbidden_points() -> None:
    """Positions of the oracle for Renju's forbidden moves, with either colour to play."""
    found = 0
    with gzip.open(DATA / "renju" / "forbidden.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines][::80]
    for record, forbidden in itertools.product(records, ("illegal", "loss")):
        rules = RuleSet.preset("renju", size=record["size"], forbidden=forbidden)
        search = ThreatSearch(rules)
        for colour in ("black", "white"):
            position = Position.from_setup(
                rules, black=record["black"], white=record["white"], to_play=colour
            )
            if position.outcome is not None:
                continue
            win = search.win(position, kind="fours")
            if win is not None and 1 < win.plies <= 7:
                found += 1
                confirm(search, position, win, "fours")
    assert found > 10


def recorded(game: str) -> Iterator[Position]:
    """Positions from the ends of outside games with captures, ko and switches."""
    with gzip.open(DATA / game / "games.jsonl.gz", "rt") as lines:
        records = [json.loads(line) for line in lines]
    for record in records:
        if game == "irensei":
            if record["pie"] != "none":
                continue
            rules = RuleSet.preset(
                "irensei", overline=record["overline"], pass_tiebreak=record["pass_tiebreak"]
            )
        elif record["win_length"] > 9:
            continue
        else:
            rules = RuleSet.preset(
                "connect-go", size=record["size"], line_length=record["win_length"]
            )
        position = Position(rules)
        for number, ply in enumerate(record["plies"]):
            if len(record["plies"]) - number in (2, 3, 5):
                yield position.copy()
            if not position.is_legal(ply["move"]):
                break  # a repetition, which that implementation plays and loses
            position.play(ply["move"])


@pytest.mark.parametrize("game", ["irensei", "connect_go"])
def test_claims_hold_in_recorded_games(game: str) -> None:
    found = 0
    for position in itertools.islice(recorded(game), 0, None, 8):
        search = ThreatSearch(position.rules)
        for kind in KINDS:
            win = search.win(position, kind=kind, nodes=5000)
            if win is not None and 1 < win.plies <= 3:
                found += 1
                confirm(search, position, win, kind)
    assert found


SOLVED = [
    mnk(4, 4, 3),
    mnk(5, 4, 4),
    mnk(4, 4, 3, overline="exact"),
    mnk(4, 4, 3, overline="symmetric-loss"),
    mnk(4, 4, 3, unblocked=True),
    mnk(4, 3, 3, passing=True),
    mnk(4, 4, 3, ply_limit=9),
    RuleSet.preset("connect-go", width=4, height=3, line_length=3),
    RuleSet.preset("connect-go", width=4, height=3, line_length=3, suicide=False),
]


@pytest.mark.parametrize("rules", SOLVED, ids=str)
def test_agrees_with_exact_values(rules: RuleSet) -> None:
    rng, search, solver = np.random.default_rng(3), ThreatSearch(rules), Solver(rules)
    found = 0
    for _ in range(30):
        for position in crowded_game(rules, rng):
            if position.ply < 3:
                continue
            exact = solver.examine(position)
            assert exact is not None
            win = search.win(position)
            if win is not None:
                found += 1
                assert exact.value == 1, position.actions
                assert exact.plies is not None
                assert exact.plies <= win.plies
            for action, loss in (search.defences(position) or {}).items():
                if loss is not None:
                    child = position.copy()
                    child.play(action)
                    assert solver.solve(child) == 1
    assert found > 20


def fours(position: Position, moves: int) -> bool:
    """Whether continuous fours win within so many moves, by nothing but the rules."""
    seat, colour = position.seat, position.to_play
    if position.winning_points():
        return True
    if moves == 1:
        return False
    points = [int(a) for a in position.legal_actions() if a < position.rules.points]
    for action in points:
        after = position.copy()
        after.play(action)
        if after.outcome is not None:
            continue
        empty = np.flatnonzero(after.board.ravel() == 0)
        if not any(after.line_value(int(point), colour) > 0 for point in empty):
            continue
        for reply in after.legal_actions().tolist():
            answered = after.copy()
            answered.play(reply)
            over = answered.outcome
            if over.winner_seat != seat if over else not fours(answered, moves - 1):
                break
        else:
            return True
    return False


@pytest.mark.parametrize(
    "game",
    ["freestyle", "exact", "renju", "caro", "four-on-5x6", "irensei", "ply-limit"],
)
def test_continuous_fours_miss_nothing(game: str) -> None:
    rng, search, wins = np.random.default_rng(4), ThreatSearch(GAMES[game]), 0
    for _ in range(6):
        for position in crowded_game(GAMES[game], rng):
            if rng.random() < 0.6:
                continue
            win = search.win(position, kind="fours", most=3)
            wanted = next((moves for moves in (1, 2, 3) if fours(position, moves)), None)
            assert (win and win.plies) == (wanted and 2 * wanted - 1), position.actions
            wins += wanted in (2, 3)
    assert wins


def board(rules: RuleSet, black: str, white: str, to_play: str = "black") -> Position:
    return Position.from_setup(rules, black=black.split(), white=white.split(), to_play=to_play)


def names(position: Position, actions: object) -> list[str]:
    return [position.action_name(action) for action in actions]  # type: ignore[attr-defined]


GOMOKU = RuleSet.preset("gomoku")
RENJU = RuleSet.preset("renju")
RENJU_LOSS = RuleSet.preset("renju", forbidden="loss")
DOUBLE_FOUR = ("d4 e4 f4 g5 g6 g7", "c4 g8 a1 a3 a5 a7")


def test_a_double_four() -> None:
    position = board(GOMOKU, *DOUBLE_FOUR)
    win = find_win(position, kind="fours")
    assert win is not None
    assert win.plies == 3
    assert names(position, win.actions)[0] == "g4"
    assert set(names(position, win.actions)[1:]) == {"h4", "g3"}


def test_a_double_four_is_forbidden_to_black_in_renju() -> None:
    for rules in (RENJU, RENJU_LOSS):
        win = find_win(board(rules, *DOUBLE_FOUR), kind="fours")
        assert win is None or win.actions[0] != board(rules, *DOUBLE_FOUR).parse_action("g4")
        turned = board(rules, DOUBLE_FOUR[1], DOUBLE_FOUR[0], "white")
        win = find_win(turned, kind="fours")
        assert win is not None
        assert names(turned, win.actions)[0] == "g4"


def test_a_four_whose_answer_is_itself_a_four() -> None:
    """g4 makes a four, h4 stops it; then g7 makes a straight four unless h4 has made one too."""
    stones = "d4 e4 f4 g5 g6", "c4 h5 h6 a1"
    win = find_win(board(GOMOKU, *stones), kind="fours")
    assert win is not None
    assert names(board(GOMOKU, *stones), win.actions[:2]) == ["g4", "h4"]
    assert win.plies == 5
    refuted = board(GOMOKU, stones[0] + " o15", stones[1] + " h7")
    assert find_win(refuted, kind="fours") is None


def test_two_open_threes() -> None:
    """h8 makes two open threes, which no single stone and no four of White's stops."""
    stones = "f8 g8 h6 h7", "a1 a11 k1 k11"
    rules = RuleSet.preset("gomoku", size=11)
    position = board(rules, *stones)
    assert find_win(position, kind="fours") is None
    win = find_win(position)
    assert win is not None
    assert win.plies == 5
    confirm(ThreatSearch(rules), position, win, "threes")
    win = find_win(board(RuleSet.preset("renju", size=11), *stones))
    assert win is None or position.action_name(win.actions[0]) != "h8", "a double-three"


def test_an_open_three_alone_does_not_win() -> None:
    assert find_win(board(GOMOKU, "g8 h8 i8", "a1 o15", "white")) is None
    position = board(GOMOKU, "g8 h8 i8", "a1 o15", "white")
    assert names(position, defences(position) or []) == ["f8", "j8"]


def test_a_four_of_ones_own_defends_for_a_while() -> None:
    """White's fours c3 and g3 are counted as defences: Black must answer them."""
    position = board(GOMOKU, "g8 h8 i8 h1 b3", "d3 e3 f3 a15", "white")
    found = set(names(position, defences(position, kind="fours") or []))
    assert {"f8", "j8", "g3"} <= found
    assert "a1" not in found


def test_nothing_to_defend_against() -> None:
    assert defences(board(GOMOKU, "g8 h8", "a1 o15", "white")) is None


def test_no_defence_is_left() -> None:
    position = board(GOMOKU, "g8 h8 i8 j8", "a1 o15 c3", "white")
    assert defences(position) == []


def test_black_is_forced_onto_a_forbidden_point() -> None:
    """e7 threatens e3, where Black, to stop it, would make a row of seven."""
    stones = "b3 c3 d3 f3 g3 h3 e2 e8", "e4 e5 e6 a3 i3 o1"
    for rules in (RENJU, RENJU_LOSS):
        position = board(rules, *stones, "white")
        win = find_win(position, kind="fours")
        assert win is not None
        assert win.plies == 3
        assert names(position, win.actions)[0] == "e7"
        confirm(ThreatSearch(rules), position, win, "fours")
    win = find_win(board(GOMOKU, *stones, "white"), kind="fours")
    assert win is None


CAPTURED = "c3 d4 e5", "d5 e4 e6 a9"


def test_a_capture_breaks_the_line() -> None:
    """f6 makes a straight four on the diagonal, in which f5 takes e5 away."""
    irensei = RuleSet.preset("irensei", size=9, line_length=5, gutter=0)
    connect = RuleSet.preset("connect-go", size=9)
    free = RuleSet.preset("gomoku", size=9)
    win = find_win(board(free, *CAPTURED), kind="fours")
    assert win is not None
    assert win.plies == 3
    for rules in (irensei, connect):
        assert find_win(board(rules, *CAPTURED), kind="fours") is None
        alive = board(rules, CAPTURED[0], "d5 e4 a9 a7")
        win = find_win(alive, kind="fours")
        assert win is not None
        assert win.plies == 3
        confirm(ThreatSearch(rules), alive, win, "fours")


def test_closed_ends_in_caro() -> None:
    caro = RuleSet.preset("caro")
    assert find_win(board(caro, "c8 d8 e8", "a8 g8 o1"), kind="fours") is None
    # The straight four c8-f8 is stopped by g8, which closes the row b8-f8 too.
    assert find_win(board(caro, "c8 d8 e8", "a8 o1 o3"), kind="fours") is None
    win = find_win(board(caro, "c8 d8 e8", "a9 o1 o3"), kind="fours")
    assert win is not None
    assert win.plies == 3


def test_exact_lines() -> None:
    """f8 would make six."""
    stones = "c8 d8 e8 g8 h8", "b8 i8 o1 o3"
    position = board(GOMOKU, *stones)
    win = find_win(position)
    assert win is not None
    assert win.plies == 1
    win = find_win(board(RuleSet.preset("gomoku-standard"), *stones), kind="fours")
    assert win is None


def test_a_win_must_come_before_the_ply_limit() -> None:
    for limit, wins in ((2, False), (3, True)):
        rules = RuleSet.preset("gomoku", size=9, ply_limit=limit)
        win = find_win(board(rules, "d5 e5 f5", "a1 a3 a5"))
        assert (win is not None) == wins


def test_lines_outside_the_region_count_nothing() -> None:
    rules = RuleSet.preset("irensei", size=9, line_length=5, gutter=2)
    assert find_win(board(rules, "b2 c2 d2 e2", "a9 c9 e9 g9"), kind="fours") is None
    win = find_win(board(rules, "c3 d3 e3 f3", "a9 c9 e9 g9"), kind="fours")
    assert win is not None
    assert win.plies == 1


@pytest.mark.parametrize("line", range(3, 10))
def test_any_line_length_on_the_largest_board(line: int) -> None:
    rules = RuleSet.preset("gomoku", width=25, height=24, line_length=line)
    row = [f"{chr(ord('h') + k)}12" for k in range(line - 2)]
    position = board(rules, " ".join(row), "a1 a3 a5 a7 a9 y24 y22 y20"[: 3 * (line - 2)])
    win = find_win(position, kind="fours")
    assert win is not None
    assert win.plies == 3


def test_a_set_up_with_a_line_is_left_alone() -> None:
    """White's b3 in the gutter would win by the line that stands there."""
    rules = RuleSet.preset("irensei", size=9, line_length=4, gutter=2, overline="symmetric-win")
    black, white = ["d7", "e7", "g3"], ["c3", "d3", "e3", "f3"]
    position = Position.from_setup(rules, black=black, white=white, allow_lines=True)
    assert position.outcome is None
    assert find_win(position) is None


def test_a_line_that_nobody_can_make() -> None:
    rules = mnk(5, 4, 6)
    assert find_win(board(rules, "a1 b1 c1 d1", "a3 b3 c3")) is None


def test_the_opening_and_the_end_are_left_alone() -> None:
    position = Position(RuleSet.preset("gomoku", size=7, line_length=3), "swap-2")
    while position.phase != "play":
        assert find_win(position) is None
        assert defences(position) is None
        position.play(int(position.legal_actions()[0]))
    position = board(mnk(4, 4, 3), "a1 b1", "a4 b4")
    position.play("c1")
    assert position.outcome is not None
    assert find_win(position) is None


def test_the_benchmarks_opening_with_a_single_winning_move() -> None:
    position = Position(mnk(6, 6, 4))
    for action in ("e4", "e6", "b1", "d3"):
        position.play(action)
    search = ThreatSearch(position.rules, table_bits=20)
    win = search.win(position, nodes=3_000_000)
    assert win is not None
    assert position.action_name(win.actions[0]) == "c1"


def test_limits() -> None:
    rules = GAMES["freestyle"]
    rng = np.random.default_rng(5)
    search = ThreatSearch(rules)
    for position in crowded_game(rules, rng):
        for nodes in (0, 1, 100, 3000):
            before = search.nodes
            search.win(position, nodes=nodes)
            # A node is finished: its moves may be made once the last one is spent.
            assert search.nodes - before <= nodes + 8 * rules.points
        assert search.win(position, most=0) is None
        win = search.win(position, until=time.monotonic() - 1)
        assert win is None or win.plies == 1


def test_the_same_question_has_the_same_answer() -> None:
    rules = GAMES["renju"]
    old, rng = ThreatSearch(rules, table_bits=8), np.random.default_rng(6)
    for position in crowded_game(rules, rng):
        for kind in KINDS:
            fresh = ThreatSearch(rules, table_bits=8)
            again = old.nodes
            assert old.win(position, kind=kind) == fresh.win(position, kind=kind)
            assert old.nodes - again == fresh.nodes


def test_lines_end_the_game() -> None:
    for rules in GAMES.values():
        rng, search = np.random.default_rng(7), ThreatSearch(rules)
        for position in crowded_game(rules, rng):
            win = search.win(position)
            if win is None:
                continue
            played = position.copy()
            for action in win.actions:
                assert played.outcome is None
                played.play(action)
            assert played.outcome is not None
            assert played.outcome.winner_seat == position.seat
            assert len(win.actions) <= win.plies


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), game=st.sampled_from(sorted(GAMES)), data=st.data())
def test_a_symmetry_changes_nothing(seed: int, game: str, data: st.DataObject) -> None:
    rules = GAMES[game]
    rng = np.random.default_rng(seed)
    positions = list(crowded_game(rules, rng, passes=0))
    position = positions[data.draw(st.integers(0, len(positions) - 1))]
    turn = data.draw(st.integers(0, symmetry.count(rules) - 1))
    turned = symmetry.canvas_actions(rules, rules.height, rules.width, turn)
    image = Position(rules)
    for action in position.actions:
        image.play(int(turned[action]))
    for kind in KINDS:
        here = find_win(position, kind=kind, nodes=PLENTY)
        there = find_win(image, kind=kind, nodes=PLENTY)
        assert (here and here.plies) == (there and there.plies)


def test_what_is_refused() -> None:
    search = ThreatSearch(GOMOKU)
    with pytest.raises(ValueError, match="another game"):
        search.win(Position(RENJU))
    with pytest.raises(ValueError, match="fives"):
        search.win(Position(GOMOKU), kind="fives")
    with pytest.raises(ValueError, match="table_bits"):
        ThreatSearch(GOMOKU, table_bits=99)


@pytest.mark.parametrize("rules", SOLVED, ids=str)
def test_proofs_of_a_search_that_looks_at_its_leaves(rules: RuleSet) -> None:
    rng, solver = np.random.default_rng(8), Solver(rules)
    config = SearchConfig(simulations=40, threat_nodes=300)
    batch = SearchBatch(1, config, height=rules.height, width=rules.width)
    proven = found = 0
    for _ in range(20):
        for position in crowded_game(rules, rng):
            if position.ply < 2:
                continue
            batch.start(0, position, seed=1)
            batch.run(HashEvaluator())
            result = batch.result(0)
            found += max(batch.threat_plies(0)) > 3
            for action, proof in zip(result.actions.tolist(), result.proofs, strict=True):
                if proof != UNPROVEN:
                    proven += 1
                    child = position.copy()
                    child.play(action)
                    value = solver.solve(child)
                    assert value is not None
                    assert (value if child.seat == position.seat else -value) == proof
    assert proven > 50
    assert found


def test_leaves_are_looked_at_where_asked_for() -> None:
    rules = RuleSet.preset("gomoku", size=9)
    position = board(rules, "d5 e5 f5", "a1 a3 a5 b8", "white")
    plies = {}
    for nodes in (0, 100):
        config = SearchConfig(simulations=30, threat_nodes=nodes)
        batch = SearchBatch(1, config, height=9, width=9)
        batch.start(0, position, seed=1)
        batch.run(HashEvaluator())
        plies[nodes] = max(batch.threat_plies(0))
    assert plies == {0: 0, 100: 3}
