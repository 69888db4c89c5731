"""Games as files: SGF, and the lines of JSON that are the project's records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from bots.web.game import Game
from bots.web.messages import MOST_ACTIONS, Record
from engine import Position
from engine.json_lines import RequestError, parse
from engine.position import COLOURS, SEATS

if TYPE_CHECKING:
    from engine.sgf import Remark

#: Nodes that an SGF file may have; and games of a file that are listed.
MOST_NODES, MOST_LISTED = 20_000, 300
#: A record's version (`selfplay.records.FORMAT`; the referee reads its lines as they are).
RECORD_FORMAT = 1


class Opened(NamedTuple):
    """A game that was read, and what of its file is left out, in words; empty for nothing."""

    record: Record
    left_out: str = ""


class FileError(ValueError):
    """A file that holds no game that can be played here; one line says why."""


class Choice(Exception):  # noqa: N818 - no error: the file has several games, and one is to be chosen
    """Raised with the titles of a file's games."""

    def __init__(self, titles: list[str]) -> None:
        super().__init__(f"{len(titles)} games")
        self.titles = titles


def read_file(
    text: str, index: int | None = None, game: str | None = None, opening: str = "none"
) -> Opened:
    """The game of a file, the one at `index` of several. Raises `FileError`, `Choice`.

    `game` and `opening` are for SGF of other programs that does not say them.
    """
    text = text.lstrip("\ufeff \t\r\n")
    if not text:
        raise FileError("the file is empty")
    if text.startswith("{"):
        return Opened(_record(text, index))
    return _sgf(text, index, game, opening)


def _record(text: str, index: int | None) -> Record:
    lines = [line for line in text.splitlines() if line.strip()]
    if index is None and len(lines) > 1:
        raise Choice([_line_title(line, number) for number, line in enumerate(lines[:MOST_LISTED])])
    return _from_line(_chosen(lines, index))


def _line_title(line: str, number: int) -> str:
    try:
        data = parse(line.encode("utf-8", "replace"))
    except RequestError:
        return f"{number + 1}: cannot be read"
    title = f"{data.get('id', number + 1)}: {data.get('game')}, {data.get('opening', 'none')}"
    return title[:80]


def _from_line(line: str) -> Record:
    """The game of a record's line, or of a referee's request."""
    try:
        data = parse(line.encode("utf-8", "replace"))
    except RequestError as error:
        raise FileError(f"no record: {error}") from error
    kept = {
        name: data[name]
        for name in ("game", "rules", "opening", "setup", "actions")
        if data.get(name) is not None
    }
    names, result = data.get("seats"), data.get("result")
    if isinstance(names, dict):
        kept["seats"] = {
            seat: {"name": str(names[seat])[:80]} for seat in SEATS if names.get(seat) is not None
        }
    if isinstance(result, dict) and result.get("reason") in ("resign", "time", "forfeit"):
        kept["result"] = {"winner_seat": result.get("winner_seat"), "reason": result["reason"]}
    kept["title"] = str(data.get("id", ""))[:80]
    try:
        return msgspec.convert(kept, Record)
    except msgspec.ValidationError as error:
        raise FileError(f"no record: {error}") from None


def _sgf(text: str, index: int | None, game: str | None, opening: str) -> Opened:
    try:
        from engine.sgf import SgfError, from_sgf
        from engine.sgf_nodes import start_of
    except ModuleNotFoundError as error:
        raise FileError("SGF needs the package sgfmill: pip install 'narabe[sgf]'") from error
    if text.count(";") > MOST_NODES:
        raise FileError(f"the file has more than {MOST_NODES} nodes, too many for this server")
    try:
        games = from_sgf(text, game=game, opening=opening)
    except SgfError as error:
        raise FileError(str(error)) from error
    if index is None and len(games) > 1:
        titles = [f"{n}: {g.name or g.position.rules.name}" for n, g in enumerate(games, start=1)]
        raise Choice(titles[:MOST_LISTED])
    found = _chosen(games, index)
    position = found.position
    if len(position.actions) > MOST_ACTIONS:
        raise FileError(f"games of more than {MOST_ACTIONS} actions are not kept here")
    kept: dict[str, Any] = {
        "game": position.rules.name,
        "rules": position.rules.to_json(),
        "opening": position.opening,
        "actions": [position.action_name(action) for action in position.actions],
        "seats": {seat: {"name": name[:80]} for seat, name in found.players.items()},
        "title": found.name[:80],
    }
    if found.result is not None and position.outcome is None:
        reason = found.result["reason"] or "unknown"
        kept["result"] = {"winner_seat": found.result["winner_seat"], "reason": reason[:40]}
    if position.setup is not None:
        board, to_play = position.setup
        kept["setup"] = {"to_play": to_play}
        for stone, colour in enumerate(COLOURS[1:], start=1):
            points = [point for point, found in enumerate(board.flat) if found == stone]
            kept["setup"][colour] = [position.action_name(point) for point in points]
    said = {ply: remark.value for ply, remark in found.remarks.items()}
    values = [said.get(ply) for ply in range(position.ply + 1)]
    kept["values"] = _turned(start_of(position), position.actions, values)
    try:
        return Opened(msgspec.convert(kept, Record), _left_out(found.remarks.values()))
    except msgspec.ValidationError as error:
        raise FileError(f"no game for this page: {error}") from None


def _left_out(remarks: Iterable[Remark]) -> str:
    """What is said about a game that a `Record` has no place for."""
    variations = comments = 0
    waiting = list(remarks)
    while waiting:
        remark = waiting.pop()
        comments += bool(remark.comment)
        variations += len(remark.lines)
        waiting += [within for line in remark.lines for within in line.remarks.values()]
    counts = ((variations, "variation"), (comments, "comment"))
    parts = [f"{count} {what}{'s' * (count > 1)}" for count, what in counts if count]
    if not parts:
        return ""
    are = "is" if variations + comments == 1 else "are"
    return f"{' and '.join(parts)} of the file {are} not shown, and will not be saved."


def _turned(start: Position, actions: list[int], values: list[float | None]) -> list[float | None]:
    """Values of a game's positions for Black, as SGF has them, from those for seat A; or back."""
    turned: list[float | None] = []
    for ply, value in enumerate(values):
        same = start.colour_of("A") == "black"
        turned.append(value if value is None or same else -value)
        if ply < len(actions):
            start.play(actions[ply])
    return turned


def _chosen(games: list[Any], index: int | None) -> Any:
    if index is not None and index >= len(games):
        raise FileError(f"the file has {len(games)} games, and none at {index + 1}")
    return games[index or 0]


def to_sgf_text(game: Game) -> str:
    """The game as SGF. Raises `FileError` where sgfmill is missing."""
    try:
        from engine.sgf import Remark, SgfError, to_sgf
    except ModuleNotFoundError as error:
        raise FileError("SGF needs the package sgfmill: pip install 'narabe[sgf]'") from error
    position = game.last()
    try:
        return to_sgf(
            position,
            name=game.title,
            players=_names(game),
            result=_result(game) if position.outcome is None else None,
            # What bots have thought of the positions, so that the curve comes back.
            remarks={
                ply: Remark(value=value)
                for ply, value in enumerate(_turned(game.at(0), position.actions, game.values))
                if value is not None
            },
        )
    except SgfError as error:
        raise FileError(str(error)) from error


def to_record_line(game: Game) -> str:
    """The game as a line of the project's records; its result is null while it goes on."""
    position = game.last()
    outcome = position.outcome
    result: dict[str, str | None] | None = _result(game)
    if outcome is not None:
        result = {
            "winner_seat": outcome.winner_seat,
            "winner_colour": outcome.winner_colour,
            "reason": outcome.reason,
        }
    line = {
        "format": RECORD_FORMAT,
        "id": game.title or "web",
        "game": position.rules.name,
        "rules": position.rules.to_json(),
        "opening": position.opening,
        "actions": [move.name for move in game.moves],
        "seats": _names(game),
        "versions": [],
        "result": result,
        "seed": {"run": 0, "game": 0},
    }
    record = game.record()
    if record.setup is not None:
        line["setup"] = msgspec.to_builtins(record.setup)
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n"


def _names(game: Game) -> dict[str, str]:
    """A name for each seat."""
    names = {}
    for seat, setup in game.seats.items():
        bot = setup.bot and f"{setup.bot} (level {setup.level})"
        names[seat] = setup.name or bot or f"Player {seat}"
    return names


def _result(game: Game) -> dict[str, str | None] | None:
    """The result that players gave to the game."""
    if game.result is None:
        return None
    seat = game.result.winner_seat
    colour = None if seat is None else game.last().colour_of(seat)
    return {"winner_seat": seat, "winner_colour": colour, "reason": game.result.reason}
