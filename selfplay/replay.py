"""The replay buffer: the newest self-play samples, kept in shard files and drawn from uniformly.

A replay folder holds `NNNNNNNNNNNN.shard` files (`selfplay.shards`), named after the number of
their first sample among all samples of the run. So the folder alone says what there is: the last
shard's number plus its length is the number of samples that the run has made. `draws.json` counts
how often samples were drawn, for the statistics. `quarantine/` holds damaged shards, each with its
reason.
"""

import errno
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.targets import Sample
from selfplay.shards import DamagedShardError, Game, Shard
from selfplay.storage import (
    StorageError,
    cannot_write,
    make_folder,
    read_json,
    remove_unfinished,
    write_file,
    write_json,
)

_log = logging.getLogger(__name__)

_DRAWS = "draws.json"
_QUARANTINE = "quarantine"


@dataclass(slots=True, kw_only=True)
class ReplayConfig:
    """How many of the newest samples are drawn from, and how they are filed.

    The window grows as in KataGo (Wu 2019, arXiv:1902.10565, appendix C): with N samples made so
    far it holds c (1 + b ((N / c)^a - 1) / a) of them, at least c and at most `max_window`. At
    N = c that is c, growing by b per new sample; later it grows as N^a. The paper uses
    c = 250,000, a = 0.75, b = 0.4.
    """

    #: c: smallest window, in samples; until there are so many, all are in the window.
    min_window: int = 50_000
    #: Largest window in samples. It bounds memory: a sample takes about 30 bytes, 4 for each action
    #: with a policy target, and 1 for each two points of the board.
    max_window: int = 2_000_000
    #: a: how the window grows with the number of samples; 0 < a <= 1.
    window_exponent: float = 0.75
    #: b: by how much the window grows per new sample at the start; 0 <= b <= 1.
    window_growth: float = 0.4
    #: Samples in a shard.
    shard_samples: int = 8192
    #: Whether shards stay on disk once they have left the window.
    keep_old: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (
            ("min_window", 1, self.max_window),
            ("window_growth", 0.0, 1.0),
            ("window_exponent", 1e-3, 1.0),
            ("shard_samples", 1, 1_000_000),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"replay.{name}: {value} is outside {low}..{high}")

    def window(self, total: int) -> int:
        """The number of newest samples to draw from when `total` have been made."""
        c, a, b = self.min_window, self.window_exponent, self.window_growth
        if total <= c:
            return total
        grown = c * (1 + b * ((total / c) ** a - 1) / a)
        return min(total, self.max_window, int(grown))


@dataclass(slots=True, kw_only=True, frozen=True)
class ReplayStatistics:
    """What the curves show of the replay buffer."""

    total: int
    """Samples made in the whole run."""
    window: int
    """Samples that are drawn from."""
    age: float
    """Mean age of the window's samples, in versions of the weights."""
    reuse: float
    """How often a sample of the window has been drawn, on average."""
    memory: int
    """Bytes of the samples in memory."""


@dataclass(slots=True, kw_only=True)
class _Stored:
    """A shard of the window."""

    first: int
    shard: Shard
    draws: int = 0

    @property
    def end(self) -> int:
        return self.first + len(self.shard)


class ReplayBuffer:
    """The window of newest samples; `add` and `flush` extend it, `sample` draws from it.

    Opening a folder takes up what it holds. Damaged shards are moved to `quarantine/` with a
    warning in the log, and what they held is missing. One process uses a folder at a time.
    Raises StorageError where the folder cannot be used or holds shards of a newer format.
    """

    def __init__(self, folder: Path | str, config: ReplayConfig) -> None:
        self.folder = Path(folder)
        self.config = config
        self._pending: list[tuple[Sample, int]] = []
        self._stored: list[_Stored] = []
        self._games: dict[Game, Game] = {}
        make_folder(self.folder)
        remove_unfinished(self.folder)
        self._load()
        self._drop_old()

    @property
    def total(self) -> int:
        """Samples made in the whole run that have been stored."""
        return self._stored[-1].end if self._stored else 0

    @property
    def window(self) -> int:
        """Samples that `sample` draws from: smaller than planned only where shards were lost."""
        return sum(self._counts())

    def add(self, samples: Sequence[Sample], *, version: int) -> None:
        """Take samples played by a version of the weights; full shards are stored at once.

        The others are drawn from, and survive a kill, after the next `flush`. Raises ValueError for
        an impossible sample and StorageError as `flush` does.
        """
        for sample in samples:
            if len(sample.actions) != len(sample.policy) or not np.isfinite(sample.policy).all():
                raise ValueError(f"sample: policy {sample.policy} of actions {sample.actions}")
            self._pending.append((sample, version))
        if len(self._pending) >= self.config.shard_samples:
            self.flush()

    def flush(self) -> None:
        """Store all samples taken so far, and let go of shards that have left the window.

        The last shard is written anew (atomically) until it is full. Raises StorageError if that
        fails, for example on a full disk: what was stored before is as it was.
        """
        while self._pending:
            self._store_some()
        self._drop_old()
        draws = {_name(stored.first): stored.draws for stored in self._stored}
        write_json(self.folder / _DRAWS, draws)

    def cut(self, total: int) -> None:
        """Forget all samples from number `total` on, as if they had never been added.

        For samples that were stored just before a crash and never counted. Raises StorageError.
        """
        self._pending.clear()
        while self._stored and self._stored[-1].end > total:
            last = self._stored.pop()
            kept = np.arange(max(0, total - last.first))
            if len(kept):
                versions = last.shard.versions[kept].tolist()
                shard = Shard.of(list(zip(last.shard.samples(kept), versions, strict=True)))
                self._share_games(shard)
                write_file(self.folder / _name(last.first), shard.to_bytes(last.first))
                self._stored.append(_Stored(first=last.first, shard=shard, draws=last.draws))
            else:
                (self.folder / _name(last.first)).unlink(missing_ok=True)

    def sample(self, n: int, rng: np.random.Generator, *, counted: bool = True) -> list[Sample]:
        """Draw n samples of the window, uniformly and with repetition.

        Those drawn to be learnt from are `counted`. Raises ValueError if the window is empty.
        """
        counts = self._counts()
        ends = np.cumsum(counts, dtype=np.int64)
        if not self._stored or not ends[-1]:
            raise ValueError("replay: no samples are stored yet")
        numbers = rng.integers(ends[-1], size=n)
        places = np.searchsorted(ends, numbers, side="right")
        drawn: dict[int, Sample] = {}
        for k in np.unique(places):
            stored, rows = self._stored[k], np.flatnonzero(places == k)
            stored.draws += counted * len(rows)
            found = stored.shard.samples(len(stored.shard) - (ends[k] - numbers[rows]))
            drawn.update(zip(rows.tolist(), found, strict=True))
        return [drawn[row] for row in range(n)]

    def statistics(self, version: int) -> ReplayStatistics:
        """Statistics of the window when `version` is the newest version of the weights."""
        counts = self._counts()
        window = sum(counts)
        ages = draws = 0.0
        for stored, count in zip(self._stored, counts, strict=True):
            ages += float((version - stored.shard.versions[-count:].astype(np.int64)).sum())
            draws += stored.draws * count / len(stored.shard)
        return ReplayStatistics(
            total=self.total,
            window=window,
            age=ages / window if window else 0.0,
            reuse=draws / window if window else 0.0,
            memory=sum(stored.shard.nbytes for stored in self._stored),
        )

    def _counts(self) -> list[int]:
        """How many of each stored shard's newest samples are in the window."""
        start = self.total - self.config.window(self.total)
        return [stored.end - max(start, stored.first) for stored in self._stored]

    def _store_some(self) -> None:
        """Move pending samples into the last shard, if it has room, or else into a new one."""
        size = self.config.shard_samples
        last = self._stored[-1] if self._stored else None
        if last is None or len(last.shard) >= size:
            chosen = self._pending[:size]
            fresh = _Stored(first=self.total, shard=Shard.of(chosen))
        else:
            chosen = self._pending[: size - len(last.shard)]
            shard = last.shard.joined(Shard.of(chosen))
            fresh = _Stored(first=last.first, shard=shard, draws=last.draws)
        self._share_games(fresh.shard)
        write_file(self.folder / _name(fresh.first), fresh.shard.to_bytes(fresh.first))
        self._stored = [stored for stored in self._stored if stored.first < fresh.first] + [fresh]
        del self._pending[: len(chosen)]

    def _share_games(self, shard: Shard) -> None:
        """Let equal rule sets of all shards be one object, which makes comparing them cheap."""
        shard.games = [self._games.setdefault(game, game) for game in shard.games]

    def _drop_old(self) -> None:
        """Forget shards that lie before the window; delete their files unless they are kept."""
        start = self.total - self.config.window(self.total)
        self._stored = [stored for stored in self._stored if stored.end > start]
        if self.config.keep_old or not self._stored:
            return
        for path in self._files():
            if _first(path) < self._stored[0].first:
                path.unlink(missing_ok=True)

    def _load(self) -> None:
        """Read the shards of the window, the newest first."""
        for path in reversed(self._files()):
            if self._stored:
                start = self.total - self.config.window(self.total)
                if self._stored[0].first <= start:
                    break
            if shard := self._read(path):
                self._share_games(shard)
                self._stored.insert(0, _Stored(first=_first(path), shard=shard))
        try:
            draws = read_json(self.folder / _DRAWS) if self._stored else {}
            for stored in self._stored:
                stored.draws = int(draws.get(_name(stored.first), 0))
        except (StorageError, AttributeError, TypeError, ValueError) as error:
            _log.warning("replay: the counts of draws begin again at 0 (%s)", error)

    def _read(self, path: Path) -> Shard | None:
        """The shard in a file; None, and the file in quarantine, if it is damaged."""
        try:
            shard, first = Shard.from_bytes(path.read_bytes())
            if first != _first(path):
                raise DamagedShardError(f"it holds the samples from {first} on")
        except StorageError as error:
            raise StorageError(f"{path}: {error}") from error
        except DamagedShardError as error:
            self._quarantine(path, str(error))
        except OSError as error:
            if error.errno != errno.EIO:
                raise StorageError(f"cannot read {path}: {error.strerror}") from error
            self._quarantine(path, "the disk cannot read it")
        else:
            return shard
        return None

    def _quarantine(self, path: Path, reason: str) -> None:
        folder = self.folder / _QUARANTINE
        make_folder(folder)
        number = sum(1 for _ in folder.glob(f"{path.stem}*.shard"))
        target = folder / (f"{path.stem}-{number}.shard" if number else path.name)
        try:
            path.replace(target)
        except OSError as error:
            raise cannot_write(target, error) from error
        write_file(target.with_suffix(".txt"), f"{reason}\n".encode())
        _log.warning("%s is damaged (%s) and was moved to %s", path, reason, target)

    def _files(self) -> list[Path]:
        """The folder's shard files by the number of their first sample."""
        return sorted(path for path in self.folder.glob("*.shard") if path.stem.isdecimal())


def _name(first: int) -> str:
    return f"{first:012d}.shard"


def _first(path: Path) -> int:
    return int(path.stem)
