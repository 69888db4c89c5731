"""Writing into a run folder: every failure becomes one `StorageError` that says what to do.

Whole files go through `engine.storage.atomic_write`; logs that grow go through `append_lines`,
which leaves the file as it was when it cannot add everything.
"""

import errno
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from engine.storage import TEMPORARY_PREFIX, atomic_write, atomic_write_json


class StorageError(Exception):
    """A file of a run cannot be written or read; one line: what, where and what to do."""


def write_file(path: Path, data: bytes) -> None:
    """`atomic_write` with a clear error: `path` holds all of `data` or what it held before.

    Raises StorageError, for example when the disk is full.
    """
    try:
        atomic_write(path, data)
    except OSError as error:
        raise cannot_write(path, error) from error


def write_json(path: Path, value: Any) -> None:
    """`atomic_write_json` with a clear error. Raises StorageError."""
    try:
        atomic_write_json(path, value)
    except OSError as error:
        raise cannot_write(path, error) from error


def read_json(path: Path) -> Any:
    """The JSON value in a file. Raises StorageError if it is missing or damaged."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise StorageError(f"{path} is damaged: {error}; restore it from a copy") from error


def append_lines(path: Path, lines: Iterable[str]) -> None:
    """Append lines (without their newlines) to a file, made if need be, and sync it.

    Raises StorageError when that fails (a full disk); the file is then cut back to what it was.
    """
    data = "".join(f"{line}\n" for line in lines).encode()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        size = os.fstat(descriptor).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, size)
            raise cannot_write(path, error) from error
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a folder with its parents. Raises StorageError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def remove_unfinished(folder: Path) -> None:
    """Delete the temporary files that a killed process left in a folder that nobody writes now."""
    for path in folder.glob(f"{TEMPORARY_PREFIX}*"):
        path.unlink(missing_ok=True)


def cannot_write(path: Path, error: OSError) -> StorageError:
    """The error to raise for a write that failed."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"cannot write {path}: the disk is full; nothing stored is damaged,"
            " free some space and start the same command again"
        )
    return StorageError(f"cannot write {path}: {error.strerror or error}")
