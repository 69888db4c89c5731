"""benchmarks/versions.py: this checkout against itself."""

import re
import sys
from pathlib import Path

import pytest

from benchmarks import versions


def test_a_checkout_against_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = str(Path(versions.__file__).parents[1])
    arguments = ["versions", here, "--rules", '{"size": 6}', "--simulations", "20", "--pairs", "3"]
    monkeypatch.setattr(sys, "argv", arguments)
    versions.main()
    said = capsys.readouterr().out
    # Both sides search alike, so that both games of a pair are the same game.
    won, drawn, lost = map(int, re.findall(r"(\d+)-(\d+)-(\d+) \(wins", said)[0])
    assert won == lost and won + drawn + lost == 6
    figures = said.split("evaluations: ")[1].split(" against ")
    assert figures[0].strip() == figures[1].strip()
