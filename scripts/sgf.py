"""Game records as SGF, and SGF as game records, on standard output.

    python -m scripts.sgf write runs/NAME > games.sgf            every game of a run
    python -m scripts.sgf write games-000000.jsonl --folder out  a file for each game
    python -m scripts.sgf write runs/NAME --bot BOT > games.sgf  with a bot's thoughts
    python -m scripts.sgf read games.sgf > games.jsonl
    python -m scripts.sgf read other.sgf --game gomoku --rule line_length=6

Files of other programs do not say which game they are: --game, --rule and --opening do. What narabe
has written needs none of them. docs/sgf.md describes the properties.
"""

import argparse
import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import PRESETS, IllegalAction, Position, RuleError
from scripts.quiet import run_quietly

if TYPE_CHECKING:
    from engine.sgf import Remark, SgfGame
    from selfplay.records import GameRecord


class ConversionError(ValueError):
    """Games that cannot be converted; one line says which and why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 1 for games that cannot be converted."""
    arguments = _parser().parse_args(argv)
    failures: list[str] = []

    def work() -> None:
        try:
            _convert(arguments)
        except ConversionError as error:
            failures.append(str(error))

    status = run_quietly(work)
    for failure in failures:
        print(f"sgf: {failure}", file=sys.stderr)
    return 1 if failures else status


def _convert(arguments: argparse.Namespace) -> None:
    """What the arguments ask for. Raises ConversionError."""
    try:
        import sgfmill  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConversionError("needs the package sgfmill: pip install sgfmill") from error
    from selfplay.storage import StorageError

    try:
        if arguments.command == "write":
            with _reviewer(arguments.bot, arguments.simulations) as review:
                write(arguments.records, arguments.folder, review)
        else:
            rules = dict(arguments.rule)
            read(arguments.files, arguments.game, rules, arguments.opening)
    except StorageError as error:
        raise ConversionError(str(error)) from error


#: What is said about the positions of a game.
Review = Callable[[Position], Mapping[int, "Remark"]]


@contextlib.contextmanager
def _reviewer(path: Path | None, simulations: int | None) -> Iterator[Review]:
    """What a bot thinks of games; nothing where there is none. Raises ConversionError."""
    if path is None:
        yield lambda position: {}
        return
    from bots.loading import load_bot
    from bots.remarks import review
    from bots.repertoire import Repertoire, UnknownGameError
    from model.bot import BotError

    try:
        bot = load_bot(path, simulations)
        analyst = bot.analyst()
    except (BotError, ValueError) as error:
        raise ConversionError(str(error)) from error
    repertoire = Repertoire(bot.games)

    def reviewed(position: Position) -> Mapping[int, "Remark"]:
        try:
            repertoire.check(position.rules)
        except UnknownGameError as error:
            raise ConversionError(f"{path}: {error}") from error
        return review(position, analyst, bot.search.simulations)

    try:
        yield reviewed
    finally:
        analyst.close()


def write(
    paths: Sequence[Path], folder: Path | None = None, review: Review = lambda position: {}
) -> None:
    """Records as one collection on standard output, or as files `ID.sgf` of a folder.

    `review` says what is written about their positions. Raises ConversionError, StorageError.
    """
    from selfplay.storage import make_folder, write_file

    written = set[Path]()
    for path in paths:
        for record in _records(path):
            text = record_to_sgf(record, review)
            if folder is None:
                sys.stdout.buffer.write(text.encode())
                continue
            make_folder(folder)
            file = folder / (re.sub(r"[^\w.-]", "_", record.id) + ".sgf")
            if file in written:
                raise ConversionError(f"{path}: a second game {record.id}; write its file apart")
            write_file(file, text.encode())
            written.add(file)
    sys.stdout.buffer.flush()


def read(
    paths: Sequence[Path], game: str | None, rules: dict[str, Any], opening: str = "none"
) -> None:
    """SGF files as lines of records on standard output. Raises ConversionError."""
    from engine.sgf import SgfError, from_sgf

    for path in paths:
        try:
            games = from_sgf(path.read_bytes(), game=game, rules=rules, opening=opening)
        except OSError as error:
            raise ConversionError(f"cannot read {path}: {error.strerror}") from error
        except SgfError as error:
            raise ConversionError(f"{path}: {error}") from error
        for number, found in enumerate(games, start=1):
            try:
                record = sgf_to_record(found, id=f"{path.stem}-{number}", number=number)
            except ConversionError as error:
                raise ConversionError(f"{path}: game {number}: {error}") from error
            sys.stdout.buffer.write(record.to_line().encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def record_to_sgf(record: "GameRecord", review: Review = lambda position: {}) -> str:
    """One record as SGF; the reading of it gives the record back. Raises ConversionError."""
    from engine.sgf import SgfError, to_sgf

    notes = {"id": record.id, "versions": record.versions, "seed": record.seed}
    try:
        position = Position(record.rules, record.opening)
        for action in record.actions:
            position.play(action)
        return to_sgf(
            position,
            name=record.id,
            players=record.seats,
            result=record.result,
            notes=notes,
            remarks=review(position),
        )
    except (IllegalAction, RuleError, SgfError) as error:
        raise ConversionError(f"game {record.id}: {error}") from error


def sgf_to_record(game: "SgfGame", *, id: str, number: int) -> "GameRecord":
    """The record of a game; `id` and `number` are for games that were no records before.

    Raises ConversionError for a game that a record cannot say.
    """
    from selfplay.records import FORMAT, GameRecord, RecordError

    position = game.position
    if position.setup is not None:
        raise ConversionError("it begins with a set-up, and a record cannot say that")
    if game.result is None:
        raise ConversionError("it has no result (RE), and a record is of a game that has ended")
    line = {
        "format": FORMAT,
        "id": id,
        "game": position.rules.name,
        "rules": position.rules.to_json(),
        "opening": position.opening,
        "actions": [position.action_name(action) for action in position.actions],
        "seats": {seat: game.players.get(seat, "unknown") for seat in "AB"},
        "versions": [],
        "result": dict(game.result),
        "seed": {"run": 0, "game": number},
    }
    noted = {name: game.notes[name] for name in ("id", "versions", "seed") if name in game.notes}
    try:
        return GameRecord.from_line(json.dumps(line | noted))
    except RecordError as error:
        raise ConversionError(str(error)) from error


def _records(path: Path) -> Iterator["GameRecord"]:
    """The records of a file, a folder of records or a run. Raises ConversionError."""
    from selfplay.records import RecordError, read_file, read_records, record_files

    folder = path / "records" if (path / "records").is_dir() else path
    try:
        if folder.is_dir() and not record_files(folder):
            raise ConversionError(f"{folder} holds no game records")
        yield from read_records(folder) if folder.is_dir() else read_file(path)
    except OSError as error:
        raise ConversionError(f"cannot read {path}: {error.strerror}") from error
    except RecordError as error:
        raise ConversionError(str(error)) from error


def _override(text: str) -> tuple[str, Any]:
    """`name=value` with the value as a number or a boolean where it is one."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if value.isdecimal() else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.sgf",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add = commands.add_parser("write", help="SGF of game records").add_argument
    add("records", type=Path, nargs="+", metavar="RECORDS", help="file, its folder, or a run")
    add("--folder", type=Path, help="write a file for each game here (default: a collection)")
    add("--bot", type=Path, help="write what this bot thinks of each position, and its best lines")
    add("--simulations", type=int, metavar="N", help="of each position (the bot's own)")
    add = commands.add_parser("read", help="game records of SGF").add_argument
    add("files", type=Path, nargs="+", metavar="FILE", help="SGF file")
    add("--game", choices=sorted(PRESETS), help="game of other programs' files (default: RU, GM)")
    add("--rule", action="append", type=_override, default=[], metavar="NAME=VALUE", help="a rule")
    add("--opening", default="none", help="opening protocol of such files (default: %(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
