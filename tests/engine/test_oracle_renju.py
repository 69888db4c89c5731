"""Renju's openings and the reference's forbidden moves against outside data (tests/data/renju)."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.reference import renju
from tests.reference.adapters import IMPLEMENTATIONS, Game
from tests.reference.board import Point, Stones, all_points, name_of, point_of
from tests.reference.figures import TURNS, images, shifted
from tests.reference.rules import Rules, preset

DATA = Path(__file__).parents[1] / "data" / "renju"
SAMPLE = 25  # every so many positions are judged in a quick run

Record = dict[str, Any]

with gzip.open(DATA / "forbidden.jsonl.gz", "rt") as lines:
    POSITIONS: list[Record] = [json.loads(line) for line in lines]
CASES: list[Record] = json.loads((DATA / "cases.json").read_text())
DISAGREEMENTS: list[Record] = json.loads((DATA / "disagreements.json").read_text())
FIGURES: list[Record] = json.loads((DATA / "fifth_move_symmetry.json").read_text())
OPENINGS: list[Record] = json.loads((DATA / "openings26.json").read_text())["openings"]

RENJU = preset("renju")
CENTRE = (7, 7)
FAR_POINT = (100, 1000)
# Of how many figures the legal offers are asked for: the reference is slow.
LEGAL_EVERY = {"reference": 9, "engine": 1}


def stones_of(record: Record, rules: Rules) -> Stones:
    stones: Stones = {}
    for colour in ("black", "white"):
        for name in record[colour]:
            point = point_of(name, rules)
            assert point is not None
            stones[point] = colour
    return stones


# -- forbidden moves -----------------------------------------------------------------------------


def check_points(record: Record) -> None:
    rules = preset("renju", size=record["size"])
    stones = stones_of(record, rules)
    forbidden = renju.forbidden_points(stones, rules)
    assert {name_of(p): kinds for p, kinds in forbidden.items()} == record["forbidden"], record
    assert set(map(name_of, renju.points_of_five(stones, rules))) == set(record["fives"]), record


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["title"])
def test_reference_judges_the_case(case: Record) -> None:
    check_points(case)


def test_reference_judges_some_positions() -> None:
    for record in POSITIONS[::SAMPLE]:
        check_points(record)


def test_reference_judges_what_is_judged_differently_elsewhere() -> None:
    by_id = {record["id"]: record for record in POSITIONS}
    for record in DISAGREEMENTS:
        rules = preset("renju", size=by_id[record["position"]]["size"])
        point = point_of(record["point"], rules)
        assert point is not None
        kinds = renju.kinds(stones_of(by_id[record["position"]], rules), point, rules)
        assert kinds == record["kinds"], record
        assert bool(kinds) == (record["verdict"] == "forbidden")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_reference_judges_all_positions() -> None:
    for record in POSITIONS:
        check_points(record)


# -- the 26 openings -----------------------------------------------------------------------------


def placements(opening: str, kind: str) -> dict[str, set[str]]:
    """The legal stones 3 after each legal stone 2."""
    game: Game = IMPLEMENTATIONS[kind](RENJU, opening)
    assert game.legal() == {"h8"}
    game.play("h8")
    found = {}
    for second in game.legal():
        after = game.copy()
        after.play(second)
        found[second] = after.legal()
    return found


def equivalents(left_out: tuple[str, ...] = ()) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for opening in OPENINGS:
        if opening["id"] not in left_out:
            for second, third in opening["equivalents"]:
                assert third not in found[second]
                found[second].add(third)
    return found


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
@pytest.mark.parametrize("opening", ["rif", "yamaguchi", "soosorv-8"])
def test_the_26_openings(opening: str, kind: str) -> None:
    found = placements(opening, kind)
    assert found == equivalents()
    assert sum(map(len, found.values())) == 184


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_two_openings_are_left_out(kind: str) -> None:
    assert placements("renju-swap", kind) == equivalents(left_out=("D13", "I13"))


# -- equivalent fifth moves ----------------------------------------------------------------------


def classes_of(record: Record) -> dict[str, set[str]]:
    """The points that are the same fifth move as this one, for each that has another such."""
    return {point: set(group) - {point} for group in record["classes"] for point in group}


def offering(moves: list[str], kind: str) -> Game:
    """Black's offers after these four stones; nobody has swapped."""
    game: Game = IMPLEMENTATIONS[kind](RENJU, "soosorv-12")
    for action in (*moves[:3], "white", moves[3], "12", "black"):
        game.play(action)
    return game


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_offers_refuse_what_is_equivalent(kind: str) -> None:
    for record in FIGURES:
        start = offering(record["moves"], kind)
        for first, *others in record["classes"]:
            game = start.copy()
            game.play(first)
            reasons = {point: game.why_illegal(point) for point in (first, *others)}
            assert set(reasons.values()) == {"equivalent"}, (record["moves"], reasons)


@pytest.mark.parametrize("kind", IMPLEMENTATIONS)
def test_offers_refuse_nothing_else(kind: str) -> None:
    """After one point of a class, and after one that has no equivalent."""
    for record in FIGURES[:: LEGAL_EVERY[kind]]:
        same = classes_of(record)
        start = offering(record["moves"], kind)
        for point in (min(same), *sorted(start.legal() - same.keys())[:1]):
            game = start.copy()
            game.play(point)
            refused = same.get(point, set()) | {point}
            assert game.legal() == start.legal() - refused, (record["moves"], point)


def figure_of(moves: list[str]) -> Stones:
    """Stones of alternating colours, black first."""
    figure: Stones = {}
    for number, move in enumerate(moves):
        point = point_of(move, RENJU)
        assert point is not None
        figure[point] = ("black", "white")[number % 2]
    return figure


def on_board(points: set[Point]) -> set[str]:
    return {name_of(point) for point in points & set(all_points(RENJU))}


def test_the_reference_knows_every_equivalent() -> None:
    for record in FIGURES:
        same, figure = classes_of(record), figure_of(record["moves"])
        for point in set(all_points(RENJU)) - figure.keys():
            found = on_board(images(figure, point)) - {name_of(point)}
            assert found == same.get(name_of(point), set()), (record["moves"], point)


def five_stone_figure(stones: Stones) -> frozenset[tuple[Point, str]]:
    """The first of the figure's rotations and reflections, all shifted into the same corner."""
    forms = []
    for turn in TURNS:
        turned = {turn(*stone): colour for stone, colour in stones.items()}
        left, low = min(x for x, _ in turned), min(y for _, y in turned)
        forms.append(sorted((shifted(p, (-left, -low)), colour) for p, colour in turned.items()))
    return frozenset(min(forms))


def test_equal_figures_of_five_are_equivalent_fifth_moves() -> None:
    """The rule's own wording: the figures that two fifth moves give are the same."""
    for record in FIGURES[::4]:
        figure = figure_of(record["moves"])
        groups: dict[frozenset[tuple[Point, str]], set[str]] = defaultdict(set)
        for point in set(all_points(RENJU)) - figure.keys():
            groups[five_stone_figure({**figure, point: "black"})].add(name_of(point))
        found = {frozenset(group) for group in groups.values() if len(group) > 1}
        assert found == set(map(frozenset, record["classes"])), record["moves"]


def test_how_many_figures_of_four_have_a_symmetry() -> None:
    """The numbers told with the data, for all fourth stones after the 26 openings."""
    figures = [
        figure_of([*opening["moves"], name_of(fourth)])
        for opening in OPENINGS
        for fourth in all_points(RENJU)
        if name_of(fourth) not in opening["moves"]
    ]
    # A point far off the lines of symmetry through the figure is moved by each of them.
    symmetric = [figure for figure in figures if len(images(figure, FAR_POINT)) > 1]
    off_centre = [figure for figure in symmetric if images(figure, CENTRE) != {CENTRE}]
    assert (len(figures), len(symmetric), len(off_centre)) == (5772, 163, 85)
