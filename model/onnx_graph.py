"""The network as an ONNX graph, written node by node.

PyTorch's exporters need many seconds and packages of their own, and change between releases; the
graph is small. It must say the same as `Network.forward`: `model.export` compares their outputs
before anything is written, and so do the tests. Initialisers have the names of the weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from engine import OPTIONS
from engine.features import GLOBALS, PLANES
from model.network import MASK_PLANE, OFF_BOARD, POOL_CENTRE, POOL_SCALE, Network
from model.onnx_evaluator import INPUTS, OUTPUTS

OPSET = 17
IR_VERSION = 8
"""Of ONNX 1.12 (2022): read by every ONNX Runtime that supports Python 3.11."""


def onnx_network(network: Network) -> bytes:
    """The network as an ONNX file with its weights inside; batch, height and width are free.

    Inputs and outputs are those of `Network.forward`, named as in `model.onnx_evaluator`.
    """
    graph = _Graph(network)
    graph.write()
    planes, globals_ = INPUTS
    policy_logits, value_logits = OUTPUTS
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "narabe",
            inputs=[
                _value(planes, ["batch", len(PLANES), "height", "width"]),
                _value(globals_, ["batch", len(GLOBALS)]),
            ],
            outputs=[
                _value(policy_logits, ["batch", f"height*width+{len(OPTIONS)}"]),
                _value(value_logits, ["batch", 3]),
            ],
            initializer=graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="narabe",
    )
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())


def _value(name: str, shape: list[int | str]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


class _Graph:
    """Nodes and initialisers, growing. Every method that adds nodes returns its output's name."""

    def __init__(self, network: Network) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._network = network
        for name, tensor in network.state_dict().items():
            self._store(name, tensor.detach().float().cpu().numpy())

    def write(self) -> None:
        """The whole network, in the order of `Network.forward`."""
        planes, globals_ = INPUTS
        ends = [
            self._store(n, np.array([i])) for n, i in (("from", MASK_PLANE), ("to", MASK_PLANE + 1))
        ]
        self._mask = self.op("Slice", planes, *ends, self._store("axis", np.array([1])))
        self._square = self._store("board_axes", np.array([2, 3]))
        points = self.op("ReduceSum", self._mask, self._square, keepdims=0)
        self._points = self.op("Max", points, self._number("one", 1.0))
        root = self.op("Sub", self.op("Sqrt", self._points), self._number("centre", POOL_CENTRE))
        self._size = self.op("Mul", root, self._number("scale", POOL_SCALE))

        x = self.spread(self.conv("stem", planes), self.dense("stem_globals", globals_))
        x = self.on_board(self.op("Relu", x))
        for i, block in enumerate(self._network.blocks):
            x = self.block(f"blocks.{i}", x, pools=bool(block.pools))
        self.heads(x, globals_)

    def block(self, name: str, x: str, *, pools: bool) -> str:
        """`Block.forward`."""
        branch = self.conv(f"{name}.first", x)
        if pools:
            summary = self.pool(self.conv(f"{name}.pooled", x))
            branch = self.spread(branch, self.dense(f"{name}.spread", summary))
        branch = self.conv(f"{name}.second", self.on_board(self.op("Relu", branch)))
        return self.on_board(self.op("Relu", self.op("Add", x, branch)))

    def heads(self, x: str, globals_: str) -> None:
        """Both heads, into the graph's outputs."""
        summary = self.op("Concat", self.pool(self.conv("head_summary", x)), globals_, axis=1)
        policy = self.op("Relu", self.dense("policy_hidden", summary))
        moves = self.spread(self.conv("head_points", x), self.dense("policy_bias", policy))
        moves = self.conv("policy_points", self.op("Relu", moves))
        off_board = self.op("Equal", self._mask, self._number("zero", 0.0))
        moves = self.op("Where", off_board, self._number("off_board", OFF_BOARD), moves)
        moves = self.op("Flatten", moves, axis=1)
        options = self.dense("policy_options", policy)
        value = self.op("Relu", self.dense("value_hidden", summary))
        self.op("Concat", moves, options, axis=1, output=OUTPUTS[0])
        self.dense("value", value, output=OUTPUTS[1])

    def pool(self, x: str) -> str:
        """`pool(F.relu(x) * mask, points)`."""
        x = self.on_board(self.op("Relu", x))
        mean = self.op("Div", self.op("ReduceSum", x, self._square, keepdims=0), self._points)
        scaled = self.op("Mul", mean, self._size)
        highest = self.op("ReduceMax", x, axes=[2, 3], keepdims=0)
        return self.op("Concat", mean, scaled, highest, axis=1)

    def conv(self, name: str, x: str) -> str:
        """A convolution that keeps height and width."""
        size = self._network.get_parameter(f"{name}.weight").shape[2]
        weights = (f"{name}.weight", f"{name}.bias")
        return self.op("Conv", x, *weights, kernel_shape=[size, size], pads=[size // 2] * 4)

    def dense(self, name: str, x: str, output: str = "") -> str:
        """A linear layer on [B, inputs]."""
        return self.op("Gemm", x, f"{name}.weight", f"{name}.bias", transB=1, output=output)

    def spread(self, x: str, bias: str) -> str:
        """x [B, channels, H, W] with bias [B, channels] added to every point."""
        return self.op("Add", x, self.op("Unsqueeze", bias, self._square))

    def on_board(self, x: str) -> str:
        """x with 0 outside the board."""
        return self.op("Mul", x, self._mask)

    def op(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node."""
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output

    def _number(self, name: str, value: float) -> str:
        return self._store(name, np.array(value, np.float32))

    def _store(self, name: str, array: NDArray[np.float32] | NDArray[np.int64]) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
