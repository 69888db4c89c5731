"""Play with a bot: at the terminal, or over GTP for another program.

    python -m scripts.play BOT                 you against the bot
    python -m scripts.play BOT --human none    the bot against itself
    python -m scripts.play BOT --protocol gtp  for a program (docs/gtp.md)

BOT is a folder made by scripts.export, or a checkpoint of a run (which needs torch).
"""

import argparse
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from bots.gtp import GtpSession
from bots.loading import Bot, load_bot
from bots.terminal import play_at_terminal
from model.bot import BotError
from scripts.quiet import run_quietly

#: The seats of people. A colour stands for the seat that has it before any swap.
HUMANS = {"A": "A", "B": "B", "black": "A", "white": "B", "both": "AB", "none": ""}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status (2 for arguments or a bot that cannot be used)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol or ("terminal" if sys.stdin.isatty() else "gtp")
    try:
        bot = load_bot(arguments.bot, arguments.simulations)
    except (BotError, ValueError) as error:
        parser.exit(2, f"play: {error}\n")
    if not 0 <= arguments.game < len(bot.games):
        parser.exit(2, f"play: --game {arguments.game}: this bot's games are\n{_list(bot)}\n")
    new_player = functools.partial(
        bot.player, temperature=arguments.temperature, seed=arguments.seed
    )
    if protocol == "gtp":
        session = GtpSession(bot.name, bot.games, new_player, first=arguments.game)
        return run_quietly(lambda: session.serve(sys.stdin.buffer, sys.stdout.buffer))
    player = new_player(*bot.games[arguments.game])
    return run_quietly(lambda: play_at_terminal(player, HUMANS[arguments.human]))


def _list(bot: Bot) -> str:
    return "\n".join(
        f"{number}: {rules.name} on {rules.width}x{rules.height}, opening {opening}"
        for number, (rules, opening) in enumerate(bot.games)
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.play",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("bot", type=Path, metavar="BOT", help="bot folder or checkpoint")
    parser.add_argument("--simulations", type=int, metavar="N", help="simulations a move")
    parser.add_argument(
        "--protocol",
        choices=("terminal", "gtp"),
        help="terminal for people, gtp for programs (by default as standard input is)",
    )
    parser.add_argument(
        "--human", choices=HUMANS, default="A", help="who you are at the terminal (%(default)s)"
    )
    parser.add_argument(
        "--game", type=int, default=0, metavar="I", help="which of the bot's games (%(default)s)"
    )
    parser.add_argument(
        "--temperature",
        type=float,
        default=0.0,
        metavar="T",
        help="above 0, moves are drawn by their visits (%(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (%(default)s)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
