"""Exported bots and checkpoints become players; what cannot is refused in one line."""

import json
import queue
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from bots.analyst import Analysis, Query
from bots.loading import load_bot
from engine import Position
from engine.features import features
from model.bot import BotError


def test_a_bot_and_its_checkpoint_are_the_same_player(checkpoint: Path, exported_bot: Path) -> None:
    bot, original = load_bot(exported_bot), load_bot(checkpoint, simulations=16)
    assert bot.name == original.name == "testing-v000003"
    assert bot.games == original.games
    assert bot.search.simulations == original.search.simulations == 16
    for rules, opening in bot.games:
        one, other = bot.player(rules, opening), original.player(rules, opening)
        for _ in range(6):
            ours, theirs = one.think(), other.think()
            np.testing.assert_allclose(ours.priors, theirs.priors, atol=1e-4)
            assert ours.network_value == pytest.approx(theirs.network_value, abs=1e-4)
            one.play(ours.action)
            other.play(ours.action)


def test_a_checkpoint_is_named_by_any_of_its_files(checkpoint: Path) -> None:
    for suffix in (".json", ".safetensors"):
        assert load_bot(checkpoint.with_suffix(suffix)).name == "testing-v000003"


def test_simulations_are_replaced(exported_bot: Path) -> None:
    bot = load_bot(exported_bot, simulations=5)
    assert bot.player(*bot.games[0]).think().simulations == 5
    with pytest.raises(ValueError, match="simulations"):
        load_bot(exported_bot, simulations=0)


def test_other_games_than_its_own_can_be_played(exported_bot: Path) -> None:
    bot = load_bot(exported_bot)
    rules, _ = bot.games[0]
    planes, globals_, _ = features(Position(rules))
    assert np.isfinite(
        bot.evaluator.evaluate(planes[None], globals_[None], np.zeros(1, np.uint64))[0]
    ).all()
    assert bot.player(rules, "swap-5").think().simulations == 16


def copy_with(exported_bot: Path, folder: Path, **changes: object) -> Path:
    """A copy of the bot with other values in bot.json."""
    shutil.copytree(exported_bot, folder)
    meta = json.loads((folder / "bot.json").read_text())
    (folder / "bot.json").write_text(json.dumps(meta | changes))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "newer"),
        ({"kind": "else"}, "not a narabe bot"),
        ({"features_version": 99}, "features version"),
        ({"rule_sets": []}, "names no game"),
        ({"rule_sets": [{"game": "chess"}]}, "bot.json"),
        ({"search": {"simulations": 0}}, "simulations"),
        ({"network_sha256": "0"}, "network.onnx"),
    ],
)
def test_a_bot_that_cannot_be_used_is_refused(
    exported_bot: Path, tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(BotError, match=message) as raised:
        load_bot(copy_with(exported_bot, tmp_path / "copy", **changes))
    assert "\n" not in str(raised.value)


def test_paths_that_are_no_bot_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(BotError, match=str(path)):
            load_bot(path)
    stray = tmp_path / "weights.safetensors"
    stray.write_bytes(b"no weights")
    with pytest.raises(BotError, match="weights"):
        load_bot(stray)


def test_a_checkpoint_without_torch_says_what_to_do(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model.checkpoint", None)
    with pytest.raises(BotError, match=r"narabe\[train\]"):
        load_bot(checkpoint)


def test_an_analyst_finds_what_a_player_finds(exported_bot: Path) -> None:
    bot = load_bot(exported_bot, simulations=60)
    analyst, said = bot.analyst(slots=4), queue.Queue[Analysis]()
    for rules, opening in bot.games * 3:
        analyst.submit(Query(position=Position(rules, opening), simulations=60, report=said.put))
    found = [said.get(timeout=60) for _ in range(3 * len(bot.games))]
    analyst.close()
    for analysis in found:
        position = analysis.query.position
        alone = bot.player(position.rules, position.opening, threats=0).think()
        assert analysis.result is not None
        assert analysis.result.visits.tolist() == alone.visits.tolist()
