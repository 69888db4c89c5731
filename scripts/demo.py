"""From nothing to a playing bot: train for ten minutes, compare, export, play a game over GTP.

    python -m scripts.demo [KEY=VALUE ...]

trains Irensei on 9x9 (configs/experiment/demo.yaml) in the run `demo`. Keys are those of
scripts.train, for example stop.minutes=3. Interrupted at any moment (Ctrl-C), the same command goes
on; what has been done is not done again.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts.train import CONFIGS, explained, open_run, where

if TYPE_CHECKING:
    from rich.console import Console

    from selfplay.loop import RunConfig
    from selfplay.run import RunState
    from selfplay.standings import GauntletResult

#: Games of the last checkpoint against each opponent.
GAMES = 60
#: Plain search simulates so many times as often.
FACTOR = 10


class InterruptedDemoError(Exception):
    """The user wants to stop now."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Demo:
    """What the stages of the demo share."""

    console: "Console"
    config: "RunConfig"
    path: Path
    stop: Callable[[], bool]

    def checkpoint(self, version: int) -> Path:
        """The path of a weights version."""
        from selfplay.run import checkpoint_name

        return self.path / "checkpoints" / checkpoint_name(version)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line. Exits with 130 or 143 when interrupted, 1 or 2 with a message on errors."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.demo",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="as for scripts.train")
    parser.add_argument("--games", type=int, default=GAMES, help="games per opponent (%(default)s)")
    arguments = parser.parse_args(argv)
    try:
        explained(lambda: _demo(arguments.overrides, arguments.games))
    except KeyboardInterrupt:
        sys.exit(130)


def _demo(overrides: list[str], games: int) -> None:
    from rich.console import Console

    from scripts.interrupt import Interrupt

    overrides = ["run=demo", "experiment=demo", *overrides]
    settings = _compose(overrides)
    console = Console() if sys.stdout.isatty() else Console(width=110)
    with Interrupt() as interrupt:
        try:
            _stages(settings, overrides, games, console, interrupt.requested)
        except (InterruptedDemoError, KeyboardInterrupt):
            pass
        except Exception:
            # Ctrl-C ends the programs that the demo has started as well.
            if not interrupt.requested():
                raise
    if interrupt.requested():
        counted = [] if games == GAMES else [f"--games {games}"]
        again = " ".join(["-m scripts.demo", *overrides[2:], *counted])
        console.print(f"\nInterrupted. To go on: {python()} {again}", highlight=False)
        sys.exit(interrupt.exit_code)


def _compose(overrides: list[str]) -> Any:
    """The configuration of the demo."""
    from hydra import compose, initialize_config_dir
    from hydra.core.config_store import ConfigStore

    from scripts.settings import Settings

    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        return compose("train", overrides)


def _stages(
    settings: Any, overrides: list[str], games: int, console: "Console", stop: Callable[[], bool]
) -> None:
    """Train, compare, export, play, tell. Raises `InterruptedDemoError`."""
    from scripts.display import Display
    from selfplay.loop import train

    config, folder = open_run(settings, overrides)
    demo = Demo(console=console, config=config, path=folder.path, stop=stop)
    with folder:
        with Display(f"narabe · {settings.run}", console) as display:
            state = train(config, folder, report=display.update, stop=stop)
        _go_on(demo)
        result = compare(demo, state.version, games)
        _go_on(demo)
        bot = export_bot(demo, state.version)
        _go_on(demo)
        play_over_gtp(demo, bot, state.version // 2)
        draw(demo, state)
    tell(demo, settings, result, bot, state)


def _go_on(demo: Demo) -> None:
    if demo.stop():
        raise InterruptedDemoError


def compare(demo: Demo, version: int, games: int) -> "GauntletResult":
    """Let the last checkpoint meet the first, and plain search with ten times the simulations."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    from selfplay.gauntlet import Gauntlet
    from selfplay.players import checkpoint_player, mcts_player

    simulations, choice = demo.config.gauntlet.simulations, demo.config.games[0]
    search = dataclasses.replace(demo.config.search, simulations=simulations)
    first, last = (checkpoint_player(demo.checkpoint(v), search) for v in (0, version))
    plain = mcts_player(FACTOR * simulations)
    gauntlet = Gauntlet(
        [first, last, plain] if version else [first, plain],
        dataclasses.replace(demo.config.gauntlet, games=games),
        demo.path / "gauntlet" / f"last-{last.name}",
        rules=choice.rules,
        opening=choice.opening,
        pairs=[(last.name, other.name) for other in (first, plain) if other.name != last.name],
        anchor=first.name,
    )
    columns = ("gauntlet", BarColumn(), MofNCompleteColumn(), "games", TimeRemainingColumn())
    with Progress(*columns, console=demo.console, transient=True) as progress:
        task = progress.add_task("gauntlet", total=None)
        return gauntlet.run(
            lambda done, planned: progress.update(task, completed=done, total=planned),
            stop=demo.stop,
        )


def export_bot(demo: Demo, version: int) -> Path:
    """Write the bot's folder, which plays without torch, ray and hydra."""
    from model.export import export

    search = dataclasses.replace(
        demo.config.search, simulations=demo.config.gauntlet.simulations, random_symmetry=False
    )
    bot = demo.path / "bot"
    export(demo.checkpoint(version), bot, search, name=f"{demo.path.name}-v{version:06d}")
    return bot


def play_over_gtp(demo: Demo, bot: Path, version: int) -> None:
    """The exported bot plays a whole game against another checkpoint, each in its own process."""
    from scripts.gtp_game import GtpProgram, play_game

    other = demo.checkpoint(version)
    play = [sys.executable, "-m", "scripts.play", "--protocol", "gtp", "--opening", "own"]
    simulations = ["--simulations", str(demo.config.gauntlet.simulations)]
    moves: list[str] = []

    def on_ply(who: str, what: str) -> None:
        _go_on(demo)
        moves.append(what)

    with (
        GtpProgram("bot", [*play, str(bot)]) as first,
        GtpProgram(other.name, [*play, str(other), *simulations]) as second,
    ):
        state = play_game(first, second, on_ply)
        board = first.ask("showboard")
    result = state["result"]
    winner = {"A": "the bot", "B": other.name, None: "nobody"}[result["winner_seat"]]
    demo.console.print(
        f"\nOver GTP: bot (seat A) against {other.name} (seat B), {len(moves)} plies",
        " ".join(moves),
        f"{board}\n{winner} wins ({result['reason']})\n",
        sep="\n",
        highlight=False,
    )


def draw(demo: Demo, state: "RunState") -> None:
    """Pictures beside the run: the last self-play game and the Elo curve."""
    from engine import Position
    from engine.storage import atomic_write
    from selfplay import picture
    from selfplay.records import read_file, record_files

    files = record_files(demo.path / "records")
    *_, record = read_file(files[-1])
    position = Position(record.rules, record.opening)
    for action in record.actions:
        position.play(action)
    atomic_write(demo.path / "game.png", picture.png(picture.board_figure(position, numbers=True)))
    if state.ratings:
        figure = picture.elo_figure(
            [0, *(rating.samples for rating in state.ratings)],
            [0.0, *(rating.elo for rating in state.ratings)],
            [0.0, *(rating.error for rating in state.ratings)],
            title=demo.path.name,
        )
        atomic_write(demo.path / "elo.png", picture.png(figure))


def tell(demo: Demo, settings: Any, result: "GauntletResult", bot: Path, state: "RunState") -> None:
    """The table of results and the commands to do next."""
    say = demo.console.print
    say(result.table(f"v{state.version:06d}"))
    say(
        f"Elo: version 0 is 0; v{state.version:06d} is {result.rating(f'v{state.version:06d}')},"
        f" plain search with {FACTOR} times the simulations"
        f" {result.rating(f'mcts:{FACTOR * demo.config.gauntlet.simulations}')}.",
        f"Trained {state.seconds / 60:.1f} minutes: {state.games:,} games,"
        f" {state.samples:,} positions, {state.steps:,} steps. Pictures: {demo.path}/*.png",
        "",
        "Next:",
        f"  watch the curves    {python().with_name('tensorboard')} --logdir {settings.runs}",
        f"  play against it     {python()} -m scripts.play {bot}",
        f"  train for longer    {python()} -m scripts.train {where(settings)} stop.minutes=60",
        sep="\n",
        highlight=False,
        soft_wrap=True,
    )


def python() -> Path:
    """The Python that runs this, as one would type it here."""
    path = Path(sys.executable)
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    main()
