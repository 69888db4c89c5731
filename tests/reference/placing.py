"""What one more stone does: captures, switches, lines, and why it may not be placed."""

from dataclasses import dataclass, field

from tests.reference import renju
from tests.reference.board import (
    Point,
    Stones,
    chain_at,
    has_liberty,
    judge,
    neighbours,
    other,
    surrounded,
)
from tests.reference.rules import Rules


@dataclass(kw_only=True)
class Placement:
    """What a stone does: the board after it, and what happened on the way there."""

    stones: Stones
    captured: set[Point] = field(default_factory=set)  # the points emptied
    switched: set[Point] = field(default_factory=set)  # those that changed colour, once or twice
    verdict: str | None = None  # "line", "overline" or "forbidden" where the stone ends the game
    winner: str | None = None  # the colour that has won by it
    line: list[Point] = field(default_factory=list)  # the stones that make it


def place(stones: Stones, point: Point, colour: str, rules: Rules) -> Placement | str:
    """Puts a stone on an empty point; where that is illegal, says why."""
    if rules.capture == "remove":
        return place_and_remove(stones, point, colour, rules)
    if rules.capture == "switch":
        return place_and_switch(stones, point, colour, rules)
    return place_alone(stones, point, colour, rules)


def judged(placement: Placement, point: Point, colour: str, rules: Rules) -> Placement:
    """The same placement with what the new stone has made there."""
    placement.verdict, placement.line = judge(placement.stones, point, rules)
    if placement.verdict is not None:
        placement.winner = colour if placement.verdict == "line" else other(colour)
    return placement


def place_alone(stones: Stones, point: Point, colour: str, rules: Rules) -> Placement | str:
    """Where nothing is captured; the only games with forbidden moves."""
    after = {**stones, point: colour}
    if rules.forbidden != "none" and colour == "black" and renju.is_forbidden(stones, point, rules):
        if rules.forbidden == "illegal":
            return "forbidden"
        return Placement(stones=after, verdict="forbidden", winner="white")
    return judged(Placement(stones=after), point, colour, rules)


def place_and_remove(stones: Stones, point: Point, colour: str, rules: Rules) -> Placement | str:
    """Chains without liberties leave the board, as in Go."""
    stones = {**stones, point: colour}
    captured: set[Point] = set()
    for near in neighbours(point, rules):  # captures are removed before lines are judged
        if stones.get(near) == other(colour):
            chain = chain_at(stones, near, rules)
            if not has_liberty(stones, chain, rules):
                captured |= chain
                stones = {p: c for p, c in stones.items() if p not in chain}
    placement = judged(Placement(stones=stones, captured=captured), point, colour, rules)
    chain = chain_at(stones, point, rules)
    if placement.verdict != "line" and not has_liberty(stones, chain, rules):
        if not rules.suicide:
            return "suicide"
        if placement.verdict is None:  # a losing overline ends the game first, as a line does
            placement.captured |= chain
            placement.stones = {p: c for p, c in stones.items() if p not in chain}
    return placement


def place_and_switch(stones: Stones, point: Point, colour: str, rules: Rules) -> Placement | str:
    """Surrounded chains change colour (Connect Go)."""
    # (1) Five by placement wins before anything is switched.
    placement = judged(Placement(stones={**stones, point: colour}), point, colour, rules)
    if placement.verdict is not None:
        return placement
    # (2) All surrounded chains of the opponent switch to the mover together.
    switch(placement, surrounded(placement.stones, other(colour), rules), rules)
    if placement.verdict is not None:
        return placement
    # (3) Then the mover's own go to the opponent, those that have just been switched with them.
    lost = surrounded(placement.stones, colour, rules)
    if point in lost and not rules.suicide:
        return "suicide"
    switch(placement, lost, rules)
    return placement


def switch(placement: Placement, points: set[Point], rules: Rules) -> None:
    """Gives these stones, all of one colour, to the other, which wins by a line that they make."""
    for point in points:
        placement.stones[point] = other(placement.stones[point])
    placement.switched |= points
    lines = [judge(placement.stones, point, rules)[1] for point in points]
    placement.line = sorted({p for line in lines for p in line})
    if placement.line:
        placement.verdict, placement.winner = "line", placement.stones[placement.line[0]]
