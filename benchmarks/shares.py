"""Draw where a self-play worker's time goes, from what `benchmarks.selfplay` has stored.

`python -m benchmarks.shares [RESULTS] [PICTURE]`: by default from the newest of benchmarks/results'
selfplay.json and bench.json to docs/images/selfplay.png. One bar a board and network: microseconds
an evaluation by part.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.command import BenchmarkError, run
from benchmarks.table import RESULTS
from selfplay.picture import BACKGROUND, BLACK, DPI, GRID, WHITE, png
from selfplay.storage import write_file

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
    """The costs in a file of results; parts that were not met are 0.

    Raises `OSError`, and BenchmarkError for what is no such file.
    """
    try:
        rows = {row["what"].strip(): row["value"] for row in json.loads(path.read_text())["rows"]}
        cases = [what.split(", ")[1] for what in rows if what.startswith("self-play, ")]
        costs = {case: _costs(rows, case) for case in cases}
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BenchmarkError(f"{path} does not hold what benchmarks store") from error
    if not costs:
        raise BenchmarkError(
            f"{path} holds no self-play; python -m benchmarks.selfplay measures it"
        )
    return costs


def _costs(rows: dict[str, float], case: str) -> dict[str, float]:
    """Microseconds an evaluation by part; 0 for one that nothing fell to (a ply, say)."""
    whole = 1e6 / rows[f"self-play, {case}"]
    return {part: whole * rows.get(f"{part}, {case}", 0.0) / 100 for part, _, _ in PARTS}


def newest() -> Path:
    """The newest results with self-play in them. Raises BenchmarkError where there are none."""
    found = [path for name in ("selfplay", "bench") if (path := RESULTS / f"{name}.json").exists()]
    if not found:
        raise BenchmarkError(
            f"no selfplay.json or bench.json in {RESULTS}; measure first, or name one"
        )
    return max(found, key=lambda path: path.stat().st_mtime)


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


def main(arguments: list[str] | None = None) -> None:
    """Draws the picture and says where it is; `arguments` are the command line's where None."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, nargs="?", metavar="RESULTS")
    parser.add_argument("picture", type=Path, nargs="?", metavar="PICTURE", default=PICTURE)
    asked = parser.parse_args(arguments)
    write_file(asked.picture, png(draw(read(asked.results or newest()))))
    print(asked.picture)


if __name__ == "__main__":
    sys.exit(run(main))
