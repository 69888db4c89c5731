"""Recorded conversations, written from the protocols' specifications (`tests/data/transcripts/`).

A file names its protocol and games, then `>` lines are sent, and `<` lines (exact) and `~` lines
(regular expressions) are the answers. For GTP an answer's lines are joined by `\\n`.
"""

import re
from pathlib import Path

import pytest

from bots.gtp_extensions import ExtendedGtpSession
from bots.repertoire import Game
from engine import RuleSet
from tests.bots.talk import GAMES, TRANSCRIPTS, Analysing, Gomocup, new_player


def read(path: Path) -> tuple[str, list[Game], list[tuple[str, list[tuple[str, str]]]]]:
    """Protocol, games, and the lines that are sent with the answers that follow each."""
    protocol, games = "", []
    steps: list[tuple[str, list[tuple[str, str]]]] = []
    for line in path.read_text().splitlines():
        mark, _, text = line.partition(" ")
        if mark == ">":
            steps.append((text, []))
        elif mark in ("<", "~"):
            steps[-1][1].append((mark, text))
        elif text.startswith("protocol"):
            protocol = text.split()[1]
        elif text.startswith("game "):
            _, name, *options = text.split()
            fields = dict(option.split("=") for option in options)
            opening = fields.pop("opening", "none")
            rules = RuleSet.preset(name, **{key: int(value) for key, value in fields.items()})
            games.append((rules, opening))
    return protocol, games, steps


@pytest.mark.parametrize("path", sorted(TRANSCRIPTS.glob("*.txt")), ids=lambda path: path.stem)
def test_a_conversation(path: Path) -> None:
    protocol, games, steps = read(path)
    assert steps
    engine = None
    if protocol == "gomocup":
        manager = Gomocup(games)
        answer = manager.send
    elif protocol == "json":
        engine = Analysing(games)

        def answer(line: str) -> list[str]:
            engine.send(line)
            return [engine.line()]
    else:
        session = ExtendedGtpSession("stub", games, new_player)

        def answer(line: str) -> list[str]:
            said = session.answer(line)
            assert said is None or said.endswith("\n\n")
            return [] if said is None else [said[:-2].replace("\n", "\\n")]

    for sent, wanted in steps:
        got = answer(sent)
        assert len(got) == len(wanted), (sent, got)
        for line, (mark, text) in zip(got, wanted, strict=True):
            matches = line == text if mark == "<" else re.fullmatch(text, line)
            assert matches, (sent, line, text)
    if engine is not None:
        assert engine.end() == []


def test_every_command_is_documented() -> None:
    docs = Path(__file__).parents[2] / "docs"
    gtp, gomocup = ((docs / name).read_text().lower() for name in ("gtp.md", "gomocup.md"))
    for command in ExtendedGtpSession("stub", GAMES, new_player)._commands:
        assert command in gtp
    for command in Gomocup().session._commands:
        stem = command.lower().rstrip("0123456789")
        assert stem in gomocup, command
