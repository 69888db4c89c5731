"""scripts.mixture: ranges written out, and the runs and messages that come of it."""

from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore

from engine import RuleError
from scripts.mixture import write_out
from scripts.settings import Settings, SettingsError, run_config
from selfplay.loop import RunConfig

CONFIGS = Path(__file__).parents[2] / "configs"
EXPERIMENTS = sorted(path.stem for path in (CONFIGS / "experiment").glob("*.yaml"))


def entry(**fields: Any) -> dict[str, Any]:
    return {"weight": 1.0, "rules": {}, "opening": "none", **fields}


def composed(*overrides: str) -> RunConfig:
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return run_config(compose("train", overrides=["run=x", *overrides]))


def test_every_combination_shares_the_weight() -> None:
    games = write_out(
        {
            "small": entry(preset="mnk", weight=3.0, rules={"size": "3..5", "line_length": 3}),
            "gomoku": entry(
                preset="gomoku", rules={"size": [9, "11..12"]}, opening=["swap", "swap-2"]
            ),
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
        ({"preset": "chess"}, "mixture.it: game: 'chess' is not one of irensei"),
        ({"preset": "mnk", "rules": {"sizes": 5}}, "mixture.it: rules.sizes: no such rule"),
        ({"preset": "mnk", "rules": {"size": [9, 99]}}, "mixture.it: rules.size: 99 is no integer"),
        ({"preset": "mnk", "rules": {"size": "9..8"}}, "mixture.it: '9..8' names no value"),
        ({"preset": "mnk", "opening": []}, r"mixture.it: \[\] names no value"),
        ({"preset": "mnk", "opening": "swap-3"}, "mixture.it: opening: 'swap-3' is not one of"),
        ({"preset": "gomoku", "weight": -1.0}, "mixture.it: weight: -1.0 is not positive"),
        ({"preset": "gomoku", "wieght": 2}, "mixture.it: wieght: no such key; the keys are preset"),
        (
            {"preset": "renju", "rules": {"size": "8..9"}, "opening": "rif"},
            "mixture.it: opening: rif places a stone in the central 5x5: .* not 8x8",
        ),
        (
            {"preset": "mnk", "rules": {"width": "3..25", "height": "3..25", "ply_limit": "1..9"}},
            "mixture.it: the mixture writes out to more than 4096 games",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_name(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        write_out({"it": entry(**fields)})


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_is_a_run(experiment: str) -> None:
    config = composed(f"experiment={experiment}")
    assert config.games
    assert (config.model.channels >= 128) == experiment.endswith("-gpu")


def test_a_mixture_takes_the_place_of_the_game() -> None:
    config = composed("mixture=family-small", "mixture.caro.weight=5", "~mixture.renju")
    presets = {game.rules.name for game in config.games}
    assert presets == {"irensei", "connect-go", "gomoku", "gomoku-standard", "caro"}
    assert (config.height, config.width) == (11, 11)
    caro = [game.weight for game in config.games if game.rules.name == "caro"]
    assert sum(caro) == pytest.approx(5)
    assert len(config.rated_games) == len({(g.rules.name, g.opening) for g in config.games})


def test_a_wrong_type_is_refused_by_its_key() -> None:
    with pytest.raises(SettingsError, match=r"mixture\.caro: rules\.size"):
        composed("mixture=family-small", "mixture.caro.rules.size=large")
