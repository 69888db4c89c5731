"""Which kind of evaluator a run plays with: the fastest here that says the same as float32."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.evaluators import Evaluator
from engine.rules import similar
from model.agreement import Agreement, Answers, agreement
from model.evaluator import EXACT, KINDS, evaluator_for, exact_kind, why_not
from model.network import Network
from model.positions import Positions
from model.serving import CALIBRATED, make_served

AUTO = "auto"
NAMES = (AUTO, *KINDS)

UNTIMED = {"cpu": ("onnx-int8", "onnx"), "cuda": ("torch-bf16", "torch")}
"""What `auto` tries, in order, where the clock must decide nothing."""

ROUNDS = 5
"""Times that each kind is timed, in turn; the median counts."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Candidate:
    """A kind that was tried."""

    kind: str
    rate: float
    """Positions a second, the median of some measurements."""
    spread: float
    """Half the range of the measurements over their median."""
    agreement: Agreement
    reason: str = ""
    """Why it is not taken; empty where it may be."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Choice:
    """Kinds in the order in which they are tried for each version; the last computes in float32."""

    kinds: tuple[str, ...]
    said: str
    """How it came about, in one line."""


def check_name(name: str) -> None:
    """Raises ValueError, naming the key, for an evaluator that there is not."""
    if name not in NAMES:
        hint = similar(name, NAMES) or f"; there are {', '.join(NAMES)}"
        raise ValueError(f"evaluator: {name!r} is not known{hint}")


def fixed_choice(name: str, device: str) -> Choice:
    """The choice that a name means, without a look at the clock.

    A kind that cannot be had here is replaced by `exact_kind`, which `said` says.
    """
    place = "cpu" if device == "cpu" else "cuda"
    if name == AUTO:
        kinds = UNTIMED[place]
        return Choice(kinds=kinds, said=f"{kinds[0]} (auto without measuring)")
    exact = exact_kind(place)
    if reason := why_not(name, place):
        return Choice(kinds=(exact,), said=f"{exact}, as {name} {reason}")
    return Choice(kinds=(name,) if name in EXACT else (name, exact), said=name)


def measured_choice(
    network: Network, device: str, batch_size: int, positions: Positions, seconds: float = 3.0
) -> Choice:
    """Time all kinds that can be had here on a network, a board and a batch size.

    Takes about `seconds`. The choice is sorted by speed, down to the first kind in float32; kinds
    that do not agree with float32 are left out.
    """
    found = try_all(network, device, batch_size, positions, seconds)
    found.sort(key=lambda each: -each.rate)
    good = [each.kind for each in found if not each.reason] + [exact_kind(device)]
    kinds = good[: next(i for i, kind in enumerate(good) if kind in EXACT) + 1]
    told = [
        f"{each.kind} {each.rate:,.0f}" + (f" ({each.reason})" if each.reason else "")
        for each in found
    ]
    return Choice(kinds=tuple(kinds), said=f"{kinds[0]}; positions/s: {', '.join(told)}")


def try_all(
    network: Network,
    device: str,
    batch_size: int,
    positions: Positions,
    seconds: float,
    kinds: Sequence[str] = KINDS,
) -> list[Candidate]:
    """Every kind that can be had, compared with float32 and timed in turn."""
    compared = positions.part(slice(CALIBRATED, None))
    reference = Answers.of(evaluator_for(network, device, batch_size), compared)
    tried: dict[str, tuple[Evaluator, Agreement, str]] = {}
    for kind in kinds:
        if why_not(kind, device):
            continue
        served = make_served(kind, network, positions)
        evaluator = evaluator_for(network, device, batch_size, served)
        close = agreement(reference, Answers.of(evaluator, compared), compared)
        tried[kind] = evaluator, close, _reason(close)
    rates = timed(
        {kind: _task(evaluator, positions, batch_size) for kind, (evaluator, *_) in tried.items()},
        seconds,
    )
    found = []
    for kind, (_, close, reason) in tried.items():
        rate = statistics.median(rates[kind])
        spread = (max(rates[kind]) - min(rates[kind])) / 2 / rate
        found.append(Candidate(kind=kind, rate=rate, spread=spread, agreement=close, reason=reason))
    return found


def timed(tasks: dict[str, Callable[[], int]], seconds: float) -> dict[str, list[float]]:
    """Units a second of tasks that take turns, `ROUNDS` times; each returns how many it did."""
    slice_ = seconds / ROUNDS / max(1, len(tasks))
    found: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, task in tasks.items():
            began, units = time.perf_counter(), 0
            while not units or time.perf_counter() - began < slice_:
                units += task()
            found[name].append(units / (time.perf_counter() - began))
    return found


def _task(evaluator: Evaluator, positions: Positions, batch_size: int) -> Callable[[], int]:
    rows = np.arange(batch_size) % len(positions)
    planes, globals_ = positions.planes[rows], positions.globals_[rows]
    keys = np.zeros(batch_size, np.uint64)

    def task() -> int:
        evaluator.evaluate(planes, globals_, keys)
        return batch_size

    return task


def _reason(close: Agreement) -> str:
    """What is wrong with a kind's answers, in a few words."""
    if close.is_close:
        return ""
    return f"differs: policy by {close.policy_kl:.2g} nats, value by {close.value_error:.2g}"
