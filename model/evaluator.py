"""The network as an evaluator for search: the kinds that there are, and how to make one.

`torch` and `onnx` compute in float32: the others are compared with them. The int8 kinds need a
network that was made for them from positions (`int8_file`); the others need the network alone.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch

from model.buckets import BucketEvaluator, input_buffers
from model.calibration import Ranges
from model.int8_graph import int8_network
from model.network import Network, NetworkConfig
from model.onnx_evaluator import OnnxEvaluator, one_line
from model.onnx_graph import onnx_network
from model.openvino_evaluator import INSTALL, OpenVinoEvaluator, is_installed
from model.qdq_graph import qdq_network
from model.torch_evaluator import TorchEvaluator

__all__ = ["TorchEvaluator", "evaluator_for"]

KINDS = ("torch", "torch-bf16", "onnx", "onnx-int8", "openvino", "openvino-int8")
ON_CUDA = ("torch", "torch-bf16")
EXACT = ("torch", "onnx")
"""Kinds that compute in float32."""
INT8 = ("onnx-int8", "openvino-int8")


@dataclass(slots=True, frozen=True, kw_only=True)
class Served:
    """How a version of the weights is evaluated: one of `KINDS`, and for int8 its network."""

    kind: str
    int8: bytes = b""

    def __repr__(self) -> str:
        return f"Served(kind={self.kind!r}, int8={len(self.int8)} bytes)"


def exact_kind(device: str) -> str:
    """The kind in float32 that is fastest on a device, of those that can be had."""
    return "torch" if why_not("onnx", device) else "onnx"


def why_not(kind: str, device: str) -> str:
    """Why a kind cannot be had here, in a few words; empty where it can."""
    if device != "cpu" and kind not in ON_CUDA:
        return f"computes on the CPU only, not on {device}"
    return "" if kind in ON_CUDA else _what_fails(kind.removesuffix("-int8"))


@functools.cache
def _what_fails(kind: str) -> str:
    """Why ONNX Runtime or OpenVINO does not compute here; tried once, with a small network."""
    if kind == "openvino" and not is_installed():
        return f"is not installed ({INSTALL})"
    config = NetworkConfig(blocks=1, channels=4, pool_channels=4, head_channels=4, hidden=4)
    try:
        with torch.random.fork_rng(devices=[]):  # the run's own numbers stay as they were
            network = Network(config).eval()
        evaluator = evaluator_for(network, "cpu", 1, Served(kind=kind))
        evaluator.evaluate(*input_buffers(1, 5, 5), np.zeros(1, np.uint64))
    except Exception as error:  # a broken installation raises anything
        return f"does not work here ({one_line(error)})"
    return ""


def int8_file(kind: str, network: Network, ranges: Ranges) -> bytes:
    """The network that an int8 kind loads."""
    return (int8_network if kind == "onnx-int8" else qdq_network)(network, ranges)


def evaluator_for(
    network: Network, device: str = "cpu", batch_size: int = 64, served: Served | None = None
) -> BucketEvaluator:
    """The evaluator that plays with a network on a device: a copy, as it is now.

    Without `served` it is `exact_kind`. CPU kinds run in one thread. Raises ImportError or
    OnnxError for a kind that cannot be had; a broken extra may raise anything, now or when asked.
    """
    kind = served.kind if served else exact_kind(device)
    if kind in ("torch", "torch-bf16"):
        return TorchEvaluator(network, device, batch_size, bf16=kind == "torch-bf16")
    file = served.int8 if served and kind in INT8 else onnx_network(network)
    if kind.startswith("onnx"):
        return OnnxEvaluator(file, batch_size=batch_size)
    return OpenVinoEvaluator(file, batch_size=batch_size)
