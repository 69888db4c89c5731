"""docs/analysis.md: its examples come out as it shows them, and it names every key."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bots.analysis_query import COMMANDS, KEYS
from engine import RuleSet
from engine.evaluators import UniformEvaluator
from tests.bots.talk import Analysing

PAGE = (Path(__file__).parents[2] / "docs" / "analysis.md").read_text()


def conversation() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What is sent in the page's examples, and what is answered."""
    blocks = re.findall(r"^    > (.*)\n    < ((?:.*\n(?:       .*\n)*))", PAGE, re.MULTILINE)
    return [(json.loads(sent), json.loads(answer)) for sent, answer in blocks]


def test_the_examples() -> None:
    pairs = conversation()
    assert len(pairs) == 9
    rules = RuleSet.preset("mnk", width=5, height=5, line_length=4)
    engine = Analysing([(rules, "none")], UniformEvaluator(), version="demo-v000105")
    for sent, shown in pairs:
        said = engine.ask(sent)
        assert list(said) == list(shown)
        assert shown.pop("seconds", 0) >= 0
        said.pop("seconds", None)
        assert said == shown
    engine.end()


@pytest.mark.parametrize("key", [*KEYS, *COMMANDS])
def test_every_key_is_described(key: str) -> None:
    assert f"`{key}`" in PAGE or f'"{key}"' in PAGE


def test_every_key_of_an_answer_is_described() -> None:
    rules = RuleSet.preset("renju", size=7)
    engine = Analysing([(rules, "none")])
    setup = {"black": ["c4", "d3", "e4", "d5"], "white": ["a1", "b1", "c1", "d1"]}
    answer = engine.ask({
        "id": "x", "game": "renju", "rules": {"size": 7}, "setup": {**setup, "to_play": "black"},
        "want": ["legal", "board", "policy", "threats"], "simulations": 20,
    })  # fmt: skip
    engine.end()
    assert {"forbidden", "fives", "policy", "legal", "board"} <= set(answer)
    move_keys = {key for move in answer["moves"] for key in move}
    for key in [*answer, *answer["root"], *answer["threats"], *move_keys]:
        assert f"`{key}`" in PAGE, key


def test_the_client(exported_bot: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The page's program runs as it is."""
    program = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    exec(program[1], {"BOT": str(exported_bot)})
    lines = sorted(capfd.readouterr().out.splitlines())
    assert [line.split()[0] for line in lines] == ["0", "1", "2", "3"]
