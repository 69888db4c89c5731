"""Atomic file writes, shared by every package that stores something (standard library only).

A file written here is either the old one or the new one, never a part of it, also after `kill -9`
or a power cut: the bytes go to a temporary file in the same folder, are synced, and take the name
by one rename; then the folder entry is synced (POSIX rename(2), fsync(2)).
"""

import contextlib
import json
import os
import secrets
from pathlib import Path
from typing import Any

TEMPORARY_PREFIX = ".tmp-"
"""Names of unfinished files start with this; one left behind by a crash may be deleted."""


def atomic_write(path: Path | str, data: bytes) -> None:
    """Write `data` to `path` so that a reader sees all of it or the file as it was before.

    The folder must exist. Raises OSError (a full disk, no permission); `path` is then untouched and
    the temporary file is gone.
    """
    path = Path(path)
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(path.parent)


def atomic_write_json(path: Path | str, value: Any) -> None:
    """Write `value` as indented JSON (UTF-8, a newline at the end), atomically.

    Raises TypeError or ValueError for what strict JSON cannot say (NaN included), OSError as
    `atomic_write` does.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    atomic_write(path, (text + "\n").encode())


def _sync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable. Systems that cannot open a folder skip it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
