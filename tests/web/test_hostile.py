"""Strangers: whatever they send is refused, and the server goes on serving everybody else."""

import contextlib
import http.client
import json
import socket as sockets
import threading
import time
from collections.abc import Iterator

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import connect

from bots.web.messages import LONGEST
from tests.web.served import Visitor, serving, visiting


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def visitor(address: str) -> Iterator[Visitor]:
    """A stranger; afterwards somebody else can still play."""
    with visiting(address) as visitor:
        yield visitor
    with visiting(address) as other:
        view = other.begin("mnk")
        assert other.play(view, "b2")["ply"] == 1


BEGIN = {"type": "begin", "record": {"game": "mnk"}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 200_000, "Expected `object`"),
        ('{"type":"begin","record":' * 15_000, "message:"),
        ('{"type":"begin","record":{"game":"mnk","rules":' + '{"a":' * 5000 + "1", "message:"),
        ("null", "Expected `object`"),
        ("12", "Expected `object`"),
        ("{}", "missing required field `type`"),
        ('{"type":"launch"}', "Invalid value 'launch'"),
        ('{"type":["begin"]}', "Expected `str`"),
        ('{"type":"go"}', "missing required field `ply`"),
        ('{"type":"go","ply":"1"}', "Expected `int`"),
        ('{"type":"go","ply":1.5}', "Expected `int`"),
        ('{"type":"go","ply":true}', "Expected `int`"),
        ('{"type":"go","ply":-1}', ">= 0"),
        ('{"type":"go","ply":1e999}', "out of range"),
        ('{"type":"go","ply":' + "9" * 100_000 + "}", "out of range"),
        ('{"type":"go","ply":1,"also":2}', "unknown field `also`"),
        ('{"type":"play","ply":0,"action":"' + "a" * 1000 + '"}', "length <= 5"),
        ('{"type":"save","kind":"/etc/passwd"}', "Invalid enum value"),
        ('{"type":"open","id":"' + "x" * 5000 + '"}', "length <= 40"),
        ('{"type":"analyse","bot":"nobody"}', "no bot 'nobody'"),
        ('{"type":"play","ply":0,"action":"b2"}', "no game is open"),
        (json.dumps({"type": "load", "text": ""}), "the file is empty"),
    ],
)
def test_messages_that_are_none(visitor: Visitor, text: str, why: str) -> None:
    visitor.connection.send(text)
    answer = visitor.hear("error", "view")
    assert why in answer.get("text", ""), answer
    assert len(answer["text"]) < 500


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"game": "chess"}, "game: 'chess' is not one of"),
        ({"game": "mnk", "opening": "gambit"}, "opening: 'gambit'"),
        ({"game": "mnk", "rules": {"width": 1000}}, "outside 3..25"),
        ({"game": "mnk", "rules": {"wide": 5}}, "no such rule"),
        ({"game": "mnk", "rules": {"name": "renju"}}, "rules.name"),
        ({"game": "mnk", "rules": {"capture": "remove"}}, "superko"),
        ({"game": "mnk", "rules": {str(k): 1 for k in range(1000)}}, "length <= 40"),
        ({"game": "mnk", "rules": {"width": [[[3]]]}}, "Expected `bool | int | str`"),
        ({"game": "mnk", "actions": ["b2", "b2"]}, "b2: occupied"),
        ({"game": "mnk", "actions": ["z9"]}, "z9: off-board"),
        ({"game": "mnk", "actions": ["b2"] * 5000}, "length <= 2000"),
        ({"game": "mnk", "ply": 12}, ""),
        ({"game": "mnk", "values": [2.0]}, "<= 1.0"),
        ({"game": "mnk", "seats": {"C": {}}}, "regex"),
        ({"game": "mnk", "seats": {"A": {"bot": "x", "level": 99}}}, "<= 10"),
        ({"game": "mnk", "setup": {"black": ["a1"], "white": ["a1"]}}, "two stones"),
        ({"game": "mnk", "setup": {"black": ["a1"] * 9999}}, "length <= 625"),
        ({"game": "mnk", "setup": {"black": ["a1", "b1", "c1"]}}, "black has a line through a1"),
        ({"game": "mnk", "setup": {"white": ["a1", "b2", "c3"]}}, "white has a line through a1"),
        ({"game": "mnk", "setup": {"black": ["a1", "b1"]}}, ""),
        ({"game": "mnk", "setup": {"to_play": "red"}}, "regex"),
        ({"game": "mnk", "title": "t" * 5000}, "length <= 80"),
        ({"game": "mnk", "result": {"winner_seat": "Z", "reason": "x"}}, "regex"),
        ({"rules": {}}, "missing required field `game`"),
    ],
)
def test_records_that_are_none(visitor: Visitor, record: dict[str, object], why: str) -> None:
    visitor.send("begin", record=record)
    answer = visitor.hear("error", "view")
    assert answer["type"] == ("error" if why else "view")
    assert why in answer.get("text", ""), answer


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no game at all", "no SGF"),
        ("(" * 100_000, "no SGF"),
        ("(;" * 15_000, "no SGF"),
        ("(;GM[4]SZ[15]" + "(;B[aa]" * 9000 + ")" * 9001, "white is to place"),
        ("(;GM[4]" + ";B[aa]" * 30_000 + ")", "more than 20000 nodes"),
        ("(;GM[4]SZ[99999999999999999999])", "width"),
        ("(;GM[4]C[" + "x" * 400_000 + "])", ""),
        ("(;GM[4]NARABE[" + "[" * 100_000 + "])", "recursion depth"),
        ('(;GM[4]SZ[3]NARABE[{"format":1,"rules":{"name":"mnk"},"opening":"none"}])', "missing"),
        ("(;GM[4]SZ[15]V[1e9];B[aa]V[nan])", None),
        ("(;GM[4];B[aa];B[ab])", "white is to place"),
        ('{"game":' + "[" * 100_000, "not JSON"),
        ('{"game":"mnk","actions":7}', "no record"),
        ('{"game":"mnk","actions":["b2"],"seats":{"A":[[[]]],"B":{}}}', ""),
        ('{"game":"mnk"}\n' * 20_000, ""),
    ],
)
def test_files_that_are_none(visitor: Visitor, text: str, why: str | None) -> None:
    """None: the file may be read or refused."""
    visitor.send("load", text=text)
    answer = visitor.hear("error", "view", "choose")
    assert why is None or (answer["type"] == "error") == bool(why), answer
    assert (why or "") in answer.get("text", "")
    assert len(answer.get("text", "")) < 500
    assert len(answer.get("titles", [])) <= 300


def test_a_message_that_is_too_long_ends_its_connection(address: str) -> None:
    """In the middle of the message already, if the server is the quicker one."""
    with visiting(address) as visitor, pytest.raises(ConnectionClosed):
        visitor.send("load", text="x" * (2 * LONGEST))
        while True:
            visitor.hear("error")
    with visiting(address) as other:
        other.begin("mnk")


def test_binary_messages_are_refused(visitor: Visitor) -> None:
    visitor.connection.send(b"\x00\xff" * 100)
    assert visitor.hear("error")["text"] == "messages are text"


def test_a_flood_is_slowed_and_then_cut_off(address: str) -> None:
    with serving(burst=20, rate=1000.0, patience=50) as crowded, visiting(crowded) as flooder:
        flood = json.dumps({"type": "go", "ply": "x"})
        with pytest.raises(ConnectionClosed) as closed:
            for _ in range(20_000):
                flooder.connection.send(flood)
            while True:
                flooder.connection.recv(timeout=20)
        assert closed.value.rcvd is None or closed.value.rcvd.reason == "too many messages"
        with visiting(crowded) as other:
            other.play(other.begin("mnk"), "b2")


def test_each_message_of_a_flood_is_answered() -> None:
    """Else a page would wait for what was never done."""
    with serving(burst=6, rate=20.0, patience=1000) as crowded, visiting(crowded) as flooder:
        flooder.begin("gomoku", actions=["h8", "i9"])
        for burst in range(2):
            for _ in range(30):
                flooder.send("save", kind="record")
            answers = [flooder.hear("file", "error") for _ in range(30)]
            refused = [answer for answer in answers if answer["type"] == "error"]
            assert len(refused) > 10, burst
            assert all(answer["busy"] for answer in refused)
            assert refused[0]["text"] == "too many messages; wait a moment"


def test_others_are_served_during_a_flood(address: str) -> None:
    with visiting(address) as flooder, visiting(address) as other:
        for _ in range(300):
            flooder.connection.send('{"type":"undo"}')
        view = other.begin("gomoku")
        for action in ("h8", "i9", "j10"):
            view = other.play(view, action)
        assert view["ply"] == 3


def test_connections_of_one_visitor_are_counted() -> None:
    refused = pytest.raises((InvalidHandshake, ConnectionClosed))
    with serving(connections_each=3) as address:
        with visiting(address), visiting(address), visiting(address), refused, visiting(address):
            pass
        until = time.monotonic() + 20
        while True:  # the others' ends are noticed soon
            try:
                with visiting(address) as again:
                    again.begin("mnk")
                    return
            except (InvalidHandshake, ConnectionClosed):
                assert time.monotonic() < until


def test_memory_of_one_visitor_is_bounded() -> None:
    """The oldest game makes room; its page takes it up again from what it has kept."""
    with serving(games_each=3) as address, visiting(address) as visitor:
        views = [visitor.begin("gomoku", actions=["h8"], title=str(k)) for k in range(5)]
        visitor.send("open", id=views[0]["id"])
        assert visitor.hear("gone")["id"] == views[0]["id"]
        again = visitor.ask("open", id=views[0]["id"], record=views[0]["record"])
        assert again["record"]["title"] == "0"
        assert again["board"] == views[0]["board"]


def test_games_that_are_watched_are_not_put_away() -> None:
    with serving(games_each=2) as address, visiting(address) as one, visiting(address) as other:
        first = one.begin("mnk")
        other.begin("mnk")
        with visiting(address) as third:
            assert "close one of their pages" in third.refused("begin", record={"game": "mnk"})
        assert one.play(first, "b2")["ply"] == 1


def test_a_full_server_says_so() -> None:
    with serving(games=1) as address, visiting(address) as one, visiting(address) as other:
        one.begin("mnk")
        assert "full" in other.refused("begin", record={"game": "mnk"})


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "localhost.evil.example", "", "[::", "127.0.0.1.x"]
)
def test_other_host_names_are_refused(address: str, host: str) -> None:
    """DNS rebinding: a page elsewhere whose name points here."""
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest("GET", "/", skip_host=True)
    connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status in (400, 403)
    assert b"<html" not in answer.read()
    connection.close()


@pytest.mark.parametrize("host", ["localhost:80", "127.0.0.1", "[::1]:8000", "192.168.1.7"])
def test_localhost_and_addresses_are_served(address: str, host: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("GET", "/", headers={"Host": host})
    answer = connection.getresponse()
    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    connection.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_sockets_of_other_pages_are_refused(address: str, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://{address}/socket", origin=origin).close()  # type: ignore[arg-type]
    assert refused.value.response.status_code == 403
    with connect(f"ws://{address}/socket", origin=f"http://{address}") as own:  # type: ignore[arg-type]
        assert json.loads(own.recv(timeout=20))["type"] == "hello"


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/%2e%2e/app.py",
        "/js/../../app.py",
        "/..%2f..%2fgame.py",
        "//etc/passwd",
        "/js",
    ],
)
def test_files_outside_the_page_are_not_served(address: str, path: str) -> None:
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.putrequest("GET", path)
    connection.endheaders()
    assert connection.getresponse().status in (307, 404)
    connection.close()


def test_half_a_request_and_a_cut_socket_do_no_harm(address: str) -> None:
    host, port = address.split(":")
    for text in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET /" * 30_000,
    ):
        with sockets.create_connection((host, int(port)), timeout=20) as half:
            half.sendall(text)
    with visiting(address) as gone:
        gone.begin("gomoku", seats={"A": {"bot": "hashes"}, "B": {"bot": "hashes"}})
        gone.send("analyse", bot="hashes")
        gone.send("review", bot="hashes")
        gone.connection.socket.shutdown(sockets.SHUT_RDWR)
    with visiting(address) as other:
        assert other.play(other.begin("mnk"), "b2")["ply"] == 1


def test_who_does_not_listen_is_not_read() -> None:
    """Else the answers to a flood of questions would fill the server's memory."""
    with serving() as address:
        with visiting(address, max_queue=1) as deaf:
            points = [f"{column}{row}" for row in range(1, 16) for column in "abcdefghijklmno"]
            deaf.begin("gomoku", rules={"line_length": 26}, actions=points[:200])
            asked = []

            def ask() -> None:
                with contextlib.suppress(ConnectionClosed, OSError):
                    for number in range(20_000):
                        deaf.connection.send('{"type":"save","kind":"record"}' + 4000 * " ")
                        asked.append(number)

            asking = threading.Thread(target=ask)
            asking.start()
            with visiting(address) as other:
                assert other.play(other.begin("mnk"), "b2")["ply"] == 1
            asking.join(timeout=2)
            assert asking.is_alive()
            deaf.connection.socket.shutdown(sockets.SHUT_RDWR)
            asking.join()
            assert len(asked) < 10_000
        with visiting(address) as other:
            assert other.play(other.begin("mnk"), "b2")["ply"] == 1
