"""docs/features.md: what it says of the numbers of openings and phases."""

import re
from pathlib import Path

import pytest

from engine import Position, RuleSet
from engine.features import GLOBALS, features
from engine.openings import OPENINGS, opening

TEXT = (Path(__file__).parents[2] / "docs" / "features.md").read_text()
TABLE = TEXT.partition("phases, from 0 |")[2].partition("##")[0]
ROWS = re.findall(r"^\| (\d+) \| `(\S+)` \| (.*) \|$", TABLE, re.MULTILINE)


def test_the_table_has_every_opening_and_the_spare_numbers() -> None:
    names = [opening(name.removesuffix("-N")).name for _, name, _ in ROWS]
    assert names == list(OPENINGS)
    assert [int(number) for number, _, _ in ROWS] == list(range(len(OPENINGS)))
    slots = sum(bool(re.fullmatch(r"opening_\d+", name)) for name in GLOBALS)
    assert f"| {len(OPENINGS)} .. {slots - 1} | spare" in TABLE
    assert f"`opening_0` .. `opening_{slots - 1}`" in TEXT


@pytest.mark.parametrize(("number", "name", "phases"), ROWS, ids=[name for _, name, _ in ROWS])
def test_phases_are_named_in_the_order_of_their_numbers(
    number: str, name: str, phases: str
) -> None:
    named = re.findall(r"`(\S+)`", phases)
    for told in (name.replace("-N", f"-{n}") for n in (1, 4)):
        assert named == [phase.name for phase in opening(told).phases]
    position = Position(RuleSet.preset("gomoku"), told)
    for _ in range(8):
        values = dict(zip(GLOBALS, features(position)[1], strict=True))
        ones = {n for n, v in values.items() if re.fullmatch(r"(opening|phase)_\d+", n) and v}
        assert ones == {f"opening_{number}", f"phase_{named.index(position.phase)}"}
        position.play(int(position.legal_actions()[0]))
