"""A game at the terminal: people at some of the seats, the player at the others."""

import time
from collections.abc import Callable, Collection

from bots.clock import Clock
from bots.player import Player
from engine import IllegalAction, Position
from engine.search import SearchResult

HELP = """\
A point is its column and row, as c4. Other choices are listed when it is your turn.
legal  everything that you may do          hint  what the bot would do
undo   take back to your last turn         quit  leave the game"""


def play_at_terminal(
    player: Player,
    humans: Collection[str],
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> None:
    """Play until the game ends or a person quits. `humans` are the seats of people."""
    say(f"{player.position.rules.describe()}, opening {player.position.opening}")
    if humans:
        say(HELP)
    shown = None
    while player.position.outcome is None:
        if player.position.seat in humans:
            if shown != player.position.actions:
                say(f"\n{player.position}")
                shown = list(player.position.actions)
            try:
                if not _person_acts(player, humans, ask, say):
                    return
            except EOFError:
                say("")
                return
        elif not _player_acts(player, say):
            return
    say(f"\n{player.position}")


def _player_acts(player: Player, say: Callable[[str], None]) -> bool:
    """The player moves; False when it gives up instead."""
    position = player.position
    who = _actor(position)
    limit = player.limit_by(Clock(), time.monotonic())
    action = player.choose(limit)
    result = player.result()
    if player.resigns():
        say(f"{who} resigns  {_judgement(player, result)}")
        return False
    say(f"{who}: {position.action_name(action)}  {_judgement(player, result)}")
    player.play(action)
    return True


def _person_acts(
    player: Player,
    humans: Collection[str],
    ask: Callable[[str], str],
    say: Callable[[str], None],
) -> bool:
    """Handle one line from the person at the seat to act; False when they quit."""
    word = ask(f"{_prompt(player.position)} ").strip().lower()
    if word == "quit":
        return False
    if word == "help":
        say(HELP)
    elif word == "legal":
        say(" ".join(_legal(player.position)))
    elif word == "hint":
        result = player.think(player.limit_by(Clock(), time.monotonic()))
        say(f"{player.position.action_name(result.action)}  {_judgement(player, result)}")
    elif word == "undo":
        _take_back(player, humans, say)
    elif word:
        try:
            player.play(word)
        except IllegalAction as error:
            say(f"Not possible: {error}. Type help or legal.")
    return True


def _take_back(player: Player, humans: Collection[str], say: Callable[[str], None]) -> None:
    """Undo to the last turn of a person; says so where there was none."""
    before = list(player.position.actions)
    try:
        player.undo()
        while player.position.seat not in humans:
            player.undo()
    except ValueError:
        for action in before[player.position.ply :]:
            player.play(action)
        say("There is no turn of yours to take back.")


def _prompt(position: Position) -> str:
    """Who is to act, and with which words where a word can be chosen."""
    words = [name for name in _legal(position) if not name[-1].isdigit() or name.isdigit()]
    points = ["a point"] if words and _places(position) else []
    return f"{_actor(position)}{': ' if words else ''}{' or '.join(points + words)}:"


def _actor(position: Position) -> str:
    """The seat to act with its colour; and the stone's where an opening has it place the other."""
    colour = position.colour_of(position.seat)
    other = _places(position) and colour != position.to_play
    return f"{position.seat} ({colour}{f', places {position.to_play}' if other else ''})"


def _places(position: Position) -> bool:
    return int(position.legal_actions()[0]) < position.rules.points


def _legal(position: Position) -> list[str]:
    return [position.action_name(action) for action in position.legal_actions().tolist()]


def _judgement(player: Player, result: SearchResult) -> str:
    """What the last search thinks of the position, for the seat to act."""
    if result.proven is not None:
        outcome = {1: "a proven win", 0: "a proven draw", -1: "a proven loss"}[result.proven]
        reading = player.read()
        plies = reading.plies_to_end().get(result.action) if reading and result.proven else None
        if plies is not None:
            outcome += f" in {plies} {'ply' if plies == 1 else 'plies'} at most"
        if reading and result.proven == 1:
            nodes = player.line(result.action)
            line = [player.position.action_name(node.action) for node in nodes]
            outcome += f": {' '.join(line)}" if len(line) > 1 else ""
        return f"[{outcome}, {result.simulations} simulations]"
    expected = round(result.value, 2) + 0.0  # no "-0.00"
    return f"[expects {expected:+.2f}, {result.simulations} simulations]"
