"""Draw where a self-play worker's time goes, from what `benchmarks.selfplay` has stored.

`python -m benchmarks.shares [RESULTS] [PICTURE]`: by default from benchmarks/results/selfplay.json
to docs/images/selfplay.png. One bar a board and network: microseconds an evaluation by part.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.table import RESULTS
from engine.storage import atomic_write
from selfplay.picture import BACKGROUND, BLACK, DPI, GRID, WHITE, png

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "selfplay.png"

#: The parts as results name them, as people do, and in which colour.
PARTS = (
    ("network", "network", "#268bd2"),
    ("trees", "trees: rules, search, feature planes", "#cb4b16"),
    ("plies", "Python once a ply", "#b58900"),
)
#: Shares of the bar below this have no room for their number.
_WRITTEN = 0.03

#: Microseconds an evaluation by part, for each board and network.
Costs = dict[str, dict[str, float]]


def read(path: Path) -> Costs:
    """The costs in a file of results. Raises `OSError`, and `KeyError` for results of others."""
    rows = {row["what"].strip(): row["value"] for row in json.loads(path.read_text())["rows"]}
    cases = [what.split(", ")[1] for what in rows if what.startswith("self-play, ")]
    if not cases:
        raise KeyError(f"{path}: no self-play in it")
    costs: Costs = {}
    for case in cases:
        whole = 1e6 / rows[f"self-play, {case}"]
        costs[case] = {part: whole * rows[f"{part}, {case}"] / 100 for part, _, _ in PARTS}
    return costs


def draw(costs: Costs) -> Figure:
    """Stacked bars, each as long as the others, with the microseconds written in."""
    figure = Figure(figsize=(8.0, 0.8 + 0.55 * len(costs)), dpi=DPI, layout="constrained")
    figure.set_facecolor(BACKGROUND)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(facecolor=BACKGROUND)
    for place, cost in enumerate(costs.values()):
        whole, left = sum(cost.values()), 0.0
        for part, label, colour in PARTS:
            share = cost[part] / whole
            axes.barh(place, share, left=left, color=colour, label=label if not place else None)
            if share > _WRITTEN:
                text = f"{cost[part]:.1f} us" if share > 0.2 else f"{cost[part]:.1f}"
                axes.text(left + share / 2, place, text, color=WHITE, ha="center", va="center")
            left += share
    axes.set_yticks(range(len(costs)), list(costs))
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.tick_params(colors=BLACK)
    for spine in axes.spines.values():
        spine.set_color(GRID)
    figure.legend(loc="outside upper center", ncols=len(PARTS), labelcolor=WHITE, frameon=False)
    return figure


def main(arguments: list[str]) -> None:
    """Draws the picture and says where it is."""
    given = [Path(argument) for argument in arguments]
    source, picture = [*given, *(RESULTS / "selfplay.json", PICTURE)[len(given) :]]
    atomic_write(picture, png(draw(read(source))))
    print(picture)


if __name__ == "__main__":
    main(sys.argv[1:])
