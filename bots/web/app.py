"""The application: static files, the socket, and who is let in."""

from __future__ import annotations

import contextlib
import ipaddress
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from bots.loading import Bot
from bots.web.desks import Desks
from bots.web.limits import Limits
from bots.web.lounge import Lounge
from bots.web.session import BROKEN_RULE, TRY_AGAIN, Session

STATIC = Path(__file__).parent / "static"

#: Nothing but the page's own files is loaded, run or connected to, and nobody frames it.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


def create_app(
    bots: Mapping[str, Bot], *, names: Collection[str] = (), limits: Limits | None = None
) -> Starlette:
    """The application with these bots; `names` are host names that it is reached by."""
    limits = limits or Limits()
    desks = Desks(bots)
    lounge = Lounge(desks, limits)
    connections = Counter[str]()

    async def talk(socket: WebSocket) -> None:
        visitor = visitor_of(socket.client.host if socket.client else "")
        full = connections.total() >= limits.connections
        if full or connections[visitor] >= limits.connections_each:
            await socket.close(TRY_AGAIN, "too many connections; close other pages")
            return
        connections[visitor] += 1
        try:
            await socket.accept()
            await Session(socket, lounge, visitor).run()
        finally:
            connections[visitor] -= 1
            if not connections[visitor]:
                del connections[visitor]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        desks.close()

    return Starlette(
        routes=[
            WebSocketRoute("/socket", talk),
            Mount("/", StaticFiles(directory=STATIC, html=True)),
        ],
        middleware=[Middleware(Guard, names=names)],
        lifespan=lifespan,
    )


def visitor_of(address: str) -> str:
    """Who an address stands for: itself, or the network that a home has with IPv6."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 6:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return address


class Guard:
    """Lets in whoever means this server, and adds the headers to what it answers.

    A page elsewhere could point a name of its own at this machine (DNS rebinding) or open a socket
    to it: so `Host` must be localhost, an address, or a name that the server was told, and a
    socket's `Origin` the same host.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refusal(headers)
        if refused and scope["type"] == "websocket":
            await WebSocket(scope, receive, send).close(BROKEN_RULE, refused)
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if refused:
            response = PlainTextResponse(f"{refused}\n", status_code=403)
            await response(scope, receive, dressed)
        else:
            await self._app(scope, receive, dressed)

    def _refusal(self, headers: Headers) -> str:
        """Why a request is not served; nothing if it is."""
        host = headers.get("host", "")
        if not self._is_known(host):
            return "this host name is not known here; start the server with --name to allow it"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return "pages of other hosts may not connect"
        return ""

    def _is_known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
