"""One number for the whole search: changed trees change it, speed does not.

`python -m benchmarks.fingerprint` prints it. Every tree is grown with the hash evaluator, so the
number depends on rules, legality, selection, proofs and backup, and on no network.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchBatch, SearchConfig

#: (preset, overrides, opening): small games in which captures, choices and full boards come up.
GAMES = (
    ("irensei", {"size": 9, "line_length": 5, "gutter": 1}, "swap-1st"),
    ("irensei", {"size": 5, "line_length": 4, "gutter": 0}, "swap-5"),
    ("gomoku", {"size": 7}, "swap-2"),
    ("mnk", {"width": 5, "height": 4, "line_length": 4}, "swap"),
)
CONFIGS = (
    SearchConfig(simulations=150),
    SearchConfig(simulations=64, kind="gumbel"),
    SearchConfig(simulations=100, leaves_per_step=4),
)


def fingerprint(moves: int = 12) -> str:
    """16 hexadecimal digits over all trees of some moves of each game under each configuration."""
    digest = blake2b(digest_size=8)
    for config in CONFIGS:
        for number, (preset, overrides, opening) in enumerate(GAMES):
            rules = RuleSet.preset(preset, **overrides)
            batch = SearchBatch(1, config, height=rules.height, width=rules.width)
            batch.start(0, Position(rules, opening), seed=number, noise=True)
            for _ in range(moves):
                batch.run(HashEvaluator(number))
                digest.update(np.round(batch.tree(0), 4).tobytes())
                batch.advance(0, batch.result(0).action, noise=True)
                if batch.position(0).outcome is not None:
                    break
    return digest.hexdigest()


if __name__ == "__main__":
    print(fingerprint())
