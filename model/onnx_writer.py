"""An ONNX graph, written node by node: what the float and the int8 network's graphs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from engine import OPTIONS
from engine.features import GLOBALS, PLANES
from model.network import MASK_PLANE, POOL_CENTRE, POOL_SCALE, Network
from model.onnx_evaluator import INPUTS, OUTPUTS, imported

if TYPE_CHECKING:
    import onnx

IR_VERSION = 8
"""Of ONNX 1.12 (2022): read by every ONNX Runtime that supports Python 3.11."""

MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""


class GraphWriter:
    """Nodes and initialisers, growing. Every method that adds nodes returns its output's name."""

    def __init__(self, network: Network) -> None:
        """Raises OnnxError where the package onnx cannot be imported."""
        self.onnx = imported("onnx")
        self._arrays = imported("onnx.numpy_helper")
        self.network = network
        self.nodes: list[onnx.NodeProto] = []
        self._stored: dict[str, onnx.TensorProto] = {}
        self._weights = network.state_dict()

    def file(self, opset: int, *, microsoft: bool = False) -> bytes:
        """The graph as an ONNX file with the inputs and outputs of `Network.forward`."""
        planes, globals_ = INPUTS
        policy_logits, value_logits = OUTPUTS
        helper, types = self.onnx.helper, self.onnx.TensorProto
        opsets = [helper.make_opsetid("", opset)]
        if microsoft:
            opsets.append(helper.make_opsetid(MICROSOFT, 1))
        model = helper.make_model(
            helper.make_graph(
                self.nodes,
                "narabe",
                inputs=[
                    self._value(planes, ["batch", len(PLANES), "height", "width"], types.UINT8),
                    self._value(globals_, ["batch", len(GLOBALS)]),
                ],
                outputs=[
                    self._value(policy_logits, ["batch", f"height*width+{len(OPTIONS)}"]),
                    self._value(value_logits, ["batch", 3]),
                ],
                initializer=list(self._stored.values()),
            ),
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="narabe",
        )
        self.onnx.checker.check_model(model, full_check=not microsoft)
        return bytes(model.SerializeToString())

    def weight(self, name: str) -> NDArray[np.float32]:
        """A weight of the network as an array."""
        tensor: Tensor = self._weights[name]
        array: NDArray[np.float32] = tensor.detach().float().cpu().numpy()
        return array

    def op(
        self, kind: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any
    ) -> str:
        """Add a node."""
        output = output or f"{kind}_{len(self.nodes)}"
        make = self.onnx.helper.make_node
        self.nodes.append(
            make(kind, list(inputs), [output], name=output, domain=domain, **attributes)
        )
        return output

    def store(self, name: str, array: NDArray[Any]) -> str:
        """Add an initialiser, once for each name."""
        if name not in self._stored:
            self._stored[name] = self._arrays.from_array(np.array(array, order="C"), name)
        return name

    def stored_weight(self, name: str) -> str:
        """A weight as an initialiser of the same name."""
        return self.store(name, self.weight(name))

    def as_float(self, x: str) -> str:
        """x in float32."""
        return self.op("Cast", x, to=self.onnx.TensorProto.FLOAT)

    def number(self, value: float) -> str:
        """A scalar."""
        return self.store(f"number {value!r}", np.array(value, np.float32))

    def integers(self, *values: int) -> str:
        """Axes, a shape, places: a list of integers."""
        return self.store(f"integers {values}", np.array(values, np.int64))

    def dense(self, name: str, x: str, output: str = "") -> str:
        """A linear layer on [B, inputs]."""
        weights = self.stored_weight(f"{name}.weight"), self.stored_weight(f"{name}.bias")
        return self.op("Gemm", x, *weights, transB=1, output=output)

    def mask(self, planes: str) -> str:
        """`Network`'s mask [B, 1, H, W], of the planes' type."""
        ends = self.integers(MASK_PLANE), self.integers(MASK_PLANE + 1)
        return self.op("Slice", planes, *ends, self.integers(1))

    def sizes(self, mask: str) -> tuple[str, str]:
        """Points on the board [B, 1], at least one, and what scales the second pooled mean."""
        points = self.op("ReduceSum", mask, self.integers(2, 3), keepdims=0)
        points = self.op("Max", points, self.number(1.0))
        root = self.op("Sub", self.op("Sqrt", points), self.number(POOL_CENTRE))
        return points, self.op("Mul", root, self.number(POOL_SCALE))

    def _value(
        self, name: str, shape: list[int | str], number: int | None = None
    ) -> onnx.ValueInfoProto:
        number = number or self.onnx.TensorProto.FLOAT
        info: onnx.ValueInfoProto = self.onnx.helper.make_tensor_value_info(name, number, shape)
        return info
