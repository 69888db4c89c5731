"""The run folder: what is in it, who may write to it, and how far the run has come.

    run.json        format, run id, time of creation; written once
    config.yaml     the resolved configuration
    state.json      counters at the last commit
    lock            held (flock) by the process that works in the folder
    learner/        the learner's state      checkpoints/  published weights versions
    replay/         samples in shards        records/      games as JSON lines
    gauntlet/       rated games              logs/         TensorBoard

A run can be killed at any instant. Everything is stored before the state that counts it, so after a
crash the stores are never behind `state.json`.
"""

import contextlib
import dataclasses
import fcntl
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from selfplay.records import record_files
from selfplay.replay import ReplayBuffer
from selfplay.storage import StorageError, make_folder, read_json, write_file, write_json

#: Version of the folder's layout; raised when an older narabe could no longer go on with a run.
FORMAT = 1


class RunError(RuntimeError):
    """A run folder that cannot be used or gone on with; the message says why and what to do."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Rating:
    """A version's rating when it was new."""

    version: int
    #: Self-play positions stored when it was rated.
    samples: int
    elo: float
    #: Half the width of the 95% interval.
    error: float


@dataclass(slots=True, kw_only=True)
class RunState:
    """How far a run has come."""

    #: Finished games that are stored, and their samples.
    games: int = 0
    samples: int = 0
    #: Samples that the replay's shards held; less than `samples` where damaged ones were lost.
    stored: int = 0
    #: Optimiser steps of the learner as stored, and the weights version published last (0:
    #: untrained).
    steps: int = 0
    version: int = 0
    #: Steps that the ratio of `loop.reuse` asked for and the learner was too slow for.
    waived: int = 0
    #: Seconds of training, summed over all sessions.
    seconds: float = 0.0
    #: Positions evaluated by the network in self-play.
    evaluations: int = 0
    #: Game indices below this have been handed out.
    next_game: int = 0
    #: Elo history: the versions rated, in order.
    ratings: list[Rating] = field(default_factory=list)
    #: How often the run was started.
    sessions: int = 0


class RunFolder:
    """One run's folder. Make one by `create` or `open`; both leave it locked until `close`."""

    def __init__(self, path: Path, meta: dict[str, Any], lock: int) -> None:
        self.path = path
        self.run_id: str = meta["run_id"]
        self.created: str = meta["created"]
        self._lock = lock

    @classmethod
    def exists(cls, path: Path) -> bool:
        """Whether there is a run at the path."""
        return (path / "run.json").is_file()

    @classmethod
    def create(cls, path: Path, config_yaml: str) -> "RunFolder":
        """Start a new run. Raises `RunError` if the folder holds something else already.

        `run.json` is written last, so a folder without it is an attempt that did not get so far.
        """
        leftovers = {"lock", "config.yaml", "state.json"}
        if path.is_dir() and any(
            entry.name not in leftovers and not entry.name.startswith(".tmp-")
            for entry in path.iterdir()
        ):
            raise RunError(
                f"{path} is not empty and has no run.json: choose another run=NAME,"
                " or restore that file if this was a run"
            )
        make_folder(path)
        lock = _lock(path)
        meta = {
            "format": FORMAT,
            "run_id": secrets.token_hex(8),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        try:
            write_file(path / "config.yaml", config_yaml.encode())
            write_json(path / "state.json", dataclasses.asdict(RunState()))
            write_json(path / "run.json", meta)
        except StorageError:
            os.close(lock)
            raise
        return cls(path, meta, lock)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Go on with an existing run. Raises `RunError` (missing, newer format, in use)."""
        meta = _read_json(path / "run.json", {"format": int, "run_id": str, "created": str})
        if meta["format"] > FORMAT:
            raise RunError(
                f"{path} has run format {meta['format']}, this narabe knows up to {FORMAT}:"
                " use a newer narabe"
            )
        return cls(path, meta, _lock(path))

    def close(self) -> None:
        """Give up the lock."""
        with contextlib.suppress(OSError):
            os.close(self._lock)

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def config_yaml(self) -> str:
        """The stored configuration's text. Raises RunError."""
        file = self.path / "config.yaml"
        try:
            return file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise RunError(
                f"{file}: cannot be read ({error}); restore it or start a new run"
            ) from error

    def store_config(self, config_yaml: str) -> None:
        """Replace the stored configuration."""
        write_file(self.path / "config.yaml", config_yaml.encode())

    def folder(self, name: str) -> Path:
        """A folder of the run, made if need be."""
        folder = self.path / name
        make_folder(folder)
        return folder

    def load_state(self) -> RunState:
        """The state at the last commit. Raises `RunError` if it is missing or damaged."""
        path = self.path / "state.json"
        if not path.exists():
            raise RunError(
                f"{path} is missing, so it is unknown what of the run counts:"
                " restore it from a copy or choose another run=NAME"
            )
        fields = {item.name: item.type for item in dataclasses.fields(RunState)}
        data = _read_json(path, fields | {"ratings": list}, later={"waived": 0})
        try:
            ratings = [Rating(**rating) for rating in data["ratings"]]
        except TypeError as error:
            raise RunError(f"{path}: field 'ratings' is damaged ({error})") from error
        return RunState(**{name: data[name] for name in fields} | {"ratings": ratings})

    def commit(self, state: RunState) -> None:
        """Store the state. Call it after everything that it counts has been stored."""
        write_json(self.path / "state.json", dataclasses.asdict(state))


def checkpoint_name(version: int) -> str:
    """The file stem of a weights version, which is also its name in records."""
    return f"v{version:06d}"


def checkpoint_versions(folder: Path) -> list[int]:
    """The weights versions of a checkpoint folder, ascending. The JSON file is written last."""
    names = (path.stem for path in folder.glob("v*.json"))
    return sorted(int(name[1:]) for name in names if name[1:].isdigit())


def _lock(path: Path) -> int:
    """Lock the folder for this process. The lock ends with the process, however it ends."""
    descriptor = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 32).decode().strip()
        os.close(descriptor)
        raise RunError(f"{path} is in use by process {holder}: stop that first") from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _read_json(
    path: Path, types: dict[str, Any], later: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """A JSON object with at least these fields. Raises `RunError` naming the file and the field.

    Fields that were added `later` may be missing: those have the values given.
    """
    if not path.exists():
        raise RunError(f"{path} is missing: not a run folder")
    try:
        data = read_json(path)
    except StorageError as error:
        raise RunError(str(error)) from error
    if isinstance(data, dict):
        data = {**later, **data}
    for name, wanted in types.items():
        value = data.get(name) if isinstance(data, dict) else None
        if isinstance(value, bool) or not isinstance(
            value, (wanted, int if wanted is float else wanted)
        ):
            raise RunError(f"{path}: field {name!r} is missing or not of type {wanted.__name__}")
    found: dict[str, Any] = data
    return found


def recover(folder: RunFolder, replay: ReplayBuffer) -> RunState:
    """The state to go on from: the last commit.

    What a crash has left of a chunk that was being stored is cut off records and replay again: to
    the run, those games were still under way. Raises `RunError` and `StorageError`.
    """
    state = folder.load_state()
    _cut_records(folder.folder("records"), state.games)
    replay.cut(state.stored)
    # Less where damaged shards were lost.
    state.stored = replay.total
    state.sessions += 1
    return state


def _cut_records(folder: Path, games: int) -> None:
    """Keep the first `games` records of a folder."""
    for path in record_files(folder):
        lines = path.read_bytes().splitlines(keepends=True)
        if len(lines) > games:
            write_file(path, b"".join(lines[:games]))
        games -= min(games, len(lines))
