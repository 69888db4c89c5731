"""Shard files: many training samples in one file, as columns.

A shard is, in this order and without padding (all numbers little-endian):

    8 bytes   magic, "NARABE-S"
    u32       format, 1
    u32       H, length of the header
    H bytes   header, JSON (UTF-8): "first", number of the shard's first sample among all samples of
              the run; "samples" n; "rule_sets", a list of {"rules": all fields, "opening": name};
              "columns", a list of [name, numpy dtype, number of items]
    ...       the columns, one after the other as the header lists them
    32 bytes  SHA-256 of everything before

Columns (n samples; k actions and b bytes over all samples):

    packed u1 [b]            Position.pack() of the samples, one after the other
    packed_start u4 [n+1]    where each of them starts; the last entry is b
    rules u2 [n]             index into "rule_sets"
    actions u2 [k]           game action indices of the policy targets, sample after sample
    policy f2 [k]            their probabilities; rounding is undone by dividing by the sum
    policy_start u4 [n+1]    where each sample's actions start; the last entry is k
    outcome i1 [n]           +1, 0, -1 for the seat to act
    root_value f4 [n]        for the seat to act
    policy_weight, value_weight f4 [n]
    version u4 [n]           version of the weights that played

The position is kept, not its planes, so shards outlive changes of the network's features. A later
format keeps magic, format number and checksum where they are.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import RuleError, RuleSet
from model.targets import Sample
from selfplay.storage import StorageError

MAGIC = b"NARABE-S"
FORMAT = 1
_PREFIX = struct.Struct("<8sII")  # magic, format, length of the header
_CHECKSUM_BYTES = hashlib.sha256().digest_size

_COLUMNS = {
    "packed": "|u1",
    "packed_start": "<u4",
    "rules": "<u2",
    "actions": "<u2",
    "policy": "<f2",
    "policy_start": "<u4",
    "outcome": "|i1",
    "root_value": "<f4",
    "policy_weight": "<f4",
    "value_weight": "<f4",
    "version": "<u4",
}

Game = tuple[RuleSet, str]
"""A rule set and the name of its opening protocol."""


class DamagedShardError(ValueError):
    """The bytes are not those that were written; the message says how that shows."""


@dataclass(slots=True, kw_only=True)
class Shard:
    """Samples as columns; see the module for names, types and shapes."""

    games: list[Game]
    columns: dict[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["outcome"])

    @property
    def nbytes(self) -> int:
        """Memory of the columns in bytes."""
        return sum(column.nbytes for column in self.columns.values())

    @property
    def versions(self) -> NDArray[np.uint32]:
        """u4 [n]: the weights version that played each sample."""
        return self.columns["version"]

    @classmethod
    def of(cls, samples: Sequence[tuple[Sample, int]]) -> "Shard":
        """The shard of (sample, weights version) pairs."""
        index: dict[Game, int] = {}
        for sample, _ in samples:
            index.setdefault((sample.rules, sample.opening), len(index))
        packed = [sample.packed for sample, _ in samples]
        columns = {
            "packed": np.frombuffer(b"".join(packed), dtype=np.uint8),
            "packed_start": _starts(len(data) for data in packed),
            "rules": [index[sample.rules, sample.opening] for sample, _ in samples],
            "actions": np.concatenate([np.empty(0), *(sample.actions for sample, _ in samples)]),
            "policy": np.concatenate([np.empty(0), *(sample.policy for sample, _ in samples)]),
            "policy_start": _starts(len(sample.actions) for sample, _ in samples),
            "outcome": [sample.outcome for sample, _ in samples],
            "root_value": [sample.root_value for sample, _ in samples],
            "policy_weight": [sample.policy_weight for sample, _ in samples],
            "value_weight": [sample.value_weight for sample, _ in samples],
            "version": [version for _, version in samples],
        }
        return cls(games=list(index), columns=_typed(columns))

    def samples(self, indices: NDArray[np.int64]) -> list[Sample]:
        """These samples of the shard, in this order."""
        columns, starts = self.columns, self.columns["packed_start"]
        bounds = zip(starts[indices].tolist(), starts[indices + 1].tolist(), strict=True)
        names = ("outcome", "root_value", "policy_weight", "value_weight")
        rows = zip(
            (columns["packed"][begin:end].tobytes() for begin, end in bounds),
            (self.games[number] for number in columns["rules"][indices].tolist()),
            *self._targets(indices),
            *(columns[name][indices].tolist() for name in names),
            strict=True,
        )
        return [
            Sample(
                packed=packed,
                rules=rules,
                opening=opening,
                actions=actions,
                policy=policy,
                outcome=outcome,
                root_value=root_value,
                policy_weight=policy_weight,
                value_weight=value_weight,
            )
            for (
                packed,
                (rules, opening),
                actions,
                policy,
                outcome,
                root_value,
                policy_weight,
                value_weight,
            ) in rows
        ]

    def _targets(
        self, indices: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.int32]], list[NDArray[np.float32]]]:
        """Actions and policies of samples; sums that 16-bit floats have rounded are 1 again."""
        start, end = (
            self.columns["policy_start"][i].astype(np.int64) for i in (indices, indices + 1)
        )
        lengths = end - start
        ends = lengths.cumsum()
        taught = np.repeat(start - ends + lengths, lengths) + np.arange(lengths.sum())
        owner = np.repeat(np.arange(len(indices)), lengths)
        policy = self.columns["policy"][taught].astype(np.float32)
        policy /= np.bincount(owner, policy, len(indices)).astype(np.float32)[owner]
        actions = self.columns["actions"][taught].astype(np.int32)
        parts = [slice(*part) for part in zip(ends - lengths, ends, strict=True)]
        return [actions[part] for part in parts], [policy[part] for part in parts]

    def joined(self, other: "Shard") -> "Shard":
        """This shard's samples, then the other's."""
        games = list(dict.fromkeys([*self.games, *other.games]))
        renumbered = np.array([games.index(game) for game in other.games], dtype=np.uint16)
        columns = {
            name: np.concatenate([self.columns[name], other.columns[name]])
            for name in _COLUMNS
            if name not in ("rules", "packed_start", "policy_start")
        }
        columns["rules"] = np.concatenate(
            [self.columns["rules"], renumbered[other.columns["rules"]]]
        )
        for name in ("packed_start", "policy_start"):
            mine, theirs = self.columns[name], other.columns[name]
            columns[name] = np.concatenate([mine, theirs[1:] + mine[-1]])
        return Shard(games=games, columns=_typed(columns))

    def to_bytes(self, first: int) -> bytes:
        """The file's content; `first` is the number of the shard's first sample in the run."""
        header = {
            "first": first,
            "samples": len(self),
            "rule_sets": [
                {"rules": rules.to_json(), "opening": opening} for rules, opening in self.games
            ],
            "columns": [[name, dtype, len(self.columns[name])] for name, dtype in _COLUMNS.items()],
        }
        head = json.dumps(header, separators=(",", ":")).encode()
        body = b"".join(
            [_PREFIX.pack(MAGIC, FORMAT, len(head)), head]
            + [self.columns[name].tobytes() for name in _COLUMNS]
        )
        return body + hashlib.sha256(body).digest()

    @classmethod
    def from_bytes(cls, data: bytes) -> tuple["Shard", int]:
        """The inverse of `to_bytes`: the shard and its `first`.

        Raises DamagedShardError for bytes that are not a whole, unchanged shard, and StorageError
        for a sound shard of a newer format or of rules that this version does not have.
        """
        body = memoryview(data)[:-_CHECKSUM_BYTES]
        if len(body) < _PREFIX.size:
            raise DamagedShardError(f"{len(data)} bytes are too few")
        magic, version, head_length = _PREFIX.unpack_from(body)
        if magic != MAGIC:
            raise DamagedShardError("it does not begin as a shard does")
        if hashlib.sha256(body).digest() != data[-_CHECKSUM_BYTES:]:
            raise DamagedShardError("the checksum is wrong: bytes are missing or changed")
        if version > FORMAT:
            raise StorageError(
                f"shard format {version} is newer than {FORMAT}, the last one known here;"
                " update narabe"
            )
        header = json.loads(bytes(body[_PREFIX.size : _PREFIX.size + head_length]))
        games: list[Game] = []
        for entry in header["rule_sets"]:
            try:
                games.append((RuleSet.from_json(entry["rules"]), entry["opening"]))
            except RuleError as error:
                raise StorageError(f"written with rules unknown here ({error})") from error
        columns, at = {}, _PREFIX.size + head_length
        for name, dtype, count in header["columns"]:
            columns[name] = np.frombuffer(body, dtype=dtype, count=count, offset=at)
            at += columns[name].nbytes
        # Copies: the columns are aligned, and the file's other bytes are not kept in memory.
        shard = cls(games=games, columns={name: column.copy() for name, column in columns.items()})
        return shard, header["first"]


def _starts(lengths: Iterable[int]) -> NDArray[np.uint32]:
    """Where each of consecutive pieces starts, and where the last one ends: [n + 1]."""
    return np.cumsum([0, *lengths], dtype=np.uint32)


def _typed(columns: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """The columns as contiguous arrays of their types that share memory with nothing else."""
    return {name: np.array(columns[name], dtype=dtype) for name, dtype in _COLUMNS.items()}
