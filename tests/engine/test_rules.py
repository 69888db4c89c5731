"""Rule sets and openings that do not exist: what is said of them."""

import pytest

from engine import Position, RuleError, RuleSet
from engine.openings import opening
from engine.rules import similar


def test_a_misspelt_rule_is_answered_with_all_rules_and_the_one_like_it() -> None:
    with pytest.raises(RuleError) as error:
        RuleSet.preset("renju", sizee=15)
    line = str(error.value)
    assert line.startswith("rules.sizee: no such rule; the rules are ")
    assert line.endswith("; did you mean size?")
    for name in ("size", *RuleSet.preset("renju").to_json()):
        assert name in line.partition(" are ")[2].replace(";", ",").split(", ")


def test_misspelt_names_are_answered_with_those_like_them() -> None:
    with pytest.raises(RuleError, match=r"game: 'renjo' is not one of .*; did you mean renju\?$"):
        RuleSet.preset("renjo")
    with pytest.raises(RuleError, match=r"rules\.capture: .*; did you mean remove\?$"):
        RuleSet.preset("irensei", capture="removed")
    with pytest.raises(RuleError, match=r"opening: 'sosorv-5' .*; did you mean soosorv-N\?$"):
        opening("sosorv-5")
    assert similar("zzz", ["renju"]) == ""


@pytest.mark.parametrize("sides", [{"size": 4}, {"width": 9, "height": 4}, {"width": 3}])
def test_forbidden_moves_need_room_for_five(sides: dict[str, int]) -> None:
    with pytest.raises(RuleError, match=r"rules\.(width|height): [34] is less than 5, which renju"):
        RuleSet.preset("renju", **sides)
    with pytest.raises(RuleError, match="is less than 5"):
        RuleSet.preset("mnk", line_length=5, overline="black-exact", forbidden="loss", **sides)
    for rules in (
        RuleSet.preset("renju", forbidden="none", **sides),
        RuleSet.preset("gomoku", **sides),
        RuleSet.preset("mnk", **sides),
    ):
        assert Position(rules).outcome is None
    assert RuleSet.preset("renju", size=5).points == 25


@pytest.mark.parametrize(
    ("name", "least"),
    [("renju-swap", 5), ("soosorv-8", 5), ("taraguchi-10", 9), ("pro", 7), ("long-pro", 9)],
)
def test_the_smallest_board_of_an_opening_is_named(name: str, least: int) -> None:
    for side in (3, 8, least - 2):
        rules = RuleSet.preset("mnk", size=side)
        with pytest.raises(RuleError, match=rf"{name} .* odd sides of at least {least}, not"):
            opening(name).check(rules)
    opening(name).check(RuleSet.preset("mnk", size=least))


def test_points_and_colours_that_there_are_not_are_refused() -> None:
    position = Position(RuleSet.preset("gomoku"))
    for point in (-1, 225, 10**9):
        with pytest.raises(ValueError, match="is no point of this board: 0 to 224 are"):
            position.line_value(point, "black")
    with pytest.raises(ValueError, match="'red' is neither 'black' nor 'white'"):
        position.winning_points("red")


def test_a_pass_that_nobody_could_make_is_refused() -> None:
    with pytest.raises(RuleError, match=r"pass_after: a board of 9x9 never holds 100 stones"):
        RuleSet.preset("renju", size=9, pass_after=100)


@pytest.mark.parametrize(
    ("preset", "overrides", "words"),
    [
        ("mnk", {}, "mnk"),
        ("mnk", {"width": 5}, "mnk width=5"),
        ("irensei", {"size": 9, "gutter": 1}, "irensei size=9 gutter=1"),
        ("renju", {"forbidden": "loss"}, "renju forbidden=loss"),
    ],
)
def test_rules_are_told_by_what_differs(
    preset: str, overrides: dict[str, object], words: str
) -> None:
    rules = RuleSet.preset(preset, **overrides)
    assert rules.describe() == words
    assert RuleSet.preset(preset, **rules.overrides()) == rules
