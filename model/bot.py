"""A bot folder: an exported network and what it needs to play, without torch.

bot.json      what the bot is, its search settings, the hash of the network
network.onnx  the network (`model.onnx_evaluator`)
play          starts it
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.features import FEATURES_VERSION
from engine.search import SearchConfig
from model.games import GameEntry

FORMAT = 2
"""2: the network takes planes as bytes; those of 1, which take float32, still play."""
KIND = "narabe bot"
META_FILE, NETWORK_FILE, LAUNCHER = "bot.json", "network.onnx", "play"


class BotError(Exception):
    """A bot folder that cannot be used; one line naming the file, the reason and what to do."""


@dataclass(slots=True, kw_only=True)
class BotMeta:
    """What `bot.json` says."""

    name: str
    network: dict[str, int]
    """Size of the network (`model.network.NetworkConfig`), for information."""
    games: list[GameEntry]
    """The games that it was trained on; it can be asked to play others."""
    search: SearchConfig
    step: int
    version: int
    run_id: str
    network_sha256: str
    features_version: int = FEATURES_VERSION

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        return {
            "format": FORMAT,
            "kind": KIND,
            "name": self.name,
            "run_id": self.run_id,
            "version": self.version,
            "step": self.step,
            "features_version": self.features_version,
            "network": self.network,
            "network_sha256": self.network_sha256,
            "rule_sets": [game.to_json() for game in self.games],
            "search": dataclasses.asdict(self.search),
        }


def is_bot(folder: Path | str) -> bool:
    """Whether this is a bot folder at first sight."""
    return (Path(folder) / META_FILE).is_file()


def read_bot(folder: Path | str) -> BotMeta:
    """Read `bot.json` and check that the network belongs to it. Raises BotError."""
    folder = Path(folder)
    file = folder / META_FILE
    stored = _read_json(file)
    if stored["features_version"] != FEATURES_VERSION:
        raise BotError(
            f"{file}: made for features version {stored['features_version']}, this narabe has"
            f" {FEATURES_VERSION}; use the narabe that exported it"
        )
    try:
        meta = BotMeta(
            name=str(stored["name"]),
            network=dict(stored["network"]),
            games=[GameEntry.from_json(game) for game in stored["rule_sets"]],
            search=SearchConfig(**stored["search"]),
            step=int(stored["step"]),
            version=int(stored["version"]),
            run_id=str(stored["run_id"]),
            network_sha256=str(stored["network_sha256"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BotError(f"{file}: damaged, {what}; export the bot again") from error
    network = _read(folder / NETWORK_FILE)
    if hashlib.sha256(network).hexdigest() != meta.network_sha256:
        raise BotError(
            f"{folder / NETWORK_FILE}: truncated, or not the network that {META_FILE} describes;"
            " copy the folder again or export the bot again"
        )
    return meta


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BotError(
            f"{file}: cannot be read ({error.strerror}); a bot is a folder made by scripts.export"
        ) from error


def _read_json(file: Path) -> dict[str, Any]:
    """The JSON object if it is a bot's in a format that can be read."""
    try:
        stored = json.loads(_read(file))
    except ValueError as error:
        raise BotError(f"{file}: truncated or no JSON ({error}); export the bot again") from error
    if not isinstance(stored, dict) or stored.get("kind") != KIND:
        raise BotError(f"{file}: not a narabe bot; make one with scripts.export")
    form = stored.get("format")
    if type(form) is not int or form < 1 or "features_version" not in stored:
        raise BotError(f"{file}: damaged, format {form!r}; export the bot again")
    if form > FORMAT:
        raise BotError(
            f"{file}: written by a newer narabe (format {form}, this one reads {FORMAT});"
            " update narabe"
        )
    return stored
