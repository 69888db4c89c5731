"""What a run shows while it goes on: a live panel, or lines where there is no terminal."""

import time
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from selfplay.loop import Progress

#: Seconds between two lines where the output is not a terminal.
LINE_SECONDS = 15.0


class Display:
    """Shows `Progress` as it comes. Use as a context; call `update` as often as you like."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or Console()
        self._live = Live(console=self._console, refresh_per_second=4, transient=False)
        self._last_line = 0.0
        self._last_phase = ""

    def __enter__(self) -> "Display":
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def update(self, progress: Progress) -> None:
        """Show the newest state of affairs; a notice stays above it."""
        if progress.notice:
            self._console.print(progress.notice, highlight=False, markup=False, soft_wrap=True)
        if self._console.is_terminal:
            self._live.update(panel(self._title, progress))
            return
        now = time.monotonic()
        if now - self._last_line >= LINE_SECONDS:
            self._last_line = now
            self._console.print(line(progress), highlight=False, soft_wrap=True)


def panel(title: str, progress: Progress) -> Panel:
    """The live panel."""
    facts = Table.grid(padding=(0, 3))
    for row in _facts(progress):
        facts.add_row(*(Text.assemble((f"{name} ", "dim"), value) for name, value in row))
    parts: list[Table | ProgressBar | Text] = [facts]
    if progress.fraction is not None:
        bar = Table.grid(padding=(0, 2))
        bar.add_row(
            ProgressBar(total=1.0, completed=progress.fraction, width=46),
            Text(f"{progress.fraction:4.0%}"),
            Text(f"{clock(progress.seconds_left)} left", style="bold"),
        )
        parts.insert(0, bar)
    return Panel(
        Group(*parts),
        title=Text.assemble((title, "bold"), " · ", (progress.phase, "cyan")),
        border_style="blue",
        expand=False,
    )


def line(progress: Progress) -> str:
    """The same in one line."""
    facts = [f"{name} {value}" for row in _facts(progress) for name, value in row]
    left = [] if progress.fraction is None else [f"{clock(progress.seconds_left)} left"]
    return " | ".join([f"[{clock(progress.seconds)}] {progress.phase}", *facts, *left])


def _facts(progress: Progress) -> list[list[tuple[str, str]]]:
    losses = [(name.replace("_", " "), f"{value:.3f}") for name, value in progress.losses.items()]
    waits = (
        []
        if progress.learner_waits is None
        else [("learner waits", f"{progress.learner_waits:.0%}")]
    )
    elo = (
        [] if progress.elo is None else [("Elo", f"{progress.elo[0]:+.0f} ± {progress.elo[1]:.0f}")]
    )
    return [
        [
            ("games", f"{progress.games:,}"),
            ("positions", f"{progress.samples:,}"),
            ("steps", f"{progress.steps:,}"),
            ("version", f"{progress.version}"),
        ],
        [
            ("positions/s", f"{progress.positions_per_second:,.0f}"),
            ("evaluations/s", f"{progress.evaluations_per_second:,.0f}"),
            ("evaluator", progress.evaluator or "?"),
        ],
        [("workers wait", f"{progress.workers_wait:.0%}"), *waits],
        losses + elo,
    ]


def clock(seconds: float | None) -> str:
    """Minutes and seconds, hours where there are any."""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
