"""Lines that arrive while a search goes on, and what of them it heeds."""

import io
import os
import time

import pytest

from bots.clock import Clock
from bots.gomocup_info import Info
from bots.gomocup_waiting import Waiting, is_end, is_heeded
from bots.lines import Lines
from bots.player import Limit
from engine.evaluators import HashEvaluator
from tests.bots.talk import Gomocup


def ends(*lines: str, began: float = 0.0) -> bool:
    """Whether a search without a limit, begun so many seconds ago, ends when these lines wait."""
    queue = Lines(io.BytesIO("\n".join(lines).encode()), is_end, is_heeded)
    while not queue._ended:
        time.sleep(0.001)
    start = time.monotonic() - began

    def limit(clock: Clock) -> Limit:
        return Limit(until=None if clock.move is None else start + clock.move)

    search = Waiting(queue, Info(), Clock(), limit)
    first, again = search.ends_search(), search.ends_search()
    assert first == again
    assert [line.text for line in queue] == list(lines), "they wait for their turn"
    return first


@pytest.mark.parametrize("before", [[], ["ABOUT"], [" "], ["yxblock", "7,7", "done"], ["START 9"]])
@pytest.mark.parametrize("stop", ["YXSTOP", "yxstop", "  Stop "])
def test_a_stop_is_seen_behind_other_lines(before: list[str], stop: str) -> None:
    assert ends(*before, stop)
    assert not ends(*before, "yxstopping")


@pytest.mark.parametrize("before", [[], ["ABOUT"], ["TURN 3,3", "INFO max_node 7"]])
def test_a_limit_is_seen_behind_other_lines(before: list[str]) -> None:
    assert ends(*before, "info timeout_turn 500", began=1)
    assert not ends(*before, "INFO timeout_turn 100000", began=1)
    assert not ends(*before, "INFO timeout_turn x", began=1)


@pytest.mark.parametrize("command", ["START 15", "rectstart 15,15", "RESTART"])
def test_a_limit_of_the_next_game_is_no_limit_of_this_one(command: str) -> None:
    assert not ends(command, "INFO timeout_turn 500", began=1)


def test_what_ends_a_session() -> None:
    assert is_end("END")
    assert is_end(" end now\t")
    assert not is_end("ENDING")
    assert not is_end("")


class Speaks(HashEvaluator):
    """An evaluator during whose twentieth call lines arrive; it is not asked for ever."""

    def __init__(self, lines: bytes, to: int) -> None:
        super().__init__()
        self._lines, self._to, self.calls = lines, to, 0

    def evaluate(self, planes, globals_, keys):  # type: ignore[no-untyped-def]
        self.calls += 1
        if self.calls == 20:
            os.write(self._to, self._lines)
            os.close(self._to)
        assert self.calls < 10_000, "the search goes on"
        time.sleep(0.001)
        return super().evaluate(planes, globals_, keys)


@pytest.mark.parametrize("line", [b"yxstop\n", b"INFO timeout_turn 1\n"])
@pytest.mark.parametrize("before", [b"", b"ABOUT\n", b"\nyxblock\n1,1\ndone\n"])
def test_a_search_ends_with_a_move_for_lines_behind_others(before: bytes, line: bytes) -> None:
    there, here = os.pipe()
    os.write(here, b"START 15\nBEGIN\n")
    manager = Gomocup(simulations=1 << 20, evaluator=Speaks(before + line, here))
    answers = io.BytesIO()
    with os.fdopen(there, "rb", buffering=0) as requests:
        manager.session.serve(requests, answers)  # type: ignore[arg-type]
    started, move, *others = answers.getvalue().decode().splitlines()
    assert started == "OK"
    assert "," in move
    assert len(others) == (len(before) > 1), "answered in their turn"
