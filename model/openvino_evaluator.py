"""The network as an evaluator for search, with OpenVINO: an extra that nothing depends on."""

from __future__ import annotations

import importlib.util
from typing import Any

from engine.evaluators import Floats
from model.buckets import BucketEvaluator, input_buffers, output_buffers
from model.onnx_evaluator import INPUTS, OUTPUTS

INSTALL = "pip install 'narabe[openvino]'"


def is_installed() -> bool:
    """Whether OpenVINO can be imported; it is not yet."""
    return importlib.util.find_spec("openvino") is not None


class OpenVinoEvaluator(BucketEvaluator):
    """Judges positions with an ONNX network (`engine.evaluators.Evaluator`), in one thread.

    The network is compiled for each size of board, and for `batch_size` rows: it always sees so
    many, the last ones padding. It computes in bfloat16 where the processor has it.
    """

    def __init__(self, network: bytes, *, batch_size: int = 1) -> None:
        """Raises ImportError without OpenVINO."""
        super().__init__(batch_size)
        import openvino

        self._openvino, self._core, self._network = openvino, openvino.Core(), network

    def _canvas(self, height: int, width: int) -> _OpenVinoCanvas:
        compiled = self._programs.get((height, width))
        if compiled is None:
            compiled = self._programs[height, width] = self._compiled(height, width)
        return _OpenVinoCanvas(self._openvino, compiled, self.batch_size, (height, width))

    def _compiled(self, height: int, width: int) -> Any:
        """The network for `batch_size` boards of this size."""
        model = self._core.read_model(self._network)
        shapes = (list(array.shape) for array in input_buffers(self.batch_size, height, width))
        if model.input(INPUTS[0]).get_element_type() == self._openvino.Type.f32:
            # A network that was stored before planes were bytes.
            inputs = self._openvino.preprocess.PrePostProcessor(model)
            inputs.input(INPUTS[0]).tensor().set_element_type(self._openvino.Type.u8)
            model = inputs.build()
        model.reshape(dict(zip(INPUTS, shapes, strict=True)))
        options = {
            "INFERENCE_NUM_THREADS": 1,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "bf16",
            "ENABLE_CPU_PINNING": False,
        }
        return self._core.compile_model(model, "CPU", options)


class _OpenVinoCanvas:
    """A compiled network with buffers that it reads and writes itself."""

    def __init__(
        self, openvino: Any, compiled: Any, batch_size: int, board: tuple[int, int]
    ) -> None:
        self.planes, self.globals_ = input_buffers(batch_size, *board)
        self._outputs = output_buffers(batch_size, *board)
        self._request = compiled.create_infer_request()
        arrays = (self.planes, self.globals_, *self._outputs)
        for name, array in zip((*INPUTS, *OUTPUTS), arrays, strict=True):
            self._request.set_tensor(name, openvino.Tensor(array, shared_memory=True))

    def run(self, rows: int) -> tuple[Floats, Floats]:
        """`Canvas.run`."""
        self._request.infer(share_outputs=True)  # no copies of them: they are ours already
        return self._outputs
