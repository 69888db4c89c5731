"""How strong the levels of a bot are: the gauntlet that they were set by.

`python -m benchmarks.levels BOT` lets each level of an exported bot play the next one, in pairs of
games with the seats exchanged, and prints every step's Elo (Bradley and Terry's, by
`selfplay.ratings`) with its 95% interval. It goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from benchmarks.command import run
from bots.levels import LEVELS, Level
from selfplay.gauntlet import Gauntlet, GauntletConfig
from selfplay.players import Player, bot_player
from selfplay.ratings import Ratings


def level_player(bot: Player, level: Level) -> Player:
    """A bot at a level."""
    assert bot.search is not None
    simulations = level.limit(bot.search.simulations)
    search = dataclasses.replace(bot.search, simulations=simulations, arena_nodes=0)
    return dataclasses.replace(
        bot,
        name=f"level-{level.number}",
        search=search,
        choose=level.choose,
        identity={**bot.identity, "level": dataclasses.asdict(level)},
    )


def play(
    bot: Player, levels: Iterable[Level], folder: Path, games: int, game: int = 0
) -> tuple[list[Level], Ratings]:
    """The levels and their ratings after neighbours have played so many games each.

    `game` says which of the bot's. Raises `GauntletError` and `PlayerError`.
    """
    ordered = list(levels)
    players = [level_player(bot, level) for level in ordered]
    assert bot.games is not None
    rules, opening = bot.games[game]
    gauntlet = Gauntlet(
        players,
        # Levels vary their games themselves; the strongest ones by their first random plies.
        GauntletConfig(games=games, opening_plies=2, temperature_plies=0),
        folder,
        rules=rules,
        opening=opening,
        pairs=pairwise(player.name for player in players),
    )
    return ordered, gauntlet.run().ratings


def table(levels: list[Level], ratings: Ratings) -> list[str]:
    """A line for each level: its numbers, its rating, and the step to it."""
    lines = ["level  simulations  careless  softness      Elo   step ± 95%"]
    for place, level in enumerate(levels):
        name = f"level-{level.number}"
        step = f"{ratings.difference(name, f'level-{levels[place - 1].number}')}" if place else ""
        simulations = "all" if level.simulations is None else str(level.simulations)
        lines.append(
            f"{level.number:>5}  {simulations:>11}  {level.careless:>8.2f}"
            f"  {level.softness:>8.2f}  {ratings[name].elo:>+7.0f}   {step}"
        )
    return lines


def main(arguments: list[str] | None = None) -> None:
    """Prints the table; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("bot", type=Path, help="an exported bot")
    parser.add_argument("--games", type=int, default=100, help="of each pair (%(default)s)")
    parser.add_argument("--game", type=int, default=0, help="which of the bot's (%(default)s)")
    parser.add_argument(
        "--simulations", type=int, metavar="N", help="simulations a move of level 10 (the bot's)"
    )
    parser.add_argument("--out", type=Path, default=Path("levels"), help="folder (%(default)s)")
    asked = parser.parse_args(arguments)
    levels, ratings = play(
        bot_player(asked.bot, simulations=asked.simulations),
        LEVELS.values(),
        asked.out,
        asked.games,
        asked.game,
    )
    print("\n".join(table(levels, ratings)))


if __name__ == "__main__":
    sys.exit(run(main))
