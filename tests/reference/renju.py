"""Black's forbidden moves in Renju, from the definitions of the Renju International Federation.

A stone is put on the board for every question that the definitions ask, also the nested ones, and
taken up again. Lines are of five: the definitions know no other length.
"""

from tests.reference.board import (
    DIRECTIONS,
    Point,
    Stones,
    all_points,
    ends_of,
    run_through,
)
from tests.reference.rules import Rules

Direction = tuple[int, int]


def with_black(stones: Stones, point: Point) -> Stones:
    return {**stones, point: "black"}


def empty_near(stones: Stones, point: Point, direction: Direction, rules: Rules) -> list[Point]:
    """The empty points of the line through `point` that are at most four away from it."""
    (x, y), (dx, dy) = point, direction
    near = [(x + step * dx, y + step * dy) for step in range(-4, 5) if step != 0]
    return [
        (x, y)
        for x, y in near
        if 0 <= x < rules.width and 0 <= y < rules.height and (x, y) not in stones
    ]


def makes_five(stones: Stones, point: Point) -> bool:
    """Whether a black stone on the empty `point` stands in a run of exactly five."""
    after = with_black(stones, point)
    return any(len(run_through(after, point, direction)) == 5 for direction in DIRECTIONS)


def makes_overline(stones: Stones, point: Point) -> bool:
    after = with_black(stones, point)
    return any(len(run_through(after, point, direction)) > 5 for direction in DIRECTIONS)


def fours(stones: Stones, point: Point, rules: Rules) -> set[frozenset[Point]]:
    """The fours that a black stone on `point` makes, each as the set of its stones.

    A four is four stones that one more stone makes exactly five. The four of a straight four is
    completed at either end, and is one set.
    """
    after = with_black(stones, point)
    found = set()
    for direction in DIRECTIONS:
        for completing in empty_near(after, point, direction, rules):
            run = run_through(with_black(after, completing), completing, direction)
            if len(run) == 5 and point in run:
                found.add(frozenset(run) - {completing})
    return found


def makes_straight_four(
    stones: Stones, point: Point, completing: Point, direction: Direction, rules: Rules
) -> bool:
    """Whether black on `completing` makes four in a row, `point` one of them, open at both ends.

    Open: there is an empty point at the end, and a stone there makes exactly five.
    """
    after = with_black(stones, completing)
    run = run_through(after, completing, direction)
    if len(run) != 4 or point not in run:
        return False
    return all(
        end in empty_near(after, completing, direction, rules)
        and len(run_through(with_black(after, end), end, direction)) == 5
        for end in ends_of(run, direction)
    )


def threes(stones: Stones, point: Point, rules: Rules) -> list[list[Point]]:
    """The threes by shape that a black stone on `point` makes, one a direction at the most.

    A three is told by its completing points: those that make it a straight four, and no five at
    the same time in any direction.
    """
    after = with_black(stones, point)
    found = []
    for direction in DIRECTIONS:
        completing = [
            near
            for near in empty_near(after, point, direction, rules)
            if makes_straight_four(after, point, near, direction, rules)
            and not makes_five(after, near)
        ]
        if completing:
            found.append(completing)
    return found


def makes_double_three(stones: Stones, point: Point, rules: Rules) -> bool:
    """Two threes or more, without those that only a forbidden stone could complete.

    The completing stones are judged with the stone at `point` on the board. Each level of this
    has one stone more, so it comes to an end.
    """
    by_shape = threes(stones, point, rules)
    if len(by_shape) < 2:
        return False
    after = with_black(stones, point)
    real = [
        completing
        for completing in by_shape
        if any(not is_forbidden(after, near, rules) for near in completing)
    ]
    return len(real) >= 2


def kinds(stones: Stones, point: Point, rules: Rules) -> list[str]:
    """Why Black may not play on the empty `point`: every kind that holds; none for a five."""
    if makes_five(stones, point):
        return []
    holds = {
        "overline": makes_overline(stones, point),
        "double-four": len(fours(stones, point, rules)) >= 2,
        "double-three": makes_double_three(stones, point, rules),
    }
    return [kind for kind in holds if holds[kind]]


def is_forbidden(stones: Stones, point: Point, rules: Rules) -> bool:
    return bool(kinds(stones, point, rules))


def points_of_five(stones: Stones, rules: Rules) -> set[Point]:
    """Every empty point where Black makes exactly five."""
    return {p for p in all_points(rules) if p not in stones and makes_five(stones, p)}


def forbidden_points(stones: Stones, rules: Rules) -> dict[Point, list[str]]:
    """Every empty point that is forbidden, with its kinds."""
    judged = {p: kinds(stones, p, rules) for p in all_points(rules) if p not in stones}
    return {point: names for point, names in judged.items() if names}
