"""What all tests share."""

from pathlib import Path

import pytest

import engine
from engine import RuleSet


def pytest_report_header() -> str:
    """Says which build is tested: `make test` runs those of the engine twice."""
    return f"engine: {Path(engine.__file__).parent}"


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stem of a small untrained network's checkpoint that knows three games."""
    import torch

    from model.checkpoint import Checkpoint, CheckpointMeta
    from model.games import GameEntry
    from model.network import PRESETS, Network

    torch.manual_seed(1)
    config = PRESETS["b2c16"]
    games = [
        GameEntry(rules=RuleSet.preset("mnk", width=5, height=4, line_length=4)),
        GameEntry(rules=RuleSet.preset("gomoku", size=6, line_length=4), opening="swap-2"),
        GameEntry(
            rules=RuleSet.preset("irensei", size=7, line_length=4, gutter=1), opening="swap-1st"
        ),
    ]
    meta = CheckpointMeta(network=config, games=games, version=3, run_id="testing")
    folder = tmp_path_factory.mktemp("checkpoints")
    return Checkpoint(network=Network(config), meta=meta).save(folder / "v000003")


@pytest.fixture(scope="session")
def exported_bot(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the bot that was exported from `checkpoint`, 16 simulations a move."""
    from engine.search import SearchConfig
    from model.export import export

    folder = tmp_path_factory.mktemp("bots") / "bot"
    export(checkpoint, folder, SearchConfig(simulations=16))
    return folder
