"""Which kind of evaluator a run plays with: the fastest here that says the same as float32."""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.evaluators import Evaluator
from engine.rules import similar
from model.agreement import Agreement, Answers, agreement
from model.evaluator import EXACT, KINDS, ON_CUDA, evaluator_for, exact_kind, why_not
from model.network import Network
from model.onnx_evaluator import one_line
from model.positions import Positions
from model.serving import CALIBRATED, exact_answers, make_served

AUTO = "auto"
NAMES = (AUTO, *KINDS)

UNTIMED = {"cpu": "onnx-int8", "cuda": "torch-bf16"}
"""What `auto` means where the clock must decide nothing."""

NEXT = {
    "cpu": {
        "openvino-int8": "onnx-int8",
        "onnx-int8": "onnx",
        "openvino": "onnx",
        "torch-bf16": "onnx",
        "onnx": "torch",
    },
    "cuda": {
        "openvino-int8": "torch-bf16",
        "onnx-int8": "torch-bf16",
        "openvino": "torch-bf16",
        "torch-bf16": "torch",
        "onnx": "torch",
    },
}
"""What takes the place of a kind that cannot be had or is not close: the fastest that remains, as
far as that is known without measuring."""

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
    wanted: str
    """The kind that was asked for, which may be none of them."""
    said: str
    """How it came about, in one line."""


def check_name(name: str) -> None:
    """Raises ValueError, naming the key, for an evaluator that there is not."""
    if name not in NAMES:
        hint = similar(name, NAMES) or f"; there are {', '.join(NAMES)}"
        raise ValueError(f"evaluator: {name!r} is not known{hint}")


def fixed_choice(name: str, device: str) -> Choice:
    """The choice that a name means, without a look at the clock.

    A kind that cannot be had here is replaced by those that follow in `NEXT`, which `said` says.
    """
    place = "cpu" if device == "cpu" else "cuda"
    wanted = UNTIMED[place] if name == AUTO else name
    reasons: dict[str, str] = {}
    kinds: list[str] = []
    kind = wanted
    while not kinds or kinds[-1] not in EXACT:
        if reason := why_not(kind, place):
            reasons[kind] = reason
        else:
            kinds.append(kind)
        kind = NEXT[place].get(kind, "torch")
    said = kinds[0] + (" (auto without measuring)" if name == AUTO else "")
    return Choice(kinds=tuple(kinds), wanted=wanted, said=said + _left_out(reasons))


def measured_choice(
    network: Network, device: str, batch_size: int, positions: Positions, seconds: float = 3.0
) -> Choice:
    """Time all kinds that can be had here on a network, a board and a batch size.

    Takes about `seconds`. The choice is sorted by speed, down to the first kind in float32; kinds
    that fail or do not agree with float32 are left out.
    """
    found = try_all(network, device, batch_size, positions, seconds)
    found.sort(key=lambda each: -each.rate)
    good = [each.kind for each in found if not each.reason] + [exact_kind(device)]
    kinds = good[: next(i for i, kind in enumerate(good) if kind in EXACT) + 1]
    rates = [f"{each.kind} {each.rate:,.0f}" for each in found if each.rate]
    here = KINDS if device == "cpu" else ON_CUDA
    missing = {kind: reason for kind in here if (reason := why_not(kind, device))}
    reasons = missing | {each.kind: each.reason for each in found if each.reason}
    how = f", the fastest that agrees; positions/s: {', '.join(rates)}" if rates else ""
    said = kinds[0] + how + _left_out(reasons)
    return Choice(kinds=tuple(kinds), wanted=kinds[0], said=said)


def _left_out(reasons: dict[str, str]) -> str:
    """Kinds that are not played with, and why; empty where there are none."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for kind, reason in reasons.items():
        kinds[reason].append(kind)
    told = [f"{' and '.join(alike)}: {reason}" for reason, alike in kinds.items()]
    return "; left out " + ", ".join(told) if told else ""


def try_all(
    network: Network,
    device: str,
    batch_size: int,
    positions: Positions,
    seconds: float,
    kinds: Sequence[str] = KINDS,
) -> list[Candidate]:
    """Every kind that can be had, compared with float32 and timed in turn.

    One that fails, whatever it raises, has the rate 0 and an agreement of NaN.
    """
    compared = positions.part(slice(CALIBRATED, None))
    tried: dict[str, tuple[Evaluator, Agreement]] = {}
    failures: dict[str, str] = {}
    reference: Answers | None = None
    for kind in kinds:
        if why_not(kind, device):
            continue
        try:
            if reference is None:
                reference = exact_answers(network, device, batch_size, compared)
            served = make_served(kind, network, positions)
            evaluator = evaluator_for(network, device, batch_size, served)
            close = agreement(reference, Answers.of(evaluator, compared), compared)
        except Exception as error:
            failures[kind] = f"failed ({one_line(error)})"
        else:
            tried[kind] = evaluator, close
    rates = timed(
        {kind: _task(evaluator, positions, batch_size) for kind, (evaluator, _) in tried.items()},
        seconds,
    )
    found = [_candidate(kind, rates[kind], close) for kind, (_, close) in tried.items()]
    nothing = Agreement(policy_kl=math.nan, top1=math.nan, value_error=math.nan)
    return found + [
        Candidate(kind=kind, rate=0.0, spread=0.0, agreement=nothing, reason=reason)
        for kind, reason in failures.items()
    ]


def _candidate(kind: str, rates: list[float], close: Agreement) -> Candidate:
    rate = statistics.median(rates)
    spread = (max(rates) - min(rates)) / 2 / rate
    return Candidate(kind=kind, rate=rate, spread=spread, agreement=close, reason=_reason(close))


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
    return f"differs (policy by {close.policy_kl:.2g} nats, value by {close.value_error:.2g})"
