"""docs/bots.md: its Python runs, its options exist, its table of levels is that of the code."""

import re
from pathlib import Path

import pytest

from bots.levels import LEVELS
from scripts.play import _parser

PAGE = (Path(__file__).parents[2] / "docs" / "bots.md").read_text()


def test_the_script(exported_bot: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert program is not None
    exec(program[1], {"BOT": str(exported_bot)})
    assert "simulations" in capfd.readouterr().out.splitlines()[-1]


def test_every_command_line_is_understood() -> None:
    lines = re.findall(r"/path/to/bot/play((?: --?[a-z]+ [a-z0-9]+)*)", PAGE)
    assert len(lines) > 8
    for options in lines:
        _parser().parse_args(["bot", *options.split()])


def test_the_table_of_levels() -> None:
    rows = [line.split() for line in re.findall(r"^    +\d+ +(?:\d+|all) +.*$", PAGE, re.MULTILINE)]
    assert [int(row[0]) for row in rows] == list(LEVELS)
    for number, simulations, careless, softness, *_ in rows:
        level = LEVELS[int(number)]
        assert simulations == ("all" if level.simulations is None else str(level.simulations))
        assert float(careless) == level.careless
        assert float(softness) == level.softness
