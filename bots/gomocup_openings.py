"""Openings in the Gomocup protocol and in Yixin-Board's: swap2 and Soosõrv, step by step.

Each step sets the stones up as actions of the opening (`engine.openings`) and lets the player take
the decisions; what it chose is translated into the step's answer. `Act` thinks about one of `n`
decisions that are still to come, plays it, and gives its name; `Write` writes a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bots.player import Player
from engine import Position, RuleSet

Act = Callable[[int], int]
Write = Callable[[int, str], str]


class OpeningError(ValueError):
    """Stones that the opening does not have at this step."""


class Openings:
    """The steps, for one player."""

    def __init__(self, player: Player, rules: RuleSet, act: Act, write: Write) -> None:
        """`write(point, separator)` writes coordinates."""
        self._player, self._rules, self._act, self._write = player, rules, act, write

    def _begin(self, opening: str, *actions: int | str) -> None:
        """Make the player's game this opening, after these actions.

        Raises `RuleError` or `IllegalAction` for what is no such opening, with the game unchanged.
        """
        position = Position(self._rules, opening)
        for action in actions:
            position.play(action)
        self._player.reset(position)

    def _decide(self, to_come: int) -> str:
        """One decision: a point as coordinates, or an option's name."""
        action = self._act(to_come)
        if action < self._rules.points:
            return self._write(action, ",")
        return self._player.position.action_name(action)

    # --- SWAP2BOARD ---

    def swap2board(self, stones: Sequence[int]) -> str:
        """The answer to SWAP2BOARD with 0, 3 or 5 stones in order."""
        if len(stones) == 0:
            self._begin("swap-2")
            return " ".join(self._decide(to_come) for to_come in (3, 2, 1))
        if len(stones) == 3:
            self._begin("swap-2", *stones)
        elif len(stones) == 5:
            self._begin("swap-2", *stones[:3], "more", *stones[3:])
        else:
            raise OpeningError(f"SWAP2BOARD has 0, 3 or 5 stones, not {len(stones)}")
        choice = self._decide(3)
        if choice == "black":
            return "SWAP"  # White is to play: who does not play it takes Black
        if choice == "white":
            return self._decide(1)
        return " ".join(self._decide(to_come) for to_come in (2, 1))

    # --- yxswap2step1 to 3 ---

    def swap2_step(self, step: int, stones: Sequence[int]) -> list[str]:
        """The messages of one of Yixin-Board's steps, after these stones."""
        if len(stones) != (0, 3, 5)[step - 1]:
            raise OpeningError(f"step {step} of swap2 has {(0, 3, 5)[step - 1]} stones")
        if step == 1:
            self._begin("swap-2")
            return [f"SWAP2 MOVE{n} {self._point(4 - n)}" for n in (1, 2, 3)]
        if step == 2:
            self._begin("swap-2", *stones)
            choice = self._decide(3)
            if choice == "more":
                return [f"SWAP2 MOVE{n} {self._point(6 - n)}" for n in (4, 5)]
            return [f"SWAP2 SWAP1 {'YES' if choice == 'black' else 'NO'}"]
        self._begin("swap-2", *stones[:3], "more", *stones[3:])
        return [f"SWAP2 SWAP2 {'YES' if self._decide(1) == 'white' else 'NO'}"]

    def _point(self, to_come: int) -> str:
        return self._write(self._act(to_come), " ")

    # --- yxsoosorvstep1 to 6 ---

    def soosorv_step(self, step: int, stones: Sequence[int], number: int) -> list[str]:
        """The messages of a step; `number`: of fifth moves, where the step is told."""
        before = (0, 3, 3, 4, 4)
        if step < 6 and len(stones) != before[step - 1]:
            raise OpeningError(f"step {step} of Soosorv has {before[step - 1]} stones")
        if step == 6 and len(stones) < 5:
            raise OpeningError("step 6 of Soosorv has four stones and the fifth moves")
        self._begin("soosorv-8", *_soosorv_actions(step, stones, number))
        if step == 6 and len(stones) == 5:
            self._player.play(stones[4])
            return [f"SOOSORV MOVE5 C {self._write(stones[4], ' ')}"]
        steps = (self._open, self._swap_first, self._fourth, self._swap_second)
        if step <= 4:
            return [f"SOOSORV {line}" for line in steps[step - 1]()]
        if step == 5:
            offers = [f"MOVE5 {self._point(number - n)}" for n in range(number)]
            return [f"SOOSORV {line}" for line in ("MOVE5 REFRESH", *offers, "MOVE5 DONE")]
        return [f"SOOSORV MOVE5 C {self._point(1)}"]

    def _open(self) -> list[str]:
        return [f"MOVE{n} {self._point(4 - n)}" for n in (1, 2, 3)]

    def _swap_first(self) -> list[str]:
        return [f"SWAP1 {'Y' if self._decide(1) == 'black' else 'N'}"]

    def _fourth(self) -> list[str]:
        fourth = self._point(2)
        return [f"MOVE4 {fourth} {self._decide(1)}"]

    def _swap_second(self) -> list[str]:
        return [f"SWAP2 {'Y' if self._decide(1) == 'white' else 'N'}"]


def _soosorv_actions(step: int, stones: Sequence[int], number: int) -> list[int | str]:
    """The actions of soosorv-8 that lead to a step; colours stay as they were."""
    actions: list[int | str] = list(stones[:3])
    if step >= 3:
        actions.append("white")
    if step >= 4:
        actions += [stones[3], str(number if step < 6 else len(stones) - 4)]
    if step >= 5:
        actions.append("black")
    if step == 6 and len(stones) > 5:
        actions += stones[4:]
    return actions
