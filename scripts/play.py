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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from bots.analysis import AnalysisSession
from bots.gomocup_extensions import ExtendedGomocupSession
from bots.gtp_extensions import ExtendedGtpSession
from bots.levels import LEVELS
from bots.loading import Bot, load_bot
from bots.player import UNLIMITED, check_options, unlimited
from bots.repertoire import Game, with_opening
from bots.terminal import play_at_terminal
from engine import RuleError
from engine.openings import opening as find_opening
from model.bot import BotError
from scripts.quiet import Answers, run_quietly

#: How to speak with people and programs.
PROTOCOLS = ("terminal", "gtp", "gomocup", "json")

#: `--opening`: each game's own.
OWN = "own"

#: The seats of people. A colour stands for the seat that has it before any swap.
HUMANS = {"A": "A", "B": "B", "black": "A", "white": "B", "both": "AB", "none": ""}


class OptionError(ValueError):
    """An option that cannot be used; the message names it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status (2 for arguments or a bot that cannot be used)."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    protocol = arguments.protocol or ("terminal" if sys.stdin.isatty() else "gtp")
    try:
        _check(arguments)
        bot = _load(arguments.bot, arguments.simulations)
        if not 0 <= arguments.game < len(bot.games):
            raise OptionError(f"--game {arguments.game}: this bot's games are\n{_list(bot)}")
        opening = _opening(arguments.opening, protocol, bot.games[arguments.game])
        return run_quietly(_conversation(bot, protocol, opening, arguments))
    except (BotError, OptionError) as error:
        parser.exit(2, f"play: {error}\n")


def _conversation(
    bot: Bot, protocol: str, opening: str | None, arguments: argparse.Namespace
) -> Callable[[], None]:
    """What plays or serves. Raises BotError, then or when it is called."""
    new_player = functools.partial(
        bot.player,
        temperature=arguments.temperature,
        seed=arguments.seed,
        repeatable=arguments.seed is not None,
        resign=arguments.resign,
        level=arguments.level,
    )
    first, games = arguments.game, [with_opening(game, opening) for game in bot.games]
    if protocol == "terminal":
        player = new_player(*games[first])
        return lambda: play_at_terminal(player, HUMANS[arguments.human])
    if protocol == "json":
        seed = arguments.seed or 0
        simulations = bot.search.simulations
        analysis = AnalysisSession(
            bot.name, bot.games, bot.analyst, simulations=simulations, seed=seed
        )
        return lambda: analysis.serve(_input(-1), sys.stdout.buffer)
    session: ExtendedGtpSession | ExtendedGomocupSession
    if protocol == "gtp":
        session = ExtendedGtpSession(bot.name, bot.games, new_player, first, opening)
    else:
        session = ExtendedGomocupSession(bot.name, games, new_player, first)
    # Unbuffered: what arrives while the bot thinks is looked at then.
    answers = Answers()
    return lambda: session.serve(_input(0), answers, answers.end_soon)


def _input(buffering: int) -> BinaryIO:
    """Standard input, whose own object Python wants to close at its end."""
    return open(sys.stdin.fileno(), "rb", buffering=buffering, closefd=False)


def _check(arguments: argparse.Namespace) -> None:
    """Raise OptionError for a number out of its range."""
    simulations = arguments.simulations
    if simulations is not None and simulations < 1:
        raise OptionError(
            f"--simulations: {simulations} is not a whole number from 1, nor 'unlimited'"
        )
    try:
        check_options(
            temperature=arguments.temperature, seed=arguments.seed, resign=arguments.resign
        )
    except ValueError as error:
        raise OptionError(f"--{error}") from error


def _load(path: Path, simulations: int | None) -> Bot:
    """The bot with this limit. Raises BotError."""
    if simulations != UNLIMITED:
        return load_bot(path, simulations)
    bot = load_bot(path)
    return dataclasses.replace(bot, search=unlimited(bot.search))


def _opening(given: str | None, protocol: str, game: Game) -> str | None:
    """The opening to play in place of each game's own, None: that. Raises OptionError."""
    if protocol == "json" and given is not None:
        raise OptionError("--opening: each query of --protocol json names its own")
    if protocol == "gomocup" and given not in (None, "none"):
        raise OptionError(
            f"--opening: {given!r}: --protocol gomocup plays without one, until NARABE_OPENING"
        )
    if given is None:
        # Go programs do not know of choices: they ask for a move where one is to be taken.
        return "none" if protocol == "gtp" else None
    if given == OWN:
        return None
    try:
        opening = find_opening(given)
        opening.check(game[0])
    except RuleError as error:
        raise OptionError(f"--{error}") from error
    return opening.name


def _list(bot: Bot) -> str:
    return "\n".join(
        f"{number}: {rules.describe()}, opening {opening}"
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
        choices=PROTOCOLS,
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
        "--opening",
        metavar="NAME",
        help="opening that is played, such as none or swap-2; own: the game's own"
        " (terminal: own; gtp: none, since Go programs do not know of choices)",
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
        help="repeat exactly: what is drawn follows S, from 0, and no clock is heeded",
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


def _simulations(text: str) -> int:
    """A number or the word; argparse names the option in its message."""
    if text == "unlimited":
        return UNLIMITED
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid int value: {text!r}, and not 'unlimited'"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
