"""A run so small that it goes round in a second or two."""

from typing import Any

from engine import RuleSet
from engine.search import SearchConfig
from model.learner import LearnerConfig
from model.network import NetworkConfig
from selfplay.cluster import ClusterConfig
from selfplay.gauntlet import GauntletConfig
from selfplay.loop import LoopConfig, RunConfig, StopConfig
from selfplay.replay import ReplayConfig
from selfplay.worker import GameChoice, SelfPlayConfig

RULES = RuleSet.preset("mnk", width=5, height=4, line_length=3)
BATCH = 16


def small_config(
    *,
    kind: str = "local",
    seed: int = 1,
    rate_versions: int = 0,
    evaluator: str = "onnx",
    **stop: Any,
) -> RunConfig:
    return RunConfig(
        seed=seed,
        games=[GameChoice(rules=RULES, opening="swap-1st")],
        model=NetworkConfig(
            blocks=1, channels=4, pool_every=1, pool_channels=4, head_channels=4, hidden=4
        ),
        search=SearchConfig(simulations=6),
        selfplay=SelfPlayConfig(
            games=4, full_fraction=0.5, fast_simulations=3, temperature_plies=4
        ),
        learner=LearnerConfig(batch_size=BATCH, device="cpu", warmup_steps=5),
        replay=ReplayConfig(min_window=200, shard_samples=64),
        cluster=ClusterConfig(
            kind=kind, workers=2, chunk_games=3, chunk_seconds=1.0, object_store_mb=80
        ),
        gauntlet=GauntletConfig(games=4, simulations=4),
        loop=LoopConfig(warmup=40, publish_steps=8, rate_versions=rate_versions),
        stop=StopConfig(**stop),
        evaluator=evaluator,
    )
