"""Random games in which the engine and the reference in tests/reference must agree at every ply.

Hypothesis draws the rules, the opening and a list of numbers; each number picks one of the
reference's `temptations`, so games crowd into captures, kos, repetitions and passes. A failure
prints the rules and the shortest list of actions that it could find.
"""

from collections.abc import Callable
from dataclasses import asdict
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import engine
from tests.reference.adapters import EngineGame, ReferenceGame, engine_rules
from tests.reference.board import Stones, all_points, chain_at, has_liberty, name_of
from tests.reference.crowding import small_rules, temptations
from tests.reference.openings import OPENINGS
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


def play_both(rules: Rules, opening: str, picks: list[int]) -> None:
    note(f"RuleSet.from_json({asdict(rules)}), opening {opening!r}")
    play_on(EngineGame(rules, opening), ReferenceGame(rules, opening), picks)


def play_on(game: EngineGame, reference: ReferenceGame, picks: list[int]) -> None:
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
            assert game.play(actions[-1]) == set(reference.play(actions[-1]))
        check_same(game, reference)
        if len(seen) > len(actions):
            check_undo(game, seen)
    finally:
        note(f"actions {actions}")


# -- what is drawn -------------------------------------------------------------------------------


def picks(longest: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 2**16), min_size=longest // 2, max_size=longest)


@st.composite
def any_rules(draw: st.DrawFn) -> Rules:
    """Any combination of fields that `RuleSet` accepts, on boards of 3 to 9 points a side."""
    side = st.sampled_from([3, 3, 4, 4, 5, 5, 6, 7, 9])
    width, height = draw(side), draw(side)
    gutter = draw(
        st.integers(0, max(0, (max(width, height) - 3) // 2)).filter(
            lambda gutter: min(width, height) > 2 * gutter
        )
    )
    capture = draw(st.sampled_from(["none", "remove", "remove", "remove"]))
    passing = draw(st.booleans())
    superko = capture == "remove" and draw(st.sampled_from([True, True, True, False]))
    needs_limit = capture == "remove" and not superko
    return Rules(
        name="irensei",
        width=width,
        height=height,
        line_length=draw(st.integers(3, max(width, height) - 2 * gutter)),
        gutter=gutter,
        overline=draw(st.sampled_from(["symmetric-win", "symmetric-loss", "asymmetric", "exact"])),
        capture=capture,
        suicide=capture == "remove" and draw(st.booleans()),
        superko=superko,
        passing=passing,
        pass_tiebreak=passing and draw(st.booleans()),
        ply_limit=draw(st.integers(1, 80)) if needs_limit or draw(st.integers(0, 9)) == 9 else 0,
    )


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
    for point in all_points(rules) if rules.capture == "remove" else []:
        if point in stones:
            chain = chain_at(stones, point, rules)
            if not has_liberty(stones, chain, rules):
                stones = {p: colour for p, colour in stones.items() if p not in chain}
    return stones


@st.composite
def any_stones(draw: st.DrawFn, rules: Rules) -> Stones:
    """Stones all over the board."""
    points = all_points(rules)
    colours = st.sampled_from([None, None, "black", "white", "black", "white"])
    drawn = draw(st.lists(colours, min_size=len(points), max_size=len(points)))
    stones = {point: colour for point, colour in zip(points, drawn, strict=True) if colour}
    return without_dead_chains(stones, rules)


COMBINATIONS = [(name, opening) for name in PRESETS for opening in OPENINGS]


def rules_of(name: str) -> st.SearchStrategy[Rules]:
    return st.sampled_from(small_rules(name))


def test_the_presets_are_those_of_the_reference() -> None:
    assert dict(engine.PRESETS) == {name: engine_rules(rules) for name, rules in PRESETS.items()}
    assert set(engine.OPENINGS) == set(OPENINGS)


@pytest.mark.parametrize(("name", "opening"), COMBINATIONS)
def test_presets(name: str, opening: str) -> None:
    capturing = PRESETS[name].capture == "remove"

    @examples(12 if capturing else 4)
    @given(rules_of(name), picks(60 if capturing else 30))
    def plays(rules: Rules, numbers: list[int]) -> None:
        play_both(rules, opening, numbers)

    plays()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("name", "opening"), COMBINATIONS)
def test_presets_at_length(name: str, opening: str) -> None:
    @examples(150)
    @given(rules_of(name), picks(100))
    def plays(rules: Rules, numbers: list[int]) -> None:
        play_both(rules, opening, numbers)

    plays()


@examples(120)
@given(any_rules(), st.sampled_from(list(OPENINGS)), picks(40))
def test_any_rules(rules: Rules, opening: str, numbers: list[int]) -> None:
    play_both(rules, opening, numbers)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("opening", OPENINGS)
def test_any_rules_at_length(opening: str) -> None:
    @examples(500)
    @given(any_rules(), picks(120))
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


LARGE = [
    preset("irensei", size=25, line_length=9, gutter=3),
    preset("irensei", size=19, pass_tiebreak=True, overline="symmetric-loss"),
    preset("irensei", width=25, height=3, line_length=5, gutter=0, suicide=True),
    preset("irensei", width=3, height=25, line_length=5, gutter=0),
    preset("mnk", width=25, height=13, line_length=7),
]


@examples(6)
@given(st.sampled_from(LARGE), st.randoms(use_true_random=False), picks(6))
def test_large_boards(rules: Rules, rng: Random, numbers: list[int]) -> None:
    """Crowded boards up to the largest; stones from a generator, which is quicker to draw."""
    density = rng.choice([0.5, 0.8, 0.95])
    drawn = {
        point: rng.choice(["black", "white"])
        for point in all_points(rules)
        if rng.random() < density
    }
    stones = without_dead_chains(drawn, rules)
    play_stones(rules, stones, rng.choice(["black", "white"]), numbers)
