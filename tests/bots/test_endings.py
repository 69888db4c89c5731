"""The end of a session behind a queue of commands, by a clock that only evaluations move."""

import functools
import io
import time
from typing import Any

import pytest

from bots.gomocup_extensions import ExtendedGomocupSession
from bots.gtp_extensions import ExtendedGtpSession
from engine.evaluators import HashEvaluator
from tests.bots.talk import GAMES, new_player


class Costly(HashEvaluator):
    """A network that takes its time, and is the only thing that does."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds, self.now = seconds, 100.0

    def evaluate(self, *batch: Any) -> Any:
        self.now += self._seconds
        return super().evaluate(*batch)


def serve(
    protocol: str, script: str, network: Costly, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, float]:
    """The answers to a script, and seconds from the arrival of its last line to the end."""
    monkeypatch.setattr(time, "monotonic", lambda: network.now)
    factory = functools.partial(new_player, simulations=1 << 30, evaluator=network)
    make = {"gomocup": ExtendedGomocupSession, "gtp": ExtendedGtpSession}[protocol]
    session, answers = make("stub", GAMES, factory), io.BytesIO()
    ends: list[float] = []
    session.serve(io.BytesIO(script.encode()), answers, lambda: ends.append(network.now))
    monkeypatch.undo()
    assert session.closed
    return answers.getvalue().decode(), network.now - ends[0]


ENDS = {"gomocup": "END\n", "gtp": "quit\n"}
QUEUES = [
    ("gomocup", "START 15\nINFO timeout_turn 100000\n", "START 15\nBEGIN\n"),
    ("gomocup", "START 15\nINFO timeout_turn 100000\n", "BEGIN\nRESTART\n"),
    ("gtp", "", "genmove b\ngenmove w\n"),
    ("gtp", "", "clear_board\ngenmove b\n"),
    ("gtp", "", "narabe-values\nclear_board\n"),
]


@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.15])
@pytest.mark.parametrize(("protocol", "before", "queue"), QUEUES)
def test_the_end_comes_within_a_second_whatever_the_network_costs(
    protocol: str, before: str, queue: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = before + 200 * queue + ENDS[protocol]
    _, took = serve(protocol, script, Costly(seconds), monkeypatch)
    # The network is loaded first, and two evaluations warm it up.
    assert took - 2 * seconds < 0.7


@pytest.mark.parametrize("seconds", [0.01, 0.15])
def test_a_short_script_is_answered_wholly(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "START 15\nINFO timeout_turn 100000\nBEGIN\nABOUT\nEND\n"
    answers, _ = serve("gomocup", script, Costly(seconds), monkeypatch)
    assert answers.startswith("OK\n")
    assert answers.count(",") == 4
    script = "boardsize 15\ngenmove b\ngenmove w\nname\nquit\n"
    answers, _ = serve("gtp", script, Costly(seconds), monkeypatch)
    assert answers.count("= ") == 5


def test_answers_before_the_end_are_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "boardsize 15\n" + 10 * "genmove b\ngenmove w\n" + "quit\n"
    answers, _ = serve("gtp", script, Costly(0.008), monkeypatch)
    assert answers.count("= ") == 22, "one evaluation each"
