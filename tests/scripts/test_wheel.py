"""A bot on another machine: narabe's wheel with its few dependencies in a fresh environment.

Needs a package index, or pip's settings for one, and a C compiler.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRAINING = ("torch", "ray", "hydra", "omegaconf", "scipy", "matplotlib", "sgfmill", "onnx")

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, text: str = "") -> str:
    """What a program prints, in an environment that knows nothing of this one."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={name: value for name, value in os.environ.items() if name not in hidden},
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment into which the project's wheel was installed."""
    folder = tmp_path_factory.mktemp("wheel")
    # A copy of what is kept in git: building leaves files behind.
    names = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "source" / name)
    build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation")
    run(*build, "--wheel-dir", folder, ".", cwd=folder / "source")
    (wheel,) = folder.glob("narabe-*.whl")
    venv.create(folder / "fresh", with_pip=True)
    interpreter = folder / "fresh" / "bin" / "python"
    run(interpreter, "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return interpreter


@pytest.fixture(scope="module")
def bot(exported_bot: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported bot, copied to where nothing else is."""
    return Path(shutil.copytree(exported_bot, tmp_path_factory.mktemp("alone") / "bot"))


def play(python: Path, bot: Path, text: str, *options: str) -> str:
    """What the bot's own launcher answers."""
    return run(python, bot / "play", *options, cwd=bot.parent, text=text)


def test_nothing_of_training_is_there(python: Path, tmp_path: Path) -> None:
    script = (
        "from importlib.util import find_spec; import engine, sys;"
        f"print([name for name in {TRAINING} if find_spec(name)]); print(engine.__file__)"
    )
    found, where = run(python, "-c", script, cwd=tmp_path).splitlines()
    assert found == "[]"
    assert Path(where).is_relative_to(python.parents[1])


def test_gtp(python: Path, bot: Path) -> None:
    said = play(python, bot, "narabe-game 1\ngenmove b\nundo\nquit\n", "--protocol", "gtp")
    assert said.startswith("= \n\n= ")
    assert said.count("= ") == 4


def test_gomocup(python: Path, bot: Path) -> None:
    said = play(python, bot, "START 6\r\nBEGIN\r\nEND\r\n", "--protocol", "gomocup", "--game", "1")
    started, move = said.split()
    assert started == "OK"
    assert "," in move


def test_json(python: Path, bot: Path) -> None:
    query = {"id": "a", "game": "mnk", "rules": {"width": 5, "height": 4, "line_length": 4}}
    answer = json.loads(play(python, bot, json.dumps(query), "--protocol", "json"))
    assert answer["root"]["simulations"] == 16


def test_terminal(python: Path, bot: Path) -> None:
    said = play(python, bot, "", "--protocol", "terminal", "--human", "none", "--level", "3")
    assert "wins" in said or "draw" in said


@pytest.mark.parametrize(
    ("protocol", "question", "answer"),
    [
        ("gtp", "version\nquit\n", "= testing-v000003"),
        ("gomocup", "ABOUT\nEND\n", 'name="'),
        ("json", '{"id": "v", "action": "query_version"}', '"version":"testing-v000003"'),
    ],
)
def test_who_asks_for_a_name_waits_for_no_network(
    python: Path, bot: Path, protocol: str, question: str, answer: str
) -> None:
    began = time.monotonic()
    said = play(python, bot, question, "--protocol", protocol)
    print(f"{protocol}: {time.monotonic() - began:.2f} s")
    assert answer in said
    assert time.monotonic() - began < 20, "mostly a third of a second"
