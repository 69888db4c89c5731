"""Measuring and printing: repeated timings, one table, one JSON file."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

#: Where results are stored.
RESULTS = Path(__file__).parent / "results"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured figure; `spread` is the half range of the repetitions over their median."""

    what: str
    value: float
    unit: str
    reference: str = ""
    #: This figure over the reference's, larger is better; None without a reference.
    ratio: float | None = None
    spread: float = 0.0


def rates(tasks: dict[str, Callable[[], int]], repeats: int = 5) -> dict[str, tuple[float, float]]:
    """Units a second of each task, as (median, spread).

    A task does some work and returns how many units it was. The tasks take turns, so that what
    else the machine does falls on all of them.
    """
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            started = time.perf_counter()
            units = task()
            found[name].append(units / (time.perf_counter() - started))
    return {
        name: (
            statistics.median(values),
            (max(values) - min(values)) / 2 / statistics.median(values),
        )
        for name, values in found.items()
    }


def machine() -> dict[str, str | int]:
    """What was measured on."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def show(title: str, rows: list[Row]) -> None:
    """Prints the table."""
    print(f"\n{title}")
    width = max(len(row.what) for row in rows)
    for row in rows:
        ratio = row.reference if row.ratio is None else f"{row.ratio:8.2f} x {row.reference}"
        print(
            f"  {row.what:<{width}} {row.value:>14,.2f} {row.unit:<14}"
            f" ±{100 * row.spread:4.1f} % {ratio}"
        )


def save(name: str, rows: list[Row]) -> Path:
    """Stores the table with the machine's description as JSON; returns the file."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"machine": machine(), "rows": [dataclasses.asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
