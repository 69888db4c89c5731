"""Checkpoints: a network's weights (safetensors) and what they are (JSON), side by side.

`NAME.safetensors` holds the tensors, `NAME.json` the rest and the SHA-256 of the tensor file. The
JSON is written last, so a checkpoint without it was never finished, and one whose parts do not
belong together is noticed. Nothing is unpickled.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from engine.features import FEATURES_VERSION
from engine.storage import atomic_write, atomic_write_json
from model.games import GameEntry
from model.network import Network, NetworkConfig

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "CheckpointMeta",
    "GameEntry",
    "checkpoint_stem",
    "read_meta",
]

FORMAT = 1
"""Raised by one whenever older code could not read what is written."""


class CheckpointError(Exception):
    """A checkpoint that cannot be used; one line naming the file, the reason and what to do."""


@dataclass(slots=True, kw_only=True)
class CheckpointMeta:
    """What the weights are."""

    network: NetworkConfig
    games: list[GameEntry] = field(default_factory=list)
    """The games that it was trained on; it can be asked about others."""
    step: int = 0
    """Training steps."""
    version: int = 0
    """Number of the weights in their run."""
    run_id: str = ""
    features_version: int = FEATURES_VERSION

    def to_json(self) -> dict[str, Any]:
        """As stored, without the hash of the weights."""
        return {
            "format": FORMAT,
            "kind": "narabe checkpoint",
            "run_id": self.run_id,
            "version": self.version,
            "step": self.step,
            "features_version": self.features_version,
            "network": dataclasses.asdict(self.network),
            "rule_sets": [game.to_json() for game in self.games],
        }


@dataclass(slots=True, kw_only=True)
class Checkpoint:
    """A network with what it is."""

    network: Network
    meta: CheckpointMeta

    @property
    def weights(self) -> dict[str, NDArray[np.float32]]:
        """Copies of the weights, name -> array: plain data for another process."""
        tensors = self.network.state_dict().items()
        return {name: tensor.cpu().numpy().copy() for name, tensor in tensors}

    def save(self, path: Path | str) -> Path:
        """Store it; `path` is the stem or either of the two files. Returns the stem.

        Give every version its own name: while a stored one is overwritten it cannot be read.
        Raises OSError.
        """
        stem = checkpoint_stem(path)
        tensors = self.network.state_dict().items()
        data = save_tensors({name: tensor.cpu().contiguous() for name, tensor in tensors})
        atomic_write(_with(stem, ".safetensors"), data)
        written = self.meta.to_json() | {"weights_sha256": hashlib.sha256(data).hexdigest()}
        atomic_write_json(_with(stem, ".json"), written)
        return stem

    @classmethod
    def load(cls, path: Path | str, device: torch.device | str = "cpu") -> Checkpoint:
        """Read a checkpoint, in evaluation mode; `path` is the stem or either of the two files.

        Raises CheckpointError for files that are missing, truncated, foreign, of a newer format, of
        another features version, or that do not belong together.
        """
        stem = checkpoint_stem(path)
        file = _with(stem, ".safetensors")
        stored = _read_json(_with(stem, ".json"))
        meta = _meta(stored, _with(stem, ".json"))
        data = _read_bytes(file)
        if hashlib.sha256(data).hexdigest() != stored.get("weights_sha256"):
            raise CheckpointError(
                f"{file}: truncated or damaged, or not the weights that {stem.name}.json describes;"
                " copy both files again or use another checkpoint"
            )
        network = Network(meta.network)
        _fill(network, _tensors(data, file), file)
        return cls(network=network.to(device).eval(), meta=meta)


def read_meta(path: Path | str) -> CheckpointMeta:
    """Read only what a checkpoint is. Raises CheckpointError as `Checkpoint.load` does."""
    file = _with(checkpoint_stem(path), ".json")
    return _meta(_read_json(file), file)


def checkpoint_stem(path: Path | str) -> Path:
    """The path without `.safetensors` or `.json`."""
    path = Path(path)
    return path.with_suffix("") if path.suffix in (".safetensors", ".json") else path


def _with(stem: Path, suffix: str) -> Path:
    """The stem with a suffix added; the stem's name may have dots of its own."""
    return stem.with_name(stem.name + suffix)


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CheckpointError(
            f"{file}: cannot be read ({error.strerror}); a checkpoint is a .safetensors and a .json"
            " file side by side, give either"
        ) from error


def _read_json(file: Path) -> dict[str, Any]:
    """The JSON object if it is one of ours in a format that can be read."""
    try:
        stored = json.loads(_read_bytes(file))
    except ValueError as error:
        raise CheckpointError(
            f"{file}: truncated or no JSON ({error}); copy it again or use another checkpoint"
        ) from error
    if not isinstance(stored, dict) or stored.get("kind") != "narabe checkpoint":
        raise CheckpointError(f"{file}: not a narabe checkpoint; give one written by scripts.train")
    form = stored.get("format")
    if type(form) is not int or form < 1:
        raise CheckpointError(f"{file}: damaged, format {form!r}; use another checkpoint")
    if form > FORMAT:
        raise CheckpointError(
            f"{file}: written by a newer narabe (format {form}, this one reads {FORMAT});"
            " update narabe"
        )
    return stored


def _meta(stored: dict[str, Any], file: Path) -> CheckpointMeta:
    """The meta data with every field checked."""
    version = stored.get("features_version")
    if version != FEATURES_VERSION:
        raise CheckpointError(
            f"{file}: made for features version {version}, this narabe has {FEATURES_VERSION}; use"
            " the narabe that wrote it, or train on (the run's games can be reused)"
        )
    try:
        network = NetworkConfig(**stored["network"])
        games = [GameEntry.from_json(game) for game in stored["rule_sets"]]
        numbers = {name: int(stored[name]) for name in ("step", "version")}
        return CheckpointMeta(network=network, games=games, run_id=str(stored["run_id"]), **numbers)
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"{file}: damaged, {what}; use another checkpoint") from error


def _tensors(data: bytes, file: Path) -> dict[str, Tensor]:
    try:
        return load_tensors(data)
    except SafetensorError as error:
        raise CheckpointError(f"{file}: not a safetensors file; use another checkpoint") from error


def _fill(network: Network, tensors: dict[str, Tensor], file: Path) -> None:
    """Load the weights. Raises CheckpointError where names, shapes or types are others."""
    wanted = network.state_dict()
    for name in sorted(wanted.keys() ^ tensors.keys()):
        state = "missing" if name in wanted else "unknown"
        raise CheckpointError(f"{file}: tensor {name} is {state}; it belongs to another network")
    for name, tensor in wanted.items():
        found = tensors[name]
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            raise CheckpointError(
                f"{file}: tensor {name} is {_kind(found)}, the network in the .json has"
                f" {_kind(tensor)}; the two files belong to different networks"
            )
    network.load_state_dict(tensors)


def _kind(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
