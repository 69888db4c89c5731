"""The opening protocols, each told as a script from its row in the rule text.

A script yields whose turn it is and what may be done, is sent what was done, and returns the seat
that has Black when normal play begins. Seats are A, who begins, and B. A line made during an
opening wins for its colour, so the seat that has Black is told at every turn: A until a swap.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple


class Turn(NamedTuple):
    seat: str  # who acts
    may_place: bool  # whether the action may be a stone
    options: tuple[str, ...]  # what else it may be
    black: str  # the seat that has Black


Script = Generator[Turn, str, str]

COLOURS = ("black", "white")


def other_seat(seat: str) -> str:
    return "B" if seat == "A" else "A"


def places(seat: str, count: int, black: str = "A") -> Generator[Turn, str, None]:
    for _ in range(count):
        yield Turn(seat, True, (), black)


def chooses(seat: str, black: str = "A") -> Script:
    colour = yield Turn(seat, False, COLOURS, black)
    return seat if colour == "black" else other_seat(seat)


def none() -> Script:
    """Normal play from an empty board."""
    yield from ()
    return "A"


def swap_1st() -> Script:
    """A places 1; B chooses a colour."""
    yield from places("A", 1)
    return (yield from chooses("B"))


def swap() -> Script:
    """A places black, white, black anywhere; B chooses a colour."""
    yield from places("A", 3)
    return (yield from chooses("B"))


def swap_2() -> Script:
    """As swap, but B may also place two more (white, black) and let A choose."""
    yield from places("A", 3)
    choice = yield Turn("B", False, (*COLOURS, "more"), "A")
    if choice == "more":
        yield from places("B", 2)
        return (yield from chooses("A"))
    return "B" if choice == "black" else "A"


def swap_5() -> Script:
    """B starts with a token. The seats take turns until five stones have been placed.

    A turn is a stone, which hands the token over if the seat has it, or with the token a pass,
    which keeps it. A pass lets the other seat place the next stone: the colours are exchanged.
    Then whoever has the token chooses a colour.
    """
    seat, token, black, placed = "A", "B", "A", 0
    while placed < 5:
        action = yield Turn(seat, True, ("pass",) if token == seat else (), black)
        if action == "pass":
            black = other_seat(black)
        else:
            placed += 1
            token = other_seat(seat)
        seat = other_seat(seat)
    return (yield from chooses(token, black))


OPENINGS: dict[str, Callable[[], Script]] = {
    "none": none,
    "swap-1st": swap_1st,
    "swap": swap,
    "swap-2": swap_2,
    "swap-5": swap_5,
}


def turn_after(opening: str, actions: Sequence[str]) -> Turn | str:
    """The turn after these actions of the opening, or the seat that has Black if it is over."""
    script = OPENINGS[opening]()
    try:
        turn = next(script)
        for action in actions:
            turn = script.send(action)
    except StopIteration as end:
        return str(end.value)
    return turn
