"""The symmetries of the figure that the stones make, wherever it lies on the board."""

from collections.abc import Callable

from tests.reference.board import Point, Stones

# The rotations and reflections of the plane about (0, 0).
TURNS: list[Callable[[int, int], Point]] = [
    lambda x, y: (x, y),
    lambda x, y: (-y, x),
    lambda x, y: (-x, -y),
    lambda x, y: (y, -x),
    lambda x, y: (-x, y),
    lambda x, y: (x, -y),
    lambda x, y: (y, x),
    lambda x, y: (-y, -x),
]


def shifted(point: Point, by: Point) -> Point:
    return point[0] + by[0], point[1] + by[1]


def images(stones: Stones, point: Point) -> set[Point]:
    """Where `point` goes under the symmetries that carry the stones into themselves.

    A symmetry is a rotation or reflection and then a shift, and keeps colours. The board's edge is
    ignored: an image may lie beyond it.
    """
    found = set()
    for turn in TURNS:
        turned = {turn(*stone): colour for stone, colour in stones.items()}
        # No other shift can do it: it takes the lower left corner of the one to the other's.
        by = (
            min(x for x, _ in stones) - min(x for x, _ in turned),
            min(y for _, y in stones) - min(y for _, y in turned),
        )
        if {shifted(stone, by): colour for stone, colour in turned.items()} == stones:
            found.add(shifted(turn(*point), by))
    return found


def are_equivalent(stones: Stones, one: Point, two: Point) -> bool:
    return two in images(stones, one)
