"""The solver against the literature and against plain minimax."""

import signal
from types import FrameType

import numpy as np
import pytest

from engine import OPENINGS, Position, RuleError, RuleSet
from engine.rules import OVERLINES
from engine.solver import Solver, Verdict, solve


def mnk(width: int, height: int, line: int, **rules: object) -> RuleSet:
    return RuleSet.preset("mnk", width=width, height=height, line_length=line, **rules)


# Results: van den Herik, Uiterwijk, van Rijswijck 2002, "Games solved: now and in the future",
# table of mnk-games. Lengths of wins: this solver, and plain minimax for the smallest.
KNOWN = [
    (3, 3, 3, 0, None),
    (4, 3, 3, 1, 7),
    (4, 4, 3, 1, 5),
    (4, 4, 4, 0, None),
    (5, 4, 4, 0, None),
    (5, 5, 4, 0, None),
    (6, 5, 4, 1, 11),
    (5, 6, 4, 1, 11),
    (6, 6, 4, 1, 11),
]


@pytest.mark.parametrize(("width", "height", "line", "value", "plies"), KNOWN)
def test_known_games(width: int, height: int, line: int, value: int, plies: int | None) -> None:
    rules = mnk(width, height, line)
    assert Solver(rules).examine(Position(rules)) == Verdict(value=value, plies=plies)
    assert solve(Position(rules)) == value


def minimax(position: Position, known: dict[int, Verdict]) -> Verdict:
    """The same by trying everything."""
    if position.outcome is not None:
        return Verdict(value=position.outcome.value(position.seat), plies=0)
    if position.key not in known:
        choices = []
        for action in position.legal_actions():
            child = position.copy()
            child.play(int(action))
            below = minimax(child, known)
            value = below.value if child.seat == position.seat else -below.value
            choices.append((value, -value * ((below.plies or 0) + 1)))
        value, length = max(choices)
        known[position.key] = Verdict(value=value, plies=abs(length) if value else None)
    return known[position.key]


def crowded(rules: RuleSet, opening: str, free: int, rng: np.random.Generator) -> Position | None:
    """A position after random play with so many free points left; None where the game ended."""
    position = Position(rules, opening)
    while position.outcome is None:
        if position.phase == "play" and np.sum(position.board == 0) <= free:
            return position
        position.play(int(rng.choice(position.legal_actions())))
    return None


def random_rules(rng: np.random.Generator) -> RuleSet:
    """Plain rules mostly, with every kind of overline; sometimes passes, a limit, captures."""
    width, height = (int(side) for side in rng.integers(3, 5, size=2))
    extra: dict[str, object] = {}
    if rng.random() < 0.2:
        extra = {"passing": True, "pass_tiebreak": bool(rng.random() < 0.5)}
    if rng.random() < 0.2:
        extra["ply_limit"] = int(rng.integers(4, width * height + 3))
        if rng.random() < 0.5:
            extra |= {"capture": "remove", "suicide": bool(rng.random() < 0.5)}
    gutter = int(min(width, height) == 4 and rng.random() < 0.1)
    return mnk(
        width,
        height,
        int(rng.integers(3, 5)),
        gutter=gutter,
        overline=str(rng.choice(OVERLINES)),
        **extra,
    )


def fits(opening: str, rules: RuleSet) -> bool:
    """Whether the board has room for the opening."""
    try:
        OPENINGS[opening].check(rules)
    except RuleError:
        return False
    return True


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_minimax(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(25):
        rules = random_rules(rng)
        opening = str(rng.choice([name for name in OPENINGS if fits(name, rules)]))
        free = int(rng.integers(3, 5 if rules.passing or rules.ply_limit else 7))
        solver, known = Solver(rules, opening, table_bits=int(rng.integers(4, 12))), {}
        for _ in range(4):
            position = crowded(rules, opening, free, rng)
            if position is not None:
                expected = minimax(position, known)
                assert solver.examine(position) == expected, (rules, opening, position.actions)


def test_moves_have_the_values_of_what_follows() -> None:
    rules = mnk(4, 3, 3)
    solver, position, known = Solver(rules), Position(rules), {}
    for action in (5, 0, 11):
        position.play(action)
    verdicts = solver.examine_moves(position)
    assert verdicts is not None
    assert list(verdicts) == position.legal_actions().tolist()
    for action, verdict in verdicts.items():
        child = position.copy()
        child.play(action)
        below = minimax(child, known)
        assert verdict.value == -below.value
        assert verdict.plies == (None if below.plies is None else below.plies + 1)
    assert solver.solve_moves(position) == {a: verdict.value for a, verdict in verdicts.items()}


def test_first_moves_on_6x6_divide_into_won_and_lost() -> None:
    """The nine points of a quarter: only the inner board keeps the first player's win."""
    rules = mnk(6, 6, 4)
    solver = Solver(rules)
    values = {}
    for action in (0, 1, 2, 7, 8, 14):
        position = Position(rules)
        position.play(action)
        values[position.action_name(action)] = solver.solve(position)
    assert values == {"a1": 1, "b1": 1, "c1": 1, "b2": -1, "c2": -1, "c3": -1}


def test_whoever_chooses_a_colour_does_not_lose() -> None:
    for rules, value in ((mnk(3, 3, 3), 0), (mnk(4, 4, 3), -1), (mnk(6, 6, 4), -1)):
        assert Solver(rules, "swap-1st").solve(Position(rules, "swap-1st")) == value
    position = Position(mnk(6, 6, 4), "swap-1st")
    solver = Solver(position.rules, "swap-1st")
    position.play("c3")
    moves = solver.solve_moves(position)
    assert moves == {position.parse_action("black"): 1, position.parse_action("white"): -1}


def test_symmetric_positions_share_what_is_known() -> None:
    rules = mnk(6, 6, 4)
    solver, first, twin = Solver(rules), Position(rules), Position(rules)
    for action, turned in (("a2", "e1"), ("c4", "c3"), ("f6", "a6")):
        first.play(action)
        twin.play(turned)
    expected = solver.examine(first)
    before = solver.nodes
    assert solver.examine(twin) == expected
    assert solver.nodes - before < 40


def test_a_budget_of_nodes() -> None:
    rules = mnk(5, 5, 4)
    solver = Solver(rules)
    assert solver.solve(Position(rules), max_nodes=1000) is None
    assert solver.nodes == 1000
    assert solver.solve_moves(Position(rules), max_nodes=500) is None
    assert solver.nodes == 1500
    assert solver.solve(Position(rules), max_nodes=1_000_000) == 0
    solver.clear()
    assert solver.solve(Position(rules), max_nodes=1000) is None


def test_finished_games() -> None:
    rules = mnk(3, 3, 3)
    position = Position(rules)
    for action in ("a1", "a2", "b1", "b2", "c1"):
        position.play(action)
    assert Solver(rules).examine(position) == Verdict(value=-1, plies=0)
    assert Solver(rules).examine_moves(position) == {}


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(RuleError, match="superko"):
        Solver(RuleSet.preset("irensei", size=5, gutter=0, line_length=4))
    with pytest.raises(RuleError, match="ply_limit"):
        Solver(mnk(3, 3, 3, ply_limit=5000))
    with pytest.raises(RuleError, match="opening"):
        Solver(mnk(3, 3, 3), "swap-9")
    with pytest.raises(ValueError, match="table_bits"):
        Solver(mnk(3, 3, 3), table_bits=40)
    with pytest.raises(ValueError, match="another game"):
        Solver(mnk(3, 3, 3)).solve(Position(mnk(4, 3, 3)))
    with pytest.raises(ValueError, match="another game"):
        Solver(mnk(3, 3, 3)).solve(Position(mnk(3, 3, 3), "swap"))


def test_a_signal_ends_a_search() -> None:
    class EnoughError(Exception):
        pass

    def handler(number: int, frame: FrameType | None) -> None:
        raise EnoughError

    rules = mnk(9, 9, 5)
    solver = Solver(rules, table_bits=10)
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(EnoughError):
            solver.solve(Position(rules))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert Solver(mnk(3, 3, 3)).solve(Position(mnk(3, 3, 3))) == 0
