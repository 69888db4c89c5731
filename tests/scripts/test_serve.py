"""scripts.serve as a process: who can reach it, what it needs, and how it ends."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.exceptions import InvalidHandshake

from bots.web.limits import Limits
from scripts.serve import load_bots, main, reach
from tests.web.served import visiting

ROOT = Path(__file__).parents[2]

# Fails on any import of what an exported bot must do without.
WITHOUT_TORCH = """
import sys
for name in ("torch", "ray", "hydra", "omegaconf", "safetensors", "onnx", "scipy", "rich"):
    sys.modules[name] = None
from scripts.serve import main
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server's process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", WITHOUT_TORCH, *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("narabe is at http://"), process.communicate()
        yield process, line.split()[3].removeprefix("http://")
    finally:
        process.kill()
        process.communicate()


def test_an_exported_bot_is_served_without_torch(exported_bot: Path) -> None:
    with served(str(exported_bot), "--port", "0") as (process, address):
        assert address.startswith("127.0.0.1:")
        with visiting(address) as visitor:
            (bot,) = visitor.hello["bots"]
            assert bot["name"] == "testing-v000003"
            view = visitor.begin(
                bot["games"][0]["rules"]["name"],
                rules=bot["games"][0]["rules"],
                seats={"B": {"bot": bot["name"], "level": 1}},
            )
            view = visitor.play(view, "a1")
            while view["ply"] < 2:
                view = visitor.hear("view")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_server_for_others_says_who_can_reach_it() -> None:
    with served("--host", "0.0.0.0", "--port", "0") as (process, address):
        with visiting(address.replace("0.0.0.0", "127.0.0.1")) as visitor:
            assert visitor.hello["bots"] == []
        process.kill()
        warning = process.communicate()[1]
    assert warning == (
        "serve: everybody who can reach this machine, on any of its networks, can use this server:"
        " there are no passwords\n"
    )


@pytest.mark.parametrize("trusted", [True, False])
def test_a_proxy_may_tell_visitors_apart(trusted: bool) -> None:
    options = ["--behind-proxy"] if trusted else []
    with served("--port", "0", *options) as (_, address), contextlib.ExitStack() as stack:
        let_in = 0
        for number in range(Limits().connections_each + 1):
            headers = {"X-Forwarded-For": f"192.0.2.{number}"}
            with contextlib.suppress(InvalidHandshake):
                stack.enter_context(visiting(address, additional_headers=headers))
                let_in += 1
        assert let_in == Limits().connections_each + trusted


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.2"])
def test_this_machine_alone_needs_no_warning(host: str) -> None:
    assert reach(host) == ""


@pytest.mark.parametrize("host", ["192.168.1.7", "::", "go.example"])
def test_others_can_reach_it(host: str) -> None:
    assert "no passwords" in reach(host)


def test_what_cannot_be_served_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, message in [
            ([str(tmp_path)], "a folder without bot.json"),
            (["--port", port], f"cannot listen on 127.0.0.1, port {port}: "),
            (["--port", "99999"], "cannot listen"),
            (["--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
        ]:
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert ended.value.code == 2
            errors = capfd.readouterr().err
            assert message in errors
            assert errors.count("\n") == 1


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SystemExit):
        main([])
    assert "pip install 'narabe[web]'" in capfd.readouterr().err


def test_bots_of_one_name_are_told_apart(exported_bot: Path) -> None:
    bots = load_bots([exported_bot, exported_bot], 5)
    assert list(bots) == ["testing-v000003", "testing-v000003 (2)"]
    assert [bot.search.simulations for bot in bots.values()] == [5, 5]
