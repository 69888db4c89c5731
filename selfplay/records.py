"""Game records: one JSON line per game, in files `games-NNNNNN.jsonl` of a records folder.

A line has the fields

    format    1
    id        the game's name in its run, "g" and the game index unless given otherwise
    game      the preset that the rules come from;  rules: all fields of the rule set
    opening   the opening protocol's name
    actions   the names of the actions played, in order
    seats     {"A": who, "B": who}: a checkpoint, or a player of a gauntlet
    versions  [[ply, version], ...]: from this ply on, this version of the weights played
    result    {"winner_seat": "A" | "B" | null, "winner_colour": ..., "reason": ...}
    seed      {"run": ..., "game": ...}: all chances of the game follow from these two numbers

`scripts.referee` accepts a line as it is. Lines are appended and synced; a line that a kill or a
power cut left unfinished is no record: readers pass over it, and the next writer sets it aside.
"""

import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import RuleError, RuleSet
from selfplay.storage import append_lines, cannot_write, make_folder

_log = logging.getLogger(__name__)

FORMAT = 1
"""Version of the line's format; grows when older readers could not understand a line."""

PATTERN = "games-{:06d}.jsonl"
"""Names of record files, by their number."""


class RecordError(ValueError):
    """A line that is no game record; the message says where and why."""


@dataclass(slots=True, kw_only=True)
class GameRecord:
    """One game played to its end. `game` is `rules.name`; see the module for the fields."""

    game: str
    rules: RuleSet
    opening: str
    actions: list[str]
    seats: dict[str, str]
    versions: list[tuple[int, int]]
    result: dict[str, str | None]
    seed: dict[str, int]
    id: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            self.id = f"g{self.seed['game']:08d}"

    @property
    def winner(self) -> str | None:
        """Who won, as named in `seats`; None for a draw."""
        seat = self.result["winner_seat"]
        return None if seat is None else self.seats[seat]

    def to_line(self) -> str:
        """The record as one line of JSON, without a newline."""
        return json.dumps(
            {
                "format": FORMAT,
                "id": self.id,
                "game": self.game,
                "rules": self.rules.to_json(),
                "opening": self.opening,
                "actions": self.actions,
                "seats": self.seats,
                "versions": self.versions,
                "result": self.result,
                "seed": self.seed,
            },
            ensure_ascii=False,
            separators=(",", ":"),
        )

    @classmethod
    def from_line(cls, line: str | bytes) -> "GameRecord":
        """The inverse of `to_line`; fields unknown to this version are ignored.

        Raises RecordError for anything else than a record, and for one of a newer format.
        """
        try:
            data = json.loads(line)
        except ValueError as error:
            raise RecordError(f"not JSON: {error}") from error
        if not isinstance(data, dict):
            raise RecordError("not a JSON object")
        version = data.get("format")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise RecordError(f"format: {version!r} is not a format number")
        if version > FORMAT:
            raise RecordError(
                f"format {version} is newer than {FORMAT}, the last one known here; update narabe"
            )
        try:
            return _from_fields(data)
        except KeyError as error:
            raise RecordError(f"{error.args[0]}: missing") from error
        except RuleError as error:
            raise RecordError(str(error)) from error


def _from_fields(data: dict[str, Any]) -> GameRecord:
    game, rules = _typed(data, "game", str), RuleSet.from_json(_typed(data, "rules", dict))
    if rules.name != game:
        raise RecordError(f"rules.name: {rules.name!r} is not the game {game!r}")
    result = _typed(data, "result", dict)
    if result["winner_seat"] not in ("A", "B", None):
        raise RecordError(f"result.winner_seat: {result['winner_seat']!r} is not A, B or null")
    if result["winner_colour"] not in ("black", "white", None):
        raise RecordError(f"result.winner_colour: {result['winner_colour']!r} is no colour")
    seats, seed = _typed(data, "seats", dict), _typed(data, "seed", dict)
    return GameRecord(
        id=_typed(data, "id", str),
        game=game,
        rules=rules,
        opening=_typed(data, "opening", str),
        actions=[
            _typed({"actions": name}, "actions", str) for name in _typed(data, "actions", list)
        ],
        seats={seat: _typed(seats, seat, str) for seat in ("A", "B")},
        versions=[_version(entry) for entry in _typed(data, "versions", list)],
        result={
            "winner_seat": result["winner_seat"],
            "winner_colour": result["winner_colour"],
            "reason": _typed(result, "reason", str),
        },
        seed={name: _typed(seed, name, int) for name in ("run", "game")},
    )


def _typed(data: dict[str, Any], name: str, kind: type) -> Any:
    value = data[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"{name}: {value!r} is not of type {kind.__name__}")
    return value


def _version(entry: Any) -> tuple[int, int]:
    match entry:
        case [int(ply), int(version)]:
            return ply, version
    raise RecordError(f"versions: {entry!r} is not [ply, version]")


def read_records(folder: Path | str) -> Iterator[GameRecord]:
    """All records of a folder, oldest file first, one line in memory at a time.

    The end of a file that has no newline is passed over: it is being written, or was torn. Raises
    RecordError, naming file and line, where a whole line is no record.
    """
    for path in record_files(folder):
        yield from read_file(path)


def read_file(path: Path | str) -> Iterator[GameRecord]:
    """The records of one file, as `read_records` gives them."""
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield GameRecord.from_line(line)
            except RecordError as error:
                raise RecordError(f"{path}, line {number}: {error}") from error


def record_files(folder: Path | str) -> list[Path]:
    """The record files of a folder in the order in which they were written."""
    return sorted(Path(folder).glob("games-*.jsonl"))


class RecordLog:
    """Appends records to a folder, starting a new file every `games_per_file` games.

    One process writes at a time. Opening it repairs what a kill has left: the torn end of the last
    file is moved to a file `NAME.torn`, with a warning in the log. Raises StorageError where the
    folder cannot be written.
    """

    def __init__(self, folder: Path | str, *, games_per_file: int = 10_000) -> None:
        self.folder = Path(folder)
        self.games_per_file = games_per_file
        make_folder(self.folder)
        files = record_files(self.folder)
        self._path = files[-1] if files else self.folder / PATTERN.format(0)
        self._games = 0
        if files:
            _set_torn_end_aside(self._path)
            with self._path.open("rb") as file:
                self._games = sum(1 for _ in file)

    def append(self, records: Iterable[GameRecord]) -> None:
        """Add records and sync them: once this returns, they survive a kill and a power cut.

        Raises StorageError when they cannot be written (a full disk); the current file is then as
        it was, and none of the records that belong into it is kept.
        """
        lines = [record.to_line() for record in records]
        while lines:
            room = self.games_per_file - self._games
            if room <= 0:
                self._path = self._path.with_name(PATTERN.format(_number(self._path) + 1))
                self._games = 0
                continue
            append_lines(self._path, lines[:room])
            self._games += len(lines[:room])
            lines = lines[room:]


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("games-"))


def _set_torn_end_aside(path: Path) -> None:
    """Cut a file back to its last whole line; what follows goes to `NAME.torn`."""
    try:
        with path.open("r+b") as file:
            whole = _whole_lines_end(file)
            file.seek(whole)
            torn = file.read()
            if not torn:
                return
            aside = path.with_name(path.name + ".torn")
            with aside.open("ab") as other:
                other.write(torn + b"\n")
                os.fsync(other.fileno())
            file.truncate(whole)
            os.fsync(file.fileno())
    except OSError as error:
        raise cannot_write(path, error) from error
    _log.warning(
        "%s: the last line was torn by a kill; its %d bytes were moved to %s",
        path,
        len(torn),
        aside.name,
    )


def _whole_lines_end(file: Any, block: int = 1 << 16) -> int:
    """The offset after the file's last newline; 0 if it has none."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return int(start + found + 1)
        end = start
    return 0
