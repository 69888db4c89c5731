"""What the server says to a page, and how games survive."""

import contextlib
import dataclasses
import json
from types import SimpleNamespace

import pytest

from bots.web.limits import Bucket, Limits, cost
from engine import OPENINGS, Position
from engine.evaluators import Floats, HashEvaluator, Keys
from engine.referee import judge
from model.bot import BotError
from tests.web.served import HASHES, Visitor, serving, visiting


def names(view: dict[str, object], points: list[int]) -> list[str]:
    width = view["rules"]["width"]  # type: ignore[index]
    return [f"{chr(97 + point % width)}{point // width + 1}" for point in points]


def test_a_view_says_everything_that_may_be_done() -> None:
    with serving() as address, visiting(address) as visitor:
        view = visitor.begin("renju", opening="rif")
        assert view["prompt"] == "place stone 1, black, on the centre"
        assert names(view, view["legal"]) == ["h8"]
        assert view["elsewhere"] == "the stone must lie on the centre"
        view = visitor.play(view, "h8", "h9", "h10")
        assert [option["label"] for option in view["options"]] == [
            "Swap: take Black",
            "Keep White",
        ]
        view = visitor.play(view, "white", "h7", "g7")
        assert names(view, view["offers"]) == ["g7"]
        blocked = names(view, [int(point) for point in view["blocked"]])
        assert sorted(blocked) == ["g7", "i7"], "the mirror image is the same offer"
        assert "by symmetry" in visitor.refused("play", ply=view["ply"], action="i7")
        view = visitor.play(view, "i8", "i8", "g9")
        assert view["phase"] == "play"
        assert view["seats"]["A"]["colour"] == "black"
        assert view["moves"][5] == ["g7", "A", "black", "offer", 0, 0]


def test_every_prompt_of_every_opening_is_in_words() -> None:
    with serving() as address, visiting(address) as visitor:
        for opening in OPENINGS:
            if opening == "none":
                continue
            view = visitor.begin("renju", opening=opening)
            seen = set()
            for choice in range(30):
                seen.add(view["prompt"])
                assert view["prompt"].strip(), view["phase"]
                if view["phase"] == "play":
                    break
                options = [option["name"] for option in view["options"]]
                # Take one of the choices where there are some, so that offers come, too.
                action = (
                    options[choice % len(options)] if options else names(view, view["legal"])[0]
                )
                view = visitor.play(view, action)
            assert view["phase"] == "play", opening
            assert len(seen) > 2


def test_a_game_is_kept_for_who_comes_back() -> None:
    with serving() as address:
        with visiting(address) as visitor:
            view = visitor.play(visitor.begin("gomoku"), "h8", "i9")
        with visiting(address) as visitor:
            again = visitor.ask("open", id=view["id"])
            assert again["board"] == view["board"]
            assert again["record"] == view["record"]
    with serving() as address, visiting(address) as visitor:
        visitor.send("open", id=view["id"])
        assert visitor.hear("gone")["id"] == view["id"]
        again = visitor.ask("open", id=view["id"], record=view["record"])
        assert again["board"] == view["board"]
        assert again["id"] != view["id"]


def test_two_who_share_a_table_see_the_same() -> None:
    with serving() as address, visiting(address) as one, visiting(address) as other:
        view = one.begin("gomoku")
        other.ask("open", id=view["id"])
        one.play(view, "h8")
        assert other.hear("view")["record"]["actions"] == ["h8"]
        # Whoever is behind sees what happened instead of playing elsewhere.
        assert other.ask("play", ply=0, action="a1")["record"]["actions"] == ["h8"]


def test_what_was_taken_back_can_be_redone_until_something_else_is_played() -> None:
    with serving() as address, visiting(address) as visitor:
        view = visitor.play(visitor.begin("gomoku"), "h8", "i9", "j10")
        view = visitor.ask("go", ply=1)
        assert (view["ply"], len(view["moves"])) == (1, 3)
        view = visitor.ask("redo")
        assert view["ply"] == 2
        view = visitor.play(view, "a1")
        assert view["record"]["actions"] == ["h8", "i9", "a1"]
        assert "nothing to play again" in visitor.refused("redo")
        assert "no position after 7" in visitor.refused("go", ply=7)


@pytest.mark.parametrize("moves", [0, 40, 400, 2000])
def test_who_pauses_as_a_view_says_is_never_refused(
    moves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, limits = 0.0, Limits()
    monkeypatch.setattr("bots.web.limits.time", SimpleNamespace(monotonic=lambda: now))
    bucket = Bucket(limits.burst, limits.rate)
    for _ in range(2000):
        assert bucket.take(cost(len('{"type":"go","ply":2000}'), moves))
        now += limits.pause(moves)


def test_a_view_says_how_long_to_pause() -> None:
    limits = Limits()
    with serving(burst=limits.burst, rate=limits.rate) as address, visiting(address) as visitor:
        view = visitor.begin("mnk")
        assert view["pause"] == limits.pause(0)
        assert visitor.play(view, "b2")["pause"] == limits.pause(1)


def test_resigning_ends_the_game_until_it_is_taken_back() -> None:
    with serving() as address, visiting(address) as visitor:
        view = visitor.play(visitor.begin("gomoku"), "h8")
        view = visitor.ask("resign")
        assert view["result"]["text"] == "Black wins by resignation"
        assert "is over" in visitor.refused("play", ply=1, action="a1")
        assert visitor.ask("go", ply=0)["result"] is None
        assert visitor.ask("go", ply=1)["result"]["winner_seat"] == "A"


def test_bots_play_their_seats_and_rest_when_nobody_watches() -> None:
    seats = {"A": {"bot": "hashes"}, "B": {"bot": "hashes", "level": 3}}
    with serving() as address:
        with visiting(address) as visitor:
            view = visitor.begin("gomoku", seats=seats)
            while view["ply"] < 4:
                view = visitor.hear("view")
        with visiting(address) as visitor:
            view = visitor.ask("open", id=view["id"])
            while view["phase"] != "over" and view["ply"] < 30:
                view = visitor.hear("view")
        assert all(value is not None for value in view["record"]["values"][: view["ply"]])


class Recorder(HashEvaluator):
    """Remembers how many positions it was asked about at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def evaluate(self, planes: Floats, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        self.batches.append(len(planes))
        return super().evaluate(planes, globals_, keys)


def test_games_share_one_evaluator_in_batches() -> None:
    made: list[Recorder] = []

    def load(_: int) -> Recorder:
        made.append(Recorder())
        return made[-1]

    bot = dataclasses.replace(HASHES, load=load)
    with serving({bot.name: bot}, analysis=500) as address, contextlib.ExitStack() as stack:
        visitors = [stack.enter_context(visiting(address)) for _ in range(8)]
        assert not made, "nobody has asked the bot to think"
        for visitor in visitors:
            visitor.begin("gomoku")
            visitor.send("analyse", bot=bot.name)
        for visitor in visitors:
            assert final(visitor)["simulations"] == 500
    assert len(made) == 1
    # Wherever several were searched, one batch was for all of them.
    assert max(made[0].batches) >= 4


def test_it_is_not_the_persons_turn() -> None:
    with serving(pace=60.0) as address, visiting(address) as visitor:
        view = visitor.begin("gomoku", seats={"A": {"bot": "hashes"}})
        assert view["thinking"]
        assert "bot's turn" in visitor.refused("play", ply=0, action="h8")
        # A kept game with a bot that is not here goes on with a person.
        view = visitor.begin("gomoku", seats={"A": {"bot": "gone"}})
        assert view["seats"]["A"]["bot"] is None


def test_analysis_follows_the_position() -> None:
    with serving(analysis=64) as address, visiting(address) as visitor:
        view = visitor.begin("mnk")
        visitor.send("analyse", bot=HASHES.name)
        found = final(visitor)
        assert (found["ply"], found["simulations"]) == (0, 64)
        assert sum(move["visits"] for move in found["moves"]) in (63, 64)
        assert [move["name"] for move in found["moves"]] == [
            move["line"][0]["name"] for move in found["moves"]
        ]
        view = visitor.play(view, "b2")
        found = final(visitor)
        assert found["ply"] == 1
        assert found["seat"] == "B"
        visitor.send("analyse", bot=None)
        view = visitor.play(view, "a1")
        assert view["record"]["values"][0] is not None


def final(visitor: Visitor) -> dict[str, object]:
    while True:
        found = visitor.hear("analysis")
        if found["final"]:
            return found


def test_a_review_finds_the_move_that_threw_the_game_away() -> None:
    # Tic-tac-toe is a draw, which the solver proves; b1 loses it and a2 wins it at once.
    actions = ["b2", "b1", "a1", "c3", "a3", "c1", "a2"]
    with serving(review=2000) as address, visiting(address) as visitor:
        visitor.begin("mnk", actions=actions)
        visitor.send("review", bot=HASHES.name)
        while "mistakes" not in (found := visitor.hear("review")):
            assert found["done"] < found["total"] == 8
        assert found["values"][2:] == [1] * 6
        assert max(map(abs, found["values"][:2])) < 0.3
        (mistake,) = found["mistakes"]
        assert (mistake["ply"], mistake["name"]) == (1, "b1")
        assert mistake["loss"] > 0.7


#: White does not stop an open three, and Black does not win with it, again and again.
BLIND = ["h8", "a1", "i8", "a3", "j8", "a5", "o1", "a9", "o3", "o15"]


def test_an_analysis_sees_wins_by_threats() -> None:
    with serving(analysis=16) as address, visiting(address) as visitor:
        visitor.begin("gomoku", actions=BLIND[:6])
        visitor.send("analyse", bot=HASHES.name)
        found = final(visitor)
        assert (found["value"], found["proven"]) == (1.0, 1)
        (move,) = found["moves"]  # type: ignore[misc]
        assert move["name"] in ("g8", "k8")
        assert len(move["line"]) == 3
        visitor.ask("go", ply=5)
        found = final(visitor)
        assert {move["name"] for move in found["moves"]} == {"g8", "k8"}  # type: ignore[attr-defined]


def test_a_review_sees_wins_by_threats() -> None:
    with serving(review=16) as address, visiting(address) as visitor:
        visitor.begin("gomoku", actions=BLIND)
        visitor.send("review", bot=HASHES.name)
        while "mistakes" not in (found := visitor.hear("review")):
            pass
    assert [found["values"][ply] for ply in (6, 8, 10)] == [1, 1, 1]
    assert {mistake["ply"] for mistake in found["mistakes"]} == {5, 6, 7, 8, 9}
    blacks = [mistake for mistake in found["mistakes"] if mistake["seat"] == "A"]
    assert {mistake["better"] for mistake in blacks} <= {"g8", "k8"}


def test_files_are_read_and_written() -> None:
    with serving() as address, visiting(address) as visitor:
        view = visitor.begin("connect-go", rules={"width": 9, "height": 9})
        view = visitor.play(view, "b1", "a1", "a2")
        visitor.send("save", kind="sgf")
        sgf = visitor.hear("file")
        assert sgf["name"] == "connect-go.sgf"
        assert visitor.ask("load", text=sgf["text"])["board"] == view["board"]
        visitor.send("save", kind="record")
        record = json.loads(visitor.hear("file")["text"])
        assert judge(record)["error"] is None
        assert visitor.ask("load", text=json.dumps(record))["board"] == view["board"]
        # Several games: one is chosen.
        visitor.send("load", text=sgf["text"] * 2)
        assert len(visitor.hear("choose")["titles"]) == 2
        assert visitor.ask("load", text=sgf["text"] * 2, index=1)["board"] == view["board"]
        lines = "\n".join(json.dumps(record | {"id": name}) for name in ("one", "two"))
        visitor.send("load", text=lines)
        assert visitor.hear("choose")["titles"][1] == "two: connect-go, none"
        assert visitor.ask("load", text=lines, index=1)["record"]["title"] == "two"


@pytest.mark.parametrize(
    ("moves", "left_out"),
    [
        (";B[hh];W[ii]C[here]", "1 comment of the file is"),
        (";B[hh](;W[ii];B[aa])(;W[aa](;B[bb])(;B[cc]))(;W[bb])", "3 variations of the file are"),
        ("C[a];B[hh](;W[ii]C[b])(;W[aa]C[c])", "1 variation and 3 comments of the file are"),
    ],
)
def test_what_is_left_out_of_a_file_is_told(moves: str, left_out: str) -> None:
    with serving() as address, visiting(address) as visitor:
        visitor.ask("load", text=f"(;GM[4]SZ[15]{moves})")
        notice = visitor.hear("notice")["text"]
        assert notice == f"{left_out} not shown, and will not be saved."


def test_records_of_a_run_are_read() -> None:
    from selfplay.records import GameRecord

    position = Position(HASHES.games[0][0])
    for action in ("b2", "a1", "a2", "c1", "c2"):
        position.play(action)
    with serving() as address, visiting(address) as visitor:
        visitor.play(visitor.begin("mnk"), "b2", "a1", "a2", "c1", "c2")
        visitor.send("save", kind="record")
        text = visitor.hear("file")["text"]
        record = GameRecord.from_line(text)
        assert record.actions == ["b2", "a1", "a2", "c1", "c2"]
        assert record.winner == "Player A"
        assert visitor.ask("load", text=record.to_line())["result"]["reason"] == "line"


@pytest.mark.parametrize("setup", [{"black": ["a1"], "white": ["b2"], "to_play": "white"}])
def test_set_up_positions_come_through_files(setup: dict[str, object]) -> None:
    with serving() as address, visiting(address) as visitor:
        view = visitor.play(visitor.begin("gomoku", setup=setup), "c3")
        for kind in ("sgf", "record"):
            visitor.send("save", kind=kind)
            again = visitor.ask("load", text=visitor.hear("file")["text"])
            assert again["board"] == view["board"]
            assert again["record"]["setup"] == view["record"]["setup"]


def test_a_bot_whose_network_is_gone_says_so() -> None:
    def load(_: int) -> HashEvaluator:
        raise BotError("bot/network.onnx: no such file; export the bot again")

    bot = dataclasses.replace(HASHES, load=load)
    with serving({bot.name: bot}) as address, visiting(address) as visitor:
        view = visitor.begin("mnk")
        for message in ("analyse", "review", "nudge"):
            assert "export the bot again" in visitor.refused(message, bot=bot.name)
        visitor.send("sit", seats={"B": {"bot": bot.name}})
        view = visitor.hear("view")
        visitor.send("play", ply=0, action="b2")
        assert "export the bot again" in visitor.hear("error")["text"]
        view = visitor.hear("view")
        assert (view["ply"], view["thinking"]) == (1, False)
        assert "no bot 'x'" in visitor.refused("nudge", bot="x")
        visitor.ask("sit", seats={"B": {}})


def test_the_highest_level_sees_wins_by_threats() -> None:
    """An open three wins, and must be stopped, which 16 simulations of noise do not know."""
    bot = {"bot": HASHES.name}
    with serving() as address, visiting(address) as visitor:
        view = visitor.begin(
            "gomoku", actions=["h8", "a1", "i8", "a15", "j8", "o1"], seats={"A": bot}
        )
        while view["ply"] < 7:
            view = visitor.hear("view")
        view = visitor.play(view, "o15")
        while view["ply"] < 9:
            view = visitor.hear("view")
        assert view["result"]["text"] == "Black wins by a line"
        view = visitor.begin("gomoku", actions=["h8", "a1", "i8", "a15", "j8"], seats={"B": bot})
        while view["ply"] < 6:
            view = visitor.hear("view")
        assert view["record"]["actions"][-1] in ("f8", "g8", "k8", "l8")
