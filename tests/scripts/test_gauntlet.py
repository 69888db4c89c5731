"""scripts.gauntlet: players, games and folders as given on the command line."""

import json
from pathlib import Path

import pytest
import torch

from engine import RuleSet
from model.checkpoint import Checkpoint, CheckpointMeta
from model.export import export
from model.games import GameEntry
from model.network import Network, NetworkConfig
from scripts.gauntlet import UsageError, choose_games, main
from selfplay.players import Player, random_player

SMALL = RuleSet.preset("mnk", width=4, height=4)
LARGER = RuleSet.preset("mnk", width=5, height=4)
FAST = ["--games", "2", "--simulations", "4"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two checkpoints of one name, and the bot of one of them."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("trained")
    config = NetworkConfig(blocks=1, channels=8, pool_channels=4, head_channels=4, hidden=8)
    for name, rules in (("small", SMALL), ("larger", LARGER)):
        meta = CheckpointMeta(network=config, games=[GameEntry(rules=rules)], run_id=name)
        (folder / name).mkdir()
        Checkpoint(network=Network(config), meta=meta).save(folder / name / "v000001")
    export(folder / "small" / "v000001", folder / "bot", name="botty")
    return folder


def test_a_checkpoint_its_bot_and_others_meet(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    players = [str(trained / "small" / "v000001"), str(trained / "bot"), "mcts:10", "random"]
    out = str(tmp_path / "out")
    assert main([*players, "--out", out, *FAST, "--anchor", "random"]) == 0
    shown = capsys.readouterr().out
    for text in ("mnk size=4 with opening none", "v000001", "botty", "random at 0"):
        assert text in shown
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [player["name"] for player in results["players"]] == [
        "v000001", "botty", "mcts:10", "random",
    ]  # fmt: skip
    assert [pair["games"] for pair in results["pairs"]] == [2] * 6
    # The same command has nothing left to do; more games are added to those there are.
    assert main([*players, "--out", out, *FAST, "--anchor", "random"]) == 0
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == results
    game = ["--game", "mnk", "--rule", "width=4", "--rule", "height=4"]
    assert main([*players[2:], *game, "--out", out, "--games", "6"]) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [pair["games"] for pair in results["pairs"]] == [6, 2, 2, 2, 2, 2]


def test_players_of_one_name_are_told_apart(trained: Path, tmp_path: Path) -> None:
    bot = str(trained / "bot")
    (tmp_path / "copy").symlink_to(bot)
    copy = str(tmp_path / "copy")
    assert main([bot, copy, "--out", str(tmp_path / "out"), *FAST]) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [player["name"] for player in results["players"]] == [bot, copy]


def test_bad_input_is_one_clear_line(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, larger = (str(trained / name / "v000001") for name in ("small", "larger"))
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in (trained / "bot").iterdir():
        (damaged / path.name).write_bytes(path.read_bytes()[:-3])
    cases = [
        (["random"], "at least two players"),
        (["random", "random", "--game", "mnk"], "two players are called random"),
        (["random", "mcts:some"], "after 'mcts:' comes the number"),
        (["randm", "mcts:8"], "; did you mean random?"),
        (["random", "mcts=8"], "; did you mean mcts:N?"),
        (["random", "mcts:8"], "give --game"),
        (["random", str(tmp_path / "missing")], "missing.json: cannot be read"),
        (["random", str(damaged)], "bot.json: truncated"),
        ([small, "random", "--rule", "size=9"], "give --game too"),
        ([small, "random", "--game", "mnk", "--rule", "size"], "--rule size: is not NAME=VALUE"),
        ([small, "random", "--game", "mnk", "--rule", "sizes=5"], "rules.sizes: no such rule"),
        ([small, "random", "--game", "caro"], "plays mnk size=4 with opening none, not"),
        ([small, "random", "--opening", "swap-2"], "give --game"),
        ([small, "random", "--opening", "swap-9"], "'swap-9' is not one of none, swap-1st"),
        ([small, larger], "the players have no such game in common"),
        ([small, "random", "--games", "0"], "games: 0 is less than 1"),
        ([small, "random", "--anchor", "x"], "the anchor x has not played"),
    ]
    for arguments, message in cases:
        assert main([*arguments, "--out", str(tmp_path / "out")]) == 1, arguments
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error
        assert not (tmp_path / "out").exists()


def test_the_game_is_that_of_the_players() -> None:
    def player(*games: tuple[RuleSet, str]) -> Player:
        return Player(name="some", search=None, games=list(games))

    one, other = (SMALL, "none"), (SMALL, "swap-1st")
    assert choose_games([random_player(), player(one)], None, [], None) == [one]
    assert choose_games([player(one), player(one, other)], None, [], None) == [one]
    assert choose_games([player(one, other)], None, [], "swap-1st") == [other]
    assert choose_games([player(other)], "mnk", ["width=4", "height=4"], None) == [other]
    assert choose_games([random_player()], "mnk", ["size=4"], None) == [(SMALL, "none")]
    assert choose_games([player(one)], "mnk", ["overline=exact"], "swap") == [
        (RuleSet.preset("mnk", overline="exact"), "swap")
    ]
    # What is not said may be as the players have it.
    assert choose_games([player(one)], "mnk", [], None) == [one]
    assert choose_games([player((LARGER, "none"), other)], "mnk", ["size=4"], None) == [other]
    assert choose_games([player(one, other)], "mnk", [], "swap-1st") == [other]
    # Several: one of each preset and opening.
    assert choose_games([player(one, (LARGER, "none"), other)], None, [], None) == [one, other]
    with pytest.raises(UsageError, match="no such game in common"):
        choose_games([player(one), player(other)], None, [], None)


def test_players_of_several_games_meet_in_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = NetworkConfig(blocks=1, channels=8, pool_channels=4, head_channels=4, hidden=8)
    games = [GameEntry(rules=SMALL), GameEntry(rules=SMALL, opening="swap")]
    meta = CheckpointMeta(network=config, games=games, run_id="several")
    Checkpoint(network=Network(config), meta=meta).save(tmp_path / "v000001")
    out = tmp_path / "out"
    assert main([str(tmp_path / "v000001"), "random", "--out", str(out), *FAST]) == 0
    shown = capsys.readouterr().out
    assert "Elo by game" in shown and "mnk, swap" in shown
    for name in ("mnk-4x4-none", "mnk-4x4-swap"):
        assert (out / name / "results.json").exists()
