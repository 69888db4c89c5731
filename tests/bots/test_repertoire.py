"""Which games a bot can be asked to play."""

import pytest

from bots.repertoire import Game, Repertoire, UnknownGameError
from engine import RuleSet

GAMES: list[Game] = [
    (RuleSet.preset("gomoku", size=9), "swap-2"),
    (RuleSet.preset("gomoku", size=9), "none"),
    (RuleSet.preset("renju", size=13), "rif"),
    (RuleSet.preset("irensei", size=11, line_length=5, gutter=1), "none"),
]


def test_boards_up_to_the_largest_of_the_training() -> None:
    known = Repertoire(GAMES)
    for width, height in ((5, 5), (9, 9), (13, 5), (13, 13)):
        rules, opening = known.resize(GAMES[0], width, height)
        assert (rules.width, rules.height, rules.line_length, opening) == (
            width,
            height,
            5,
            "swap-2",
        )
    for width, height in ((14, 9), (9, 14), (25, 25)):
        with pytest.raises(UnknownGameError, match="larger than 13x13"):
            known.resize(GAMES[0], width, height)
    with pytest.raises(UnknownGameError, match="no room for 5"):
        known.resize(GAMES[0], 4, 4)
    with pytest.raises(UnknownGameError, match="odd"):
        known.resize(GAMES[2], 12, 12)


def test_the_preferred_game_comes_first() -> None:
    known = Repertoire(GAMES)
    assert known.on_board(9, 9, GAMES[1]) == GAMES[1]
    assert known.on_board(11, 11, GAMES[1]) == GAMES[3], "the one that has this board"
    rules, opening = known.on_board(10, 10, GAMES[3])
    assert (rules.name, rules.width, opening) == ("irensei", 10, "none")


def test_rules_by_their_number() -> None:
    known = Repertoire(GAMES)
    assert known.gomocup(0, 9, 9) == GAMES[1], "without an opening where there is a choice"
    assert known.gomocup(4, 13, 13) == GAMES[2]
    assert known.gomocup(4, 11, 11)[0].width == 11
    with pytest.raises(
        UnknownGameError, match=r"rule 1 \(exactly five\).*0 \(freestyle\), 4 \(renju\)"
    ):
        known.gomocup(1, 9, 9)
    with pytest.raises(UnknownGameError, match="none of the protocol's"):
        Repertoire(GAMES[3:]).gomocup(0, 9, 9)
