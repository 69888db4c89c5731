import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from scripts.gtp_game import GtpGameError, GtpProgram, play_game
from tests.scripts.test_train import SMALL

#: Speaks GTP and plays the moves of a list, both colours.
ROBOT = """
import json, sys
moves, ply = sys.argv[1].split(), 0
for line in sys.stdin:
    word = line.split()
    if word[0] == "narabe-state":
        over = ply == len(moves)
        state = {"seat": "AB"[ply % 2], "colour": "black", "result": {"winner_seat": "A"}}
        state |= {} if over else {"result": None, "choice": moves[ply] == "white"}
        answer = json.dumps(state)
    elif word[0] == "genmove" or line == "narabe-choose\\n":
        answer, ply = moves[ply], ply + 1
    else:
        answer, ply = "", ply + 1
    print("= " + answer + "\\n", flush=True)
"""


def robot(name: str, moves: str) -> GtpProgram:
    return GtpProgram(name, [sys.executable, "-c", ROBOT, moves])


def test_two_programs_play_a_game() -> None:
    seen = []
    with robot("one", "a1 white b1 c1") as one, robot("two", "a1 white b1 c1") as two:
        state = play_game(one, two, lambda who, what: seen.append((who, what)))
    assert state["result"]["winner_seat"] == "A"
    assert seen == [("one", "a1"), ("two", "white"), ("one", "b1"), ("two", "c1")]


def test_a_terminals_interrupt_does_not_reach_the_programs() -> None:
    with robot("one", "a1") as one:
        assert os.getpgid(one._process.pid) != os.getpgrp()
        assert one.ask("name") == ""


def test_programs_that_end_or_disagree() -> None:
    with (
        pytest.raises(GtpGameError, match="disagree"),
        robot("one", "a1 b1") as one,
        robot("two", "a1 b1 c1") as two,
    ):
        play_game(one, two)
    silent = [sys.executable, "-c", "import sys; sys.stdin.readline()"]
    with pytest.raises(GtpGameError, match="silent"), GtpProgram("silent", silent) as program:
        program.ask("name")
        program.ask("name")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_small_demo_from_nothing_to_a_game(tmp_path: Path) -> None:
    small = [word for word in SMALL.split() if not word.startswith(("game", "opening", "cluster"))]
    command = [sys.executable, "-m", "scripts.demo", f"runs={tmp_path}", *small]
    command += ["cluster.workers=1", "gauntlet.simulations=8", "gauntlet.games=4"]
    command += ["loop.rate_versions=20", "stop.minutes=0", "stop.games=40", "--games", "4"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "demo"
    for expected in ("Over GTP: bot (seat A)", "mcts:80", "v000000", "Elo", "Next:", "tensorboard"):
        assert expected in done.stdout
    assert json.loads((run / "bot" / "bot.json").read_text())
    for name in ("game.png", "elo.png"):
        Image.open(io.BytesIO((run / name).read_bytes())).verify()
    # A second time everything is there already.
    games = (run / "state.json").read_text()
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    assert json.loads((run / "state.json").read_text()) == json.loads(games)
