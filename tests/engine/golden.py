"""Golden trees: small searches with the hash evaluator, stored whole.

`python -m tests.engine.golden` writes them anew; do that only when the search is meant to change.
"""

import json
from pathlib import Path
from typing import Any

from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchBatch, SearchConfig

FOLDER = Path(__file__).parents[1] / "data" / "golden"

CASES: dict[str, dict[str, Any]] = {
    "puct-tictactoe": {"game": "mnk", "rules": {}, "config": {"simulations": 60}},
    "puct-irensei-swap-1st": {
        "game": "irensei",
        "rules": {"size": 5, "line_length": 4, "gutter": 0},
        "opening": "swap-1st",
        "config": {"simulations": 80},
        "noise": True,
    },
    "puct-leaves-in-flight": {
        "game": "gomoku",
        "rules": {"size": 6, "line_length": 4},
        "config": {"simulations": 60, "leaves_per_step": 4},
    },
    "gumbel-swap-2": {
        "game": "mnk",
        "rules": {"width": 5, "height": 4, "line_length": 4},
        "opening": "swap-2",
        "config": {"simulations": 40, "kind": "gumbel"},
        "noise": True,
    },
}


def grow(case: dict[str, Any]) -> list[list[Any]]:
    """Rows of (parent, action, visits, value sum, seat, proof, edges) after one search."""
    rules = RuleSet.preset(case["game"], **case["rules"])
    config = SearchConfig(**case["config"])
    batch = SearchBatch(1, config, height=rules.height, width=rules.width)
    position = Position(rules, case.get("opening", "none"))
    batch.start(0, position, seed=7, noise=case.get("noise", False))
    batch.run(HashEvaluator())
    return [[round(float(value), 4) for value in row] for row in batch.tree(0)]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        rows = ",\n".join(json.dumps(row) for row in grow(case))
        (FOLDER / f"{name}.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
