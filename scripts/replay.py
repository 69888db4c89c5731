"""Play one recorded self-play game of a run again, from its seed, and compare.

The game's rules, seed and weights versions are those of its record, the settings those of the run,
the weights those of the run's checkpoints. Exit status 0: the same game came out; 3: another one.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from engine import Position

if TYPE_CHECKING:
    from engine.evaluators import Evaluator
    from selfplay.loop import RunConfig
    from selfplay.records import GameRecord

DIFFERENT = 3
"""Exit status where another game came out."""


class ReplayError(ValueError):
    """A game that cannot be played again; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        return _explained(arguments.run, arguments.game, arguments.device)
    except KeyboardInterrupt:
        print("replay: interrupted", file=sys.stderr)
        return 130


def _explained(run: Path, game: str, device: str | None) -> int:
    """Play again and tell; errors that a user can do something about become one line."""
    # Only now: these need torch, which takes seconds to import, and --help does without it.
    from model.checkpoint import CheckpointError
    from scripts.settings import SettingsError
    from selfplay.records import RecordError

    try:
        record = find_record(run, game)
        again = play_game_again(run, read_config(run), record, device)
    except (ReplayError, RecordError, CheckpointError, SettingsError) as error:
        print(f"replay: {error}", file=sys.stderr)
        return 1
    print(describe(record))
    if difference := first_difference(record, again):
        print(f"DIFFERENT: {difference}")
        return DIFFERENT
    print(f"The same: all {len(record.actions)} plies, the versions and the result.")
    return 0


def find_record(run: Path, game: str) -> "GameRecord":
    """The record of a game by its id (`g00000012`) or index (`12`). Raises ReplayError."""
    from selfplay.records import read_records

    folder = run / "records"
    ids: dict[int, str] = {}
    for record in read_records(folder):
        number = int(record.seed["game"])
        if game in (record.id, str(number)):
            return record
        ids[number] = record.id
    if not ids:
        raise ReplayError(f"{folder} holds no game records; give the folder of a run")
    first, last = min(ids), max(ids)
    gaps = " with gaps" if last - first >= len(ids) else ""
    raise ReplayError(
        f"{folder} holds no game called {game}, but {len(ids)} games, numbers {first} to"
        f" {last}{gaps} ({ids[first]} to {ids[last]})"
    )


def read_config(run: Path) -> "RunConfig":
    """The configuration of a run. Raises ReplayError or SettingsError if it cannot be used."""
    from omegaconf import OmegaConf

    from scripts.settings import resume, run_config

    try:
        text = (run / "config.yaml").read_text()
    except OSError as error:
        raise ReplayError(f"cannot read {error.filename}: {error.strerror}") from error
    return run_config(resume(text, OmegaConf.create({}), []))


def play_game_again(
    run: Path, config: "RunConfig", record: "GameRecord", device: str | None
) -> "GameRecord":
    """The record of the game that comes out now.

    Raises CheckpointError for missing weights, ReplayError where what evaluated them cannot be had
    or is damaged.
    """
    import torch

    from model.checkpoint import Checkpoint
    from model.evaluator import evaluator_for, why_not
    from model.serving import DamagedError, load_served
    from selfplay.run import checkpoint_name
    from selfplay.worker import play_again

    # As in the run: rounding depends on the evaluator, threads, device and rows of a batch.
    torch.set_num_threads(config.loop.threads if config.cluster.kind == "local" else 1)
    place = device or ("cuda" if config.cluster.gpus else "cpu")

    def evaluator(version: int) -> "Evaluator":
        path = run / "checkpoints" / checkpoint_name(version)
        network = Checkpoint.load(path, place).network
        try:
            served = load_served(path)
        except DamagedError as error:
            raise ReplayError(
                f"{error}; restore it, or delete it to play the game again in float32"
            ) from error
        if served and (reason := why_not(served.kind, "cpu")):
            raise ReplayError(f"{path}: was played with {served.kind}, which {reason}")
        return evaluator_for(network, place, config.batch_size, served)

    return play_again(
        record,
        games=config.games,
        search=config.search,
        config=config.selfplay,
        height=config.height,
        width=config.width,
        evaluator=evaluator,
    ).record


def describe(record: "GameRecord") -> str:
    """The game in a few lines: what was played, how it ended, the last position."""
    position = Position(record.rules, record.opening)
    for action in record.actions:
        position.play(action)
    versions = ", ".join(f"{version} from ply {ply}" for ply, version in record.versions)
    # A position does not know when a seat has resigned.
    seat, reason = record.result["winner_seat"], record.result["reason"]
    end = f"\nseat {seat} wins ({reason})" if position.outcome is None else ""
    return (
        f"{record.id}: {record.game}, opening {record.opening},"
        f" run seed {record.seed['run']}, game {record.seed['game']}, versions {versions}\n"
        f"{' '.join(record.actions)}\n{position}{end}"
    )


def first_difference(record: "GameRecord", again: "GameRecord") -> str:
    """Where two games of the same seed part, in words; empty where they do not."""
    for ply, (one, other) in enumerate(zip_longest(record.actions, again.actions)):
        if one != other:
            return f"at ply {ply} the record has {one or 'the end'}, now it is {other or 'the end'}"
    for name in ("rules", "opening", "versions", "result"):
        one, other = getattr(record, name), getattr(again, name)
        if one != other:
            return f"the same actions, but {name} {one} in the record and {other} now"
    return ""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", type=Path, help="folder of the run, such as runs/first")
    parser.add_argument("game", help="the game's id in its record (g00000012) or its number (12)")
    parser.add_argument("--device", help="cpu or cuda (default: that of the run's workers)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
