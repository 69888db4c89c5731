"""The gauntlet: paired, reproducible, resumable games, counted once and rated."""

import dataclasses
import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from rich.console import Console

from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchConfig
from model.checkpoint import Checkpoint, CheckpointMeta, GameEntry
from model.network import Network, NetworkConfig
from model.onnx_evaluator import OnnxEvaluator
from selfplay.gauntlet import Gauntlet, GauntletConfig, GauntletError
from selfplay.players import Player, PlayerError, checkpoint_player, mcts_player, random_player
from selfplay.ratings import Score
from selfplay.records import GameRecord, read_records, record_files
from selfplay.standings import GauntletResult, standings

RULES = RuleSet.preset("mnk", width=5, height=4, line_length=4)
SMALL = GauntletConfig(games=6, opening_plies=2, temperature_plies=4, parallel=8)


def hash_player(seed: int, *, simulations: int = 8) -> Player:
    """A player with definite, if senseless, opinions."""
    return Player(
        name=f"hash-{seed}",
        search=SearchConfig(simulations=simulations),
        evaluator=lambda: HashEvaluator(seed),
        identity={"kind": "hash", "seed": seed, "search": {"simulations": simulations}},
    )


def gauntlet(
    folder: Path,
    players: list[Player] | None = None,
    config: GauntletConfig = SMALL,
    *,
    opening: str = "swap-1st",
    anchor: str | None = None,
    pairs: list[tuple[str, str]] | None = None,
) -> Gauntlet:
    players = players or [hash_player(1), hash_player(2), random_player()]
    return Gauntlet(
        players, config, folder, rules=RULES, opening=opening, anchor=anchor, pairs=pairs
    )


def games(folder: Path) -> dict[str, GameRecord]:
    return {record.id: record for record in read_records(folder)}


def printed(result: GauntletResult, player: str | None = None) -> str:
    console = Console(width=140, file=io.StringIO(), record=True)
    for table in (result.ranking(), result.table(player)):
        console.print(table)
    return console.export_text()


def test_everybody_meets_everybody_in_pairs(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    result = gauntlet(tmp_path).run(lambda *numbers: told.append(numbers))
    assert [(pair.first, pair.second) for pair in result.pairs] == [
        ("hash-1", "hash-2"),
        ("hash-1", "random"),
        ("hash-2", "random"),
    ]
    for pair in result.pairs:
        assert pair.score.games == 6
        assert pair.sides["A"].games == pair.sides["B"].games == 3
        assert pair.sides["black"] + pair.sides["white"] == pair.score
    assert told[-1] == (18, 18) and result.duplicates == 0
    records = games(tmp_path)
    for a, b in itertools.combinations(("hash-1", "hash-2", "random"), 2):
        for pair_number in range(3):
            one = records[f"{a}/{b}/{pair_number}"]
            other = records[f"{b}/{a}/{pair_number}"]
            assert one.actions[:2] == other.actions[:2]
            assert one.seats == {"A": a, "B": b} and other.seats == {"A": b, "B": a}


def test_players_that_are_alike_play_alike_and_come_out_even(tmp_path: Path) -> None:
    twin = dataclasses.replace(hash_player(1), name="twin")
    result = gauntlet(tmp_path, [hash_player(1), twin]).run()
    records = games(tmp_path)
    for pair in range(3):
        assert records[f"hash-1/twin/{pair}"].actions == records[f"twin/hash-1/{pair}"].actions
    (only,) = result.pairs
    assert only.score.wins == only.score.losses and only.duplicates == 0


def test_games_do_not_depend_on_how_many_are_played_at_once(tmp_path: Path) -> None:
    for parallel in (1, 5):
        config = dataclasses.replace(SMALL, parallel=parallel)
        gauntlet(tmp_path / str(parallel), config=config).run()
    assert games(tmp_path / "1") == games(tmp_path / "5")


def stopping(after: int) -> Callable[[], bool]:
    calls = itertools.count()
    return lambda: next(calls) >= after


def test_a_stopped_gauntlet_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    gauntlet(tmp_path / "whole").run()
    for after in (0, 9, 14):
        gauntlet(tmp_path / "parts").run(stop=stopping(after))
        assert len(games(tmp_path / "parts")) < 18
    (path,) = record_files(tmp_path / "parts")
    path.write_bytes(path.read_bytes()[:-7])  # as a kill leaves it
    result = gauntlet(tmp_path / "parts").run()
    assert games(tmp_path / "parts") == games(tmp_path / "whole")
    assert sum(pair.score.games for pair in result.pairs) == 18


def test_an_interrupt_keeps_the_games_that_have_ended(tmp_path: Path) -> None:
    def interrupt(finished: int, planned: int) -> None:
        if finished >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gauntlet(tmp_path).run(interrupt)
    stored = len(games(tmp_path))
    assert 4 <= stored < 18
    results = json.loads((tmp_path / "results.json").read_text())
    assert sum(pair["games"] for pair in results["pairs"]) == stored


def test_more_games_and_more_players_can_follow(tmp_path: Path) -> None:
    gauntlet(tmp_path, [hash_player(1), hash_player(2)]).run()
    before = games(tmp_path)
    more = dataclasses.replace(SMALL, games=9)
    result = gauntlet(tmp_path, [random_player(), hash_player(1)], more, anchor="hash-2").run()
    assert games(tmp_path).items() > before.items()
    scores = {(pair.first, pair.second): pair.score.games for pair in result.pairs}
    assert scores == {("hash-1", "hash-2"): 6, ("random", "hash-1"): 10}
    assert result.anchor == "hash-2" and not result.unrated


def test_chosen_pairs_only(tmp_path: Path) -> None:
    result = gauntlet(tmp_path, pairs=[("hash-2", "random")]).run()
    assert [(pair.first, pair.second) for pair in result.pairs] == [("hash-2", "random")]
    assert result.unrated == ["hash-2", "random"] and result.rating("hash-2") is None
    assert "not connected" in printed(result)
    assert result.to_json()["players"][1]["elo"] is None


def test_a_game_that_comes_up_again_counts_once(tmp_path: Path) -> None:
    config = dataclasses.replace(SMALL, opening_plies=0, temperature_plies=0)
    result = gauntlet(tmp_path, [hash_player(1), hash_player(2)], config).run()
    (pair,) = result.pairs
    # Without any chance there are two games: one for each order of seats.
    assert pair.score.games == 2 and pair.sides["A"].games == pair.sides["B"].games == 1
    assert pair.duplicates == 10  # it gave up after as many games again
    assert "2 (+10 twice)" in printed(result)
    again = gauntlet(tmp_path, [hash_player(1), hash_player(2)], config)
    assert again.run().to_json() == result.to_json()
    assert len(games(tmp_path)) == 12


def test_duplicates_are_made_up_for(tmp_path: Path) -> None:
    # One random ply on 20 points: of 10 openings, some come up twice.
    config = GauntletConfig(games=20, opening_plies=1, temperature_plies=0)
    result = gauntlet(tmp_path, [hash_player(1), hash_player(2)], config, opening="none").run()
    (pair,) = result.pairs
    assert pair.duplicates > 0 and pair.score.games >= 20


def test_search_beats_chance(tmp_path: Path) -> None:
    config = dataclasses.replace(SMALL, games=20)
    players = [random_player(), mcts_player(100)]
    result = gauntlet(tmp_path, players, config).run()
    rating = result.rating("mcts:100")
    assert rating is not None and rating.elo > rating.error > 0
    stored = json.loads((tmp_path / "results.json").read_text())
    assert stored == result.to_json()
    assert stored["players"][1]["elo"] == pytest.approx(rating.elo, abs=0.01)
    assert "mcts:100" in printed(result, "random")


def record(a: str, b: str, actions: str, winner: str | None, game: int = 0) -> GameRecord:
    position = Position(RULES, "swap-1st")
    for action in actions.split():
        position.play(action)
    return GameRecord(
        game="mnk",
        rules=RULES,
        opening="swap-1st",
        actions=actions.split(),
        seats={"A": a, "B": b},
        versions=[],
        result={
            "winner_seat": winner,
            "winner_colour": position.colour_of(winner) if winner else None,
            "reason": "resign",
        },
        seed={"run": 0, "game": game},
    )


def test_scores_by_seat_and_colour() -> None:
    records = [
        record("x", "y", "a1 black b2", "A"),  # x is White and wins
        record("y", "x", "a1 white b2", None),  # x is White
        record("y", "x", "a1 black b2", "A"),  # x is Black and loses
        record("y", "x", "a1 black b2", "A"),  # again
    ]
    result = standings(records, ["x"], anchor="x")
    (pair,) = result.pairs
    assert pair.score == Score(wins=1, draws=1, losses=1) and pair.duplicates == 1
    assert pair.sides == {
        "A": Score(wins=1),
        "B": Score(draws=1, losses=1),
        "black": Score(losses=1),
        "white": Score(wins=1, draws=1),
    }
    (other,) = result.pairs_of("y")
    assert other.score == pair.score.reversed() and other.sides["A"] == Score(wins=1, draws=1)
    assert other.sides["black"] == Score(losses=1, draws=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "seed 0, not 1"),
        ({"opening_plies": 1}, "opening_plies 2, not 1"),
        ({"temperature": 1.0}, "temperature 0.5, not 1.0"),
    ],
)
def test_a_folder_of_other_settings_is_refused(
    tmp_path: Path, change: dict[str, float], message: str
) -> None:
    gauntlet(tmp_path)
    with pytest.raises(GauntletError, match=f"holds games with {message}; choose another folder"):
        gauntlet(tmp_path, config=dataclasses.replace(SMALL, **change))  # type: ignore[arg-type]


def test_a_folder_of_other_players_or_games_is_refused(tmp_path: Path) -> None:
    gauntlet(tmp_path)
    changed = hash_player(1, simulations=9)
    with pytest.raises(GauntletError, match=r"called hash-1 \(simulations 8, not 9\)"):
        gauntlet(tmp_path, [changed, random_player()])
    with pytest.raises(GauntletError, match="opening swap-1st, not none"):
        gauntlet(tmp_path, opening="none")


def test_players_that_do_not_make_a_gauntlet_are_refused(tmp_path: Path) -> None:
    with pytest.raises(GauntletError, match="at least two players"):
        gauntlet(tmp_path, [random_player()])
    with pytest.raises(GauntletError, match="two players are called random"):
        gauntlet(tmp_path, [random_player(), random_player()])
    with pytest.raises(GauntletError, match="the anchor somebody has not played"):
        gauntlet(tmp_path, anchor="somebody")
    with pytest.raises(GauntletError, match="nobody is not a player"):
        gauntlet(tmp_path, pairs=[("random", "nobody")])
    with pytest.raises(PlayerError, match="at least 1 simulation"):
        mcts_player(0)


def checkpoint(folder: Path, name: str, rules: RuleSet = RULES, version: int = 1) -> Path:
    torch.manual_seed(version)
    config = NetworkConfig(blocks=1, channels=8, pool_channels=4, head_channels=4, hidden=8)
    meta = CheckpointMeta(
        network=config, games=[GameEntry(rules=rules, opening="swap-1st")], version=version
    )
    return Checkpoint(network=Network(config).eval(), meta=meta).save(folder / name)


def test_checkpoints_play(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    search = SearchConfig(simulations=8)
    players = [checkpoint_player(checkpoint(tmp_path, f"v{i}", version=i), search) for i in (1, 2)]
    result = gauntlet(tmp_path / "gauntlet", players).run()
    (pair,) = result.pairs
    assert (pair.first, pair.second, pair.score.games) == ("v1", "v2", 6)


def test_a_checkpoint_of_another_board_is_refused(tmp_path: Path) -> None:
    larger = RuleSet.preset("mnk", width=6, height=4, line_length=4)
    player = checkpoint_player(checkpoint(tmp_path, "v1", larger), SearchConfig())
    message = (
        "player v1 plays mnk width=6 height=4 line_length=4 with opening swap-1st, not mnk width=5"
    )
    with pytest.raises(PlayerError, match=message):
        gauntlet(tmp_path / "gauntlet", [player, random_player()])
    assert not (tmp_path / "gauntlet").exists()


def test_a_player_of_many_games_is_told_in_one_line() -> None:
    games = [(RuleSet.preset("mnk", size=size), "none") for size in range(3, 20)]
    player = Player(name="many", search=None, games=games)
    with pytest.raises(PlayerError, match=r"plays mnk with .* and 14 more, not renju") as error:
        player.check(RuleSet.preset("renju"), "rif")
    assert len(str(error.value)) < 300


def test_a_missing_or_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlayerError, match="nothing"):
        checkpoint_player(tmp_path / "nothing", SearchConfig())
    path = checkpoint(tmp_path, "v1").with_suffix(".safetensors")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(PlayerError, match="damaged"):
        checkpoint_player(path, SearchConfig())


def test_a_damaged_evaluator_plays_in_float32(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = checkpoint(tmp_path, "v1")
    file = path.with_name("v1.evaluator")
    file.write_bytes(b"nonsense")
    player = checkpoint_player(path, SearchConfig())
    assert isinstance(player.evaluator(), OnnxEvaluator)
    (line,) = caplog.messages
    assert line.startswith(f"{file}: truncated or damaged; ") and line.endswith("in float32")


def test_impossible_settings_are_refused() -> None:
    for field, value in (("games", 0), ("parallel", 0), ("temperature", -0.5), ("seed", -1)):
        with pytest.raises(ValueError, match=f"gauntlet.{field}: {value} is less than"):
            GauntletConfig(**{field: value})  # type: ignore[arg-type]
