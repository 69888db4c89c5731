"""Wins by threats: fours that must be answered, and threes that threaten two of them.

What is found is proven, against every legal defence and under all rules that the engine knows; what
is not found may still be there. `docs/decisions/0016-threat-search.md` says how far it looks.
"""

from __future__ import annotations

import dataclasses

from engine._threats import MOST, ThreatCore
from engine.position import Position, rule_table
from engine.rules import RuleSet

#: The threats that a search plays: continuous fours, or fours and threes.
KINDS = ("fours", "threes")

#: Positions that a search makes at most, where nothing else is said.
NODES = 50_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Win:
    """A proven win: its line, and how long it takes at most."""

    #: From the first action to the line that wins, against the longest defence of its kind.
    actions: tuple[int, ...]
    #: Plies to the end of the game at most, whatever the defender does.
    plies: int


class ThreatSearch:
    """Searches positions of one rule set with one opening. One thread may use it at a time."""

    def __init__(self, rules: RuleSet, opening: str = "none", table_bits: int = 16) -> None:
        """`table_bits`: the table has 2 ** table_bits entries of 8 bytes, 4-24.

        Raises `RuleError` for an unknown opening, `ValueError` for a table of another size.
        """
        if not 4 <= table_bits <= 24:
            raise ValueError(f"threats: table_bits: {table_bits} is outside 4..24")
        table = rule_table(rules, opening)
        self.rules, self.opening = rules, table.opening.name
        self._core = ThreatCore(table, table_bits)
        #: Positions made so far, over all calls.
        self.nodes = 0

    def win(
        self,
        position: Position,
        *,
        kind: str = "threes",
        nodes: int = NODES,
        most: int = MOST,
        until: float | None = None,
    ) -> Win | None:
        """The shortest win found for the seat to act; None where none is.

        About `nodes` positions are made at most, for lines of at most `most` own moves (`MOST` is
        the longest), and none any more once it is `until` (`time.monotonic()`). While an opening
        goes on, nothing is found. Raises `ValueError` for a position of another game and for a kind
        that is not one of `KINDS`.
        """
        found = self._search(position, kind, most, nodes, until, passed=False)
        if found is None:
            return None
        return Win(actions=self._completed(position, *found, kind), plies=2 * found[1] - 1)

    def threatened(
        self,
        position: Position,
        *,
        kind: str = "threes",
        nodes: int = NODES,
        until: float | None = None,
    ) -> bool:
        """Whether the other seat would win by threats if it were to act now."""
        return self._search(position, kind, MOST, nodes, until, passed=True) is not None

    def defences(
        self,
        position: Position,
        *,
        kind: str = "threes",
        nodes: int = NODES,
        until: float | None = None,
    ) -> dict[int, Win | None] | None:
        """What each legal action leaves the other seat; None where it threatens nothing.

        An action's value is the other seat's win after it, or None where none is found: then it is
        a defence. (A completed line, too, leaves nothing.) `nodes` holds for all together, in equal
        shares; actions that time left unexamined count as defences.
        """
        if not self.threatened(position, kind=kind, nodes=nodes, until=until):
            return None
        actions = position.legal_actions().tolist()
        share = max(1, nodes // max(1, len(actions)))
        found: dict[int, Win | None] = {}
        for action in actions:
            child = position.copy()
            child.play(action)
            found[action] = None
            if child.outcome is None and child.seat != position.seat:
                found[action] = self.win(child, kind=kind, nodes=share, until=until)
        return found

    def _search(
        self,
        position: Position,
        kind: str,
        most: int,
        nodes: int,
        until: float | None,
        *,
        passed: bool,
    ) -> tuple[list[int], int] | None:
        if position.rules != self.rules or position.opening != self.opening:
            raise ValueError("threats: the position is of another game than the search")
        if kind not in KINDS:
            raise ValueError(f"threats: {kind!r} is not one of {', '.join(KINDS)}")
        threes = kind == "threes"
        found = self._core.search(position._core, threes, most, nodes, until or 0.0, passed)
        self.nodes += self._core.nodes
        return found

    def _completed(
        self, position: Position, actions: list[int], moves: int, kind: str
    ) -> tuple[int, ...]:
        """The line to the game's end: the search leaves out what no answer stops."""
        position, line, seat = position.copy(), list(actions), position.seat
        for action in actions:
            position.play(action)
        while position.outcome is None:
            passed = position.seat != seat
            following = self._search(position, kind, moves, NODES, None, passed=passed)
            if following is None:  # nothing that short within these nodes
                break
            action = following[0][0]
            if passed and not position.is_legal(action):
                action = int(position.legal_actions()[0])
            position.play(action)
            line.append(action)
        return tuple(line)


def find_win(position: Position, *, kind: str = "threes", nodes: int = NODES) -> Win | None:
    """`ThreatSearch.win` by a search made for this one call."""
    return ThreatSearch(position.rules, position.opening).win(position, kind=kind, nodes=nodes)


def defences(position: Position, *, kind: str = "threes", nodes: int = NODES) -> list[int] | None:
    """The legal actions after which no win of the other seat is found, ascending.

    None where it threatens none. An empty list is a proven loss.
    """
    found = ThreatSearch(position.rules, position.opening).defences(
        position, kind=kind, nodes=nodes
    )
    return None if found is None else [action for action, win in found.items() if win is None]
