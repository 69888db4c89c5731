"""Measuring and printing: repeated timings, one table, one JSON file."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.command import BenchmarkError

#: Where results are stored.
RESULTS = Path(__file__).parent / "results"

#: How to have the libraries that figures are compared with.
INSTALL = "pip install 'narabe[bench]'"

#: Packages whose versions change figures.
PACKAGES = ("numpy", "torch", "onnxruntime", "openvino", "ray", "open_spiel", "mctx")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured figure."""

    what: str
    value: float
    unit: str
    reference: str = ""
    #: This figure over the reference's, larger is better; None without a reference.
    ratio: float | None = None
    #: Half the range of the repetitions over their median; None where nothing was repeated.
    spread: float | None = None
    #: Half the interquartile range of the repetitions' own ratios; None where there are none.
    ratio_spread: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a row's value, or its ratio, should reach: `least`, or `most` where less is better."""

    what: str
    least: float | None = None
    most: float | None = None
    ratio: bool = False

    def met(self, rows: Iterable[Row]) -> bool | None:
        """Whether it is reached; None where it was not measured."""
        found = self._found(self._row(rows))
        if found is None:
            return None
        high, low = self.most, self.least
        return (high is None or found <= high) and (low is None or found >= low)

    def said(self, rows: Sequence[Row]) -> str:
        """One line about it."""
        row = self._row(rows)
        found, met = self._found(row), self.met(rows)
        bound = f"at least {self.least:g}" if self.most is None else f"at most {self.most:g}"
        if self.ratio:
            bound += f" times {'the library' if row is None else row.reference}"
        if found is None:
            return f"not measured: {self.what}: {bound}"
        return f"{'reached' if met else 'MISSED '} {self.what}: {found:.4g}, {bound}"

    def _row(self, rows: Iterable[Row]) -> Row | None:
        return next((row for row in rows if row.what == self.what), None)

    def _found(self, row: Row | None) -> float | None:
        return None if row is None else row.ratio if self.ratio else row.value


def rounds(tasks: dict[str, Callable[[], int]], repeats: int) -> dict[str, list[float]]:
    """Units a second of each task in each of some rounds.

    A task does some work and returns how many units it was. The tasks take turns, forwards and
    backwards, so that what else the machine does falls on all of them.
    """
    found: dict[str, list[float]] = {name: [] for name in tasks}
    order = list(tasks)
    for _ in range(repeats):
        for name in order:
            started = time.perf_counter()
            units = tasks[name]()
            found[name].append(units / (time.perf_counter() - started))
        order.reverse()
    return found


def rates(
    tasks: dict[str, Callable[[], int]], repeats: int = 5
) -> dict[str, tuple[float, float | None]]:
    """Units a second of each task, as (median, spread) of some `rounds`."""
    return {
        name: (statistics.median(values), spread(values))
        for name, values in rounds(tasks, repeats).items()
    }


def spread(values: Sequence[float]) -> float | None:
    """Half the range over the median; None for fewer than two."""
    if len(values) < 2:
        return None
    return (max(values) - min(values)) / 2 / statistics.median(values)


def compared(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float | None]:
    """The median of the ratios of each round, and half their interquartile range.

    Figures of one round share what the machine was like then, so that their ratio differs less than
    either of them. None for fewer than two rounds.
    """
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    if len(ratios) < 2:
        return ratios[0], None
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return median, (high - low) / 2


def library(name: str) -> Any | None:
    """The module of an outside library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def begin() -> None:
    """`describe`, once it is sure that results can be stored. Raises BenchmarkError."""
    try:
        RESULTS.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=RESULTS):
            pass
    except OSError as error:
        raise BenchmarkError(f"cannot store results in {RESULTS}: {error.strerror}") from error
    describe()


def describe() -> None:
    """Prints what is measured on."""
    for key, value in machine().items():
        print(f"{key:<10} {value}", flush=True)


def machine() -> dict[str, str | int]:
    """What is measured, where and when."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 0,
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": _packages(),
        "commit": _commit(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
    }


def show(title: str, rows: list[Row]) -> None:
    """Prints the table."""
    print(f"\n{title}")
    width = max(len(row.what) for row in rows)
    for row in rows:
        either_way = "" if row.spread is None else f"±{100 * row.spread:4.1f} %"
        line = f"  {row.what:<{width}} {row.value:>14,.2f} {row.unit:<14} {either_way:7} "
        print((line + _beside(row)).rstrip())


def _beside(row: Row) -> str:
    """The ratio, if there is one, and the reference."""
    if row.ratio is None:
        return row.reference
    if row.ratio_spread is None:
        return f"{row.ratio:8.2f} x {row.reference}"
    return f"{row.ratio:8.3f} ±{row.ratio_spread:.3f} x {row.reference}"


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


def _packages() -> str:
    """Versions of the packages that are installed."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def _commit() -> str:
    """Of this checkout, marked where files differ from it; empty where there is none."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()
