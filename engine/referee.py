"""The rules as a function from a JSON request to a JSON answer; `docs/referee.md` describes both.

`python -m scripts.referee` serves it over standard input and output.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from engine.json_lines import RequestError, kind, mapping, string, strings
from engine.notation import IllegalAction, action_name
from engine.position import Position
from engine.rules import RuleError, RuleSet

WANTS = ("legal", "board", "forbidden", "fives")
_SETUP_KEYS = ("black", "white", "to_play")


def judge(request: Mapping[str, Any]) -> dict[str, Any]:
    """Play the actions of `request` and report every ply, the final position and the result.

    Keys that are not part of a request are ignored, so that a game record is a request as it is.
    The first illegal action ends the replay and is reported under `error`.
    Raises `RequestError` for a request that names no game or says something impossible.
    """
    if not isinstance(request, Mapping):
        raise RequestError(f"a request is an object, not {kind(request)}")
    wants = strings(request, "want")
    for want in wants:
        if want not in WANTS:
            raise RequestError(f"want: {want!r} is not one of {', '.join(WANTS)}")
    actions = strings(request, "actions")
    try:
        position = first_position(request)
    except RuleError as error:
        raise RequestError(str(error)) from error

    plies: list[dict[str, Any]] = []
    refused = None
    for ply, action in enumerate(actions):
        try:
            plies.append(_play(position, action, wants))
        except IllegalAction as error:
            refused = {"ply": ply, "action": action, "reason": error.reason}
            refused |= {"detail": error.detail} if error.detail else {}
            break
    final = describe(position, wants)
    if "board" in wants:
        final["board"] = position.rows()
    return {"plies": plies, "final": final, "result": result_of(position), "error": refused}


def _play(position: Position, action: str, wants: Sequence[str]) -> dict[str, Any]:
    """Play one action and describe it. Raises `IllegalAction`; the position is then unchanged."""
    index = position.parse_action(action)
    answer = {"action": position.action_name(index), **describe(position, wants)}
    names = _names(position.rules)
    ply = position.play(index)
    if ply.captured:
        answer["captured"] = [names[point] for point in ply.captured]
    if ply.switched:
        answer["switched"] = [names[point] for point in ply.switched]
    if "board" in wants:
        answer["board"] = position.rows()
    return answer


def describe(position: Position, wants: Sequence[str]) -> dict[str, Any]:
    """Who is to act, in which phase and with which choices."""
    answer: dict[str, Any] = {
        "colour": position.to_play,
        "seat": position.seat,
        "phase": position.phase,
    }
    names = _names(position.rules)
    if "legal" in wants and (legal := position.legal_actions().tolist()):
        answer["legal"] = [names[action] for action in legal]
    if "forbidden" in wants and (fouls := position.forbidden()):
        answer["forbidden"] = {names[point]: kinds for point, kinds in fouls.items()}
    if "fives" in wants and (points := position.winning_points()):
        answer["fives"] = [names[point] for point in points]
    return answer


def result_of(position: Position) -> dict[str, Any] | None:
    """The result, or None while the game goes on."""
    outcome = position.outcome
    if outcome is None:
        return None
    return {
        "winner_seat": outcome.winner_seat,
        "winner_colour": outcome.winner_colour,
        "reason": outcome.reason,
    }


def first_position(request: Mapping[str, Any]) -> Position:
    """The position before the first action. Raises `RuleError` and `RequestError`."""
    if "game" not in request:
        raise RequestError("game: missing")
    game, opening = string(request, "game"), string(request, "opening", "none")
    overrides = dict(mapping(request, "rules"))
    # A record holds all fields of its rule set, and among them the preset's name.
    if overrides.pop("name", game) != game:
        raise RequestError(f"rules.name: {request['rules']['name']!r} is not the game {game!r}")
    rules = RuleSet.preset(game, **overrides)
    if request.get("setup") is None:
        return Position(rules, opening)
    setup = mapping(request, "setup")
    for key in setup:
        if key not in _SETUP_KEYS:
            raise RequestError(f"setup.{key}: no such key; the keys are {', '.join(_SETUP_KEYS)}")
    return Position.from_setup(
        rules,
        black=strings(setup, "black", where="setup."),
        white=strings(setup, "white", where="setup."),
        to_play=string(setup, "to_play", "black", where="setup."),
        opening=opening,
    )


@functools.lru_cache(maxsize=64)
def _names(rules: RuleSet) -> tuple[str, ...]:
    """The names of all actions in the order of their indices."""
    return tuple(action_name(rules, action) for action in range(rules.num_actions))
