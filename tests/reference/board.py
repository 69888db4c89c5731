"""Stones and what one more stone does to them: captures, suicide, lines. No turns, no history.

Written for reading beside the rule text; nothing here is shared with `engine` and nothing is fast.
"""

from dataclasses import dataclass

from tests.reference.rules import Rules

Point = tuple[int, int]  # (column, row), both from 0; (0, 0) is a1, the lower left corner
Stones = dict[Point, str]  # "black" or "white" for each point that holds a stone

COLUMNS = "abcdefghijklmnopqrstuvwxy"  # i is used
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


def name_of(point: Point) -> str:
    column, row = point
    return f"{COLUMNS[column]}{row + 1}"


def point_of(name: str, rules: Rules) -> Point | None:
    """The point called `name`, None if there is none on this board."""
    column, digits = COLUMNS.find(name[:1]), name[1:]
    if not digits.isdecimal() or digits.startswith("0"):
        return None
    row = int(digits) - 1
    return (column, row) if 0 <= column < rules.width and row < rules.height else None


def all_points(rules: Rules) -> list[Point]:
    return [(column, row) for row in range(rules.height) for column in range(rules.width)]


def other(colour: str) -> str:
    return "white" if colour == "black" else "black"


# -- chains ------------------------------------------------------------------------------------


def neighbours(point: Point, rules: Rules) -> list[Point]:
    column, row = point
    around = [(column - 1, row), (column + 1, row), (column, row - 1), (column, row + 1)]
    return [(x, y) for x, y in around if 0 <= x < rules.width and 0 <= y < rules.height]


def chain_at(stones: Stones, point: Point, rules: Rules) -> set[Point]:
    """All stones of one colour joined orthogonally to the stone at `point`."""
    chain, to_visit = {point}, [point]
    while to_visit:
        for near in neighbours(to_visit.pop(), rules):
            if near not in chain and stones.get(near) == stones[point]:
                chain.add(near)
                to_visit.append(near)
    return chain


def has_liberty(stones: Stones, chain: set[Point], rules: Rules) -> bool:
    return any(near not in stones for point in chain for near in neighbours(point, rules))


# -- lines -------------------------------------------------------------------------------------


def runs_through(stones: Stones, point: Point) -> list[list[Point]]:
    """For each of the four directions the unbroken run of one colour that holds `point`."""
    runs = []
    for dx, dy in DIRECTIONS:
        run = [point]
        for sign in (1, -1):
            x, y = point[0] + sign * dx, point[1] + sign * dy
            while stones.get((x, y)) == stones[point]:
                run.append((x, y))
                x, y = x + sign * dx, y + sign * dy
        runs.append(run)
    return runs


def inside(run: list[Point], rules: Rules) -> list[Point]:
    """The stones of the run that lie in the region: the board less its gutter."""
    gutter = rules.gutter
    return [
        (x, y)
        for x, y in run
        if gutter <= x < rules.width - gutter and gutter <= y < rules.height - gutter
    ]


def loses_by_overline(colour: str, rules: Rules) -> bool:
    return rules.overline == "symmetric-loss" or (
        rules.overline == "asymmetric" and colour == "black"
    )


def judge(stones: Stones, point: Point, rules: Rules) -> tuple[str | None, list[Point]]:
    """What the stone just placed at `point` has made, and the stones that make it.

    "overline": its colour loses. "line": its colour wins. None: neither.
    F is the length of a run on the whole board, C the length of its part in the region.
    """
    needed = rules.line_length
    runs = [(run, len(run), inside(run, rules)) for run in runs_through(stones, point)]
    if loses_by_overline(stones[point], rules):
        too_long = [run for run, f, _ in runs if f > needed]
        if too_long:  # judged before the win
            return "overline", sorted({p for run in too_long for p in run})
        winning = [part for _, _, part in runs if len(part) == needed]
    elif rules.overline == "exact":
        winning = [part for _, f, part in runs if f == needed and len(part) == needed]
    else:
        winning = [part for _, _, part in runs if len(part) >= needed]
    if winning:
        return "line", sorted({p for part in winning for p in part})
    return None, []


# -- placing -----------------------------------------------------------------------------------


@dataclass
class Placement:
    """What a stone does: the board after it, the points it emptied, what `judge` says of it."""

    stones: Stones
    captured: set[Point]
    verdict: str | None
    line: list[Point]


def place(stones: Stones, point: Point, colour: str, rules: Rules) -> Placement | None:
    """Puts a stone on an empty point; None where that is forbidden suicide."""
    stones = {**stones, point: colour}
    captured: set[Point] = set()
    if rules.capture == "remove":  # captures are removed before lines are judged
        for near in neighbours(point, rules):
            if stones.get(near) == other(colour):
                chain = chain_at(stones, near, rules)
                if not has_liberty(stones, chain, rules):
                    captured |= chain
                    stones = {p: c for p, c in stones.items() if p not in chain}
    verdict, line = judge(stones, point, rules)
    if rules.capture == "remove" and verdict != "line":
        chain = chain_at(stones, point, rules)
        if not has_liberty(stones, chain, rules):
            if not rules.suicide:
                return None
            if verdict is None:  # a losing overline ends the game first, as a winning line does
                captured |= chain
                stones = {p: c for p, c in stones.items() if p not in chain}
    return Placement(stones, captured, verdict, line)
