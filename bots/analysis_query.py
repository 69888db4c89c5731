"""What a client of the analysis engine asks for, checked; `docs/analysis.md` describes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from bots.player import THREAT_NODES as WANTED_THREAT_NODES
from bots.repertoire import Repertoire, UnknownGameError
from engine import IllegalAction, Position, RuleError
from engine.json_lines import RequestError, kind, number, strings
from engine.referee import first_position
from engine.rules import similar

#: Keys of a query. Those of the first line name a game as the referee does.
KEYS = (
    *("game", "rules", "opening", "setup", "actions"),
    *("id", "plies", "simulations", "seconds", "threat_nodes", "report_every", "priority"),
    *("moves", "want"),
)
#: What else a game record has: it can be asked about as it is.
_RECORD = ("format", "seats", "versions", "result", "seed")

WANTS = ("board", "legal", "policy", "threats")

#: Longest id, in characters.
LONGEST_ID = 200
#: Priorities, times and the like beyond this are of no use.
_MOST = 1e9

#: Positions made for wins by threats before each search where a query does not say; a player's
#: where it wants to know of threats. These take half a millisecond at most, little beside the rest.
THREAT_NODES = 1000
#: No more than this, about a second: all searches wait meanwhile.
_MOST_THREAT_NODES = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """A query: positions of one game, and what holds for each of them."""

    id: str
    #: By the number of actions played before, ascending.
    positions: dict[int, Position]
    simulations: int | None
    seconds: float | None
    report_every: float | None
    priority: int
    #: Actions to report, at most; None: all that were visited.
    moves: int | None
    #: Positions made for wins by threats before each search; 0: none.
    threat_nodes: int
    want: frozenset[str]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """An action of the client's that is no query: one of `COMMANDS`."""

    id: str
    action: str
    #: `terminate`: which query to end.
    terminate_id: str | None
    #: `terminate` and `terminate_all`: which of its positions; None: all.
    plies: frozenset[int] | None


#: Commands and their keys beside `id` and `action`.
COMMANDS: dict[str, tuple[str, ...]] = {
    "query_version": (),
    "clear_cache": (),
    "terminate": ("terminate_id", "plies"),
    "terminate_all": ("plies",),
}


def parse_request(request: Mapping[str, Any], repertoire: Repertoire) -> Asked | Command:
    """A query or a command. Raises `RequestError`, which says what is wrong and where."""
    name = request_id(request)
    if request.get("action") is not None:
        return _command(request, name)
    _check_keys(request, (*KEYS, *_RECORD))
    positions = _positions(request, repertoire)
    want = strings(request, "want")
    for each in want:
        if each not in WANTS:
            raise RequestError(f"want: {each!r} is not one of {', '.join(WANTS)}")
    return Asked(
        id=name,
        positions=positions,
        simulations=_whole(request, "simulations", 1),
        seconds=number(request, "seconds", 0.0, _MOST),
        report_every=number(request, "report_every", 0.001, _MOST),
        priority=_whole(request, "priority", -_MOST) or 0,
        moves=_whole(request, "moves", 0),
        threat_nodes=_threat_nodes(request, want),
        want=frozenset(want),
    )


def request_id(request: Mapping[str, Any], key: str = "id") -> str:
    """The name that the client has given. Raises `RequestError`."""
    name = request.get(key)
    if not isinstance(name, str):
        given = "missing" if name is None else f"must be a string, not {kind(name)}"
        raise RequestError(f"{key}: {given}")
    if not 0 < len(name) <= LONGEST_ID:
        raise RequestError(f"{key}: must have 1 to {LONGEST_ID} characters")
    return name


def _command(request: Mapping[str, Any], name: str) -> Command:
    action = request["action"]
    if not isinstance(action, str) or action not in COMMANDS:
        shown = repr(action) if isinstance(action, str) else kind(action)
        raise RequestError(
            f"action: {shown} is not one of {', '.join(COMMANDS)}{similar(action, COMMANDS)}"
        )
    _check_keys(request, ("id", "action", *COMMANDS[action]))
    return Command(
        id=name,
        action=action,
        terminate_id=request_id(request, "terminate_id") if action == "terminate" else None,
        plies=None if request.get("plies") is None else frozenset(_numbers(request, "plies")),
    )


def _check_keys(request: Mapping[str, Any], known: tuple[str, ...]) -> None:
    for key in request:
        if key not in known:
            raise RequestError(f"{key[:40]!r}: no such key{similar(key, known)}")


def _positions(request: Mapping[str, Any], repertoire: Repertoire) -> dict[int, Position]:
    """The positions that are asked about. Raises `RequestError`."""
    actions = strings(request, "actions")
    try:
        position = first_position(request)
        repertoire.check(position.rules)
    except (RuleError, UnknownGameError) as error:
        raise RequestError(str(error)) from error
    wanted = _plies(request, len(actions))
    found = {0: position.copy()} if 0 in wanted else {}
    for ply, action in enumerate(actions):
        try:
            position.play(action)
        except IllegalAction as error:
            raise RequestError(f"actions[{ply}]: {error}") from error
        if ply + 1 in wanted:
            found[ply + 1] = position.copy()
    return found


def _plies(request: Mapping[str, Any], last: int) -> set[int]:
    """How many actions are played before the positions that are asked about."""
    plies = request.get("plies")
    if plies is None:
        return {last}
    if plies == "all":
        return set(range(last + 1))
    numbers = _numbers(request, "plies")
    for each in numbers:
        if not 0 <= each <= last:
            raise RequestError(f"plies: {each} is outside 0..{last}, the number of actions")
    if not numbers:
        raise RequestError("plies: names no position; leave it out for the last one")
    return set(numbers)


def _numbers(request: Mapping[str, Any], key: str) -> list[int]:
    value = request[key]
    if not isinstance(value, list):
        raise RequestError(f"{key}: must be a list of numbers, not {kind(value)}")
    for index, each in enumerate(value):
        if isinstance(each, bool) or not isinstance(each, int):
            raise RequestError(f"{key}[{index}]: must be a whole number, not {kind(each)}")
    return value


def _threat_nodes(request: Mapping[str, Any], want: Collection[str]) -> int:
    """Positions made for wins by threats. Raises `RequestError`."""
    given = _whole(request, "threat_nodes", 0, _MOST_THREAT_NODES)
    if given is not None:
        return given
    return WANTED_THREAT_NODES if "threats" in want else THREAT_NODES


def _whole(request: Mapping[str, Any], key: str, least: float, most: float = _MOST) -> int | None:
    value = number(request, key, least, most, whole=True)
    return None if value is None else int(value)
