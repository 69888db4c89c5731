"""Serve the web page: play against bots, or with friends, in a browser (docs/web.md).

    python -m scripts.serve BOT...             http://127.0.0.1:8000, for this machine alone
    python -m scripts.serve --host 0.0.0.0     for everybody who can reach this machine
    python -m scripts.serve                    without a bot: games of people, files and links

BOT is a folder made by scripts.export, or a checkpoint of a run (which needs torch).
"""

import argparse
import contextlib
import ipaddress
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from bots.loading import Bot, load_bot
from model.bot import BotError

#: Connections and requests that are served at a time; more are told to come again.
MOST_REQUESTS = 1000


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status (2 for arguments or a bot that cannot be used)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        bots = load_bots(arguments.bots, arguments.simulations)
    except (BotError, ValueError) as error:
        parser.exit(2, f"serve: {error}\n")
    try:
        import uvicorn

        from bots.web.app import create_app
        from bots.web.messages import LONGEST
    except ModuleNotFoundError as error:
        parser.exit(2, f"serve: needs the package {error.name}: pip install 'narabe[web]'\n")
    try:
        family = socket.AF_INET6 if ":" in arguments.host else socket.AF_INET
        listening = socket.create_server((arguments.host, arguments.port), family=family)
    except (OSError, OverflowError) as error:
        parser.exit(
            2, f"serve: cannot listen on {arguments.host}, port {arguments.port}: {error}\n"
        )
    if warning := reach(arguments.host):
        print(f"serve: {warning}", file=sys.stderr)
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    print(f"narabe is at http://{host}:{listening.getsockname()[1]} (Ctrl-C ends it)", flush=True)
    config = uvicorn.Config(
        create_app(bots, names=[arguments.host, *arguments.name]),
        log_level="warning",
        ws_max_size=2 * LONGEST,
        ws_per_message_deflate=False,  # a buffer for each connection, and bombs to look out for
        # Visitors are told apart by their addresses, which only a proxy's header may change.
        proxy_headers=arguments.behind_proxy,
        forwarded_allow_ips=["127.0.0.1", "::1"],
        server_header=False,
        limit_concurrency=MOST_REQUESTS,
        timeout_graceful_shutdown=1,
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
    return 0


def load_bots(paths: Sequence[Path], simulations: int | None) -> dict[str, Bot]:
    """The bots by distinct names. Raises BotError, ValueError."""
    bots: dict[str, Bot] = {}
    for path in paths:
        bot = load_bot(path, simulations)
        name, number = bot.name, 2
        while name in bots:
            name, number = f"{bot.name} ({number})", number + 1
        bots[name] = bot
    return bots


def reach(host: str) -> str:
    """Who can reach a server on this address; nothing where that is this machine alone."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost":
            return ""
        return f"everybody who can reach {host} can use this server: there are no passwords"
    if address.is_loopback:
        return ""
    if address.is_unspecified:
        who = "everybody who can reach this machine, on any of its networks,"
    else:
        who = f"everybody who can reach {host}"
    return f"{who} can use this server: there are no passwords"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.serve",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("bots", type=Path, nargs="*", metavar="BOT", help="bot folder, checkpoint")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on (%(default)s)"
    )
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="another host name by which browsers reach the server",
    )
    parser.add_argument(
        "--behind-proxy",
        action="store_true",
        help="a proxy on this machine says in X-Forwarded-For who its visitors are",
    )
    parser.add_argument(
        "--simulations", type=int, metavar="N", help="a bot's simulations a move at full strength"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
