"""Lines that arrive while a search goes on, and what of them it heeds."""

import io
import time

import pytest

from bots.clock import Clock
from bots.gomocup_info import Info
from bots.gomocup_waiting import Waiting, is_end, is_heeded
from bots.lines import Lines
from bots.player import Limit


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
