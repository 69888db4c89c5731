"""The analysis engine: what it answers to whom, whatever it is sent."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bots import analysis
from bots.analysis_query import Asked, Command, parse_request
from bots.player import Limit
from bots.repertoire import Repertoire
from engine import Position, RuleSet
from engine.evaluators import HashEvaluator
from engine.json_lines import RequestError, parse
from tests.bots.talk import Analysing, new_player

MNK = RuleSet.preset("mnk", width=5, height=5, line_length=4)
GAMES = [(MNK, "none"), (RuleSet.preset("renju", size=9), "soosorv-8")]
GAME: dict[str, Any] = {"game": "mnk", "rules": {"size": 5, "line_length": 4}}


class Failing:
    """An evaluator that cannot."""

    def evaluate(self, *_: Any) -> Any:
        raise RuntimeError("out of order")


def test_an_answer_is_what_a_player_finds() -> None:
    engine = Analysing(GAMES)
    answer = engine.ask(
        {"id": "a", **GAME, "actions": ["c3", "d4"], "simulations": 60, "want": ["policy"]}
    )
    assert engine.end() == []
    player = new_player(MNK, "none", threats=0)
    player.play("c3")
    player.play("d4")
    result = player.think(Limit(simulations=60))
    names = [player.position.action_name(action) for action in result.actions.tolist()]
    assert answer["root"]["value"] == pytest.approx(result.value, abs=1e-6)
    assert answer["root"]["simulations"] == 60
    assert list(answer["policy"]) == names
    found = {move["action"]: move for move in answer["moves"]}
    for k, name in enumerate(names):
        if not result.visits[k]:
            assert name not in found
            continue
        move = found[name]
        assert move["visits"] == result.visits[k]
        assert move["prior"] == pytest.approx(float(result.priors[k]), abs=1e-6)
        assert move["value"] == pytest.approx(float(result.q[k]), abs=1e-6)
        assert move["lower_bound"] <= move["value"]
        line = [player.position.action_name(node.action) for node in player.line(result.actions[k])]
        assert move["line"] == line
    assert [move["order"] for move in answer["moves"]] == list(range(len(found)))
    assert answer["moves"][0]["action"] == player.position.action_name(result.action)


def test_threats_where_they_are_wanted() -> None:
    rules = RuleSet.preset("gomoku", size=11)
    engine = Analysing([(rules, "none")])
    query = {"id": "a", "game": "gomoku", "rules": {"size": 11}, "want": ["threats"]}
    three = {"black": ["e6", "f6", "g6"], "white": ["a1", "k11"]}
    won = engine.ask({**query, "setup": {**three, "to_play": "black"}})["threats"]
    assert won["plies"] == 3
    assert len(won["win"]) == 3
    assert won["win"][0] in ("d6", "h6")
    left = engine.ask({**query, "setup": {**three, "to_play": "white"}})["threats"]
    assert {"d6", "h6"} <= set(left["defences"]) < {f"{c}{r}" for c in "cdhi" for r in (5, 6, 7)}
    assert engine.ask(query)["threats"] == {}
    engine.end()


#: Black has an open three, which White has not stopped.
MISSED = ["h8", "a1", "i8", "a3", "j8", "a5"]


@pytest.mark.parametrize("want", [[], ["threats", "policy"]])
def test_a_win_by_threats_is_the_answer(want: list[str]) -> None:
    engine = Analysing(simulations=100)
    query = {"id": "a", "game": "gomoku", "actions": MISSED, "want": want}
    answer = engine.ask(query)
    (move,) = answer["moves"]
    root = answer["root"]
    assert (root["value"], root["proven"], root["simulations"]) == (1.0, 1, 1)
    assert (move["value"], move["lower_bound"], move["proven"]) == (1.0, 1.0, 1)
    assert move["plies_to_end"] == 3
    position = Position(RuleSet.preset("gomoku"))
    for action in MISSED + move["line"]:
        position.play(action)
    assert position.outcome is not None and position.outcome.winner_seat == "A"
    if want:
        assert answer["threats"] == {"win": move["line"], "plies": 3}
    # What the network says is its own.
    plain = engine.ask({**query, "want": ["policy"], "threat_nodes": 0})
    engine.end()
    assert plain["root"]["proven"] is None
    assert root["network_value"] == plain["root"]["network_value"] != 1.0
    assert move["prior"] == plain["policy"][move["action"]]
    assert "policy" not in answer or answer["policy"] == plain["policy"]


def test_defences_against_threats_are_what_is_searched() -> None:
    engine = Analysing(simulations=100)
    query = {"id": "a", "game": "gomoku", "actions": MISSED[:5], "want": ["threats"]}
    answer = engine.ask(query)
    unseen = engine.ask({**query, "threat_nodes": 0})
    engine.end()
    assert answer["threats"] == {"defences": ["g8", "k8"]}
    assert {move["action"] for move in answer["moves"]} == {"g8", "k8"}
    assert answer["root"]["proven"] is None
    assert unseen["threats"] == {}
    assert unseen["moves"][0]["action"] not in ("g8", "k8")


def test_what_cannot_be_defended_is_lost_the_slowest_way() -> None:
    engine = Analysing([(MNK, "none")])
    answer = engine.ask({"id": "a", **GAME, "actions": ["c3", "a1", "b3"], "want": ["threats"]})
    engine.end()
    assert answer["threats"] == {"defences": []}
    assert (answer["root"]["value"], answer["root"]["proven"]) == (-1.0, -1)
    best = answer["moves"][0]
    assert best["proven"] == -1
    assert best["line"][0] == best["action"]
    assert best["plies_to_end"] == len(best["line"]) > 4


def test_answers_do_not_depend_on_what_was_asked_before() -> None:
    queries = [
        {"id": "a", "game": "gomoku", "actions": MISSED[:ply], "threat_nodes": 300}
        for ply in (6, 5, 4, 3, 5, 6)
    ]
    said: list[list[Any]] = [[], []]
    for order, answers in zip((1, -1), said, strict=True):
        engine = Analysing()
        answers += [engine.ask(query)["moves"] for query in queries[::order]][::order]
        engine.end()
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (-1, "at least 0, not -1"),
        (1.5, "a whole number, not 1.5"),
        ("9", "a whole number, not a string"),
        (True, "a whole number, not a boolean"),
        (10**7, "at most 1e+06, not 10000000"),
    ],
)
def test_numbers_of_positions_for_threats_are_checked(value: Any, why: str) -> None:
    with pytest.raises(RequestError, match=r"threat_nodes: ") as refused:
        parse_request({"id": "a", **GAME, "threat_nodes": value}, REPERTOIRE)
    assert why in str(refused.value)


def test_lines_can_be_played() -> None:
    engine = Analysing(GAMES)
    query = {"id": "a", "game": "renju", "rules": {"size": 9}, "opening": "soosorv-8"}
    answer = engine.ask({**query, "simulations": 300})
    engine.end()
    for move in answer["moves"]:
        position = Position(RuleSet.preset("renju", size=9), "soosorv-8")
        for action in move["line"]:
            position.play(action)


def test_plies_of_a_game_have_answers_of_their_own() -> None:
    engine = Analysing(GAMES)
    actions = ["a1", "a5", "b1", "b5", "c1", "c5", "d1"]
    engine.send({"id": "all", **GAME, "actions": actions, "plies": "all"})
    engine.send({"id": "some", **GAME, "actions": actions, "plies": [6, 2, 2]})
    said = engine.end()
    assert sorted(a["ply"] for a in said if a["id"] == "all") == list(range(8))
    assert sorted(a["ply"] for a in said if a["id"] == "some") == [2, 6]
    over = next(a for a in said if a["ply"] == 7)
    assert over["result"]["winner_seat"] == "A"
    assert "root" not in over


def test_a_game_record_is_a_query() -> None:
    engine = Analysing(GAMES)
    record = {
        "format": 1, "id": "g7", "game": "mnk", "rules": MNK.to_json(), "opening": "none",
        "actions": ["c3"], "seats": {"A": "x", "B": "y"}, "versions": [], "seed": {},
        "result": {},
    }  # fmt: skip
    assert engine.ask(record)["ply"] == 1
    engine.end()


def test_reports_come_before_the_last_answer() -> None:
    engine = Analysing(GAMES)
    engine.send({"id": "a", "game": "renju", "rules": {"size": 9}, "seconds": 1.0,
                 "report_every": 0.05, "moves": 1})  # fmt: skip
    said = engine.end()
    assert len(said) > 2
    assert [answer["final"] for answer in said] == [False] * (len(said) - 1) + [True]
    counts = [answer["root"]["simulations"] for answer in said]
    assert counts == sorted(counts)


def test_terminating() -> None:
    engine = Analysing(GAMES)
    long = {"game": "renju", "rules": {"size": 9}, "seconds": 600}
    engine.send({"id": "a", **long, "actions": ["e5"], "plies": [0, 1]})
    engine.send({"id": "b", **long})
    engine.send({"id": "1", "action": "terminate", "terminate_id": "a", "plies": [1]})
    said = [json.loads(engine.line()) for _ in range(2)]
    assert said[0] == {"id": "1", "action": "terminate", "terminate_id": "a", "terminated": 1}
    assert (said[1]["id"], said[1]["ply"], said[1]["cancelled"]) == ("a", 1, True)
    engine.send({"id": "2", "action": "terminate_all"})
    said = engine.end()
    assert said[0] == {"id": "2", "action": "terminate_all", "terminated": 2}
    assert sorted((a["id"], a["ply"]) for a in said[1:]) == [("a", 0), ("b", 0)]


def test_an_id_can_be_used_again_after_its_last_answer() -> None:
    engine = Analysing(GAMES)
    for _ in range(3):
        assert engine.ask({"id": "a", **GAME})["final"]
    engine.send({"id": "a", **GAME, "seconds": 600})
    assert "under way" in engine.ask({"id": "a", **GAME})["error"]
    engine.send({"id": "t", "action": "terminate_all"})
    engine.end()


def test_an_evaluator_s_failure_is_an_answer(capfd: pytest.CaptureFixture[str]) -> None:
    engine = Analysing(GAMES, evaluator=Failing())
    answer = engine.ask({"id": "a", **GAME})
    assert answer == {"id": "a", "final": True, "ply": 0, "error": "RuntimeError: out of order"}
    engine.end()
    assert "out of order" in capfd.readouterr().err


def test_reading_waits_where_too_much_is_outstanding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_OUTSTANDING", 3)
    engine = Analysing(GAMES)
    for number in range(30):
        engine.send({"id": str(number), **GAME, "actions": ["c3"], "plies": "all"})
    assert len(engine.end()) == 60


@pytest.mark.parametrize(
    ("name", "repeated", "error"),
    [
        (1, 1, "id: must be a string, not a number"),
        (1.5, 1.5, "id: must be a string, not a number"),
        (10**400, None, "id: must be a string, not a number"),
        (True, None, "id: must be a string, not a boolean"),
        ([1], None, "id: must be a string, not a list"),
        (None, None, "id: missing"),
        ("", "", "id: must have 1 to 200 characters"),
        ("x" * 300, "x" * 200, "id: must have 1 to 200 characters"),
    ],
)
@pytest.mark.parametrize("rest", [{}, GAME, {"action": "query_version"}, {"game": "no such game"}])
def test_an_id_that_is_none_is_what_is_complained_about(
    name: object, repeated: object, error: str, rest: dict[str, Any]
) -> None:
    engine = Analysing(GAMES)
    answer = engine.ask({"id": name, **rest})
    assert answer == {"id": repeated, "line": 1, "error": error}
    engine.end()


@pytest.mark.parametrize("key", ["seconds", "report_every", "simulations", "priority"])
def test_numbers_beyond_all_use_are_refused(key: str) -> None:
    """Python's whole numbers have no end, and its clock's do."""
    engine = Analysing(GAMES)
    answer = engine.ask({"id": "a", **GAME, key: 10**400})
    assert answer["error"].startswith(f"{key}: must be a number of at most 1e+09, not 1000")
    assert engine.ask({"id": "b", **GAME})["final"]
    engine.end()


def test_nobody_listens() -> None:
    engine = Analysing(GAMES)
    engine.answers.close()
    engine.send({"id": "a", "action": "query_version"})
    engine._thread.join(timeout=20)
    assert not engine._thread.is_alive()


@pytest.fixture
def unraised(monkeypatch: pytest.MonkeyPatch) -> None:
    """`serve` ends in its thread by an error that its caller would see."""
    monkeypatch.setattr("threading.excepthook", lambda _: None)


pytest.mark.usefixtures("unraised")(test_nobody_listens)


# --- fuzz ---------------------------------------------------------------------------------------

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(["mnk", "renju", "all", "terminate", "a1", "c3", "pass", "legal"]),
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)  # fmt: skip
NAMES = st.sampled_from(
    ["id", "game", "rules", "opening", "setup", "actions", "plies", "simulations", "seconds",
     "threat_nodes", "report_every", "priority", "moves", "want", "action", "terminate_id", "seed",
     "zzz"]
)  # fmt: skip
REPERTOIRE = Repertoire(GAMES)


@given(
    st.dictionaries(NAMES, VALUES, max_size=8),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_any_object_is_a_request_or_an_error(drawn: dict[str, Any], valid: bool) -> None:
    request = {"id": "f", **GAME, **drawn} if valid else drawn
    request = json.loads(json.dumps(request))  # as it comes from a line: NaN and all
    try:
        asked = parse_request(request, REPERTOIRE)
    except RequestError as error:
        assert str(error)
        assert len(str(error)) <= 300
        return
    if isinstance(asked, Command):
        assert asked.action == request["action"]
        return
    assert isinstance(asked, Asked)
    played = request.get("actions") or []
    for ply, position in asked.positions.items():
        assert [position.action_name(a) for a in position.actions] == [
            action.strip().lower() for action in played[:ply]
        ]
    assert asked.seconds is None or 0 <= asked.seconds < float("inf")


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@settings(max_examples=60, deadline=None)
def test_any_bytes_are_answered_line_by_line(sent: bytes) -> None:
    lines = [line for line in sent.split(b"\n") if line.strip()]
    assume(not any(map(is_request, lines)))  # bytes that happen to say something
    engine = Analysing(GAMES)
    engine.requests.write(sent + b'\n{"id": "after", "action": "query_version"}\n')
    said = engine.end()
    assert len(said) == len(lines) + 1
    assert all("error" in answer for answer in said[:-1])
    assert said[-1]["id"] == "after"


def is_request(line: bytes) -> bool:
    try:
        parse_request(parse(line), REPERTOIRE)
    except RequestError:
        return False
    return True


def test_random_games_asked_at_random_plies() -> None:
    engine = Analysing(GAMES, HashEvaluator(), simulations=4)
    rng = np.random.default_rng(3)
    wanted = set()
    for number in range(60):
        rules, opening = GAMES[number % 2]
        position = Position(rules, opening)
        while position.outcome is None and rng.random() < 0.9:
            position.play(int(rng.choice(position.legal_actions())))
        plies = sorted({int(ply) for ply in rng.integers(position.ply + 1, size=3)})
        wanted |= {(str(number), ply) for ply in plies}
        engine.send({
            "id": str(number), "game": rules.name, "rules": rules.to_json(), "opening": opening,
            "actions": [position.action_name(action) for action in position.actions],
            "plies": plies, "priority": int(rng.integers(3)),
        })  # fmt: skip
    said = engine.end()
    assert {(answer["id"], answer["ply"]) for answer in said} == wanted
    assert len(said) == len(wanted)
    assert all(("root" in answer) != ("result" in answer) for answer in said)
