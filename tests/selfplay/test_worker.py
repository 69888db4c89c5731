from collections import Counter

import numpy as np
import pytest

from engine import Position, RuleSet
from engine.evaluators import HashEvaluator, UniformEvaluator
from engine.search import SearchConfig
from model.targets import make_batch
from selfplay.worker import (
    FinishedGame,
    GameChoice,
    SelfPlay,
    SelfPlayConfig,
    batch_size,
    play_again,
)

IRENSEI = RuleSet.preset("irensei", size=7, line_length=4, gutter=1)
RECTANGLE = RuleSet.preset("mnk", width=5, height=4, line_length=3)
MIXTURE = [
    GameChoice(rules=IRENSEI, opening="swap-1st", weight=3.0),
    GameChoice(rules=RECTANGLE, opening="swap-2"),
]
SEARCH = SearchConfig(simulations=24, random_symmetry=True)
CONFIG = SelfPlayConfig(games=6, fast_simulations=8, temperature_plies=6, random_plies=3)


def self_play(config: SelfPlayConfig = CONFIG, search: SearchConfig = SEARCH) -> SelfPlay:
    player = SelfPlay(games=MIXTURE, search=search, config=config, height=7, width=7, run_seed=3)
    player.set_evaluator(HashEvaluator(0), 0)
    return player


def play_versions(config: SelfPlayConfig = CONFIG, games: int = 20) -> list[FinishedGame]:
    """Games during which the weights change again and again."""
    player = self_play(config)
    player.add_indices(range(200))
    finished: list[FinishedGame] = []
    for version in range(1, 1000):
        if len(finished) >= games:
            break
        some, _ = player.play(games=2)
        finished += some
        player.set_evaluator(HashEvaluator(version), version)
    return finished


def test_the_same_seed_gives_the_same_games() -> None:
    first, second = play_versions(), play_versions()
    assert [game.record for game in first] == [game.record for game in second]
    assert len({tuple(game.record.actions) for game in first}) == len(first)


def test_searches_of_one_version_share_a_symmetry() -> None:
    """And with it the cache; over the versions all of them come round."""
    player = self_play()
    player.add_indices(range(200))
    turns = []
    for version in range(1, 60):
        player.play(games=1)
        turns.append(player._batch.turn)
        player.set_evaluator(HashEvaluator(version), version)
    assert set(turns) == set(range(8))
    cached = []
    for turn in (3, None):
        player = self_play()
        player._batch.turn = turn
        player.add_indices(range(60))
        cached.append(player.play(games=30)[1].search["cached"])
    assert cached[0] > 1.2 * cached[1] > 0


def test_every_game_can_be_played_again_alone() -> None:
    games = play_versions()
    assert any(len(game.record.versions) > 1 for game in games)
    assert {game.record.game for game in games} == {"irensei", "mnk"}
    for game in games:
        again = play_again(
            game.record,
            games=MIXTURE,
            search=SEARCH,
            config=CONFIG,
            height=7,
            width=7,
            evaluator=HashEvaluator,
        )
        assert again.record == game.record
        for one, other in zip(again.samples, game.samples, strict=True):
            assert one.packed == other.packed
            np.testing.assert_array_equal(one.policy, other.policy)


@pytest.mark.parametrize("leaves", [1, 2])
def test_batches_stay_full_while_some_games_change_plies(leaves: int) -> None:
    search = SearchConfig(simulations=24, leaves_per_step=leaves)
    player = self_play(SelfPlayConfig(games=16), search)
    player.add_indices(range(200))
    _, work = player.play(games=20)
    assert work.capacity == work.batches * player.batch_size
    assert player.batch_size == 14 * leaves
    assert work.evaluations > 0.95 * work.capacity


@pytest.mark.parametrize(
    ("games", "leaves", "positions"),
    [(1, 1, 1), (16, 1, 14), (32, 1, 28), (48, 1, 32), (64, 1, 32), (256, 1, 128), (64, 4, 128)],
)
def test_a_batch_holds_half_of_the_games_or_enough(games: int, leaves: int, positions: int) -> None:
    assert batch_size(games, SearchConfig(leaves_per_step=leaves)) == positions


def test_plies_wait_for_each_other_while_the_others_fill_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    player = self_play(SelfPlayConfig(games=16), SearchConfig(simulations=24))
    player.add_indices(range(200))
    step, ended = SelfPlay._step, Counter[int]()

    def counting(self: SelfPlay) -> None:
        before = self._work.plies
        step(self)
        ended[self._work.plies - before] += 1

    monkeypatch.setattr(SelfPlay, "_step", counting)
    _, work = player.play(games=20)
    # Of 16 games 14 fill the batch: two wait for a third.
    assert ended[1] + ended[2] < 0.1 * work.plies
    assert work.evaluations > 0.95 * work.capacity


def test_a_fast_search_is_never_the_longer_one() -> None:
    search = SearchConfig(simulations=4)
    player = self_play(SelfPlayConfig(games=4, full_fraction=0.0, fast_simulations=32), search)
    player.add_indices(range(8))
    _, work = player.play(games=2)
    assert work.search["full"] == 0
    assert work.search["simulations"] <= 5 * work.plies


def test_several_leaves_a_step_change_nothing_between_games() -> None:
    search = SearchConfig(simulations=24, leaves_per_step=4)
    player = self_play(search=search)
    player.add_indices(range(10))
    games, work = player.play(games=4)
    assert work.capacity == work.batches * 24
    again = play_again(
        games[-1].record,
        games=MIXTURE,
        search=search,
        config=CONFIG,
        height=7,
        width=7,
        evaluator=HashEvaluator,
    )
    assert again.record == games[-1].record


def test_records_samples_and_statistics_tell_the_same_story() -> None:
    for game in play_versions():
        record, statistics = game.record, game.statistics
        position = Position(record.rules, record.opening)
        first = statistics.plies - len(game.samples)
        assert record.versions[0][0] == first <= CONFIG.random_plies
        for ply, action in enumerate(record.actions):
            if ply >= first:
                sample = game.samples[ply - first]
                assert sample.packed == position.pack()
                winner = record.result["winner_seat"]
                result = (winner is not None) * (1 if winner == position.seat else -1)
                assert statistics.outcome[ply - first] == result
                proven = abs(sample.root_value) == 1
                assert sample.outcome == (sample.root_value if proven else result)
                assert statistics.legal_actions[ply - first] == len(position.legal_actions())
            position.play(action)
        assert position.outcome is not None
        assert record.result["reason"] == position.outcome.reason
        assert record.result["winner_colour"] == position.outcome.winner_colour
        batch = make_batch(game.samples, 7, 7)
        full = np.array([sample.policy_weight for sample in game.samples]) == 1
        np.testing.assert_array_equal(full, statistics.full)
        np.testing.assert_allclose(batch.policy.sum(1).numpy(), full, atol=1e-4)


def test_fast_and_full_searches_come_in_the_given_proportion() -> None:
    full = np.concatenate([game.statistics.full for game in play_versions(games=40)])
    assert 0.15 < full.mean() < 0.35
    always = SelfPlayConfig(games=4, full_fraction=1.0)
    assert all(game.statistics.full.all() for game in play_versions(always, games=4))


def test_choices_of_the_opening_are_counted() -> None:
    choices = Counter(
        (choice.phase, choice.option)
        for game in play_versions(games=40)
        for choice in game.statistics.choices
    )
    assert choices.keys() >= {("choose", "black"), ("choose", "white"), ("choose-or-more", "white")}


def test_a_stone_instead_of_an_option_is_a_choice() -> None:
    player = SelfPlay(
        games=[GameChoice(rules=RECTANGLE, opening="swap-5")],
        search=SEARCH,
        config=SelfPlayConfig(games=4, fast_simulations=8, temperature_plies=6),
        height=RECTANGLE.height,
        width=RECTANGLE.width,
        run_seed=1,
    )
    choices = []
    for version in range(6):
        player.set_evaluator(HashEvaluator(version), version)
        player.add_indices(range(10 * version, 10 * version + 10))
        for game in player.play(games=10)[0]:
            choices += [(choice.phase, choice.option) for choice in game.statistics.choices]
    assert {option for phase, option in choices if phase == "token-1"} == {"stone", "pass"}
    assert not any(phase.startswith("no-token") or phase == "play" for phase, _ in choices)


def test_games_wait_for_indices_and_go_on_between_calls() -> None:
    player = self_play()
    player.add_indices(range(3))
    games, _ = player.play(games=100)
    assert sorted(game.record.seed["game"] for game in games) == [0, 1, 2]
    assert player.play(games=1)[0] == []
    player.add_indices([3])
    assert player.play(games=1, seconds=0.0)[0] == []
    assert [game.record.seed["game"] for game in player.play(games=1)[0]] == [3]


def test_a_new_version_is_taken_up_by_an_idle_player() -> None:
    player = self_play()
    player.add_indices([0])
    player.play(games=1)
    player.set_evaluator(UniformEvaluator(), 5)
    player.add_indices([1])
    assert [version for _, version in player.play(games=1)[0][0].record.versions] == [5]


def test_hopeless_seats_resign_and_some_games_are_played_out() -> None:
    config = SelfPlayConfig(
        games=6, resign_value=1e-6, resign_plies=1, never_resign_fraction=0.5, random_plies=3
    )
    games = play_versions(config, games=40)
    resigned = [game for game in games if game.record.result["reason"] == "resign"]
    checked = [game for game in games if game.statistics.would_resign is not None]
    assert resigned
    assert checked
    for game in resigned:
        # The loser's last value was bad, and the loss is in its sample.
        assert game.samples[-1].root_value < 0
        assert game.samples[-1].outcome == -1


@pytest.mark.parametrize(
    ("key", "value"), [("games", 0), ("full_fraction", 1.5), ("temperature", -1.0)]
)
def test_impossible_values_are_refused_by_name(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"selfplay\.{key}"):
        SelfPlayConfig(**{key: value})
