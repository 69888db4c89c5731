"""What happens in a game, in words for people; read off the rules and the opening's table."""

from __future__ import annotations

from bots.web.game import Move, current_phase
from engine import IllegalAction, Position
from engine.openings import Phase

#: Why an empty point cannot be played (`engine.notation.IllegalAction`).
_REASONS = {
    "suicide": "would leave its own stones without a liberty",
    "superko": "would bring back an earlier board with the same player to act",
    "equivalent": "is the same, by symmetry, as a point already offered",
    "game-over": "the game is over",
}
#: How a game ended (`engine.REASONS`, and what players can do), after "Black wins" or "Draw".
_ENDS = {
    "line": "by a line",
    "overline": "because the other colour's line is too long",
    "passes": "by two passes",
    "pass-tiebreak": "by having passed first",
    "full-board": "on a full board",
    "no-legal-action": "because nothing is left to play",
    "ply-limit": "by the limit of plies",
    "forbidden": "by a forbidden move of Black",
    "resign": "by resignation",
    "time": "on time",
    "forfeit": "by forfeit",
}
_REGIONS = {
    "anywhere": "",
    "central-1": "on the centre",
    "central-5-near-corners": "in the central 5×5, less its corners far from stone 2",
}


def region_text(where: str) -> str:
    """A place of the opening's tables: "in the central 3×3"; nothing for the whole board."""
    if where in _REGIONS:
        return _REGIONS[where]
    kind, side = where.split("-")
    return f"{'outside' if kind == 'outside' else 'in'} the central {side}×{side}"


def colour_text(colour: str) -> str:
    """`Black` or `White`."""
    return colour.capitalize()


def prompt(position: Position) -> str:
    """What the seat to act is asked to do, without its name: "place stone 2 (white) ..."."""
    phase = current_phase(position)
    if position.phase == "play":
        return f"{colour_text(position.to_play)} to move"
    parts = []
    if phase.point is not None:
        parts.append(_point_prompt(position, phase))
    numbers = [option for option in phase.options if option.isdecimal()]
    colours = [option for option in phase.options if option in ("black", "white")]
    if colours:
        parts.append("choose a colour")
    if "more" in phase.options:
        parts.append("place two more stones")
    if "pass" in phase.options:
        parts.append("pass")
    if len(numbers) > 1:
        parts.append("announce how many fifth moves are offered")
    elif numbers:
        parts.append(_number_label(numbers[0]).lower())
    return " or ".join(parts)


def _point_prompt(position: Position, phase: Phase) -> str:
    if phase.effect == "pick":
        return "pick one of the offered fifth moves"
    if phase.effect == "offer":
        number = len(position.offers) + 1
        return f"offer fifth move {number} of {phase.offers or position.announced}"
    stones = int((position.board != 0).sum()) + 1
    where = region_text(phase.where)
    return f"place stone {stones}, {position.to_play}{where and f', {where}'}"


def option_label(position: Position, name: str) -> str:
    """What a button for an option says."""
    if name in ("black", "white"):
        mine = position.colour_of(position.seat) == name
        return f"{'Keep' if mine else 'Swap: take'} {colour_text(name)}"
    if name == "more":
        return "Place two more stones"
    if name == "pass":
        return "Pass" if position.phase == "play" else "Pass and keep the token"
    return _number_label(name)


def _number_label(name: str) -> str:
    return "One fifth move" if name == "1" else f"Offer {name} fifth moves"


def why_not(position: Position, reason: str, fouls: list[str]) -> str:
    """Why a point cannot be played."""
    if reason == "forbidden":
        return f"forbidden to Black: {' and '.join(fouls) or 'a foul'}"
    if reason == "not-in-this-phase":
        phase = current_phase(position)
        if phase.effect == "pick":
            return "was not offered"
        return f"the stone must lie {region_text(phase.where)}"
    return _REASONS.get(reason, reason)


def refusal(position: Position, error: IllegalAction) -> str:
    """An illegal action, as one sentence."""
    fouls = []
    if error.reason == "forbidden":
        fouls = position.forbidden().get(position.parse_action(error.action), [])
    if error.reason == "occupied":
        return f"{error.action}: a stone stands there"
    if error.reason in ("off-board", "unknown-action"):
        return f"{error.action}: there is no such point or choice"
    if error.detail:
        return f"{error.action}: {error.detail}"
    if error.reason == "not-in-this-phase" and current_phase(position).point is None:
        return f"{error.action}: {prompt(position)} first"
    return f"{error.action}: {why_not(position, error.reason, fouls)}"


def move_text(move: Move) -> str:
    """A move as it is read out: "Black c4, 2 stones captured"."""
    if move.effect == "offer":
        text = f"{move.name} offered as a fifth move"
    elif move.effect == "place":
        text = f"{colour_text(move.colour)} {move.name}"
    elif move.name in ("black", "white"):
        text = f"{move.seat} takes {colour_text(move.name)}"
    elif move.name == "more":
        text = f"{move.seat} places two more stones"
    elif move.name == "pass":
        text = f"{colour_text(move.colour)} passes"
    else:
        text = f"{move.seat} announces {move.name}"
    for points, what in ((move.captured, "captured"), (move.switched, "changed colour")):
        if points:
            text += f", {len(points)} stone{'s' * (len(points) > 1)} {what}"
    return text


def result_text(colour: str | None, reason: str) -> str:
    """A result: "Black wins by a line"."""
    who = "Draw" if colour is None else f"{colour_text(colour)} wins"
    return f"{who} {_ENDS.get(reason, '')}".strip()
