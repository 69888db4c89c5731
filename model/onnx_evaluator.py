"""The network as an evaluator for search, with ONNX Runtime: all that an exported bot needs.

Imports neither torch nor anything that does.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.evaluators import Floats
from engine.features import GLOBALS, PLANES
from model.buckets import BucketEvaluator, input_buffers, output_buffers

if TYPE_CHECKING:
    import onnxruntime

INPUTS = ("planes", "globals")
OUTPUTS = ("policy_logits", "value_logits")

_FLOATS = "tensor(float)"
"""Type of the planes of networks exported before planes were bytes: they can still be played."""

BUCKET = 8
"""Rows of a batch come in multiples of this, or fewer in powers of two, so that there are few
shapes to plan memory for."""


class OnnxError(Exception):
    """A network file or a package that cannot be used; one line with its name, why, what to do."""


def one_line(error: Exception) -> str:
    """What another library's error says, in its first line."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def imported(module: str) -> Any:
    """A module of onnx or onnxruntime, so that only what needs it fails without. Raises OnnxError.

    What a broken installation raises may be anything.
    """
    try:
        return importlib.import_module(module)
    except Exception as error:
        package = module.partition(".")[0]
        raise OnnxError(
            f"{package} cannot be imported ({one_line(error)}); install it again with"
            f" 'pip install --force-reinstall {package}'"
        ) from error


class OnnxEvaluator(BucketEvaluator):
    """Judges positions with an exported network (`engine.evaluators.Evaluator`).

    Parts are padded as `BUCKET` says: ONNX Runtime sums each row alike in all of them, so a
    position's result does not depend on how many others are asked about with it. It runs in
    `threads` threads, which do not spin while they wait.
    """

    def __init__(
        self, network: Path | str | bytes, *, threads: int = 1, batch_size: int = 1
    ) -> None:
        """Load a file such as `network.onnx`, or its bytes.

        Raises OnnxError for a network that is missing, damaged or foreign, and without onnxruntime.
        """
        super().__init__(batch_size)
        self._session = _session(network, threads)

    def _canvas(self, height: int, width: int) -> _OnnxCanvas:
        return _OnnxCanvas(self._session, self.batch_size, height, width)


class _OnnxCanvas:
    """Buffers that ONNX Runtime reads and writes itself, bound once for each number of rows."""

    def __init__(
        self, session: onnxruntime.InferenceSession, batch_size: int, height: int, width: int
    ) -> None:
        self._session = session
        self.planes, self.globals_ = input_buffers(batch_size, height, width)
        takes_floats = session.get_inputs()[0].type == _FLOATS
        self._read = self.planes.astype(np.float32) if takes_floats else self.planes
        self._outputs = output_buffers(batch_size, height, width)
        self._bindings: dict[int, Any] = {}

    def run(self, rows: int) -> tuple[Floats, Floats]:
        """`Canvas.run`."""
        rows = min(len(self.planes), _padded(rows))
        if self._read is not self.planes:
            self._read[:rows] = self.planes[:rows]
        binding = self._bindings.get(rows)
        if binding is None:
            binding = self._bindings[rows] = self._bind(rows)
        self._session.run_with_iobinding(binding)
        return self._outputs

    def _bind(self, rows: int) -> Any:
        """The first rows of all buffers as the session's inputs and outputs."""
        binding = self._session.io_binding()
        for bind, names, arrays in (
            (binding.bind_input, INPUTS, (self._read, self.globals_)),
            (binding.bind_output, OUTPUTS, self._outputs),
        ):
            for name, array in zip(names, arrays, strict=True):
                shape = (rows, *array.shape[1:])
                bind(name, "cpu", 0, array.dtype, shape, array.ctypes.data)
        return binding


def _padded(rows: int) -> int:
    if rows < BUCKET:
        return 1 << (rows - 1).bit_length()
    return -(-rows // BUCKET) * BUCKET


def _session(network: Path | str | bytes, threads: int) -> onnxruntime.InferenceSession:
    """The loaded network. Raises OnnxError."""
    path = "network" if isinstance(network, bytes) else Path(network)
    if isinstance(path, Path) and not path.is_file():
        raise OnnxError(f"{path}: no such file; export the bot again with scripts.export")
    onnxruntime = imported("onnxruntime")
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
