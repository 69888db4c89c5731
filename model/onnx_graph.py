"""The network as an ONNX graph, written node by node.

PyTorch's exporters need many seconds and packages of their own, and change between releases; the
graph is small. It must say the same as `Network.forward`: `model.export` compares their outputs
before anything is written, and so do the tests. Initialisers have the names of the weights.
"""

from __future__ import annotations

from model.network import OFF_BOARD, Network
from model.onnx_evaluator import INPUTS, OUTPUTS
from model.onnx_writer import GraphWriter

OPSET = 17


def onnx_network(network: Network) -> bytes:
    """The network as an ONNX file with its weights inside; batch, height and width are free.

    Inputs and outputs are those of `Network.forward`, named as in `model.onnx_evaluator`.
    """
    graph = FloatGraph(network)
    graph.write()
    return graph.file(OPSET)


class FloatGraph(GraphWriter):
    """The network in float32, channels first."""

    def write(self) -> None:
        """The whole network, in the order of `Network.forward`."""
        planes, globals_ = self.as_float(INPUTS[0]), INPUTS[1]
        self._mask = self.mask(planes)
        self._points, self._size = self.sizes(self._mask)
        x = self.spread(self.conv("stem", planes), self.dense("stem_globals", globals_))
        x = self.on_board(self.op("Relu", x))
        for i, block in enumerate(self.network.blocks):
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
        off_board = self.op("Equal", self._mask, self.number(0.0))
        moves = self.op("Where", off_board, self.number(OFF_BOARD), moves)
        moves = self.op("Flatten", moves, axis=1)
        options = self.dense("policy_options", policy)
        value = self.op("Relu", self.dense("value_hidden", summary))
        self.op("Concat", moves, options, axis=1, output=OUTPUTS[0])
        self.dense("value", value, output=OUTPUTS[1])

    def pool(self, x: str) -> str:
        """`pool(F.relu(x) * mask, points)`."""
        x = self.on_board(self.op("Relu", x))
        total = self.op("ReduceSum", x, self.integers(2, 3), keepdims=0)
        mean = self.op("Div", total, self._points)
        scaled = self.op("Mul", mean, self._size)
        highest = self.op("ReduceMax", x, axes=[2, 3], keepdims=0)
        return self.op("Concat", mean, scaled, highest, axis=1)

    def conv(self, name: str, x: str) -> str:
        """A convolution that keeps height and width."""
        size = self.weight(f"{name}.weight").shape[2]
        weights = self.stored_weight(f"{name}.weight"), self.stored_weight(f"{name}.bias")
        return self.op("Conv", x, *weights, kernel_shape=[size, size], pads=[size // 2] * 4)

    def spread(self, x: str, bias: str) -> str:
        """x [B, channels, H, W] with bias [B, channels] added to every point."""
        return self.op("Add", x, self.op("Unsqueeze", bias, self.integers(2, 3)))

    def on_board(self, x: str) -> str:
        """x with 0 outside the board."""
        return self.op("Mul", x, self._mask)
