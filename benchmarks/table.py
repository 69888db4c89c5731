"""Measuring and printing: repeated timings, one table, one JSON file."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a row's value, or its ratio, should reach: `least`, or `most` where less is better."""

    what: str
    least: float | None = None
    most: float | None = None
    ratio: bool = False

    def said(self, rows: Iterable[Row]) -> str:
        """One line about it."""
        row = next((row for row in rows if row.what == self.what), None)
        found = None if row is None else row.ratio if self.ratio else row.value
        bound = f"at least {self.least:g}" if self.most is None else f"at most {self.most:g}"
        if self.ratio:
            bound += f" times {'the library' if row is None else row.reference}"
        if found is None:
            return f"not measured: {self.what}: {bound}"
        high, low = self.most, self.least
        met = (high is None or found <= high) and (low is None or found >= low)
        return f"{'reached' if met else 'MISSED '} {self.what}: {found:.4g}, {bound}"


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


def library(name: str) -> Any | None:
    """The module of an outside library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def describe() -> None:
    """Prints what is measured on."""
    for key, value in machine().items():
        print(f"{key:<10} {value}", flush=True)


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


def report(name: str, title: str, rows: list[Row], targets: Iterable[Target] = ()) -> None:
    """Prints the table and what has become of the targets, and stores the table."""
    show(title, rows)
    for target in targets:
        print(f"  {target.said(rows)}")
    print(f"\nstored in {save(name, rows)}")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if "model name" in line), "")
