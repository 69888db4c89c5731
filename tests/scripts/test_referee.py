"""The referee: its answers, its refusals, and the service around them."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import PRESETS, REASONS, Position, RuleSet
from engine.json_lines import LONGEST_LINE, RequestError
from engine.referee import judge
from scripts import referee

ROOT = Path(__file__).parents[2]
SMALL = {"game": "irensei", "rules": {"size": 5, "line_length": 3, "gutter": 1}}


def serve(*lines: bytes) -> list[dict[str, Any]]:
    """What the service answers to these lines."""
    answers = io.BytesIO()
    referee.serve(io.BytesIO(b"".join(lines)), answers)
    return [json.loads(line) for line in answers.getvalue().splitlines()]


def refusal(request: object) -> str:
    """The reason with which the service refuses a request."""
    (answer,) = serve(json.dumps(request).encode() + b"\n")
    assert set(answer) == {"line", "error"}, answer
    assert answer["error"]["ply"] is None
    assert answer["error"]["action"] is None
    return str(answer["error"]["reason"])


def test_the_whole_answer() -> None:
    request = {"game": "mnk", "actions": ["B2", "a1"], "want": ["legal", "board"]}
    everything = ["a1", "b1", "c1", "a2", "b2", "c2", "a3", "b3", "c3"]
    assert judge(request) == {
        "plies": [
            {
                "action": "b2",
                "colour": "black",
                "seat": "A",
                "phase": "play",
                "legal": everything,
                "board": ".../.X./...",
            },
            {
                "action": "a1",
                "colour": "white",
                "seat": "B",
                "phase": "play",
                "legal": [name for name in everything if name != "b2"],
                "board": ".../.X./O..",
            },
        ],
        "final": {
            "colour": "black",
            "seat": "A",
            "phase": "play",
            "legal": [name for name in everything if name not in ("b2", "a1")],
            "board": ".../.X./O..",
        },
        "result": None,
        "error": None,
    }


def test_only_what_is_wanted_and_not_empty_is_reported() -> None:
    answer = judge({"game": "mnk", "actions": ["b2"]})
    assert answer["plies"] == [{"action": "b2", "colour": "black", "seat": "A", "phase": "play"}]
    assert answer["final"] == {"colour": "white", "seat": "B", "phase": "play"}


def test_captured_stones_are_named() -> None:
    setup = {"black": ["a2"], "white": ["a1"], "to_play": "black"}
    answer = judge({**SMALL, "setup": setup, "actions": ["b1"], "want": ["board"]})
    (ply,) = answer["plies"]
    assert ply["captured"] == ["a1"]
    assert ply["board"] == "...../...../...../X..../.X..."


def test_a_setup_ends_the_opening() -> None:
    setup = {"white": ["a1"], "to_play": "white"}
    final = judge({**SMALL, "opening": "swap-2", "setup": setup})["final"]
    assert (final["phase"], final["colour"], final["seat"]) == ("play", "white", "B")


def test_an_opening_is_followed() -> None:
    answer = judge({**SMALL, "opening": "swap-1st", "actions": ["c3", "white", "a1"]})
    assert [ply["seat"] for ply in answer["plies"]] == ["A", "B", "B"]
    assert answer["final"]["seat"] == "A"


def test_results_name_seat_colour_and_reason() -> None:
    won = judge({"game": "mnk", "actions": ["a1", "a2", "b1", "b2", "c1"]})
    assert won["result"] == {"winner_seat": "A", "winner_colour": "black", "reason": "line"}
    assert won["final"]["phase"] == "over"
    drawn = judge({**SMALL, "actions": ["pass", "pass"]})
    assert drawn["result"] == {"winner_seat": None, "winner_colour": None, "reason": "passes"}


@pytest.mark.parametrize(
    ("actions", "reason"),
    [
        (["c3", "c3"], "occupied"),
        (["c3", "f1"], "off-board"),
        (["c3", "hello"], "unknown-action"),
        (["c3", ""], "unknown-action"),
        (["c3", "\ud800"], "unknown-action"),
        (["c3", "black"], "not-in-this-phase"),
        (["pass", "pass", "a1"], "game-over"),
        (["a2", "c3", "b1", "a1"], "suicide"),
        (["a1", "d1", "b2", "c2", "e5", "b1", "c1", "b1"], "superko"),
    ],
)
def test_the_first_illegal_action_ends_the_replay(actions: list[str], reason: str) -> None:
    answer = judge({**SMALL, "actions": [*actions, "e5"]})
    ply = len(actions) - 1
    detail = {"detail": "the opening is over"} if reason == "not-in-this-phase" else {}
    assert answer["error"] == {"ply": ply, "action": actions[-1], "reason": reason} | detail
    assert [done["action"] for done in answer["plies"]] == actions[:-1]


ANNOUNCE = {
    "soosorv-8": "h8 h9 h10 white b9",
    "soosorv-1": "h8 h9 h10 white b9",
    "yamaguchi": "h8 i9 j9",
    "taraguchi-10": "h8 white h9 black h10 black e11",
}


@pytest.mark.parametrize(
    ("opening", "number", "allowed"),
    [
        *(("soosorv-8", number, "1 to 8") for number in ("0", "9", "13", "99")),
        ("soosorv-1", "2", "1"),
        ("yamaguchi", "13", "1 to 12"),
        ("taraguchi-10", "9", "10"),
    ],
)
def test_a_number_out_of_range_is_told_the_range(opening: str, number: str, allowed: str) -> None:
    before = ANNOUNCE[opening].split()
    answer = judge({"game": "renju", "opening": opening, "actions": [*before, number]})
    assert answer["error"] == {
        "ply": len(before),
        "action": number,
        "reason": "not-in-this-phase",
        "detail": f"{allowed} may be announced",
    }


@pytest.mark.parametrize(
    ("opening", "actions", "detail"),
    [
        ("renju-swap", ["a1"], "next: a stone in the central 1x1"),
        ("soosorv-8", ["h8", "a1"], "next: a stone in the central 3x3"),
        ("long-pro", ["h8", "a1", "h9"], "next: a stone outside the central 7x7"),
        ("renju-swap", ["h8", "h9", "f6"], ", less its two corners farthest from the second stone"),
        ("swap-1st", ["h8", "h9"], "next: black or white"),
        ("swap-2", ["h8", "h9", "more"], "next: a stone"),
        ("soosorv-8", ["more"], "next: a stone in the central 1x1"),
        ("swap-5", ["pass"], "next: a stone"),
        ("none", ["black"], "the opening is over"),
        ("none", ["h8", "pass"], "passing begins once 6 stones stand"),
    ],
)
def test_what_the_phase_does_not_take_is_told_what_it_takes(
    opening: str, actions: list[str], detail: str
) -> None:
    answer = judge({"game": "renju", "opening": opening, "actions": actions})
    assert answer["error"]["reason"] == "not-in-this-phase"
    assert answer["error"]["ply"] == len(actions) - 1
    assert answer["error"]["detail"].endswith(detail)


@pytest.mark.parametrize(("offers", "refused", "offer"), [("g7", "i8", "g7"), ("i8", "g7", "i8")])
def test_an_equivalent_offer_is_told_to_which(offers: str, refused: str, offer: str) -> None:
    actions = ["h8", "h9", "h7", "black", "h6", "3", "white", *offers.split(), refused]
    answer = judge({"game": "renju", "opening": "soosorv-8", "actions": actions})
    assert answer["error"] == {
        "ply": len(actions) - 1,
        "action": refused,
        "reason": "equivalent",
        "detail": f"the same by symmetry as the offer {offer}",
    }


def test_elsewhere_a_number_is_as_any_other_action() -> None:
    for action, reason in (("13", "unknown-action"), ("5", "not-in-this-phase")):
        answer = judge({"game": "renju", "opening": "soosorv-8", "actions": [action]})
        error = answer["error"]
        assert (error["ply"], error["action"], error["reason"]) == (0, action, reason)


@pytest.mark.parametrize("opening", ["none", "swap-1st", "swap", "swap-2", "swap-5"])
@pytest.mark.parametrize("game", PRESETS)
def test_agrees_with_the_position(game: str, opening: str) -> None:
    """What is reported is what a position says, action by action."""
    rules = {"width": 6, "height": 5, "line_length": 5 if game == "renju" else 3}
    position = Position(RuleSet.preset(game, **rules), opening)
    actions, expected = [], []
    while position.outcome is None and len(actions) < 60:
        legal = position.legal_actions()
        action = int(legal[(7 * len(actions) + 3) % legal.size])
        before = {
            "action": position.action_name(action),
            "colour": position.to_play,
            "seat": position.seat,
            "phase": position.phase,
            "legal": [position.action_name(choice) for choice in legal],
        }
        position.play(action)
        actions.append(before["action"])
        expected.append({**before, "board": position.rows()})
    request = {"game": game, "rules": rules, "opening": opening, "actions": actions}
    answer = judge({**request, "want": ["board", "legal"]})
    for ply in answer["plies"]:
        ply.pop("captured", None)
    assert answer["plies"] == expected
    assert answer["error"] is None
    assert (answer["result"] is None) == (position.outcome is None)
    assert answer["result"] is None or answer["result"]["reason"] in REASONS


def test_a_game_record_is_a_request() -> None:
    rules = RuleSet.preset("irensei", size=5, line_length=3, gutter=1)
    record = {
        "format": 1,
        "game": "irensei",
        "rules": rules.to_json(),
        "opening": "swap-1st",
        "actions": ["c3", "black", "pass", "pass"],
        "seats": {"A": "v000001", "B": "v000001"},
        "versions": [[0, 1]],
        "result": {"winner_seat": None, "winner_colour": None, "reason": "passes"},
        "seed": {"run": 1, "game": 2},
        "id": "anything",
    }
    assert judge(record)["result"] == record["result"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ([1], "object"),
        ("mnk", "object"),
        ({}, "game: missing"),
        ({"game": 3}, "game: must be a string, not a number"),
        ({"game": None}, "game: must be a string, not null"),
        ({"game": "mnk", "rules": {"gutter": None}}, "rules.gutter: None is not of type int"),
        ({"game": "chess"}, "game: 'chess'"),
        ({"game": "mnk", "rules": []}, "rules: must be an object"),
        ({"game": "mnk", "rules": {"siez": 5}}, "rules.siez: no such rule"),
        ({"game": "mnk", "rules": {"cls": 5}}, "rules.cls: no such rule"),
        ({"game": "mnk", "rules": {"name": "gomoku"}}, "rules.name"),
        ({"game": "mnk", "rules": {"size": 5.0}}, "rules.size"),
        ({"game": "mnk", "rules": {"size": True}}, "rules.size"),
        ({"game": "mnk", "rules": {"size": -1}}, "rules.size"),
        ({"game": "mnk", "rules": {"size": 10**100}}, "rules.size"),
        ({"game": "mnk", "rules": {"size": 5, "width": 5}}, "rules.size"),
        ({"game": "mnk", "rules": {"overline": ["exact"]}}, "rules.overline"),
        ({"game": "mnk", "rules": {"suicide": True}}, "rules.suicide"),
        ({"game": "mnk", "opening": "swap-99"}, "opening: 'swap-99'"),
        ({"game": "mnk", "opening": 5}, "opening: must be a string"),
        ({"game": "mnk", "opening": "swap-99", "setup": {}}, "opening: 'swap-99'"),
        ({"game": "mnk", "setup": [1]}, "setup: must be an object"),
        ({"game": "mnk", "setup": {"blakc": []}}, "setup.blakc: no such key"),
        ({"game": "mnk", "setup": {"black": "a1"}}, "setup.black: must be a list"),
        ({"game": "mnk", "setup": {"black": [1]}}, "setup.black[0]: must be a string"),
        ({"game": "mnk", "setup": {"black": ["z9"]}}, "setup: 'z9'"),
        ({"game": "mnk", "setup": {"black": ["pass"]}}, "setup: 'pass'"),
        ({"game": "mnk", "setup": {"black": ["a1", "a1"]}}, "two stones on a1"),
        ({"game": "mnk", "setup": {"black": ["a1"], "white": ["A1"]}}, "two stones on a1"),
        ({"game": "mnk", "setup": {"to_play": "red"}}, "setup.to_play: 'red'"),
        ({"game": "mnk", "setup": {"to_play": 1}}, "setup.to_play: must be a string"),
        ({**SMALL, "setup": {"black": ["a2", "b1"], "white": ["a1"]}}, "no liberty"),
        ({"game": "mnk", "actions": "a1"}, "actions: must be a list"),
        ({"game": "mnk", "actions": {"a": 1}}, "actions: must be a list"),
        ({"game": "mnk", "actions": ["a1", 5]}, "actions[1]: must be a string, not a number"),
        ({"game": "mnk", "actions": [None]}, "actions[0]: must be a string, not null"),
        ({"game": "mnk", "want": "board"}, "want: must be a list"),
        ({"game": "mnk", "want": ["boards"]}, "want: 'boards'"),
        ({"game": "mnk", "want": [{}]}, "want[0]: must be a string"),
    ],
)  # fmt: skip
def test_an_impossible_request_is_refused_with_its_place(request_: object, message: str) -> None:
    assert message in refusal(request_)


@pytest.mark.parametrize(
    ("game", "rules", "black", "white"),
    [
        ("gomoku", {"size": 9}, "a1 b1 c1 d1 e1", "a9 b8 c9 d8"),
        ("gomoku", {"size": 9}, "a9 b8 c9 d8 e9", "a1 a2 a3 a4 a5"),
        ("connect-go", {"size": 9}, "a1 b2 c3 d4 e5", "a9 b8 c9 d8"),
        ("irensei", {"size": 9, "line_length": 4, "gutter": 1}, "b2 c2 d2 e2", "a9 b8 c9"),
    ],
)
def test_a_setup_with_a_line_is_refused(
    game: str, rules: dict[str, Any], black: str, white: str
) -> None:
    request = {
        "game": game,
        "rules": rules,
        "setup": {"black": black.split(), "white": white.split(), "to_play": "white"},
    }
    assert re.fullmatch(
        r"setup: (black|white) has a line through [a-e][1-5]: the game is over", refusal(request)
    )
    shorter = {"black": black.split()[:-2], "white": white.split()[:-1]}
    (answer,) = serve(json.dumps({**request, "setup": shorter}).encode() + b"\n")
    assert answer["error"] is None


def test_a_full_board_of_switched_stones_can_be_set_up() -> None:
    setup = {"black": ["a1", "b2", "c3", "a3", "c1"], "white": ["b1", "a2", "c2", "b3"]}
    rules = {"size": 3, "line_length": 4}
    answer = judge({"game": "connect-go", "rules": rules, "setup": setup})
    assert answer["result"] == {
        "winner_seat": "A",
        "winner_colour": "black",
        "reason": "full-board",
    }
    setup["black"].remove("c1")
    assert "no liberty" in refusal({"game": "connect-go", "rules": rules, "setup": setup})


def test_messages_stay_short() -> None:
    assert len(refusal({"game": "x" * 100_000})) < 400
    assert len(refusal({"game": "mnk", "rules": {"overline": ["y" * 100] * 1000}})) < 400


def test_judge_raises_for_what_is_no_request() -> None:
    with pytest.raises(RequestError, match="object"):
        judge([])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\n", "not JSON"),
        (b"hello\n", "not JSON"),
        (b'{"game": "mnk"\n', "Expecting ',' delimiter at column 15"),
        (b'{"game": "mnk"\r\n', "Expecting ',' delimiter at column 15"),
        (b'{"game": mnk}\n', "Expecting value at column 10"),
        (b'{"game": "mnk"} {"game": "mnk"}\n', "not JSON"),
        (b'{"game": "\xff"}\n', "not UTF-8"),
        (b'\xef\xbb\xbf{"game": "mnk"}\n', "not JSON"),
        (b"\x00\n", "not JSON"),
        (b"[" * 500_000 + b"\n", "nested too deeply"),
        (b'{"a":' * 100_000 + b"\n", "nested too deeply"),
        (b'{"game": "mnk", "rules": {"size": ' + b"9" * 5000 + b"}}\n", "a whole number has more"),
        (b'{"game": "' + b"m" * LONGEST_LINE + b'"}\n', "longer than"),
        (b" " * 3 * LONGEST_LINE + b"\n", "longer than"),
    ],
)
def test_an_unreadable_line_is_refused_and_the_next_one_served(line: bytes, message: str) -> None:
    good = b'{"game": "mnk"}\n'
    first, refused, last = serve(good, line, good)
    assert message in refused["error"]["reason"]
    assert refused["line"] == 2
    assert (first["line"], last["line"]) == (1, 3)
    assert first["error"] is None
    assert last["final"]["seat"] == "A"


def test_a_fault_of_ours_costs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referee, "judge", lambda request: 1 / 0)
    (answer,) = serve(b"{}\n")
    assert "ZeroDivisionError" in answer["error"]["reason"]


def test_lines_of_the_allowed_length_and_a_last_line_without_an_end() -> None:
    request = b'{"game": "mnk"}'
    padded = b" " * (LONGEST_LINE - len(request)) + request
    assert [answer["error"] for answer in serve(padded + b"\n", padded)] == [None, None]


@pytest.fixture
def service() -> Any:
    with subprocess.Popen(
        [sys.executable, "-m", "scripts.referee"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield process
        process.kill()


def test_every_answer_comes_at_once(service: Any) -> None:
    """A client may wait for the answer before it asks again."""
    for number in (1, 2):
        service.stdin.write(b'{"game": "mnk", "actions": ["a1"]}\n')
        service.stdin.flush()
        assert json.loads(service.stdout.readline())["line"] == number
    out, err = service.communicate(b"bad\n")
    assert json.loads(out)["line"] == 3
    assert (err, service.returncode) == (b"", 0)


def test_a_client_that_leaves_is_no_fault(service: Any) -> None:
    service.stdout.close()
    service.stdin.write(b'{"game": "mnk"}\n')
    service.stdin.close()
    assert service.wait(timeout=30) == 1
    assert service.stderr.read() == b""


def test_control_c_is_quiet(service: Any) -> None:
    service.stdin.write(b'{"game": "mnk"}\n')
    service.stdin.flush()
    service.stdout.readline()
    service.send_signal(2)
    assert service.wait(timeout=30) == 130
    assert service.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_told_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "scripts.referee"],
            cwd=ROOT,
            input=b'{"game": "mnk", "actions": []}\n',
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert done.stderr == b"cannot go on: No space left on device\n"
