"""Exact results of small games: who wins with best play, and in how many plies."""

from __future__ import annotations

import dataclasses
from itertools import count

from engine import symmetry
from engine._solver import FOREVER, SolverCore
from engine.position import SEATS, Position, rule_table
from engine.rules import RuleError, RuleSet

#: Longest game that a solver has room for, in plies.
LONGEST = 4096


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a position is worth with best play, for the seat to act."""

    #: +1 win, 0 draw, -1 loss.
    value: int
    #: Plies to the end where the winner hurries and the loser resists; None for a draw.
    plies: int | None


class Solver:
    """Solves positions of one rule set with one opening; what it learns serves later calls.

    Exact for all rules under which a position's key says everything that affects play: not under
    superko, where the history counts too. (Two positions with the same 64-bit key would be taken
    for one; among a billion positions the chance of such a pair is about 3%.) Made for boards
    without captures, passes and ply limits, where it knows threats and dead lines; under other
    rules it searches plainly.
    """

    def __init__(self, rules: RuleSet, opening: str = "none", table_bits: int = 20) -> None:
        """`table_bits`: the table has 2 ** table_bits entries of 24 bytes, 4-30.

        Raises `RuleError` for rules with superko, for ply limits beyond `LONGEST`, and for an
        unknown opening; `ValueError` for a table of another size.
        """
        if rules.superko:
            raise RuleError("solver: under superko a result depends on the game's history")
        if rules.ply_limit > LONGEST:
            raise RuleError(f"solver: rules.ply_limit: {rules.ply_limit} is more than {LONGEST}")
        if not 4 <= table_bits <= 30:
            raise ValueError(f"solver: table_bits: {table_bits} is outside 4..30")
        table = rule_table(rules, opening)
        self.rules, self.opening = rules, table.opening.name
        # Captures and offers would have to be turned in the keys of all symmetric twins.
        offering = any(phase.effect == "offer" for phase in table.opening.phases)
        twins = symmetry.count(rules) if rules.capture == "none" and not offering else 1
        turned = [
            symmetry.canvas_actions(rules, rules.height, rules.width, turn).tolist()
            for turn in range(twins)
        ]
        self._core = SolverCore(table, table_bits, turned)

    @property
    def nodes(self) -> int:
        """Positions visited so far, over all calls."""
        return self._core.nodes

    def clear(self) -> None:
        """Forgets everything learned."""
        self._core.clear()

    def solve(self, position: Position, max_nodes: int = 0) -> int | None:
        """+1, 0 or -1: the position's value for the seat to act; None when the nodes are spent.

        `max_nodes` limits the positions visited, 0 does not. Raises `ValueError` for a position
        of another game.
        """
        verdict = self.examine(position, max_nodes)
        return None if verdict is None else verdict.value

    def examine(self, position: Position, max_nodes: int = 0) -> Verdict | None:
        """As `solve`, with the number of plies to the end."""
        if position.rules != self.rules or position.opening != self.opening:
            raise ValueError("solver: the position is of another game than the solver")
        if position.outcome is not None:
            return Verdict(value=position.outcome.value(position.seat), plies=0)
        self._core.set_position(position._core)
        mover = SEATS.index(position.seat)
        refuted = [0, 0]
        limit = self.nodes + max_nodes
        for depth in count(1):
            for seat in (mover, 1 - mover):
                if refuted[seat] >= depth:
                    continue
                answer = self._core.attack(seat, depth, limit - self.nodes if max_nodes else -1)
                if answer is None:
                    return None
                won, plies = answer
                if won:
                    return Verdict(value=1 if seat == mover else -1, plies=plies)
                refuted[seat] = plies
            if min(refuted) >= FOREVER:
                return Verdict(value=0, plies=None)
        raise AssertionError("unreachable")

    def solve_moves(self, position: Position, max_nodes: int = 0) -> dict[int, int] | None:
        """The value of each legal action for the seat to act; None when the nodes are spent.

        `max_nodes` holds for all actions together. Empty for a finished game.
        """
        verdicts = self.examine_moves(position, max_nodes)
        if verdicts is None:
            return None
        return {action: verdict.value for action, verdict in verdicts.items()}

    def examine_moves(self, position: Position, max_nodes: int = 0) -> dict[int, Verdict] | None:
        """As `solve_moves`, with the number of plies to the end, the action itself included."""
        found: dict[int, Verdict] = {}
        limit = self.nodes + max_nodes
        for action in position.legal_actions().tolist():
            left = limit - self.nodes if max_nodes else 0
            child = position.copy()
            child.play(action)
            verdict = self.examine(child, left) if left or not max_nodes else None
            if verdict is None:
                return None
            found[action] = Verdict(
                value=verdict.value if child.seat == position.seat else -verdict.value,
                plies=None if verdict.plies is None else verdict.plies + 1,
            )
        return found


def solve(position: Position, max_nodes: int = 0) -> int | None:
    """`Solver.solve` by a solver made for this one call."""
    return Solver(position.rules, position.opening).solve(position, max_nodes)
