"""Play with a bot: at the terminal, or by a protocol for another program.

    python -m scripts.play BOT                     you against the bot
    python -m scripts.play BOT --human none        the bot against itself
    python -m scripts.play BOT --protocol gtp      for Go programs (docs/gtp.md)
    python -m scripts.play BOT --protocol gomocup  for gomoku programs (docs/gomocup.md)
    python -m scripts.play BOT --protocol json     analyses many positions (docs/analysis.md)

BOT is a folder made by scripts.export, or a checkpoint of a run (which needs torch).
"""

import argparse
import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from bots.analysis import AnalysisSession
from bots.gomocup_extensions import ExtendedGomocupSession
from bots.gtp_extensions import ExtendedGtpSession
from bots.levels import LEVELS
from bots.loading import Bot, load_bot
from bots.player import unlimited
from bots.terminal import play_at_terminal
from model.bot import BotError
from scripts.quiet import Answers, run_quietly

#: Conversations with programs.
PROTOCOLS = {"gtp": ExtendedGtpSession, "gomocup": ExtendedGomocupSession}

#: The seats of people. A colour stands for the seat that has it before any swap.
HUMANS = {"A": "A", "B": "B", "black": "A", "white": "B", "both": "AB", "none": ""}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status (2 for arguments or a bot that cannot be used)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol or ("terminal" if sys.stdin.isatty() else "gtp")
    try:
        bot = _load(arguments.bot, arguments.simulations)
    except (BotError, ValueError) as error:
        parser.exit(2, f"play: {error}\n")
    if not 0 <= arguments.game < len(bot.games):
        parser.exit(2, f"play: --game {arguments.game}: this bot's games are\n{_list(bot)}\n")
    new_player = functools.partial(
        bot.player,
        temperature=arguments.temperature,
        seed=arguments.seed,
        repeatable=arguments.seed is not None,
        resign=arguments.resign,
        level=arguments.level,
    )
    try:
        if protocol == "terminal":
            player = new_player(*bot.games[arguments.game])
            return run_quietly(lambda: play_at_terminal(player, HUMANS[arguments.human]))
        if protocol == "json":
            analysis = AnalysisSession(
                bot.name,
                bot.games,
                bot.analyst,
                simulations=bot.search.simulations,
                seed=arguments.seed or 0,
            )
            return run_quietly(lambda: analysis.serve(_input(-1), sys.stdout.buffer))
        session = PROTOCOLS[protocol](bot.name, bot.games, new_player, first=arguments.game)
        # Unbuffered: what arrives while the bot thinks is looked at then.
        answers = Answers()
        return run_quietly(lambda: session.serve(_input(0), answers, answers.end_soon))
    except BotError as error:
        parser.exit(2, f"play: {error}\n")


def _input(buffering: int) -> BinaryIO:
    """Standard input, whose own object Python wants to close at its end."""
    return open(sys.stdin.fileno(), "rb", buffering=buffering, closefd=False)


def _load(path: Path, simulations: str | None) -> Bot:
    """The bot with this limit. Raises BotError, ValueError."""
    if simulations != "unlimited":
        return load_bot(path, None if simulations is None else int(simulations))
    bot = load_bot(path)
    return dataclasses.replace(bot, search=unlimited(bot.search))


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
    parser.add_argument(
        "--simulations",
        type=_simulations,
        metavar="N",
        help="simulations a move; 'unlimited': as many as the time allows",
    )
    parser.add_argument(
        "--protocol",
        choices=("terminal", *PROTOCOLS, "json"),
        help="terminal for people (the default where one is), gtp (the default elsewhere),"
        " gomocup and json for programs",
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
    parser.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="repeat exactly: what is drawn follows S, and no clock is heeded",
    )
    parser.add_argument(
        "--level",
        type=int,
        choices=LEVELS,
        metavar="N",
        help="how strong it plays, from 1, nearly at random, to 10, as it can (10)",
    )
    parser.add_argument(
        "--resign",
        type=float,
        metavar="E",
        help="give up where three moves in a row expect -E or less, in [-1, 1] (never)",
    )
    return parser


def _simulations(text: str) -> str:
    """A number or the word; argparse names the option in its message."""
    if text != "unlimited":
        try:
            int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"invalid int value: {text!r}, and not 'unlimited'"
            ) from None
    return text


if __name__ == "__main__":
    sys.exit(main())
