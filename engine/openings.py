"""Opening protocols as tables of phases.

A phase says who acts, whether a stone may be placed, which options may be chosen, and which phase
follows each of them. Stones alternate Black, White, Black, ... whoever places them; Seat A begins.
The last row of every table is `PLAY`: normal play, where the owner of the colour to place acts.
A new protocol is a new table with its source.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from engine.rules import RuleError

#: Who acts in a phase: a fixed seat, the seat that did not act last, or the owner of the colour
#: that is placed next.
ACTORS = ("A", "B", "other", "owner")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One row of a protocol: `point` and the values of `options` name the phase that follows.

    `point` is None where no stone may be placed. The options `black` and `white` give the acting
    seat that colour; an opening's `pass` swaps the colours; `more` only leads on to its phase.
    """

    name: str
    actor: str
    point: str | None = None
    options: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A protocol: its phases in order, `PLAY` last, and where it is described."""

    name: str
    source: str
    phases: tuple[Phase, ...]

    def __post_init__(self) -> None:
        names = [phase.name for phase in self.phases]
        if len(set(names)) != len(names) or self.phases[-1] is not PLAY:
            raise RuleError(f"opening {self.name}: phases need distinct names and end with 'play'")
        for phase in self.phases[:-1]:
            for target in (phase.point, *phase.options.values()):
                if target is not None and target not in names:
                    raise RuleError(f"opening {self.name}: phase {phase.name} leads to {target!r}")
            if phase.actor not in ACTORS:
                raise RuleError(f"opening {self.name}: phase {phase.name}: actor {phase.actor!r}")


#: Normal play; whether `pass` is allowed there is a rule of the game, not of the opening.
PLAY = Phase(name="play", actor="owner", point="play")

_CHOOSE = {"black": "play", "white": "play"}


def _stones(names: tuple[str, ...], actor: str, then: str) -> tuple[Phase, ...]:
    """Phases in which one seat places a stone each, leading on to the phase `then`."""
    return tuple(
        Phase(name=name, actor=actor, point=following)
        for name, following in zip(names, (*names[1:], then), strict=True)
    )


def _swap_5_phases() -> tuple[Phase, ...]:
    """Swap-5: until five stones stand, place and hand the token over, or with the token pass.

    The seat that places hands the token over if it has it, so after a placement the other seat
    always has it (`token-k`: k were placed, the acting seat has the token). A pass keeps the token,
    so the next seat acts without it (`no-token-k`).
    """
    rows = [Phase(name="no-token-0", actor="A", point="token-1")]
    for stones in range(1, 5):
        following = f"token-{stones + 1}" if stones < 4 else "choose"
        rows.append(
            Phase(
                name=f"token-{stones}",
                actor="other",
                point=following,
                options={"pass": f"no-token-{stones}"},
            )
        )
        rows.append(Phase(name=f"no-token-{stones}", actor="other", point=following))
    rows.append(Phase(name="choose", actor="other", options=_CHOOSE))
    return tuple(rows)


#: Every protocol by name. The position of a name in this table is its number in the network's
#: globals (`engine.features`): append, never reorder.
OPENINGS: dict[str, Opening] = {
    opening.name: opening
    for opening in (
        Opening(name="none", source="normal play from an empty board", phases=(PLAY,)),
        Opening(
            name="swap-1st",
            source="the pie rule after one stone (Irensei's rules, variant swap-1st)",
            phases=(
                *_stones(("stone-1",), "A", "choose"),
                Phase(name="choose", actor="B", options=_CHOOSE),
                PLAY,
            ),
        ),
        Opening(
            name="swap",
            source="gomoku's swap rule: three stones, then a choice of colour",
            phases=(
                *_stones(("stone-1", "stone-2", "stone-3"), "A", "choose"),
                Phase(name="choose", actor="B", options=_CHOOSE),
                PLAY,
            ),
        ),
        Opening(
            name="swap-2",
            source="gomoku's swap2 rule, as used by Gomocup",
            phases=(
                *_stones(("stone-1", "stone-2", "stone-3"), "A", "choose-or-more"),
                Phase(name="choose-or-more", actor="B", options={**_CHOOSE, "more": "stone-4"}),
                *_stones(("stone-4", "stone-5"), "B", "choose"),
                Phase(name="choose", actor="A", options=_CHOOSE),
                PLAY,
            ),
        ),
        Opening(
            name="swap-5",
            source="Irensei's rules, variant swap-5: one token and five stones",
            phases=(*_swap_5_phases(), PLAY),
        ),
    )
}


def opening(name: str) -> Opening:
    """The protocol of this name. Raises `RuleError` if there is none."""
    if name not in OPENINGS:
        raise RuleError(f"opening: {name!r} is not one of {', '.join(OPENINGS)}")
    return OPENINGS[name]
