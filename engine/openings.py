"""Opening protocols as tables of phases.

A phase says who acts, what a point does and where it may lie, which options may be chosen, and
which phase follows each of them. Stones alternate Black, White, Black, ... whoever places them;
seat A begins. The last row of every table is `PLAY`: normal play, where the owner of the colour to
place acts. A new protocol is a new table with its source.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from engine.rules import MIN_SIDE, RuleError, RuleSet, similar

#: Who acts in a phase: a fixed seat, the seat that did not act last, the owner of the colour that
#: is placed next, or the owner of a colour.
ACTORS = ("A", "B", "other", "owner", "black", "white")

#: What a point does: a stone is placed; the point is offered (nothing is placed); one of the points
#: offered is picked, and the stone placed there.
EFFECTS = ("place", "offer", "pick")

#: Most moves that can be announced and offered; the options `1` to `12` exist for them.
MOST_OFFERS = 12

#: Where a point may lie: in or outside the central square of so many points a side. The last one is
#: the central 5x5 less the third stones of the renju openings D13 and I13: its corners that lie
#: farther from the second stone than the centre does.
REGIONS = (
    "anywhere",
    *(f"central-{side}" for side in (1, 3, 5, 7, 9)),
    *(f"outside-{side}" for side in (5, 7)),
    "central-5-near-corners",
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One row of a protocol: `point` and the values of `options` name the phase that follows.

    `point` is None where no point may be chosen. The options `black` and `white` give the acting
    seat that colour; an opening's `pass` swaps the colours; a number announces so many fifth moves;
    `more` only leads on to its phase. A phase of offers goes on until `offers` points (0: the
    number announced) are offered.
    """

    name: str
    actor: str
    point: str | None = None
    options: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))
    where: str = "anywhere"
    effect: str = "place"
    offers: int = 0

    @property
    def numbers(self) -> str:
        """The numbers that may be announced, in words; empty where none may."""
        numbers = [option for option in self.options if option.isdecimal()]
        return " to ".join(dict.fromkeys((numbers[0], numbers[-1]))) if numbers else ""

    @property
    def wanted(self) -> str:
        """What may be chosen, in words."""
        words = [] if self.point is None else [self._wanted_point()]
        if self.numbers:
            words.append(f"a number, {self.numbers}")
        words += [option for option in self.options if not option.isdecimal()]
        return " or ".join(words)

    def _wanted_point(self) -> str:
        if self.effect == "pick":
            return "one of the points offered"
        what = "a point to offer" if self.effect == "offer" else "a stone"
        if self.where == "anywhere":
            return what
        kind, side, *near = self.where.split("-")
        less = ", less its two corners farthest from the second stone" if near else ""
        return f"{what} {'in' if kind == 'central' else 'outside'} the central {side}x{side}{less}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A protocol: its phases in order, `PLAY` last, and where it is described."""

    name: str
    source: str
    phases: tuple[Phase, ...]
    #: N of a protocol such as soosorv-N, most fifth moves that can be announced; 0: none.
    number: int = 0

    def __post_init__(self) -> None:
        names = [phase.name for phase in self.phases]
        if len(set(names)) != len(names) or self.phases[-1] is not PLAY:
            raise RuleError(f"opening {self.name}: phases need distinct names and end with 'play'")
        for phase in self.phases[:-1]:
            for target in (phase.point, *phase.options.values()):
                if target is not None and target not in names:
                    raise RuleError(f"opening {self.name}: phase {phase.name} leads to {target!r}")
            for field, choices in (("actor", ACTORS), ("where", REGIONS), ("effect", EFFECTS)):
                if getattr(phase, field) not in choices:
                    raise RuleError(
                        f"opening {self.name}: phase {phase.name}: {field}"
                        f" {getattr(phase, field)!r} is not one of {', '.join(choices)}"
                    )

    def check(self, rules: RuleSet) -> None:
        """Raise `RuleError`, naming the smallest board, where the protocol does not fit on this."""
        where = max((phase.where for phase in self.phases), key=_least_side)
        least, sides = _least_side(where), (rules.width, rules.height)
        if least and (min(sides) < least or any(side % 2 == 0 for side in sides)):
            kind, side = where.split("-")[:2]
            within = "outside" if kind == "outside" else "in"
            raise RuleError(
                f"opening: {self.name} places a stone {within} the central {side}x{side}: it"
                f" needs a board of odd sides of at least {least}, not"
                f" {rules.width}x{rules.height}"
            )


def _least_side(where: str) -> int:
    """Sides of the smallest board that has one of `REGIONS`; 0: every board has it."""
    if where == "anywhere":
        return 0
    kind, side = where.split("-")[:2]
    return int(side) + 2 if kind == "outside" else max(int(side), MIN_SIDE)


#: Normal play; whether `pass` is allowed there is a rule of the game, not of the opening.
PLAY = Phase(name="play", actor="owner", point="play")


def _stones(names: tuple[str, ...], actor: str, then: str) -> tuple[Phase, ...]:
    """Phases in which one seat places a stone each, leading on to the phase `then`."""
    return tuple(
        Phase(name=name, actor=actor, point=following)
        for name, following in zip(names, (*names[1:], then), strict=True)
    )


def _choose(name: str, actor: str, then: str) -> Phase:
    """A phase in which a seat takes a colour."""
    return Phase(name=name, actor=actor, options={"black": then, "white": then})


# --- the pie rules of gomoku and Irensei ---


def _swap_2_phases() -> tuple[Phase, ...]:
    colours_or_more = {"black": "play", "white": "play", "more": "stone-4"}
    return (
        *_stones(("stone-1", "stone-2", "stone-3"), "A", "choose-or-more"),
        Phase(name="choose-or-more", actor="B", options=colours_or_more),
        *_stones(("stone-4", "stone-5"), "B", "choose"),
        _choose("choose", "A", "play"),
        PLAY,
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
    return (*rows, _choose("choose", "other", "play"), PLAY)


def _pro_phases(side: int) -> tuple[Phase, ...]:
    return (
        Phase(name="stone-1", actor="owner", where="central-1", point="stone-2"),
        Phase(name="stone-2", actor="owner", point="stone-3"),
        Phase(name="stone-3", actor="owner", where=f"outside-{side}", point="play"),
        PLAY,
    )


# --- renju's openings ---


def _renju_stones(then: str, *, second: str = "A", third: str = "central-5") -> tuple[Phase, ...]:
    """Stones 1 to 3: one of the 26 openings, by their squares alone."""
    return (
        Phase(name="stone-1", actor="A", where="central-1", point="stone-2"),
        Phase(name="stone-2", actor=second, where="central-3", point="stone-3"),
        Phase(name="stone-3", actor="A", where=third, point=then),
    )


def _fifth_moves(offers: int = 0) -> tuple[Phase, ...]:
    """Black offers fifth moves; White picks one and places the sixth stone."""
    return (
        Phase(name="offer", actor="black", effect="offer", offers=offers, point="pick"),
        Phase(name="pick", actor="white", effect="pick", point="stone-6"),
        _STONE_6,
    )


_STONE_6 = Phase(name="stone-6", actor="owner", point="play")
#: The fifth stone where one fifth move was announced: it is simply placed.
_STONE_5 = Phase(name="stone-5", actor="owner", point="stone-6")


def _two_fifth_moves_phases(**stones: str) -> tuple[Phase, ...]:
    """One swap, then two fifth moves; `stones` as in `_renju_stones`."""
    return (
        *_renju_stones("choose", **stones),
        _choose("choose", "B", "stone-4"),
        Phase(name="stone-4", actor="owner", point="offer"),
        *_fifth_moves(2),
        PLAY,
    )


def _announce(actor: str, most: int, one: str, several: str) -> Phase:
    """A seat announces the number of fifth moves."""
    numbers = {str(number): several for number in range(2, most + 1)}
    return Phase(name="announce", actor=actor, options={"1": one, **numbers})


def _yamaguchi_phases() -> tuple[Phase, ...]:
    return (
        *_renju_stones("announce"),
        _announce("A", MOST_OFFERS, "choose-single", "choose"),
        _choose("choose-single", "B", "stone-4-single"),
        Phase(name="stone-4-single", actor="owner", point="stone-5"),
        _STONE_5,
        _choose("choose", "B", "stone-4"),
        Phase(name="stone-4", actor="owner", point="offer"),
        *_fifth_moves(),
        PLAY,
    )


def _soosorv_phases(most: int) -> tuple[Phase, ...]:
    return (
        *_renju_stones("choose"),
        _choose("choose", "B", "stone-4"),
        Phase(name="stone-4", actor="owner", point="announce"),
        _announce("white", most, "choose-single", "choose-again"),
        _choose("choose-single", "black", "stone-5"),
        _STONE_5,
        _choose("choose-again", "black", "offer"),
        *_fifth_moves(),
        PLAY,
    )


def _taraguchi_phases(offers: int) -> tuple[Phase, ...]:
    fifth = {"black": "stone-5-near", "white": "stone-5-near"}
    return (
        Phase(name="stone-1", actor="A", where="central-1", point="choose-1"),
        _choose("choose-1", "other", "stone-2"),
        Phase(name="stone-2", actor="owner", where="central-3", point="choose-2"),
        _choose("choose-2", "other", "stone-3"),
        Phase(name="stone-3", actor="owner", where="central-5", point="choose-3"),
        _choose("choose-3", "other", "stone-4"),
        Phase(name="stone-4", actor="owner", where="central-7", point="choose-or-offer"),
        Phase(
            name="choose-or-offer",
            actor="black",
            options={**fifth, str(offers): "offer" if offers > 1 else "stone-5"},
        ),
        Phase(name="stone-5-near", actor="owner", where="central-9", point="choose-5"),
        _choose("choose-5", "other", "stone-6"),
        _STONE_5,
        *_fifth_moves(),
        PLAY,
    )


#: Protocols with a number in their names: the number where it is left out, the phases, the source.
_NUMBERED: dict[str, tuple[int, Callable[[int], tuple[Phase, ...]], str]] = {
    "soosorv": (8, _soosorv_phases, "RIF, Soosorv-N opening rule (world championships 2017-2023)"),
    "taraguchi": (10, _taraguchi_phases, "RIF, Taraguchi-N opening rule (from 2024)"),
}


def _numbered(base: str, number: int) -> Opening:
    _, phases, source = _NUMBERED[base]
    return Opening(name=f"{base}-{number}", source=source, phases=phases(number), number=number)


#: Every protocol by name, those with a number once. The position of a name in this table is its
#: number in the network's globals (`engine.features`): append, never reorder.
OPENINGS: dict[str, Opening] = {
    opening.name: opening
    for opening in (
        Opening(name="none", source="normal play from an empty board", phases=(PLAY,)),
        Opening(
            name="swap-1st",
            source="the pie rule after one stone (Irensei's rules, variant swap-1st)",
            phases=(*_stones(("stone-1",), "A", "choose"), _choose("choose", "B", "play"), PLAY),
        ),
        Opening(
            name="swap",
            source="gomoku's swap rule, three stones and a choice (en.wikipedia.org/wiki/Gomoku)",
            phases=(
                *_stones(("stone-1", "stone-2", "stone-3"), "A", "choose"),
                _choose("choose", "B", "play"),
                PLAY,
            ),
        ),
        Opening(
            name="swap-2",
            source="gomoku's swap2 rule, as Gomocup plays it (gomocup.org)",
            phases=_swap_2_phases(),
        ),
        Opening(
            name="swap-5",
            source="Irensei's rules, variant swap-5: one token and five stones",
            phases=_swap_5_phases(),
        ),
        Opening(
            name="renju-swap",
            source="RIF, swap rule of 1989-1995 (en.wikipedia.org/wiki/Swap_opening_rule)",
            phases=_two_fifth_moves_phases(second="B", third="central-5-near-corners"),
        ),
        Opening(
            name="rif",
            source="RIF International Rules of Renju (1996), section 4: two fifth moves",
            phases=_two_fifth_moves_phases(),
        ),
        Opening(
            name="yamaguchi",
            source="RIF, Yamaguchi opening rule (world championships 2009-2015)",
            phases=_yamaguchi_phases(),
        ),
        _numbered("soosorv", 8),
        _numbered("taraguchi", 10),
        Opening(
            name="pro",
            source="gomoku's pro rule (en.wikipedia.org/wiki/Gomoku)",
            phases=_pro_phases(5),
        ),
        Opening(
            name="long-pro",
            source="gomoku's long pro rule (en.wikipedia.org/wiki/Gomoku)",
            phases=_pro_phases(7),
        ),
    )
}

#: Names as messages list them.
OPENING_NAMES = tuple(
    f"{base}-N" if (base := name.partition("-")[0]) in _NUMBERED else name for name in OPENINGS
)


@functools.cache
def opening(name: str) -> Opening:
    """The protocol of this name; `soosorv-N` and `taraguchi-N` exist for N from 1 to 12.

    Without their number they mean `soosorv-8` and `taraguchi-10`. Raises `RuleError` if there is
    none.
    """
    if name in OPENINGS:
        return OPENINGS[name]
    base, dash, digits = str(name).partition("-")
    if base in _NUMBERED:
        default = _NUMBERED[base][0]
        if not dash:
            return OPENINGS[f"{base}-{default}"]
        if re.fullmatch(r"[1-9][0-9]?", digits) and int(digits) <= MOST_OFFERS:
            return _numbered(base, int(digits))
        raise RuleError(f"opening: {name!r}: {base}-N needs a number N from 1 to {MOST_OFFERS}")
    raise RuleError(
        f"opening: {name!r} is not one of {', '.join(OPENING_NAMES)}{similar(name, OPENING_NAMES)}"
    )


def opening_number(name: str) -> int:
    """The protocol's place in the network's globals; one for all N of a protocol with a number."""
    found = opening(name).name
    base = found.partition("-")[0]
    if base in _NUMBERED:
        found = f"{base}-{_NUMBERED[base][0]}"
    return list(OPENINGS).index(found)
