"""The opening protocols, each told as a script from its row in the rule text.

A script yields whose turn it is and what may be done, is sent what was done, and returns the seat
that has Black when normal play begins. Seats are A, who begins, and B. A line made during an
opening wins for its colour, so the seat that has Black is told at every turn: A until a swap.
"""

import re
from collections.abc import Callable, Generator, Sequence
from functools import cache, partial
from typing import NamedTuple

from tests.reference.board import Point, all_points, name_of, point_of
from tests.reference.rules import Rules


class Turn(NamedTuple):
    seat: str  # who acts
    black: str  # the seat that has Black
    stone: str | None = None  # what a point does: "place", "offer" or "pick" it; None: no points
    options: tuple[str, ...] = ()  # what else may be done
    points: frozenset[str] | None = None  # the points that may be named; None: any
    offered: tuple[str, ...] = ()  # the fifth moves offered before, in an "offer"


Script = Generator[Turn, str, str]

COLOURS = ("black", "white")
LARGEST_NUMBER = 12
# Sent to a script that asks for another fifth move where none is left that differs from the others.
NO_MORE = "no more offers"


def other_seat(seat: str) -> str:
    return "B" if seat == "A" else "A"


# -- regions -----------------------------------------------------------------------------------


def from_centre(name: str, rules: Rules) -> Point:
    """Columns to the right of the centre of the board and rows above it."""
    point = point_of(name, rules)
    assert point is not None
    return point[0] - rules.width // 2, point[1] - rules.height // 2


@cache
def central(side: int, rules: Rules) -> frozenset[str]:
    """The points of the central square of so many points a side."""
    names = map(name_of, all_points(rules))
    return frozenset(name for name in names if max(map(abs, from_centre(name, rules))) <= side // 2)


@cache
def outside(side: int, rules: Rules) -> frozenset[str]:
    return frozenset(map(name_of, all_points(rules))) - central(side, rules)


# -- parts of scripts --------------------------------------------------------------------------


def stone(seat: str, black: str, points: frozenset[str] | None = None) -> Generator[Turn, str, str]:
    """The seat puts a stone on one of the points, which is returned."""
    return (yield Turn(seat, black, "place", points=points))


def stones(seat: str, count: int) -> Generator[Turn, str, None]:
    """Stones anywhere, while nobody has swapped."""
    for _ in range(count):
        yield from stone(seat, "A")


def chooses(seat: str, black: str = "A") -> Script:
    """The seat takes or keeps a colour; returns the seat that then has Black."""
    colour = yield Turn(seat, black, options=COLOURS)
    return seat if colour == "black" else other_seat(seat)


def numbers(largest: int) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, largest + 1))


def offers(count: int, black: str) -> Generator[Turn, str, tuple[str, ...]]:
    """Black's seat names fifth moves, all different under the symmetries of the four stones."""
    offered: tuple[str, ...] = ()
    while len(offered) < count:
        action = yield Turn(black, black, "offer", offered=offered)
        if action == NO_MORE:
            break
        offered = (*offered, action)
    return offered


def fifth_and_sixth(count: int, black: str) -> Script:
    """Black offers so many fifth moves and White picks; one alone is just played. White's 6."""
    white = other_seat(black)
    if count == 1:
        yield from stone(black, black)
    else:
        offered = yield from offers(count, black)
        yield Turn(white, black, "pick", points=frozenset(offered))
    yield from stone(white, black)
    return black


def one_of_26(rules: Rules) -> Generator[Turn, str, None]:
    """A puts stone 1 at the centre, 2 in the central 3x3 and 3 in the central 5x5."""
    for side in (1, 3, 5):
        yield from stone("A", "A", central(side, rules))


# -- openings anywhere on the board ------------------------------------------------------------


def none(rules: Rules) -> Script:
    """Normal play from an empty board."""
    yield from ()
    return "A"


def swap_1st(rules: Rules) -> Script:
    """A places 1; B chooses a colour."""
    yield from stones("A", 1)
    return (yield from chooses("B"))


def swap(rules: Rules) -> Script:
    """A places black, white, black anywhere; B chooses a colour."""
    yield from stones("A", 3)
    return (yield from chooses("B"))


def swap_2(rules: Rules) -> Script:
    """As swap, but B may also place two more (white, black) and let A choose."""
    yield from stones("A", 3)
    choice = yield Turn("B", "A", options=(*COLOURS, "more"))
    if choice == "more":
        yield from stones("B", 2)
        return (yield from chooses("A"))
    return "B" if choice == "black" else "A"


def swap_5(rules: Rules) -> Script:
    """B starts with a token. The seats take turns until five stones have been placed.

    A turn is a stone, which hands the token over if the seat has it, or with the token a pass,
    which keeps it. A pass lets the other seat place the next stone: the colours are exchanged.
    Then whoever has the token chooses a colour.
    """
    seat, token, black, placed = "A", "B", "A", 0
    while placed < 5:
        options = ("pass",) if token == seat else ()
        action = yield Turn(seat, black, "place", options)
        if action == "pass":
            black = other_seat(black)
        else:
            placed += 1
            token = other_seat(seat)
        seat = other_seat(seat)
    return (yield from chooses(token, black))


# -- openings of the centre ---------------------------------------------------------------------


def pro(rules: Rules, side: int = 5) -> Script:
    """A puts stone 1 at the centre, B 2 anywhere, A 3 outside the central 5x5 (long-pro: 7x7)."""
    yield from stone("A", "A", central(1, rules))
    yield from stone("B", "A")
    yield from stone("A", "A", outside(side, rules))
    return "A"


def renju_swap(rules: Rules) -> Script:
    """B puts stone 2, and the openings D13 and I13 are left out; B chooses; two fifth moves."""
    yield from stone("A", "A", central(1, rules))
    second = yield from stone("B", "A", central(3, rules))
    yield from stone("A", "A", central(5, rules) - d13_and_i13(second, rules))
    black = yield from chooses("B")
    yield from stone(other_seat(black), black)
    return (yield from fifth_and_sixth(2, black))


def d13_and_i13(second: str, rules: Rules) -> frozenset[str]:
    """The stones 3 of these two openings: corners of the 5x5 on the far side of stone 2."""
    x, y = from_centre(second, rules)
    corners = {(-2, -2), (-2, 2), (2, -2), (2, 2)}
    far = {(dx, dy) for dx, dy in corners if x * dx + y * dy < 0}
    return frozenset(name for name in central(5, rules) if from_centre(name, rules) in far)


def rif(rules: Rules) -> Script:
    """A puts one of the 26 openings; B chooses; White 4; two fifth moves; White 6."""
    yield from one_of_26(rules)
    black = yield from chooses("B")
    yield from stone(other_seat(black), black)
    return (yield from fifth_and_sixth(2, black))


def yamaguchi(rules: Rules) -> Script:
    """As rif, but A says together with the opening how many fifth moves there will be."""
    yield from one_of_26(rules)
    count = yield Turn("A", "A", options=numbers(LARGEST_NUMBER))
    black = yield from chooses("B")
    yield from stone(other_seat(black), black)
    return (yield from fifth_and_sixth(int(count), black))


def soosorv(rules: Rules, largest: int) -> Script:
    """White says with stone 4 how many fifth moves, at most `largest`; then Black may swap."""
    yield from one_of_26(rules)
    black = yield from chooses("B")
    white = other_seat(black)
    yield from stone(white, black)
    count = yield Turn(white, black, options=numbers(largest))
    black = yield from chooses(black, black)
    return (yield from fifth_and_sixth(int(count), black))


def taraguchi(rules: Rules, count: int) -> Script:
    """After each of the first three stones the other player may swap.

    After the fourth Black offers `count` fifth moves; or may swap, Black puts the fifth in the
    central 9x9 and then the other player may swap.
    """
    black = "A"
    for number, side in enumerate((1, 3, 5), 1):
        placer = black if number in (1, 3) else other_seat(black)
        yield from stone(placer, black, central(side, rules))
        black = yield from chooses(other_seat(placer), black)
    yield from stone(other_seat(black), black, central(7, rules))
    choice = yield Turn(black, black, options=(*COLOURS, str(count)))
    if choice not in COLOURS:
        return (yield from fifth_and_sixth(count, black))
    if choice == "white":
        black = other_seat(black)
    yield from stone(black, black, central(9, rules))
    black = yield from chooses(other_seat(black), black)
    yield from stone(other_seat(black), black)
    return black


# -- by name -------------------------------------------------------------------------------------


OPENINGS: dict[str, Callable[[Rules], Script]] = {
    "none": none,
    "swap-1st": swap_1st,
    "swap": swap,
    "swap-2": swap_2,
    "swap-5": swap_5,
    "renju-swap": renju_swap,
    "rif": rif,
    "yamaguchi": yamaguchi,
    "soosorv-8": partial(soosorv, largest=8),
    "taraguchi-10": partial(taraguchi, count=10),
    "pro": pro,
    "long-pro": partial(pro, side=7),
}

# The smallest boards of openings that have a centre; the sides of these boards are odd.
SMALLEST_SIDE = {"pro": 7, "long-pro": 9, "taraguchi": 9}
SMALLEST_SIDE |= dict.fromkeys(["renju-swap", "rif", "yamaguchi", "soosorv"], 5)


def family_and_number(opening: str) -> tuple[str, int]:
    """("soosorv", 8) for soosorv-8, which soosorv alone means too; ("rif", 0) for rif."""
    match = re.fullmatch(r"(soosorv|taraguchi)(?:-([1-9][0-9]*))?", opening)
    if match is None:
        return opening, 0
    family, number = match[1], match[2] or {"soosorv": 8, "taraguchi": 10}[match[1]]
    return family, int(number)


def script_of(opening: str, rules: Rules) -> Script:
    """The opening's script on a board that it fits; N of soosorv-N and taraguchi-N is free."""
    family, number = family_and_number(opening)
    if not fits(opening, rules):
        raise ValueError(f"{opening} needs odd sides of {SMALLEST_SIDE[family]} or more")
    if number > LARGEST_NUMBER:
        raise ValueError(f"{opening}: N is at most {LARGEST_NUMBER}")
    if family == "soosorv":
        return soosorv(rules, number)
    if family == "taraguchi":
        return taraguchi(rules, number)
    if opening not in OPENINGS:
        raise ValueError(f"no opening is called {opening}")
    return OPENINGS[opening](rules)


def fits(opening: str, rules: Rules) -> bool:
    """Whether the board has the regions that the opening speaks of."""
    smallest = SMALLEST_SIDE.get(family_and_number(opening)[0])
    return smallest is None or all(
        side >= smallest and side % 2 == 1 for side in (rules.width, rules.height)
    )


def turn_after(opening: str, actions: Sequence[str], rules: Rules) -> Turn | str:
    """The turn after these actions of the opening, or the seat that has Black if it is over."""
    script = script_of(opening, rules)
    try:
        turn = next(script)
        for action in actions:
            turn = script.send(action)
    except StopIteration as end:
        return str(end.value)
    return turn
