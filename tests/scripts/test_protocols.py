"""scripts.play as a process that is treated badly: floods, ends of pipes, ends while it thinks."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bots.loading import load_bot
from engine import Position

ROOT = Path(__file__).parents[2]

#: Nobody waits so long for an end that should come at once; searches here would take longer.
PATIENCE = 20


class Process:
    """A bot as a process, on its board of 6x6."""

    def __init__(self, bot: Path, protocol: str, *options: str) -> None:
        command = [sys.executable, "-m", "scripts.play", str(bot), "--protocol", protocol]
        self.process = subprocess.Popen(
            [*command, "--game", "1", *options],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def send(self, text: str) -> None:
        self.stdin.write(text.encode())
        self.stdin.flush()

    def line(self) -> str:
        return self.stdout.readline().decode()

    def end(self, status: int = 0) -> str:
        """What it still says; it ends by itself, without a complaint."""
        said, complaint = self.process.communicate(timeout=PATIENCE)
        assert complaint == b""
        assert self.process.returncode == status
        return (said or b"").decode()


LONG = ("--simulations", "unlimited")
BEGINNINGS = {
    "gomocup": "START 6\nINFO timeout_turn 600000\nBEGIN\n",
    "gtp": "boardsize 6\ntime_settings 0 600 1\ngenmove b\n",
}
ENDS = {"gomocup": "END\n", "gtp": "quit\n"}


@pytest.mark.parametrize("protocol", ["gomocup", "gtp"])
def test_the_end_comes_at_once_while_the_bot_thinks(exported_bot: Path, protocol: str) -> None:
    bot = Process(exported_bot, protocol, *LONG)
    bot.send(BEGINNINGS[protocol])
    bot.line()
    time.sleep(0.5)
    bot.send(ENDS[protocol])
    bot.end()


FLOODS = [
    ("gomocup", "RESTART\nBEGIN\nTURN 9,9\n"),
    ("gomocup", "START 6\nSTART 5\n"),
    ("gtp", "clear_board\ngenmove b\n?\n"),
]


@pytest.mark.parametrize(("protocol", "flood"), FLOODS)
def test_the_end_comes_behind_a_flood_while_the_bot_thinks(
    exported_bot: Path, protocol: str, flood: str
) -> None:
    bot = Process(exported_bot, protocol, *LONG)
    bot.send(BEGINNINGS[protocol])
    bot.line()
    # All of it would take minutes.
    bot.send(20_000 * flood + "7 " * (protocol == "gtp") + ENDS[protocol])
    said = bot.end()
    if protocol == "gtp":
        assert said.endswith("=7 \n\n")


@pytest.mark.parametrize(("protocol", "flood"), [("gomocup", "ABOUT\n"), ("gtp", "name\n")])
def test_the_end_comes_though_nobody_reads_the_answers(
    exported_bot: Path, protocol: str, flood: str
) -> None:
    bot = Process(exported_bot, protocol)
    bot.send(50_000 * flood + ENDS[protocol])
    assert bot.process.wait(timeout=PATIENCE) == 0
    bot.end()


@pytest.mark.parametrize("protocol", ["gomocup", "gtp"])
def test_a_script_that_is_sent_at_once_is_answered(exported_bot: Path, protocol: str) -> None:
    bot = Process(exported_bot, protocol, *LONG)
    bot.send(BEGINNINGS[protocol] + ENDS[protocol])
    answers = bot.end().split()
    assert answers[0] == {"gomocup": "OK", "gtp": "="}[protocol]
    assert len(answers) == {"gomocup": 2, "gtp": 5}[protocol]


def test_a_command_about_quit_does_not_end_anything(exported_bot: Path) -> None:
    bot = Process(exported_bot, "gtp", "--simulations", "2")
    lines = ["known_command quit", "undefined quit", *["name"] * 50]
    bot.send("\n".join(lines) + "\n")
    assert bot.line() == "= true\n"
    assert bot.line() == "\n"
    assert bot.line().startswith("? unknown")
    assert bot.line() == "\n"
    # Longer than a process that was told to end would go on.
    time.sleep(1)
    assert [bot.line() for _ in range(100)] == ["= narabe\n", "\n"] * 50
    bot.send("9 name\nquit\n")
    assert bot.end() == "=9 narabe\n\n= \n\n"


@pytest.mark.parametrize("protocol", ["gomocup", "gtp"])
def test_what_was_asked_before_the_input_ended_is_answered(
    exported_bot: Path, protocol: str
) -> None:
    bot = Process(exported_bot, protocol)
    bot.send(BEGINNINGS[protocol].rstrip("\n"))
    bot.stdin.close()
    bot.process.stdin = None
    answers = bot.end().split()
    assert answers[0] == {"gomocup": "OK", "gtp": "="}[protocol]
    assert len(answers) == {"gomocup": 2, "gtp": 4}[protocol]


@pytest.mark.parametrize("protocol", ["gomocup", "gtp"])
def test_nobody_listens(exported_bot: Path, protocol: str) -> None:
    bot = Process(exported_bot, protocol)
    bot.stdout.close()
    bot.process.stdout = None
    bot.send(BEGINNINGS[protocol])
    bot.stdin.close()
    bot.process.stdin = None
    bot.end(status=1)


def test_two_bots_play_a_whole_game_with_a_clock(exported_bot: Path) -> None:
    bots = [Process(exported_bot, "gomocup", "--simulations", "8") for _ in range(2)]
    for bot in bots:
        bot.send("START 6\r\nINFO timeout_turn 2000\r\nINFO timeout_match 60000\r\n")
        assert bot.line() == "OK\n"
    rules, _ = load_bot(exported_bot).games[1]
    position, move = Position(rules), ""
    while position.outcome is None:
        mover = bots[position.ply % 2]
        mover.send(f"TURN {move}\r\n" if move else "BEGIN\r\n")
        move = mover.line().strip()
        x, y = map(int, move.split(","))
        position.play((5 - y) * 6 + x)
    for bot in bots:
        bot.send("END\r\n")
        bot.end()


@pytest.mark.parametrize("line", ["YXSTOP\r\n", "INFO timeout_turn 500\n"])
@pytest.mark.parametrize("before", ["", "\n", "HELP\nyxblock\n1,1\ndone\n"])
def test_a_stop_or_a_limit_that_arrives_while_the_bot_thinks_holds(
    exported_bot: Path, line: str, before: str
) -> None:
    bot = Process(exported_bot, "gomocup", *LONG)
    bot.send(BEGINNINGS["gomocup"])
    assert bot.line() == "OK\n"
    time.sleep(0.3)
    bot.send(before + line)
    assert "," in bot.line()
    bot.send("ABOUT\r\nEND\r\n")
    assert "name=" in bot.end()


def test_a_flood_of_gomocup_commands(exported_bot: Path) -> None:
    bot = Process(exported_bot, "gomocup", "--simulations", "2")
    draw = random.Random(1)
    words = ["START 6", "START 7", "BEGIN", "RESTART", "INFO time_left 100", "BOARD", "DONE", "?"]
    lines = [
        draw.choice([*words, *(f"TURN {draw.randrange(7)},{draw.randrange(7)}" for _ in range(9))])
        for _ in range(1500)
    ]
    bot.send("\n".join(lines) + "\nSTART 6\nABOUT\n")
    bot.stdin.close()
    bot.process.stdin = None
    answers = bot.end().splitlines()
    assert answers[-2] == "OK"
    assert answers[-1].startswith("name=")
    known = ("OK", "ERROR ", "UNKNOWN ", *"0123456")
    assert all(answer.startswith(known) for answer in answers[:-1])


def test_a_flood_of_gtp_commands_is_answered_in_order(exported_bot: Path) -> None:
    bot = Process(exported_bot, "gtp", "--simulations", "2")
    draw = random.Random(2)
    words = ["genmove b", "genmove w", "undo", "clear_board", "boardsize 6", "boardsize 7", "x",
             "play", "lz-analyze 1", "kata-analyze 1", "showboard", "narabe-choose"]  # fmt: skip
    lines = [
        draw.choice(
            [*words, *(f"play {c} {draw.choice('ABCDEFI')}{n}" for n in "123" for c in "bw")]
        )
        for _ in range(600)
    ]
    bot.send("".join(f"{number} {line}\n" for number, line in enumerate(lines)) + "7000 name\n")
    bot.stdin.close()
    bot.process.stdin = None
    answers = bot.end().split("\n\n")
    assert [answer.split()[0][1:] for answer in answers[:-1]] == [*map(str, range(600)), "7000"]
    assert answers[-2:] == ["=7000 narabe", ""]


def test_an_analysis_ends_with_any_line(exported_bot: Path) -> None:
    bot = Process(exported_bot, "gtp")
    bot.send("1 boardsize 6\n2 lz-analyze 5\n")
    assert [bot.line() for _ in range(3)] == ["=1 \n", "\n", "=2\n"]
    assert bot.line().startswith("info move ")
    bot.send("\n")
    while (line := bot.line()).startswith("info move "):
        pass
    assert line == "\n"
    bot.send("3 kata-analyze 5\n")
    assert bot.line() == "=3\n"
    bot.send("4 quit\n")
    assert bot.end().endswith("\n\n=4 \n\n")


def test_a_seed_repeats_a_bot_exactly(exported_bot: Path) -> None:
    script = "boardsize 6\ntime_settings 0 1 50\n" + "genmove b\ngenmove w\n" * 2
    games = []
    for seed in ("1", "1", "2", "3", "4"):
        bot = Process(exported_bot, "gtp", "--seed", seed, "--temperature", "1")
        bot.send(script)
        bot.stdin.close()
        bot.process.stdin = None
        games.append(bot.end())
    assert games[0] == games[1]
    assert len(set(games)) > 1


def test_a_client_that_asks_for_the_name_only_loads_no_network(exported_bot: Path) -> None:
    script = (
        "import sys\nfrom scripts.play import main\nstatus = main(sys.argv[1:])\n"
        "sys.exit(status or ('onnxruntime' in sys.modules))"
    )
    for protocol, question in (("gomocup", "ABOUT\nEND\n"), ("gtp", "name\nversion\nquit\n")):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", script, str(exported_bot), "--protocol", protocol],
            cwd=ROOT,
            input=question,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "testing-v000003" in done.stdout
        assert time.monotonic() - began < 10, "mostly a third of a second"


def test_a_game_needs_no_framework(exported_bot: Path) -> None:
    script = (
        "import sys\nfrom scripts.play import main\nstatus = main(sys.argv[1:])\n"
        "sys.exit(status or bool({'torch', 'ray', 'hydra', 'omegaconf'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(exported_bot), "--protocol", "gomocup", "--game", "1"],
        cwd=ROOT,
        input="START 6\r\nBEGIN\r\nEND\r\n",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, "")
    started, move = done.stdout.split()
    assert started == "OK"
    assert "," in move
