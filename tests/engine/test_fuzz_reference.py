"""Random games in which the engine and the reference in tests/reference must agree at every ply.

Hypothesis draws the rules, the opening and a list of numbers; each number picks one of the
reference's `temptations`, so games crowd into captures, kos, repetitions and passes. A failure
prints the rules and the shortest list of actions that it could find.
"""

from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

import engine
from tests.reference.adapters import EngineGame, ReferenceGame, engine_rules
from tests.reference.board import Stones, all_points, chain_at, has_liberty, name_of
from tests.reference.crowding import small_games, temptations
from tests.reference.openings import OPENINGS, fits
from tests.reference.position import OPTIONS
from tests.reference.rules import PRESETS, Rules, preset


def check_same(game: EngineGame, reference: ReferenceGame) -> list[str]:
    """Everything that can be seen of the position; returns the legal actions."""
    end = reference.ending()
    assert game.ending() == end
    assert game.line() == reference.line()
    assert game.rows() == reference.rows()
    assert game.colour_of("A") == reference.colour_of("A")
    if end is None:
        assert (game.seat, game.to_play) == (reference.seat, reference.to_play)
    rules = reference.position.rules
    actions = [*map(name_of, all_points(rules)), *OPTIONS]
    reasons = {action: reference.why_illegal(action) for action in actions}
    assert {action: game.why_illegal(action) for action in actions} == reasons
    legal = [action for action in actions if reasons[action] is None]
    assert game.legal() == set(legal)
    assert (game.position.phase == "over") == (end is not None)
    return legal


def check_undo(game: EngineGame, seen: list[tuple[int, str]]) -> None:
    """Taking everything back passes through the same positions."""
    for key, rows in reversed(seen):
        assert (game.position.key, game.rows()) == (key, rows)
        if game.position.ply:
            game.position.undo()


def play_both(rules: Rules, opening: str, picks: list[int]) -> int:
    """Plays a game in both; returns its plies."""
    note(f"RuleSet.from_json({asdict(rules)}), opening {opening!r}")
    return play_on(EngineGame(rules, opening), ReferenceGame(rules, opening), picks)


def play_on(game: EngineGame, reference: ReferenceGame, picks: list[int]) -> int:
    seen = []
    actions: list[str] = []
    try:
        for pick in picks:
            legal = check_same(game, reference)
            seen.append((game.position.key, game.rows()))
            if not legal:
                break
            tempting = temptations(reference.position, legal)
            actions.append(tempting[pick % len(tempting)])
            assert game.play(actions[-1]) == reference.play(actions[-1])
            assert game.switched == reference.switched
        check_same(game, reference)
        if len(seen) > len(actions):
            check_undo(game, seen)
    finally:
        note(f"actions {actions}")
    return len(actions)


# -- what is drawn -------------------------------------------------------------------------------


def picks(longest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 2**16), min_size=longest // 2, max_size=longest)


# Those of any number, and the numbers at their ends.
EVERY_OPENING = [*OPENINGS, "soosorv-1", "soosorv-12", "taraguchi-1", "taraguchi-2", "taraguchi-12"]
SIDES = [3, 3, 4, 4, 5, 5, 6, 7, 9]


def sides_for(opening: str, special: str) -> st.SearchStrategy[int]:
    """Sides of boards that the opening fits; large enough for forbidden moves where there are."""
    square = {side: preset("mnk", size=side) for side in SIDES}
    least = 5 if special == "forbidden" else 3
    return st.sampled_from([s for s in SIDES if s >= least and fits(opening, square[s])])


@st.composite
def any_rules(draw: st.DrawFn, opening: str = "none") -> Rules:
    """Any combination of fields that `RuleSet` accepts, on boards of 3 to 9 points a side."""
    capture = draw(st.sampled_from(["none", "none", "none", "remove", "remove", "switch"]))
    special = draw(st.sampled_from(["forbidden", "unblocked", "no"])) if capture == "none" else "no"
    width, height = draw(sides_for(opening, special)), draw(sides_for(opening, special))
    gutter = draw(
        st.integers(0, 0 if special != "no" else max(0, (max(width, height) - 3) // 2)).filter(
            lambda gutter: min(width, height) > 2 * gutter
        )
    )
    superko = capture == "remove" and draw(st.sampled_from([True, True, True, False]))
    needs_limit = capture == "remove" and not superko
    line_length = draw(st.integers(3, max(width, height) - 2 * gutter))
    return Rules(
        name="irensei",
        width=width,
        height=height,
        line_length=5 if special == "forbidden" else line_length,
        gutter=gutter,
        overline=draw(st.sampled_from(overlines(capture, special))),
        unblocked=special == "unblocked",
        forbidden=draw(st.sampled_from(["illegal", "loss"])) if special == "forbidden" else "none",
        capture=capture,
        suicide=capture != "none" and draw(st.booleans()),
        superko=superko,
        ply_limit=draw(st.integers(1, 80)) if needs_limit or draw(st.integers(0, 9)) == 9 else 0,
        **draw(endings()),
    )


def overlines(capture: str, special: str) -> list[str]:
    """The overline rules that go with a kind of capture and with Renju's or Caro's rule."""
    if capture == "switch":
        return ["symmetric-win"]
    if special == "forbidden":
        return ["black-exact"]
    if special == "unblocked":
        return ["exact", "symmetric-win"]
    return ["symmetric-win", "symmetric-loss", "asymmetric", "exact", "black-exact"]


@st.composite
def endings(draw: st.DrawFn) -> dict[str, Any]:
    """The fields about passes and full boards."""
    passing = draw(st.booleans())
    tiebreak = passing and draw(st.booleans())
    return {
        "passing": passing,
        "pass_after": draw(st.sampled_from([0, 0, 1, 6, 9])) if passing else 0,
        "pass_tiebreak": tiebreak,
        "full_board": "draw" if tiebreak else draw(st.sampled_from(["draw", "majority"])),
    }


@st.composite
def any_games(draw: st.DrawFn) -> tuple[Rules, str]:
    opening = draw(st.sampled_from(EVERY_OPENING))
    return draw(any_rules(opening)), opening


def examples(count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many games; what fails is made smaller, however long one game takes."""
    return settings(
        max_examples=count,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    )


def without_dead_chains(stones: Stones, rules: Rules) -> Stones:
    """The stones without those of chains that have no liberty, where rules capture."""
    for point in all_points(rules) if rules.capture != "none" else []:
        if point in stones:
            chain = chain_at(stones, point, rules)
            if not has_liberty(stones, chain, rules):
                stones = {p: colour for p, colour in stones.items() if p not in chain}
    return stones


@st.composite
def any_stones(draw: st.DrawFn, rules: Rules) -> Stones:
    """Stones all over the board, close together or (with room for threes and fours) not so."""
    points = all_points(rules)
    empty = draw(st.sampled_from([1, 2, 4, 8]))
    colours = st.sampled_from([*[None] * empty, "black", "white", "black", "white"])
    drawn = draw(st.lists(colours, min_size=len(points), max_size=len(points)))
    stones = {point: colour for point, colour in zip(points, drawn, strict=True) if colour}
    return without_dead_chains(stones, rules)


COMBINATIONS = [(name, opening) for name in PRESETS for opening in OPENINGS]


def rules_of(name: str, opening: str) -> st.SearchStrategy[Rules]:
    return st.sampled_from([rules for rules, other in small_games(name) if other == opening])


def test_the_presets_are_those_of_the_reference() -> None:
    assert dict(engine.PRESETS) == {name: engine_rules(rules) for name, rules in PRESETS.items()}
    assert set(engine.OPENINGS) == set(OPENINGS)


@pytest.mark.parametrize(("name", "opening"), COMBINATIONS)
def test_presets(name: str, opening: str) -> None:
    capturing = PRESETS[name].capture != "none"

    @examples(12 if capturing else 4)
    @given(rules_of(name, opening), picks(60 if capturing else 30))
    def plays(rules: Rules, numbers: list[int]) -> None:
        play_both(rules, opening, numbers)

    plays()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "opening"), COMBINATIONS)
def test_presets_at_length(name: str, opening: str) -> None:
    """At least 100,000 plies of each preset over its openings."""
    plies, least = 0, 100_000 / sum(preset == name for preset, _ in COMBINATIONS)

    @examples(150)
    @given(rules_of(name, opening), picks(100))
    def plays(rules: Rules, numbers: list[int]) -> None:
        nonlocal plies
        plies += play_both(rules, opening, numbers)

    for number in count():
        seed(number)(plays)()
        if plies >= least:
            break


@examples(120)
@given(any_games(), picks(40))
def test_any_rules(game: tuple[Rules, str], numbers: list[int]) -> None:
    play_both(*game, numbers)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("opening", EVERY_OPENING)
def test_any_rules_at_length(opening: str) -> None:
    @examples(500)
    @given(any_rules(opening), picks(120))
    def plays(rules: Rules, numbers: list[int]) -> None:
        play_both(rules, opening, numbers)

    plays()


def play_stones(rules: Rules, stones: Stones, to_play: str, numbers: list[int]) -> None:
    black, white = (
        [name_of(point) for point, colour in stones.items() if colour == wanted]
        for wanted in ("black", "white")
    )
    note(f"RuleSet.from_json({asdict(rules)}), black={black}, white={white}, {to_play} to play")
    game = EngineGame.set_up(rules, black, white, to_play)
    play_on(game, ReferenceGame.set_up(rules, black, white, to_play), numbers)


def play_set_up(rules: Rules, data: st.DataObject, longest: int) -> None:
    """Lines that are there already, runs across the gutter and crowds that no game would make."""
    stones = data.draw(any_stones(rules))
    to_play = data.draw(st.sampled_from(["black", "white"]))
    play_stones(rules, stones, to_play, data.draw(picks(longest)))


@examples(60)
@given(any_rules(), st.data())
def test_set_up(rules: Rules, data: st.DataObject) -> None:
    play_set_up(rules, data, 10)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@examples(2000)
@given(any_rules(), st.data())
def test_set_up_at_length(rules: Rules, data: st.DataObject) -> None:
    play_set_up(rules, data, 40)


@st.composite
def crowds_of_black(draw: st.DrawFn) -> tuple[Rules, Stones]:
    """Stones that make many threes and fours; from a generator, which is quicker to draw."""
    rng = Random(draw(st.integers(0, 2**32)))
    width, height = rng.randint(7, 15), rng.randint(7, 15)
    forbidden = draw(st.sampled_from(["illegal", "loss"]))
    rules = preset("renju", width=width, height=height, forbidden=forbidden)
    share = {"black": rng.uniform(0.15, 0.45), "white": rng.uniform(0.0, 0.25)}
    share["none"] = 1 - sum(share.values())
    drawn = rng.choices(list(share), list(share.values()), k=width * height)
    stones = zip(all_points(rules), drawn, strict=True)
    return rules, {point: colour for point, colour in stones if colour != "none"}


@examples(25)
@given(crowds_of_black(), picks(2))
def test_forbidden_points(crowd: tuple[Rules, Stones], numbers: list[int]) -> None:
    play_stones(*crowd, "black", numbers)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@examples(1500)
@given(crowds_of_black(), picks(6))
def test_forbidden_points_at_length(crowd: tuple[Rules, Stones], numbers: list[int]) -> None:
    play_stones(*crowd, "black", numbers)


LARGE = [
    preset("irensei", size=25, line_length=9, gutter=3),
    preset("irensei", size=19, pass_tiebreak=True, overline="symmetric-loss"),
    preset("irensei", width=25, height=3, line_length=5, gutter=0, suicide=True),
    preset("irensei", width=3, height=25, line_length=5, gutter=0),
    preset("mnk", width=25, height=13, line_length=7),
    preset("connect-go", size=19),
    preset("connect-go", width=25, height=25, suicide=False),
    preset("renju"),
    preset("renju", width=25, height=21, forbidden="loss"),
    preset("caro", size=20),
    preset("caro-overlines", width=25, height=3),
]


@examples(6)
@given(st.sampled_from(LARGE), st.randoms(use_true_random=False), picks(6))
def test_large_boards(rules: Rules, rng: Random, numbers: list[int]) -> None:
    """Crowded boards up to the largest; stones from a generator, which is quicker to draw."""
    density = rng.choice([0.3, 0.5, 0.8, 0.95])
    drawn = {
        point: rng.choice(["black", "white"])
        for point in all_points(rules)
        if rng.random() < density
    }
    stones = without_dead_chains(drawn, rules)
    play_stones(rules, stones, rng.choice(["black", "white"]), numbers)
