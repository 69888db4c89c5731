import errno
from pathlib import Path

import numpy as np
import pytest

from engine import PRESETS, REASONS, Position, RuleSet
from selfplay import metrics
from selfplay.ratings import Estimate
from selfplay.storage import StorageError
from tests.selfplay.test_worker import play_versions


def test_calibration_error_is_the_mean_gap_of_the_bins() -> None:
    # Three quarters of the positions are judged 0.5 too high, the others rightly.
    predicted = np.array([0.55, 0.55, 0.55, 0.55, 0.55, 0.55, -1.0, -1.0])
    outcome = np.array([1, -1, 0.3, 0, 0, 0, -1, -1])
    assert metrics.calibration_error(predicted, outcome) == pytest.approx(0.75 * 0.5)
    assert metrics.calibration_error(np.array([1.0]), np.array([1.0])) == 0


def test_mixed_games_are_told_apart() -> None:
    games = play_versions(games=30)
    curves = metrics.game_curves(games)
    kinds = {f"{game.record.game}/{game.record.opening}" for game in games}
    assert kinds == {"irensei/swap-1st", "mnk/swap-2"}
    for kind in kinds:
        some = [game for game in games if f"{game.record.game}/{game.record.opening}" == kind]
        assert curves[f"{kind}/game/length"] == pytest.approx(
            np.mean([len(game.record.actions) for game in some])
        )
        assert metrics.game_curves(some)["game/length"] == curves[f"{kind}/game/length"]
    outcomes = ("draws", "seat_A_wins", "seat_B_wins")
    assert sum(curves[f"outcome/{name}"] for name in outcomes) == pytest.approx(1)


def test_choices_are_shares_of_their_phase() -> None:
    curves = metrics.game_curves(play_versions(games=30))
    for phase in ("irensei/swap-1st/opening/choose", "mnk/swap-2/opening/choose-or-more"):
        chosen = {tag: value for tag, value in curves.items() if tag.startswith(phase + "/")}
        shares = {tag: value for tag, value in chosen.items() if "_" not in tag.split("/")[-1]}
        assert sum(shares.values()) == pytest.approx(1)
        for tag in shares:
            assert -1 <= chosen[f"{tag}_value"] <= 1
            assert -1 <= chosen[f"{tag}_result"] <= 1


def test_an_option_that_nobody_took_has_a_share_of_zero() -> None:
    games = play_versions(games=30)
    game = next(g for g in games if [c.phase for c in g.statistics.choices] == ["choose"])
    taken = game.statistics.choices[0].option
    left = {"black": "white", "white": "black"}[taken]
    curves = metrics.game_curves([game])
    assert curves[f"opening/choose/{taken}"] == 1
    assert curves[f"opening/choose/{left}"] == 0
    assert f"opening/choose/{left}_value" not in curves
    assert f"opening/choose/{left}_result" not in curves


def test_a_reason_that_did_not_occur_has_a_rate_of_zero() -> None:
    game = play_versions(games=1)[0]
    curves = metrics.game_curves([game])
    rates = {tag.partition("by_")[2]: value for tag, value in curves.items() if "/by_" in tag}
    assert rates.keys() == metrics.possible_reasons(game.record.rules)
    assert {reason for reason, rate in rates.items() if rate} == {game.record.result["reason"]}


def test_games_end_with_possible_reasons() -> None:
    rng, seen = np.random.default_rng(1), set()
    games = [
        *(RuleSet.preset(name, size=5) for name in PRESETS if name not in ("irensei", "mnk")),
        RuleSet.preset("renju", size=9, forbidden="loss"),
        RuleSet.preset("irensei", size=5, gutter=0, line_length=5, ply_limit=30),
        RuleSet.preset("irensei", size=5, gutter=0, line_length=3),
        RuleSet.preset("mnk", size=3, line_length=3, capture="switch"),
        RuleSet.preset("mnk", size=3, line_length=4, capture="remove", superko=True),
        RuleSet.preset("mnk", size=3, line_length=4, passing=True, pass_tiebreak=True),
    ]
    for rules in games:
        for _ in range(20):
            position = Position(rules)
            while position.outcome is None:
                position.play(int(rng.choice(position.legal_actions())))
            assert position.outcome.reason in metrics.possible_reasons(rules)
            seen.add(position.outcome.reason)
    assert seen == set(REASONS)


def test_the_policy_is_drawn_on_the_position_that_was_searched() -> None:
    game = play_versions(games=1)[0]
    full = int(np.flatnonzero(game.statistics.full)[0])
    ply = game.statistics.plies - len(game.samples) + full
    assert metrics.replayed(game, ply).pack() == game.samples[full].packed
    figure = metrics.policy_figure(game, full)
    assert f"ply {ply}:" in figure.axes[0].texts[-1].get_text()


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curves = metrics.Metrics(tmp_path, position=0)

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(curves._writer, "flush", full)
    with pytest.raises(StorageError, match="the disk is full"):
        curves.rated(1, Estimate(elo=0.0, error=1.0))
    monkeypatch.setattr(curves._writer, "close", full)
    curves.close()
