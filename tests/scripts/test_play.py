"""scripts.play as a process: whole games over GTP, without torch, and at a terminal."""

import contextlib
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bots.loading import load_bot
from engine import Position

ROOT = Path(__file__).parents[2]

# Fails on any import of what an exported bot must do without.
WITHOUT_TORCH = """
import sys
for name in ("torch", "ray", "hydra", "omegaconf", "safetensors", "onnx", "scipy", "rich"):
    sys.modules[name] = None
from scripts.play import main
sys.exit(main(sys.argv[1:]))
"""


class Program:
    """A bot that is asked over GTP."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # small networks only lose by more
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ask(self, command: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) not in ("\n", ""):
            lines.append(line)
        answer = "".join(lines)
        assert answer.startswith("="), (command, answer, self.process.poll())
        return answer[1:].strip()

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.ask("narabe-state"))
        return state

    def end(self) -> None:
        self.ask("quit")
        assert self.process.wait(timeout=30) == 0
        assert self.process.stderr is not None
        assert self.process.stderr.read() == ""


def run(*arguments: object, lines: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scripts.play", *map(str, arguments)],
        cwd=ROOT,
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("game", [1, 2])
def test_a_bot_without_torch_plays_a_whole_game_against_its_checkpoint(
    exported_bot: Path, checkpoint: Path, game: int
) -> None:
    options = ["--game", str(game), "--simulations", "4", "--opening", "own"]
    bot = Program("-c", WITHOUT_TORCH, str(exported_bot), *options)
    other = Program("-m", "scripts.play", str(checkpoint), *options, "--protocol", "gtp")
    seats = {"A": bot, "B": other}
    position = Position(*load_bot(exported_bot).games[game])
    for _ in range(200):
        state = bot.state()
        assert state == other.state()
        if state["result"] is not None:
            break
        assert (state["seat"], state["phase"]) == (position.seat, position.phase)
        mover = seats[state["seat"]]
        watcher = other if mover is bot else bot
        if state["choice"]:
            action = mover.ask("narabe-choose")
            watcher.ask(f"narabe-choose {action}")
        else:
            action = mover.ask(f"genmove {state['colour']}")
            watcher.ask(f"play {state['colour']} {action}")
        column = action[0].lower()
        if action[1:].isdigit() and column > "i":
            action = chr(ord(column) - 1) + action[1:]
        position.play(action)
    assert position.outcome is not None
    assert position.outcome.winner_seat == bot.state()["result"]["winner_seat"]
    bot.end()
    other.end()


def test_gtp_is_spoken_where_no_terminal_is(exported_bot: Path) -> None:
    done = run(exported_bot, lines="1 name\n2 boardsize 6\n3 version\n4 undefined\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "=1 narabe\n\n=2 \n\n=3 testing-v000003\n\n?4 unknown command\n\n"


def test_a_python_without_onnxruntime_is_told_at_the_start(
    exported_bot: Path, tmp_path: Path
) -> None:
    code = WITHOUT_TORCH.replace('"torch"', '"onnxruntime", "torch"')
    done = subprocess.run(
        [sys.executable, "-c", code, exported_bot, "--protocol", "gtp"],
        cwd=ROOT,
        input="name\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs onnxruntime" in done.stderr and "pip install narabe" in done.stderr
    assert done.stderr.count("\n") == 1
    done = subprocess.run(
        [sys.executable, "-S", exported_bot / "play", "--protocol", "gtp"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="name\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "onnxruntime" in done.stderr and "Traceback" not in done.stderr


def test_the_launcher_starts_the_bot_from_anywhere(exported_bot: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, exported_bot / "play", "--protocol", "gtp"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="name\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "= narabe\n\n", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere"),
        (["BOT", "--game", "7"], "2: irensei size=7 line_length=4 gutter=1, opening swap-1st"),
        (["BOT", "--game", "-1"], "0: mnk width=5 height=4 line_length=4, opening none"),
        (["BOT", "--simulations", "0"], "play: --simulations: 0 is not a whole number from 1"),
        (["BOT", "--seed", "-1"], "play: --seed: -1 is not a whole number from 0"),
        (["BOT", "--temperature", "nan"], "play: --temperature: nan is not a number from 0"),
        (["BOT", "--temperature", "inf"], "play: --temperature: inf"),
        (["BOT", "--temperature", "-1"], "play: --temperature: -1.0"),
        (["BOT", "--resign", "nan"], "play: --resign: nan is not a number from -1 to 1"),
        (["BOT", "--resign", "2"], "play: --resign: 2.0"),
        (["BOT", "--resign", "-2"], "play: --resign: -2.0"),
        (["BOT", "--opening", "swap1st"], "play: --opening: 'swap1st' is not one of none, "),
        (["BOT", "--opening", "pro"], "play: --opening: pro places"),
        (["BOT", "--protocol", "gomocup", "--opening", "swap-2"], "play: --opening: 'swap-2': "),
        (["BOT", "--protocol", "json", "--opening", "none"], "play: --opening: each query"),
        (["BOT", "--simulations", "many"], "invalid int"),
        (["BOT", "--protocol", "uci"], "invalid choice"),
        ([], "BOT"),
    ],
)
def test_what_cannot_be_used_is_refused(
    exported_bot: Path, arguments: list[str], message: str
) -> None:
    done = run(*(str(exported_bot) if word == "BOT" else word for word in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "opening", "answer"),
    [
        ((), "none", r"= [A-G]\d"),
        (("--opening", "none"), "none", r"= [A-G]\d"),
        (("--opening", "own"), "swap-1st", r"\? the opening asks for a choice.*"),
        (("--opening", "swap-2"), "swap-2", r"= [A-G]\d"),
    ],
)
def test_what_a_go_program_sends_at_the_start(
    exported_bot: Path, options: tuple[str, ...], opening: str, answer: str
) -> None:
    sent = "boardsize 7\nclear_board\nplay B D4\ngenmove W\nnarabe-state\n"
    done = run(exported_bot, "--game", "2", *options, lines=sent)
    assert done.returncode == 0, done.stderr
    *_, move, state, _end = done.stdout.split("\n\n")
    assert re.fullmatch(answer, move)
    assert json.loads(state.removeprefix("= "))["opening"] == opening


@pytest.mark.parametrize(("protocol", "options"), [("terminal", ()), ("gomocup", ("none",))])
def test_openings_elsewhere(exported_bot: Path, protocol: str, options: tuple[str, ...]) -> None:
    """People at the terminal choose; over Gomocup's protocol a game begins without an opening."""
    lines = {"terminal": "d4\n", "gomocup": "START 7\nNARABE_STATE\nEND\n"}[protocol]
    words = [word for option in options for word in ("--opening", option)]
    done = run(
        exported_bot, "--game", "2", "--protocol", protocol, "--human", "both", *words, lines=lines
    )
    assert done.returncode == 0, done.stderr
    wanted = {"terminal": "black or white:", "gomocup": '"opening": "none"'}[protocol]
    assert wanted in done.stdout


def test_the_terminal_without_the_opening(exported_bot: Path) -> None:
    options = ["--game", "2", "--opening", "none", "--protocol", "terminal", "--human", "both"]
    done = run(exported_bot, *options, lines="d4\nd5\n")
    assert done.returncode == 0, done.stderr
    assert "black or white:" not in done.stdout
    assert "Not possible" not in done.stdout


def test_two_people_at_the_terminal(exported_bot: Path) -> None:
    moves = "a1\na2\nb1\nb2\nc1\nc2\nd1\n"
    done = run(exported_bot, "--protocol", "terminal", "--human", "both", lines=moves)
    assert done.returncode == 0, done.stderr
    assert "black (seat A) wins (line)" in done.stdout


def test_a_bot_against_itself_at_the_terminal(exported_bot: Path) -> None:
    options = ["--protocol", "terminal", "--human", "none", "--simulations", "4"]
    first, again = run(exported_bot, *options), run(exported_bot, *options)
    assert first.returncode == 0, first.stderr
    assert first.stdout == again.stdout
    assert "4 simulations]" in first.stdout


def test_a_person_at_a_real_terminal_quits_with_control_c(exported_bot: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.play", str(exported_bot), "--human", "white"],
        cwd=ROOT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    seen, deadline = b"", time.monotonic() + 60
    while b"B (white):" not in seen and time.monotonic() < deadline:
        if select.select([ours], [], [], 1)[0]:
            seen += os.read(ours, 4096)
    assert b"A (black): " in seen
    assert b"B (white):" in seen
    status = None
    while status is None and time.monotonic() < deadline + 60:
        # A signal between the prompt and its read waits for the read; people press again.
        process.send_signal(2)
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(timeout=5)
    assert status == 130
    os.close(theirs)
    os.close(ours)
    assert b"Traceback" not in seen
