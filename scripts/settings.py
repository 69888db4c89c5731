"""From Hydra's configuration to narabe's dataclasses; nothing outside scripts/ sees a DictConfig.

`Settings` is the schema of `configs/`: one node per group, with the fields of the dataclass that
the group configures. OmegaConf checks every key and type against it; `run_config` then builds the
dataclasses, whose own checks see impossible values.
"""

import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal, Optional

from hydra.errors import MissingConfigException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)
from yaml import YAMLError

from engine import RuleError, RuleSet
from engine.openings import opening
from engine.rules import similar
from engine.search import SearchConfig
from model.learner import LearnerConfig
from model.network import NetworkConfig
from scripts.mixture import write_out
from selfplay.cluster import ClusterConfig
from selfplay.gauntlet import GauntletConfig
from selfplay.loop import LoopConfig, RunConfig, StopConfig
from selfplay.replay import ReplayConfig
from selfplay.worker import GameChoice, SelfPlayConfig


class SettingsError(ValueError):
    """A configuration that cannot be used; the message names the key."""


def schema(cls: type) -> Any:
    """A mutable twin of a configuration dataclass, with only the types that OmegaConf knows.

    OmegaConf makes frozen dataclasses read-only, which would forbid overrides, and it has no
    `Literal`; the values of a `Literal` are checked when the dataclass itself is made.
    """
    hints = typing.get_type_hints(cls)
    fields: list[Any] = []
    for item in dataclasses.fields(cls):
        kind = hints[item.name]
        if typing.get_origin(kind) is Literal:
            kind = type(typing.get_args(kind)[0])
        default: Any = MISSING if item.default is dataclasses.MISSING else item.default
        if item.default_factory is not dataclasses.MISSING:
            default = field(default_factory=item.default_factory)
        fields.append((item.name, kind, default))
    return dataclasses.make_dataclass(cls.__name__, fields, kw_only=True)


def _node(title: str, /, **fields: tuple[Any, Any]) -> Any:
    """A schema node from field -> (type, default); a default that is a type makes a child node."""
    items: list[Any] = [
        (key, kind, field(default_factory=default) if isinstance(default, type) else default)
        for key, (kind, default) in fields.items()
    ]
    return dataclasses.make_dataclass(title, items, kw_only=True)


def _rules() -> Any:
    """Every rule, optional, and `size` for width and height."""
    kinds = {"int": Optional[int], "bool": Optional[bool], "str": Optional[str]}  # noqa: UP045
    rules = {item.name: (kinds[str(item.type)], None) for item in dataclasses.fields(RuleSet)}
    del rules["name"]
    return _node("Rules", size=(kinds["int"], None), **rules)


#: Group -> dataclass that it becomes; the field of `RunConfig` has the group's name.
GROUPS: dict[str, type] = {
    "model": NetworkConfig,
    "search": SearchConfig,
    "selfplay": SelfPlayConfig,
    "learner": LearnerConfig,
    "replay": ReplayConfig,
    "cluster": ClusterConfig,
    "gauntlet": GauntletConfig,
    "loop": LoopConfig,
    "stop": StopConfig,
}


def _settings() -> Any:
    rules = _rules()
    game = _node("Game", preset=(str, MISSING), rules=(rules, rules))
    opening = _node("Opening", name=(str, "none"))
    groups = {name: schema(cls) for name, cls in GROUPS.items()}
    return _node(
        "Settings",
        run=(str, MISSING),
        runs=(str, "runs"),
        seed=(int, 0),
        evaluator=(str, "auto"),
        game=(game, game),
        opening=(opening, opening),
        # Untyped, as Hydra cannot add to typed entries; `scripts.mixture` checks what they say.
        mixture=(dict[str, Any], dict),
        **{name: (twin, twin) for name, twin in groups.items()},
    )


#: The schema of the whole configuration.
Settings = _settings()

#: Keys that may change when a run is gone on with: they change how long, where and how often, not
#: what is learnt. The rest would make the curves of one run two different experiments.
CHANGEABLE = (
    "run",
    "runs",
    "cluster",
    "stop",
    "evaluator",
    "gauntlet.games",
    "gauntlet.parallel",
    "selfplay.cache_mib",
    "selfplay.threads",
    "learner.lr",  # what a loss that exploded asks for
    "loop.rate_versions",
    "loop.threads",
)


def check_keys(settings: DictConfig, node: Any = Settings, prefix: str = "") -> None:
    """Raise `SettingsError` for a key that there is not: with a + Hydra lets any be added."""
    known = {item.name: item.type for item in dataclasses.fields(node)}
    for name in map(str, settings):
        if name not in known:
            hint = similar(name, known) or f"; there are {', '.join(known)}"
            raise SettingsError(f"{prefix}{name}: no such key{hint}")
        if dataclasses.is_dataclass(known[name]) and isinstance(settings[name], DictConfig):
            check_keys(settings[name], known[name], f"{prefix}{name}.")


def run_config(settings: DictConfig) -> RunConfig:
    """The plain configuration. Raises `SettingsError` naming an unknown key or impossible value."""
    check_keys(settings)
    games = mixed_games(settings) or [game_choice(settings)]
    parts: dict[str, Any] = {}
    for group, cls in GROUPS.items():
        values = OmegaConf.to_container(settings[group], resolve=True)
        assert isinstance(values, dict)
        try:
            parts[group] = cls(**{str(name): value for name, value in values.items()})
        except ValueError as error:
            message = str(error)
            prefix = "" if message.startswith(f"{group}.") else f"{group}: "
            raise SettingsError(prefix + message) from error
    try:
        return RunConfig(seed=settings.seed, games=games, evaluator=settings.evaluator, **parts)
    except ValueError as error:
        raise SettingsError(str(error)) from error


def mixed_games(settings: DictConfig) -> list[GameChoice]:
    """The games of the mixture; none where it is empty. Raises `SettingsError`."""
    mixture = OmegaConf.to_container(settings.mixture, resolve=True, throw_on_missing=True)
    assert isinstance(mixture, dict)
    try:
        return write_out({str(name): entry for name, entry in mixture.items()})
    except RuleError as error:
        raise SettingsError(str(error)) from error


def game_choice(settings: DictConfig) -> GameChoice:
    """The game and opening to play. Raises `SettingsError`."""
    given = OmegaConf.to_container(settings.game.rules, resolve=True)
    assert isinstance(given, dict)
    overrides = {str(name): value for name, value in given.items() if value is not None}
    try:
        rules = RuleSet.preset(settings.game.preset, **overrides)
    except RuleError as error:
        message = str(error).replace("game:", "preset:", 1)
        raise SettingsError(f"game.{message}") from error
    try:
        protocol = opening(settings.opening.name)
        protocol.check(rules)
    except RuleError as error:
        raise SettingsError(str(error)) from error
    return GameChoice(rules=rules, opening=protocol.name)


def resume(stored: str, settings: DictConfig, overridden: list[str]) -> DictConfig:
    """The configuration of a run that goes on: the stored one with the changes asked for now.

    `settings` is the configuration composed now, of which only what was given on the command line
    counts: `overridden` are those keys and groups. Raises `SettingsError` naming the keys that
    cannot change.
    """
    check_keys(settings)
    try:
        old = OmegaConf.merge(OmegaConf.structured(Settings), OmegaConf.create(stored))
    except (OmegaConfBaseException, YAMLError) as error:
        raise SettingsError(
            f"the run's stored config.yaml is damaged, or of another version ({one_line(error)});"
            " restore it, or start a new run"
        ) from error
    assert isinstance(old, DictConfig)
    refused = []
    for key, value in _leaves(settings):
        if not any(_is_under(key, root) for root in overridden):
            continue
        if OmegaConf.select(old, key) == value:
            continue
        if any(_is_under(key, root) for root in CHANGEABLE):
            OmegaConf.update(old, key, value)
        else:
            refused.append(f"{key}={value} (the run has {OmegaConf.select(old, key)!r})")
    if refused:
        raise SettingsError(
            f"cannot change {', '.join(refused)} in a run that exists;"
            " leave it out to go on, or choose another run=NAME"
        )
    return old


def _is_under(key: str, root: str) -> bool:
    return root == "" or key == root or key.startswith(root + ".")


def _leaves(node: DictConfig, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All keys in dotted form with their values."""
    for name in map(str, node):
        key = f"{prefix}{name}"
        if OmegaConf.is_missing(node, name):
            continue
        if isinstance(node[name], DictConfig):
            yield from _leaves(node[name], key + ".")
        else:
            yield key, node[name]


def one_line(error: BaseException) -> str:
    """What OmegaConf or Hydra says, as one line that names the key or group."""
    if isinstance(error.__cause__, OmegaConfBaseException):
        return one_line(error.__cause__)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    if isinstance(error, MissingConfigException) and error.options:
        name = (error.missing_cfg_file or "").rpartition("/")[2]
        return text + (similar(name, error.options) or f"; there are {', '.join(error.options)}")
    if text.startswith("Ambiguous value"):
        return f"{text}; a list stands in brackets: KEY=[ONE,OTHER]"
    key = getattr(error, "full_key", None)
    if isinstance(error, MissingMandatoryValue):
        return f"{key}: missing; give it as {key}=..."
    if isinstance(error, ConfigKeyError | ConfigAttributeError) and key:
        return f"{key}: no such key{_known_keys(key, error)}"
    return f"{key}: {text}" if key else text


def _known_keys(key: str, error: OmegaConfBaseException) -> str:
    """The end of a message about a missing key: the keys like it or all, and how to add one."""
    name = key.rpartition(".")[2]
    if dataclasses.is_dataclass(error.object_type):
        names = [item.name for item in dataclasses.fields(error.object_type)]
        return similar(name, names) or f"; there are {', '.join(names)}"
    names = list(map(str, error.parent_node or ()))
    return f"{similar(name, names)}; to add a key, put + before it: +{key}..."
