"""Black's forbidden points against outside data (tests/data/renju) and against the reference."""

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine import Position, RuleSet, symmetry
from engine._playout import flagged_points, list_fouls, point_flags, point_is_forbidden
from engine._position import PositionCore
from engine.notation import parse_action
from tests.reference import renju
from tests.reference.rules import preset

DATA = Path(__file__).parents[1] / "data" / "renju"
SHARED = Path(__file__).parents[3] / "shared" / "oracles" / "renju"

FIVE = 1
KINDS = {"overline": 2, "double-four": 4, "double-three": 8}
Record = dict[str, Any]
Flags = dict[int, int]

with gzip.open(DATA / "forbidden.jsonl.gz", "rt") as lines:
    POSITIONS: list[Record] = [json.loads(line) for line in lines]
CASES: list[Record] = json.loads((DATA / "cases.json").read_text())
DISAGREEMENTS: list[Record] = json.loads((DATA / "disagreements.json").read_text())


def board(width: int, height: int) -> RuleSet:
    """Of these rules only the board matters here."""
    return RuleSet.preset("mnk", width=width, height=height, line_length=5)


def core_of(
    rules: RuleSet, black: Iterable[int | str], white: Iterable[int | str] = ()
) -> PositionCore:
    return Position.from_setup(rules, black=black, white=white, allow_lines=True)._core


def core_of_record(record: Record) -> PositionCore:
    return core_of(board(record["size"], record["size"]), record["black"], record["white"])


def point_in(record: Record, name: str) -> int:
    return parse_action(board(record["size"], record["size"]), name)


def flags_of(kinds: Iterable[str]) -> int:
    return sum(KINDS[kind] for kind in kinds)


def expected_flags(record: Record) -> Flags:
    fives = {point_in(record, name): FIVE for name in record["fives"]}
    fouls = {point_in(record, name): flags_of(kinds) for name, kinds in record["forbidden"].items()}
    assert not fives.keys() & fouls.keys()
    return fives | fouls


# -- outside data --------------------------------------------------------------------------------


def test_every_point_of_every_position() -> None:
    assert len(POSITIONS) == 3000
    for record in POSITIONS:
        assert flagged_points(core_of_record(record)) == expected_flags(record), record["id"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: Record) -> None:
    core = core_of_record(case)
    assert flagged_points(core) == expected_flags(case)
    for name, check in case["checks"].items():
        words = {"legal": 0, "five": FIVE}
        expected = words[check] if isinstance(check, str) else flags_of(check)
        assert point_flags(core, point_in(case, name)) == expected, name


def test_points_that_other_programs_judge_otherwise() -> None:
    by_id = {record["id"]: record for record in POSITIONS}
    for point in DISAGREEMENTS:
        record = by_id[point["position"]]
        core, at = core_of_record(record), point_in(record, point["point"])
        assert point_flags(core, at) == flags_of(point["kinds"]), point
        assert point_is_forbidden(core, at) == (point["verdict"] == "forbidden"), point


# -- one point and all points --------------------------------------------------------------------


def check_single_points(core: PositionCore, points: int) -> None:
    flagged = flagged_points(core)
    for point in range(points):
        flags = flagged.get(point, 0)
        assert point_flags(core, point) == flags, point
        assert point_is_forbidden(core, point) == (flags > FIVE), point


def test_single_points_agree_with_the_list() -> None:
    for record in POSITIONS[::3]:
        check_single_points(core_of_record(record), record["size"] ** 2)


def test_judging_changes_nothing() -> None:
    cores = [core_of_record(record) for record in POSITIONS[::100]]
    before = [core.board().tolist() for core in cores]
    assert list_fouls(cores) == sum(len(record["forbidden"]) for record in POSITIONS[::100])
    assert [core.board().tolist() for core in cores] == before


def test_a_point_off_the_board_is_refused() -> None:
    core = core_of(board(7, 5), ())
    for point in (-1, 35):
        with pytest.raises(IndexError, match="not on the board"):
            point_flags(core, point)
        with pytest.raises(IndexError, match="not on the board"):
            point_is_forbidden(core, point)


# -- symmetries and sizes ------------------------------------------------------------------------


def test_symmetries_of_the_board_keep_the_flags() -> None:
    for record in POSITIONS[::10]:
        rules = board(record["size"], record["size"])
        black, white = ([parse_action(rules, p) for p in record[c]] for c in ("black", "white"))
        flagged = expected_flags(record)
        for turn in range(symmetry.count(rules)):
            to = symmetry.canvas_actions(rules, rules.height, rules.width, turn).tolist()
            core = core_of(rules, [to[p] for p in black], [to[p] for p in white])
            assert flagged_points(core) == {to[p]: f for p, f in flagged.items()}, record["id"]


def reference_flags(width: int, height: int, black: list[int], white: list[int]) -> Flags:
    rules = preset("mnk", width=width, height=height, line_length=5)
    stones = {(p % width, p // width): "black" for p in black}
    stones |= {(p % width, p // width): "white" for p in white}
    flagged = dict.fromkeys(renju.points_of_five(stones, rules), FIVE)
    for point, kinds in renju.forbidden_points(stones, rules).items():
        flagged[point] = flags_of(kinds)
    return {y * width + x: flags for (x, y), flags in flagged.items()}


def scattered(points: int, rng: random.Random) -> tuple[list[int], list[int]]:
    """Points of black and of white stones, from thin to crowded."""
    black, white = rng.uniform(0.05, 0.45), rng.uniform(0, 0.3)
    colours = rng.choices((None, "black", "white"), (1 - black - white, black, white), k=points)
    return (
        [point for point in range(points) if colours[point] == "black"],
        [point for point in range(points) if colours[point] == "white"],
    )


SIZES = [(5, 5), (5, 25), (25, 5), (6, 9), (7, 8), (8, 7), (16, 9), (9, 17), (24, 23), (25, 25)]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_boards_of_all_shapes_agree_with_the_reference(width: int, height: int) -> None:
    rng = random.Random(width * 100 + height)
    rules = board(width, height)
    some = 0
    for _ in range(1 + 800 // rules.points):
        black, white = scattered(rules.points, rng)
        core = core_of(rules, black, white)
        expected = reference_flags(width, height, black, white)
        assert flagged_points(core) == expected, (black, white)
        check_single_points(core, rules.points)
        some += len(expected)
    assert some


def test_lines_at_the_ends_of_the_largest_board() -> None:
    """The farthest points that masks and copies of the board must hold."""
    rules = board(25, 25)
    for black, flagged in (
        (("v25", "w25", "x25", "y24", "y23", "y22", "u25"), {"y25": FIVE, "t25": FIVE}),
        (("y25", "x24", "w23", "v22", "u21", "t20"), {"s19": KINDS["overline"]}),
        (("a25", "b24", "d22", "e21"), {"c23": FIVE}),
        (("a1", "b2", "c3", "e5", "f6"), {"d4": KINDS["overline"]}),
        (("y1", "x2", "w3", "u5", "t6"), {"v4": KINDS["overline"]}),
    ):
        expected = {parse_action(rules, name): flags for name, flags in flagged.items()}
        assert flagged_points(core_of(rules, black)) == expected, black


def test_empty_and_full_boards() -> None:
    rules = board(6, 5)
    assert flagged_points(core_of(rules, ())) == {}
    assert flagged_points(core_of(rules, range(30))) == {}
    # The last point makes six along its row, and five along its column: it wins.
    assert flagged_points(core_of(rules, range(29))) == {29: FIVE}


# -- the data ------------------------------------------------------------------------------------

FILES = [
    "cases.json",
    "disagreements.json",
    "fifth_move_symmetry.json",
    "forbidden.jsonl.gz",
    "openings26.json",
]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the source of the data is not beside the checkout")
@pytest.mark.parametrize("name", FILES)
def test_data_is_a_faithful_copy(name: str) -> None:
    assert (DATA / name).read_bytes() == (SHARED / name).read_bytes()
