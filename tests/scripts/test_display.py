"""What a run shows."""

import io

import pytest
from rich.console import Console

from scripts.display import Display, line
from selfplay.loop import Progress

PROGRESS = {
    "phase": "self-play",
    "games": 0,
    "samples": 0,
    "steps": 0,
    "version": 0,
    "seconds": 0.0,
    "positions_per_second": 0.0,
    "evaluations_per_second": 0.0,
    "workers_wait": 0.015,
    "learner_waits": 0.4,
    "losses": {},
    "elo": None,
    "fraction": None,
    "seconds_left": None,
    "evaluator": "onnx",
}


@pytest.mark.parametrize("terminal", [False, True])
def test_a_notice_is_a_line_that_stays(terminal: bool) -> None:
    shown = io.StringIO()
    notice = "evaluator: onnx; left out openvino: does not work here ([boom])"
    with Display("run", Console(file=shown, force_terminal=terminal, width=40)) as display:
        display.update(Progress(**PROGRESS, notice=notice))  # type: ignore[arg-type]
        display.update(Progress(**PROGRESS))  # type: ignore[arg-type]
    assert shown.getvalue().count(notice) == 1


@pytest.mark.parametrize(("learner", "said"), [(0.4, "learner waits 40%"), (None, "")])
def test_who_waits_is_shown(learner: float | None, said: str) -> None:
    shown = line(Progress(**PROGRESS | {"learner_waits": learner}))  # type: ignore[arg-type]
    assert "workers wait 2%" in shown and said in shown
    assert ("learner waits" in shown) is bool(said)
