"""Let players meet in paired games and rate them.

A player is the path of a checkpoint, the folder of an exported bot, "mcts:N" (plain tree search of
N simulations a move, without a network) or "random". The game is that of the checkpoints and bots
unless --game says otherwise; players that know several games meet in one of each kind (preset and
opening), which is rated by itself. Games, settings and results are kept in the folder OUT, those of
several games in folders below it; the same command goes on where it was stopped, and with a larger
--games plays more.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import PRESETS, RuleError, RuleSet
from engine.openings import opening as find_opening
from engine.search import SearchConfig

if TYPE_CHECKING:
    from rich.console import Console

    from selfplay.gauntlet import Gauntlet, GauntletConfig
    from selfplay.players import Game, Player
    from selfplay.standings import GauntletResult

WIDTH = 110
"""Columns of the tables where the output is not a terminal."""

EXAMPLE = """example:
  python -m scripts.gauntlet runs/first/checkpoints/v000040 mcts:640 --games 100 --out games-of-v40
  python -m scripts.gauntlet mcts:200 random --game irensei --rule size=9 --rule line_length=5 \\
      --rule gutter=1 --opening swap-1st --out warm-up
"""


class UsageError(ValueError):
    """Arguments that do not go together; the message says what to change."""


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status (128 + the signal's number when interrupted)."""
    arguments = _parser().parse_args(argv)
    try:
        return _explained(arguments)
    except KeyboardInterrupt:
        print("gauntlet: interrupted; the same command goes on", file=sys.stderr)
        return 130


def _explained(arguments: argparse.Namespace) -> int:
    """Run; errors that a user can do something about become one line."""
    # Only now: these need torch, which takes seconds to import, and --help does without it.
    from selfplay.gauntlet import GauntletError
    from selfplay.players import PlayerError
    from selfplay.records import RecordError
    from selfplay.storage import StorageError

    known = (UsageError, RuleError, GauntletError, PlayerError, RecordError, StorageError)
    try:
        return _run(arguments)
    except known as error:
        print(f"gauntlet: {error}", file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from scripts.interrupt import Interrupt
    from selfplay.gauntlet import Gauntlet
    from selfplay.players import game_folder, players_of
    from selfplay.standings import overview

    if len(arguments.players) < 2:
        raise UsageError("a gauntlet needs at least two players")
    config = _config(arguments)
    search = SearchConfig(kind=arguments.search, simulations=config.simulations)
    players = players_of(
        arguments.players, search, simulations=arguments.simulations, device=arguments.device
    )
    games = choose_games(players, arguments.game, arguments.rule, arguments.opening)
    several = len(games) > 1
    gauntlets = {
        game: Gauntlet(
            players,
            config,
            arguments.out / game_folder(*game) if several else arguments.out,
            rules=game[0],
            opening=game[1],
            anchor=arguments.anchor,
        )
        for game in games
    }
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    results = {}
    with Interrupt() as interrupt:
        for (rules, opening), gauntlet in gauntlets.items():
            if not interrupt.requested():
                result = play(gauntlet, console, interrupt.requested)
                results[f"{rules.name}, {opening}"] = result
    if several:
        console.print(overview(results))
    console.print(f"Games and results: {arguments.out}", highlight=False, soft_wrap=True)
    if interrupt.exit_code:
        console.print("Interrupted; the same command goes on.")
    return interrupt.exit_code


def play(gauntlet: "Gauntlet", console: "Console", stop: Callable[[], bool]) -> "GauntletResult":
    """Play the gauntlet's games and print what they say."""
    from selfplay.players import describe

    title = f"{describe(gauntlet.rules, gauntlet.opening)}: {gauntlet.config.games} games a pair"
    console.print(title, highlight=False, soft_wrap=True)
    with _Bar(console) as bar:
        result = gauntlet.run(bar.update, stop=stop)
    for table in (result.ranking(), result.table()):
        console.print(table)
    if result.unrated:
        console.print(f"No games connect with {result.anchor}: {', '.join(result.unrated)}")
    if result.duplicates:
        console.print(f"{result.duplicates} games went like an earlier one and are not counted")
    return result


def _config(arguments: argparse.Namespace) -> "GauntletConfig":
    """The settings given, the others by default. Raises UsageError for an impossible one."""
    from selfplay.gauntlet import GauntletConfig

    names = [field.name for field in dataclasses.fields(GauntletConfig)]
    given = {name: getattr(arguments, name) for name in names}
    try:
        return GauntletConfig(**{name: value for name, value in given.items() if value is not None})
    except ValueError as error:
        raise UsageError(str(error).removeprefix("gauntlet.")) from error


def choose_games(
    players: Sequence["Player"], preset: str | None, overrides: Sequence[str], opening: str | None
) -> list["Game"]:
    """The games to play: the one asked for, else those that all players with a network know.

    Of these the first of each preset and opening. Raises UsageError where that leaves none,
    RuleError for impossible rules.
    """
    from selfplay.players import describe, one_of_each

    lists = [player.games for player in players if player.games is not None]
    known = [game for game in (lists[0] if lists else []) if all(game in each for each in lists)]
    if opening is not None:
        opening = find_opening(opening).name
        known = [game for game in known if game[1] == opening]
    if preset is not None:
        changes = dict(_override(text) for text in overrides)
        rules = RuleSet.preset(preset, **changes)
        known = [game for game in known if _is_variant(game[0], rules, changes)]
        known = known or [(rules, opening or "none")]
    elif overrides:
        raise UsageError("--rule changes the rules of a preset; give --game too")
    elif not lists:
        raise UsageError("the players do not say which game; give --game (and --opening)")
    elif not known:
        names = "; ".join(describe(*game) for each in lists for game in each[:3])
        raise UsageError(f"the players have no such game in common ({names}); give --game")
    return one_of_each(known)


def _is_variant(known: RuleSet, rules: RuleSet, changes: Mapping[str, Any]) -> bool:
    """Whether it is of the same preset, with the fields that were asked for as they are there."""
    fields = {"name", *changes} - {"size"} | ({"width", "height"} if "size" in changes else set())
    return all(getattr(known, field) == getattr(rules, field) for field in fields)


def _override(text: str) -> tuple[str, Any]:
    """`name=value` with the value as a number or a boolean where it is one."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--rule {text}: is not NAME=VALUE")
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if value.isdecimal() else value


class _Bar:
    """A progress bar of games."""

    def __init__(self, console: Any) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("games", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True)
        self._task = self._progress.add_task("games", total=None)

    def update(self, finished: int, planned: int) -> None:
        self._progress.update(self._task, completed=finished, total=planned)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m scripts.gauntlet",
        description=__doc__,
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("players", nargs="+", metavar="PLAYER", help="checkpoint, bot folder, mcts:N or random")
    add("--out", type=Path, required=True, help="folder of the games and results")
    add("--game", choices=sorted(PRESETS), help="game (default: the checkpoints')")
    add("--rule", action="append", default=[], metavar="NAME=VALUE", help="a rule of the game")
    add("--opening", help="opening protocol (default: the checkpoints')")
    add("--games", type=int, help="games of each two players, rounded up to even (default: 100)")
    add("--simulations", type=int, help="simulations a move (default: 64; bots: their own)")
    add("--search", choices=("puct", "gumbel"), default="puct", help="search of checkpoints")
    add("--anchor", metavar="NAME", help="player rated 0 (default: the first)")
    add("--opening-plies", type=int, help="random plies that begin each pair (default: 1)")
    add("--temperature-plies", type=int, help="plies that are drawn, not best (default: 8)")
    add("--temperature", type=float, help="temperature of those (default: 0.5)")
    add("--parallel", type=int, help="games at the same time (default: 64)")
    add("--seed", type=int, help="seed of all chances (default: 0)")
    add("--device", default="cpu", help="where checkpoints run: cpu or cuda")
    return parser


if __name__ == "__main__":
    sys.exit(main())
