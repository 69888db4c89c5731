"""The network as an ONNX graph that says where numbers are rounded to 8 bits: for OpenVINO.

The graph is that of `model.onnx_graph` with a pair of nodes before each convolution, for its input
and for its weight, that rounds and goes back to float32. OpenVINO makes int8 convolutions of them.
"""

from __future__ import annotations

import numpy as np

from model.calibration import Ranges
from model.int8_graph import whole_steps
from model.network import Network
from model.onnx_graph import OPSET, FloatGraph


def qdq_network(network: Network, ranges: Ranges) -> bytes:
    """The network as an ONNX file with 8-bit convolutions; see `model.int8_graph.int8_network`."""
    graph = _QdqGraph(network, ranges)
    graph.write()
    return graph.file(OPSET)


class _QdqGraph(FloatGraph):
    """The float graph with rounded convolutions; only the policy's last one is as it was."""

    def __init__(self, network: Network, ranges: Ranges) -> None:
        super().__init__(network)
        self._ranges = ranges
        self._rounded: dict[str, str] = {}

    def conv(self, name: str, x: str) -> str:
        """A convolution that keeps height and width, of a rounded input and a rounded weight."""
        if name == "policy_points":
            return super().conv(name, x)
        weight, scale = whole_steps(self.weight(f"{name}.weight"))
        steps = self.store(f"{name}.weight", weight), self.store(f"{name}.scale", scale)
        size = weight.shape[2]
        return self.op(
            "Conv",
            self.rounded(x, 1.0 if name == "stem" else self._highest(name) / 255),
            self.op("DequantizeLinear", *steps, axis=0),
            self.stored_weight(f"{name}.bias"),
            kernel_shape=[size, size],
            pads=[size // 2] * 4,
        )

    def _highest(self, name: str) -> float:
        """The largest input of a convolution; two of them share theirs with another."""
        name = name.replace(".pooled", ".first").replace("head_summary", "head_points")
        return self._ranges[f"{name}.input"][1]

    def rounded(self, x: str, step: float) -> str:
        """x, nowhere negative, in steps of 0 to 255; once for all that read it."""
        if x not in self._rounded:
            code = self.number(step), self.store("byte 0", np.array(0, np.uint8))
            self._rounded[x] = self.op(
                "DequantizeLinear", self.op("QuantizeLinear", x, *code), *code
            )
        return self._rounded[x]
