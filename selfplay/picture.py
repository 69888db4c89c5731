"""Pictures of positions: for TensorBoard, the documents and notebooks.

`draw_board` draws on any matplotlib axes; `board_figure` makes a figure of one board. Nothing here
needs pyplot or a display.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle

from engine import OPTIONS, IllegalAction, Position
from engine.openings import opening as find_opening

BACKGROUND = "#798a89"
BLACK = "#073642"
WHITE = "#eee8d5"
BORDER = "#268bd2"
ANNOTATION = "#cb4b16"
#: The same on a black stone, where small numbers would be hard to read.
ANNOTATION_ON_BLACK = "#f7915b"
#: Lines of the grid, and the strip in which lines do not count.
GRID = "#4d6062"
GUTTER = "#6c7d7d"

#: Width of the region's border, pixels at the figure's resolution.
REGION_BORDER_PX = 3
DPI = 120

#: Radius of a stone in units of the distance between two lines.
_STONE = 0.46
#: Marks that are drawn; any other mark is written as it is.
MARKS = ("cross", "ring", "square")
#: Points, or their names, and the mark on each.
Marks = Mapping[int, str] | Mapping[str, str] | Mapping[int | str, str]

#: Shares of the policy below this are not drawn, and below this not written in numbers.
_SEEN, _WRITTEN = 0.004, 0.03


def board_figure(
    position: Position,
    *,
    heat: np.ndarray | None = None,
    numbers: bool = False,
    marks: Marks | None = None,
    title: str = "",
    inches: float = 5.0,
) -> Figure:
    """A figure with one board, `inches` wide; see `draw_board`."""
    width, height = position.rules.width + 1.6, position.rules.height + 1.6
    extra = 0.9 * bool(title) + 0.9 * bool(_options_text(heat, position.rules.points))
    figure = Figure(figsize=(inches, inches * (height + extra) / width), dpi=DPI)
    figure.set_facecolor(BACKGROUND)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    draw_board(axes, position, heat=heat, numbers=numbers, marks=marks, title=title)
    return figure


def elo_figure(
    positions: Sequence[int], elo: Sequence[float], error: Sequence[float], title: str = ""
) -> Figure:
    """Ratings over self-play positions with their 95% intervals (`error`: half widths)."""
    figure = Figure(figsize=(5.0, 5.0), dpi=DPI, layout="constrained")
    figure.set_facecolor(BACKGROUND)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(facecolor=BACKGROUND)
    x, y, margin = (np.asarray(values, dtype=np.float64) for values in (positions, elo, error))
    axes.fill_between(x, y - margin, y + margin, color=BORDER, alpha=0.35, linewidth=0)
    axes.plot(x, y, color=WHITE, linewidth=2, marker="o", markersize=5, markerfacecolor=BLACK)
    axes.grid(color=GRID, linewidth=0.6, alpha=0.6)
    axes.tick_params(colors=BLACK)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    axes.set_xlabel("self-play positions", color=BLACK)
    axes.set_ylabel("Elo (version 0 = 0)", color=BLACK)
    axes.set_title(title, color=WHITE, fontweight="bold")
    for spine in axes.spines.values():
        spine.set_color(GRID)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor=figure.get_facecolor())
    return buffer.getvalue()


def pixels(figure: Figure) -> np.ndarray:
    """The figure as uint8 [height, width, 3]."""
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()  # type: ignore[no-untyped-call]


def draw_board(
    axes: Axes,
    position: Position,
    *,
    heat: np.ndarray | None = None,
    numbers: bool = False,
    marks: Marks | None = None,
    title: str = "",
) -> None:
    """Draw a position: grid, region and gutter, stones, offered points, last stone, winning line.

    `heat` [num_actions] (or [points]) is a policy: shares of points are drawn as spots, those of
    options written below the board. `numbers` writes on each stone when it was placed. `marks` maps
    points, or their names, to one of `MARKS` or to a short text, such as the values of
    `dict.fromkeys(position.forbidden(), "cross")`. Raises `ValueError` for what is no point.
    """
    rules = position.rules
    below = _options_text(heat, rules.points)
    _prepare(axes, rules.width, rules.height)
    axes.set_ylim(-1.3 - 0.9 * bool(below), rules.height + 0.3 + 0.9 * bool(title))
    _draw_grid(axes, rules.width, rules.height, rules.gutter)
    if heat is not None:
        _draw_heat(axes, position, np.asarray(heat, dtype=np.float64))
    _draw_offers(axes, position, letters=heat is None)
    _draw_stones(axes, position, numbers)
    _draw_marks(axes, position, marks or {})
    outcome = position.outcome
    if outcome is not None and outcome.line:
        _draw_line(axes, position, outcome.line)
    if below:
        _write_across(axes, -1.55, below, ANNOTATION, 0.42)
    if title:
        _write_across(axes, rules.height + 0.2, title, WHITE, 0.5)


def _prepare(axes: Axes, width: int, height: int) -> None:
    axes.set_facecolor(BACKGROUND)
    axes.set_xlim(-1.3, width + 0.3)
    axes.set_ylim(-1.3, height + 0.3)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_grid(axes: Axes, width: int, height: int, gutter: int) -> None:
    """Lines, star points and coordinates; the gutter darker, the region framed."""
    if gutter:
        axes.add_patch(
            Rectangle((-0.5, -0.5), width, height, facecolor=GUTTER, edgecolor="none", zorder=0)
        )
    inner = Rectangle(
        (gutter - 0.5, gutter - 0.5),
        width - 2 * gutter,
        height - 2 * gutter,
        facecolor=BACKGROUND,
        edgecolor=BORDER,
        linewidth=REGION_BORDER_PX * 72 / _dpi(axes),
        zorder=1,
    )
    axes.add_patch(inner)
    style: dict[str, Any] = {"color": GRID, "linewidth": 0.8, "zorder": 1.5}
    axes.hlines(np.arange(height), 0, width - 1, **style)
    axes.vlines(np.arange(width), 0, height - 1, **style)
    for column in _stars(width):
        for row in _stars(height):
            axes.add_patch(Circle((column, row), 0.09, color=GRID, zorder=1.6))
    for column in range(width):
        axes.text(column, -0.85, chr(ord("a") + column), color=BLACK, **_font(0.48, axes))
    for row in range(height):
        axes.text(-0.9, row, str(row + 1), color=BLACK, **_font(0.48, axes))


def _stars(side: int) -> tuple[int, ...]:
    """Rows (or columns) with star points: the middle, and the third or fourth from the edges."""
    if side < 7 or side % 2 == 0:
        return ()
    edge = 3 if side > 11 else 2
    return (edge, side // 2, side - 1 - edge)


def _draw_heat(axes: Axes, position: Position, heat: np.ndarray) -> None:
    """Spots whose area and strength grow with the policy's share of a point."""
    width = position.rules.width
    shares = heat[: position.rules.points]
    for point in np.flatnonzero(shares > _SEEN):
        row, column = divmod(int(point), width)
        share = float(shares[point])
        axes.add_patch(
            FancyBboxPatch(
                (column - 0.36, row - 0.36),
                0.72,
                0.72,
                boxstyle="round,pad=0.06,rounding_size=0.14",
                facecolor=to_rgba(ANNOTATION, 0.15 + 0.85 * share**0.6),
                edgecolor="none",
                zorder=2,
            )
        )
        if share >= _WRITTEN:
            text = f"{100 * share:.0f}"
            axes.text(column, row, text, color=WHITE, zorder=3, **_font(0.36, axes))


def _draw_stones(axes: Axes, position: Position, numbers: bool) -> None:
    board, width = position.board, position.rules.width
    placed = _placements(position)
    last = next((a for a in reversed(position.actions) if a < position.rules.points), None)
    for row, column in zip(*np.nonzero(board), strict=True):
        black = board[row, column] == 1
        face, other = (BLACK, WHITE) if black else (WHITE, BLACK)
        shadow = Circle((column + 0.04, row - 0.06), _STONE, color="#000000", alpha=0.28, zorder=3)
        stone = Circle(
            (column, row), _STONE, facecolor=face, edgecolor=BLACK, linewidth=0.7, zorder=4
        )
        axes.add_patch(shadow)
        axes.add_patch(stone)
        # A soft light from the upper left.
        light = to_rgba("#ffffff", 0.022 if black else 0.10)
        for radius in np.linspace(0.28, 0.03, 10):
            spot = (column - 0.12, row + 0.13)
            axes.add_patch(Circle(spot, radius, facecolor=light, edgecolor="none", zorder=4.2))
        point = int(row) * width + int(column)
        if numbers and point in placed:
            highlight = ANNOTATION_ON_BLACK if black else ANNOTATION
            colour = highlight if point == last else other
            text = str(placed[point])
            axes.text(column, row, text, color=colour, zorder=5, **_font(0.4, axes))
        elif point == last:
            ring = Circle((column, row), 0.2, fill=False, edgecolor=ANNOTATION, zorder=5)
            ring.set_linewidth(2)
            axes.add_patch(ring)


def _draw_offers(axes: Axes, position: Position, *, letters: bool) -> None:
    """Stones that are offered, not placed: shadows of the colour, lettered in their order."""
    for number, point in enumerate(position.offers):
        row, column = divmod(point, position.rules.width)
        face = to_rgba(BLACK, 0.55 if letters else 0.0)
        stone = Circle((column, row), _STONE - 0.02, facecolor=face, edgecolor=BLACK, zorder=2.5)
        stone.set_linewidth(1.2)
        axes.add_patch(stone)
        if letters:
            text = chr(ord("A") + number)
            axes.text(column, row, text, color=WHITE, zorder=3, **_font(0.45, axes))


def _draw_marks(axes: Axes, position: Position, marks: Marks) -> None:
    """Crosses, rings and squares; other marks are written, on an empty point over the grid."""
    rules, board = position.rules, position.board
    for place, mark in marks.items():
        point = position.parse_action(place) if isinstance(place, str) else int(place)
        if not 0 <= point < rules.points:
            raise ValueError(f"marks: {place!r} is no point of the board")
        row, column = divmod(point, rules.width)
        style: dict[str, Any] = {"color": ANNOTATION, "linewidth": 2, "zorder": 5.5}
        if mark == "cross":
            for rise in (-0.22, 0.22):
                ends = (column - 0.22, column + 0.22), (row - rise, row + rise)
                axes.plot(*ends, solid_capstyle="round", **style)
        elif mark == "ring":
            axes.add_patch(Circle((column, row), 0.24, fill=False, **style))
        elif mark == "square":
            corner = (column - 0.2, row - 0.2)
            axes.add_patch(Rectangle(corner, 0.4, 0.4, fill=False, **style))
        else:
            stone = board[row, column]
            if not stone:
                axes.add_patch(Circle((column, row), 0.36, color=BACKGROUND, zorder=1.7))
            colour = (WHITE, WHITE, BLACK)[stone]
            axes.text(column, row, mark, color=colour, zorder=5.5, **_font(0.6, axes))


def _draw_line(axes: Axes, position: Position, line: tuple[int, ...]) -> None:
    """Frame the stones of the line that ended the game."""
    for point in line:
        row, column = divmod(point, position.rules.width)
        ring = Circle((column, row), _STONE + 0.02, fill=False, edgecolor=ANNOTATION, zorder=6)
        ring.set_linewidth(2.2)
        axes.add_patch(ring)


def _placements(position: Position) -> Mapping[int, int]:
    """Point -> number of the stone that was placed there last, counted from 1."""
    rules, offers = position.rules, _offers(position)
    points = [
        action
        for ply, action in enumerate(position.actions)
        if action < rules.points and ply not in offers
    ]
    return {point: number for number, point in enumerate(points, start=1)}


def _offers(position: Position) -> set[int]:
    """Plies, counted from 0, that offered a point: they placed nothing."""
    if all(phase.effect != "offer" for phase in find_opening(position.opening).phases):
        return set()
    replay, offers = Position(position.rules, position.opening), set[int]()
    for ply, action in enumerate(position.actions):
        before = len(replay.offers)
        try:
            replay.play(action)
        except IllegalAction:  # stones were set up: there was no opening
            return set()
        if len(replay.offers) > before:
            offers.add(ply)
    return offers


def _options_text(heat: np.ndarray | None, points: int) -> str:
    """The policy's shares of the options, the largest first."""
    if heat is None or len(heat) <= points:
        return ""
    shares = [(float(heat[points + k]), name) for k, name in enumerate(OPTIONS)]
    seen = sorted((pair for pair in shares if pair[0] > _SEEN), reverse=True)
    return "   ".join(f"{name} {100 * share:.0f}%" for share, name in seen)


def _dpi(axes: Axes) -> float:
    figure = axes.get_figure()
    return float(figure.dpi if isinstance(figure, Figure) else mpl.rcParams["figure.dpi"])


def _write_across(axes: Axes, y: float, text: str, colour: str, units: float) -> None:
    """A line of text over the board's middle, smaller where it would be wider than the picture."""
    low, high = axes.get_xlim()
    style = _font(units, axes)
    written = axes.text((low + high) / 2, y, text, color=colour, **style)
    # Small letters are rounded to pixels, up to a tenth wider than their size says.
    room, width = 0.9 * (high - low) * _spacing(axes), written.get_window_extent().width
    written.set_fontsize(style["fontsize"] * min(1.0, room / width))


def _spacing(axes: Axes) -> float:
    """Pixels between two lines of the board."""
    box = axes.get_window_extent()
    low, high = axes.get_xlim()
    bottom, top = axes.get_ylim()
    return float(min(box.width / (high - low), box.height / (top - bottom)))


def _font(units: float, axes: Axes) -> dict[str, Any]:
    """Text style, centred, of a height given in distances between two lines."""
    return {
        "fontsize": units * _spacing(axes) * 72 / _dpi(axes),
        "ha": "center",
        "va": "center",
        "family": "DejaVu Sans",
        "fontweight": "bold",
    }
