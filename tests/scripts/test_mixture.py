"""scripts.mixture: ranges written out, and the runs and messages that come of it."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import OmegaConf

from engine import RuleError
from scripts.mixture import write_out
from scripts.settings import Settings, SettingsError, one_line, run_config
from scripts.train import checked_choices
from selfplay.loop import RunConfig

CONFIGS = Path(__file__).parents[2] / "configs"


def composed(*overrides: str) -> RunConfig:
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return run_config(compose("train", overrides=["run=x", *overrides]))


def test_every_combination_shares_the_weight() -> None:
    games = write_out(
        {
            "small": {"preset": "mnk", "weight": 3.0, "rules": {"size": "3..5"}},
            "gomoku": {
                "preset": "gomoku",
                "rules": {"size": [9, "11..12"]},
                "opening": ["swap", "swap-2"],
            },
        }
    )
    assert [(game.rules.width, game.opening, game.weight) for game in games] == [
        (3, "none", 1.0),
        (4, "none", 1.0),
        (5, "none", 1.0),
        *[
            (size, opening, pytest.approx(1 / 6))
            for size in (9, 11, 12)
            for opening in ("swap", "swap-2")
        ],
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"preset": "chess"}, "preset: 'chess' is not one of irensei"),
        ({"preset": "caro-overline"}, r"preset: .*; did you mean caro-overlines\b"),
        ({"weight": 2.0}, "preset: missing"),
        ({"preset": "mnk", "rules": {"sizes": 5}}, r"rules\.sizes: .*; did you mean size\?$"),
        ({"preset": "mnk", "rules": {"size": [9, 99]}}, r"rules\.size: 99 is no integer"),
        ({"preset": "mnk", "rules": {"size": "9..8"}}, r"rules\.size: '9\.\.8' names no value"),
        ({"preset": "mnk", "rules": {"size": [5, "9..8"]}}, r"rules\.size: '9\.\.8' names no"),
        ({"preset": "mnk", "rules": "size"}, "rules: 'size' does not say which rule"),
        ({"preset": "mnk", "opening": []}, r"opening: \[\] names no value"),
        ({"preset": "mnk", "opening": "swap-3"}, "opening: 'swap-3' is not one of"),
        ({"preset": "gomoku", "weight": -1.0}, r"weight: -1\.0 is no positive number"),
        ({"preset": "gomoku", "weight": "much"}, "weight: 'much' is no positive number"),
        ({"preset": "gomoku", "wieght": 2}, r"wieght: no such key; .*; did you mean weight\?"),
        (
            {"preset": "renju", "rules": {"size": "8..9"}, "opening": "rif"},
            "opening: rif places a stone in the central 5x5: .* not 8x8",
        ),
        (
            {"preset": "mnk", "rules": {"width": "3..25", "height": "3..25", "ply_limit": "1..9"}},
            "rules: these make the mixture more than 4096 games",
        ),
        ({"preset": "mnk", "rules": {"ply_limit": f"1..{10**15}"}}, "rules: .* more than 4096"),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=rf"^mixture\.it\.{message}"):
        write_out({"it": fields})


def test_an_entry_is_a_group() -> None:
    with pytest.raises(RuleError, match=r"^mixture\.it: 'mnk' is not a group of preset, weight"):
        write_out({"it": "mnk"})


@pytest.mark.parametrize(
    "overrides",
    [
        ["+mixture.some={preset:mnk,rules:{size:[3,5..7]}}"],
        ["+mixture.some.preset=mnk", "+mixture.some.rules.size=[3,5..7]"],
        ["+mixture={some:{preset:mnk,rules:{size:[3,5..7]}}}"],
        ["mixture=family-small", "+mixture.some={preset:mnk,rules:{size:[3,5..7]}}"],
    ],
)
def test_entries_are_added_on_the_command_line(overrides: list[str]) -> None:
    games = composed(*overrides).games
    assert [game.rules.width for game in games if game.rules.name == "mnk"] == [3, 5, 6, 7]


def test_a_mixture_takes_the_place_of_the_game() -> None:
    config = composed("mixture=family-small", "mixture.caro.weight=5", "~mixture.renju")
    presets = {game.rules.name for game in config.games}
    assert presets == {"irensei", "connect-go", "gomoku", "gomoku-standard", "caro"}
    assert (config.height, config.width) == (11, 11)
    caro = [game.weight for game in config.games if game.rules.name == "caro"]
    assert sum(caro) == pytest.approx(5)
    assert len(config.rated_games) == len({(g.rules.name, g.opening) for g in config.games})


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("mixture.caro.rules.size=large", r"mixture\.caro\.rules\.size: 'large' is no integer"),
        ("mixture.caro.rules.size=11..7", r"mixture\.caro\.rules\.size: '11\.\.7' names no value"),
        ("mixture.caro=null", r"mixture\.caro: None is not a group"),
        ("mixture.car.weight=2", r"mixture\.car: no such key; did you mean caro\?; to add a key"),
        ("mixture.new.preset=mnk", r"mixture\.new: no such key; to add .*: \+mixture\.new"),
        ("mixture.caro.rules.gutter=1", r"mixture\.caro\.rules\.gutter: .*: \+mixture\.caro\.rul"),
        ("mixture.caro.rules.size=7..9,11", "a list stands in brackets"),
    ],
)
def test_overrides_are_refused_by_their_keys(override: str, message: str) -> None:
    with pytest.raises((SettingsError, HydraException)) as error:
        composed("mixture=family-small", override)
    assert re.match(message, one_line(error.value)) or message in one_line(error.value)


@pytest.mark.parametrize("value", ["null", "[{preset:mnk}]"])
def test_a_group_needs_a_name(value: str) -> None:
    with pytest.raises(SettingsError, match=r"mixture: .* names no file; there are family"):
        checked_choices(["run=x", f"mixture={value}"])
    checked_choices(["run=x", "mixture=none", "mixture.x=null", "stop.games=null"])


def test_what_the_page_on_mixtures_shows() -> None:
    page = (CONFIGS.parent / "docs" / "mixtures.md").read_text()
    fives = OmegaConf.to_container(OmegaConf.create(page.split("```yaml")[1].split("```")[0]))
    games = write_out(fives)
    assert [game.rules.width for game in games] == [5, 5, 7, 7, 8, 8, 9, 9, 9]
    assert games[0].weight / sum(game.weight for game in games) == pytest.approx(1 / 24)
    commands = re.findall(r"^    python -m scripts\.train run=\w+ (.*)$", page, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        if command != "mixture=fives":  # the reader's own file
            assert len(composed(*shlex.split(command)).games) > 1
    refusal = re.search(r"narabe: (mixture.*)", page)
    assert refusal is not None
    fives["renju"]["rules"]["size"] = 8
    with pytest.raises(RuleError, match=re.escape(refusal[1])):
        write_out(fives)
