"""The network as an evaluator for search, with ONNX Runtime: all that an exported bot needs.

Imports neither torch nor anything that does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from engine import OPTIONS
from engine.features import GLOBALS, PLANES

INPUTS = ("planes", "globals")
OUTPUTS = ("policy_logits", "value_logits")

BUCKET = 8
"""Rows of a batch come in multiples of this, so that there are few shapes to plan memory for."""

Floats = NDArray[np.float32]
Keys = NDArray[np.uint64]


class OnnxError(Exception):
    """A network file that cannot be used; one line naming the file, the reason and what to do."""


class OnnxEvaluator:
    """Judges positions with an exported network (`engine.evaluators.Evaluator`).

    Calls are cut into parts of at most `batch_size` rows, and those padded to a multiple of
    `BUCKET`: ONNX Runtime sums each row alike in all of them, so a position's result does not
    depend on how many others are asked about with it. It runs in `threads` threads, which do not
    spin while they wait.
    """

    def __init__(
        self, network: Path | str | bytes, *, threads: int = 1, batch_size: int = 1
    ) -> None:
        """Load a file such as `network.onnx`, or its bytes.

        Raises OnnxError for a network that is missing, damaged or foreign.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size} is less than 1")
        self.batch_size = batch_size
        self._session = _session(network, threads)
        self._buffers: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def evaluate(self, planes: Floats, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and values [n], as `Evaluator.evaluate` states.

        `planes` [n, C, H, W], `globals_` [n, G]; `keys` [n] are not needed.
        """
        logits, outcomes = self.evaluate_outcomes(planes, globals_)
        return logits, outcomes[:, 0] - outcomes[:, 2]

    def evaluate_outcomes(self, planes: Floats, globals_: Floats) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and probabilities of win, draw and loss [n, 3]."""
        count, _, height, width = planes.shape
        logits = np.empty((count, height * width + len(OPTIONS)), np.float32)
        outcomes = np.empty((count, 3), np.float32)
        for start in range(0, count, self.batch_size):
            rows = slice(start, min(start + self.batch_size, count))
            logits[rows], outcomes[rows] = self._bucket(planes[rows], globals_[rows])
        return logits, outcomes

    def _bucket(self, planes: Floats, globals_: Floats) -> tuple[Floats, Floats]:
        """One pass of the network over at most `batch_size` rows."""
        count, _, height, width = planes.shape
        if (height, width) not in self._buffers:
            self._buffers[height, width] = (
                np.zeros((self.batch_size, len(PLANES), height, width), np.float32),
                np.zeros((self.batch_size, len(GLOBALS)), np.float32),
            )
        padded_planes, padded_globals = self._buffers[height, width]
        padded_planes[:count] = planes
        padded_globals[:count] = globals_
        rows = min(self.batch_size, -(-count // BUCKET) * BUCKET)
        policy_logits, value_logits = self._session.run(
            OUTPUTS, dict(zip(INPUTS, (padded_planes[:rows], padded_globals[:rows]), strict=True))
        )
        return policy_logits[:count], _softmax(value_logits[:count])


def _session(network: Path | str | bytes, threads: int) -> onnxruntime.InferenceSession:
    """The loaded network. Raises OnnxError."""
    path = "network" if isinstance(network, bytes) else Path(network)
    if isinstance(path, Path) and not path.is_file():
        raise OnnxError(f"{path}: no such file; export the bot again with scripts.export")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only
    try:
        session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's own exceptions have no common base but this
        raise OnnxError(
            f"{path}: truncated or no ONNX network; export the bot again with scripts.export"
        ) from error
    inputs = {node.name: node.shape for node in session.get_inputs()}
    outputs = tuple(node.name for node in session.get_outputs())
    if tuple(inputs) != INPUTS or outputs != OUTPUTS:
        raise OnnxError(f"{path}: not a network exported by narabe; export one with scripts.export")
    if inputs["planes"][1] != len(PLANES) or inputs["globals"][1] != len(GLOBALS):
        raise OnnxError(
            f"{path}: takes {inputs['planes'][1]} planes and {inputs['globals'][1]} globals, this"
            f" narabe makes {len(PLANES)} and {len(GLOBALS)}; export its checkpoint again"
        )
    return session


def _softmax(logits: Floats) -> Floats:
    """Along the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    result: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return result
