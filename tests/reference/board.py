"""Stones on a board, their chains and their lines. No turns, no history.

Written for reading beside the rule text; nothing here is shared with `engine` and nothing is fast.
"""

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


def surrounded(stones: Stones, colour: str, rules: Rules) -> set[Point]:
    """All stones of the colour in chains that have no liberty and an opponent next to them."""
    found, seen = set[Point](), set[Point]()
    for point in stones:
        if stones[point] == colour and point not in seen:
            chain = chain_at(stones, point, rules)
            seen |= chain
            around = {stones.get(near) for stone in chain for near in neighbours(stone, rules)}
            if None not in around and other(colour) in around:
                found |= chain
    return found


# -- lines -------------------------------------------------------------------------------------


def run_through(stones: Stones, point: Point, direction: tuple[int, int]) -> list[Point]:
    """The unbroken run of one colour that holds `point`, from one end to the other."""
    dx, dy = direction
    run = [point]
    while stones.get((run[0][0] - dx, run[0][1] - dy)) == stones[point]:
        run.insert(0, (run[0][0] - dx, run[0][1] - dy))
    while stones.get((run[-1][0] + dx, run[-1][1] + dy)) == stones[point]:
        run.append((run[-1][0] + dx, run[-1][1] + dy))
    return run


def ends_of(run: list[Point], direction: tuple[int, int]) -> list[Point]:
    """The two points next to the run on its line, which may lie beyond the edge."""
    dx, dy = direction
    return [(run[0][0] - dx, run[0][1] - dy), (run[-1][0] + dx, run[-1][1] + dy)]


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


def wins_by_overline(colour: str, rules: Rules) -> bool:
    if rules.overline == "black-exact":
        return colour == "white"
    return rules.overline != "exact" and not loses_by_overline(colour, rules)


def is_blocked(stones: Stones, run: list[Point], direction: tuple[int, int]) -> bool:
    """Whether an opponent's stone stands at both ends; the edge of the board closes none."""
    opponent = other(stones[run[0]])
    return all(stones.get(end) == opponent for end in ends_of(run, direction))


def wins(stones: Stones, run: list[Point], direction: tuple[int, int], rules: Rules) -> bool:
    """Whether the run is a winning line, if its colour has not lost by an overline.

    F is the length of the run on the whole board, C the length of its part in the region.
    """
    needed, colour = rules.line_length, stones[run[0]]
    f, c = len(run), len(inside(run, rules))
    if loses_by_overline(colour, rules):
        return c == needed
    if wins_by_overline(colour, rules) and f > needed:
        return c >= needed
    if rules.unblocked and is_blocked(stones, run, direction):
        return False
    return f == needed and c == needed


def judge(stones: Stones, point: Point, rules: Rules) -> tuple[str | None, list[Point]]:
    """What the stone at `point` has made, if it is new there, and the stones that make it.

    "overline": its colour loses. "line": its colour wins. None: neither.
    """
    runs = {direction: run_through(stones, point, direction) for direction in DIRECTIONS}
    if loses_by_overline(stones[point], rules):  # judged before the win
        too_long = [run for run in runs.values() if len(run) > rules.line_length]
        if too_long:
            return "overline", sorted({p for run in too_long for p in run})
    winning = [
        inside(run, rules) for direction, run in runs.items() if wins(stones, run, direction, rules)
    ]
    if winning:
        return "line", sorted({p for part in winning for p in part})
    return None, []
