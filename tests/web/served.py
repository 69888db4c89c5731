"""A server of the web page in a thread, and connections to it as a page would make them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from websockets.sync.client import ClientConnection, connect

from bots.loading import Bot
from bots.web.app import create_app
from bots.web.limits import Limits
from bots.web.messages import LONGEST
from engine import RuleSet
from engine.evaluators import HashEvaluator
from engine.search import SearchConfig

#: A bot that needs no network: its evaluator's answers are hashes.
HASHES = Bot(
    name="hashes",
    games=((RuleSet.preset("mnk"), "none"),),
    search=SearchConfig(simulations=16),
    load=lambda _: HashEvaluator(),
)


@contextmanager
def serving(bots: Mapping[str, Bot] | None = None, port: int = 0, **limits: Any) -> Iterator[str]:
    """The address, `127.0.0.1:PORT`, of a server that ends with the block."""
    quick = {"pace": 0.0, "burst": 10_000, "rate": 10_000.0}
    app = create_app(
        {HASHES.name: HASHES} if bots is None else bots, limits=Limits(**(quick | limits))
    )
    config = uvicorn.Config(
        app,
        log_level="error",
        ws_max_size=2 * LONGEST,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen()  # who comes before the server is ready waits
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


class Visitor:
    """A connection that speaks as the page does."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.hello = self.hear("hello")

    def send(self, type: str, **fields: Any) -> None:
        self.connection.send(json.dumps({"type": type, **fields}))

    def hear(self, *types: str) -> dict[str, Any]:
        """The next message of one of these types."""
        while True:
            message: dict[str, Any] = json.loads(self.connection.recv(timeout=20))
            if message["type"] in types:
                return message

    def ask(self, type: str, **fields: Any) -> dict[str, Any]:
        """The view that a message leads to."""
        self.send(type, **fields)
        answer = self.hear("view", "error")
        assert answer["type"] == "view", answer
        return answer

    def refused(self, type: str, **fields: Any) -> str:
        """The text of the error that a message leads to."""
        self.send(type, **fields)
        answer = self.hear("view", "error")
        assert answer["type"] == "error", answer
        return str(answer["text"])

    def begin(self, game: str = "mnk", **record: Any) -> dict[str, Any]:
        return self.ask("begin", record={"game": game, **record})

    def play(self, view: dict[str, Any], *actions: str) -> dict[str, Any]:
        for action in actions:
            view = self.ask("play", ply=view["ply"], action=action)
        return view


@contextmanager
def visiting(address: str, **options: Any) -> Iterator[Visitor]:
    """A connection to a server."""
    options = {"max_size": None, "close_timeout": 0.5} | options
    with connect(f"ws://{address}/socket", **options) as connection:
        yield Visitor(connection)
