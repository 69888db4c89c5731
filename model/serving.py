"""A version of the weights made ready to be played with: calibrated, compared, stored.

What serves a version is stored beside its checkpoint, in `NAME.evaluator` (safetensors: the int8
network's bytes, and JSON), so that its games can be played again with the same network.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as save_tensors

from engine.storage import atomic_write
from model.agreement import Agreement, Answers, agreement
from model.calibration import activation_ranges
from model.checkpoint import CheckpointError, checkpoint_stem
from model.evaluator import EXACT, INT8, KINDS, Served, evaluator_for, exact_kind, int8_file
from model.network import Network
from model.onnx_evaluator import one_line
from model.positions import Positions

FORMAT = 2
"""2: networks take planes as bytes; those of 1, which take float32, are still evaluated."""
SUFFIX = ".evaluator"
_KEY = "narabe evaluator"

CALIBRATED, COMPARED = 512, 2000
"""Positions that the int8 network is scaled by, and others on which it is compared."""


class DamagedError(CheckpointError):
    """What is stored beside a checkpoint cannot be read; who asks says what becomes of it."""


@dataclass(slots=True, frozen=True, kw_only=True)
class Prepared:
    """What serves a version, and how the kinds that were tried for it agree with float32."""

    served: Served
    agreements: dict[str, Agreement]
    failures: dict[str, str]
    """Kinds that failed, and why in a line."""
    seconds: float

    def curves(self, wanted: str) -> dict[str, float]:
        """Agreement of the kind tried first, whether another than `wanted` serves, and seconds."""
        first = next(iter(self.agreements.values()), None)
        return (first.curves() if first else {}) | {
            "evaluator/fallback": float(self.served.kind != wanted),
            "evaluator/seconds": self.seconds,
        }


def prepare(
    network: Network, positions: Positions, kinds: Sequence[str], device: str, batch_size: int
) -> Prepared:
    """Find the first of the kinds that says the same as float32; the last resort is float32.

    A kind that fails, whatever it raises, is passed over. The first `CALIBRATED` positions scale
    int8 networks, the others compare. The network must not be in use elsewhere; it is moved to the
    CPU and to evaluation mode.
    """
    began = time.perf_counter()
    agreements: dict[str, Agreement] = {}
    failures: dict[str, str] = {}
    network = network.cpu().eval()
    compared = positions.part(slice(CALIBRATED, None))
    reference: Answers | None = None
    for kind in kinds:
        if kind in EXACT:
            served = Served(kind=kind)
            break
        try:
            if reference is None:
                reference = exact_answers(network, device, batch_size, compared)
            served = make_served(kind, network, positions)
            found = Answers.of(evaluator_for(network, device, batch_size, served), compared)
        except Exception as error:
            failures[kind] = one_line(error)
            continue
        agreements[kind] = agreement(reference, found, compared)
        if agreements[kind].is_close:
            break
    else:
        served = Served(kind=exact_kind(device))
    return Prepared(
        served=served,
        agreements=agreements,
        failures=failures,
        seconds=time.perf_counter() - began,
    )


def exact_answers(network: Network, device: str, batch_size: int, positions: Positions) -> Answers:
    """What the network says in float32. Raises ValueError where that is no finite number."""
    if not all(weight.isfinite().all() for weight in network.state_dict().values()):
        raise ValueError("the network's weights are no finite numbers")
    return Answers.of(evaluator_for(network, device, batch_size), positions)


def make_served(kind: str, network: Network, positions: Positions) -> Served:
    """A kind for a network, its int8 network scaled by the first `CALIBRATED` positions."""
    if kind not in INT8:
        return Served(kind=kind)
    ranges = activation_ranges(network, positions.part(slice(0, CALIBRATED)))
    return Served(kind=kind, int8=int8_file(kind, network, ranges))


def save_prepared(path: Path | str, prepared: Prepared) -> None:
    """Store it beside the checkpoint `path`. Raises OSError."""
    stored = {
        "format": FORMAT,
        "kind": prepared.served.kind,
        "agreement": {kind: dataclasses.asdict(each) for kind, each in prepared.agreements.items()},
    }
    int8 = torch.frombuffer(bytearray(prepared.served.int8 or b"\0"), dtype=torch.uint8)
    tensors = {"int8": int8} if prepared.served.int8 else {}
    atomic_write(_file(path), save_tensors(tensors, metadata={_KEY: json.dumps(stored)}))


def load_served(path: Path | str) -> Served | None:
    """What serves the checkpoint `path`; None where nothing is stored.

    Raises DamagedError, and CheckpointError for what a newer narabe has written.
    """
    file = _file(path)
    if not file.exists():
        return None
    try:
        with safe_open(file, framework="pt") as opened:
            stored = json.loads((opened.metadata() or {})[_KEY])
            names = opened.keys()
            int8 = bytes(opened.get_tensor("int8").numpy()) if "int8" in names else b""
        kind, form = str(stored["kind"]), int(stored["format"])
    except PermissionError as error:
        raise CheckpointError(f"{file}: cannot be read ({error.strerror})") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise DamagedError(f"{file}: truncated or damaged") from error
    if form > FORMAT or kind not in KINDS:
        raise CheckpointError(
            f"{file}: written by a newer narabe (format {form}, evaluator {kind}); update narabe"
        )
    return Served(kind=kind, int8=int8)


def _file(path: Path | str) -> Path:
    stem = checkpoint_stem(path)
    return stem.with_name(stem.name + SUFFIX)
