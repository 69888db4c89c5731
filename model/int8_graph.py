"""The network as an ONNX graph in integers, for ONNX Runtime's int8 kernels.

Convolutions multiply 8-bit activations by 8-bit weights and sum exactly, in 32 bits; the dense
layers, the pooled means and maxima and the policy's last layers are in float32. Activations lie
channels last, as the kernels want them, and are stored as 255 steps over their range
(`model.calibration`). Weights have a step for each output channel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.calibration import Ranges
from model.network import OFF_BOARD, Network
from model.onnx_evaluator import INPUTS, OUTPUTS
from model.onnx_writer import MICROSOFT, GraphWriter

OPSET = 18


def int8_network(network: Network, ranges: Ranges) -> bytes:
    """The network as an ONNX file for ONNX Runtime; inputs and outputs are `onnx_network`'s.

    `ranges` are those of `model.calibration.activation_ranges`. Raises KeyError where one lacks.
    """
    graph = _Int8Graph(network, ranges)
    graph.write()
    return graph.file(OPSET, microsoft=True)


def whole_steps(
    weight: NDArray[np.float32],
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A convolution's weight [outputs, ...] in steps of -127 to 127, and each output's step."""
    largest = np.abs(weight).reshape(len(weight), -1).max(axis=1)
    scale = np.maximum(largest / 127, 1e-8).astype(np.float32)
    return np.rint(weight / scale[:, None, None, None]).astype(np.int8), scale


@dataclass(slots=True, frozen=True)
class _Code:
    """What a byte means: (byte - zero) * scale."""

    scale: float
    zero: int


@dataclass(slots=True, frozen=True)
class _Bytes:
    """A tensor uint8 [B, H, W, channels] of the graph."""

    name: str
    code: _Code
    channels: int


class _Int8Graph(GraphWriter):
    """The network in integers."""

    def __init__(self, network: Network, ranges: Ranges) -> None:
        super().__init__(network)
        self._ranges = ranges
        self._masks: dict[int, str] = {}

    def write(self) -> None:
        """The whole network, in the order of `Network.forward`."""
        planes, globals_ = INPUTS
        mask = self.mask(planes)
        self._byte_mask = self.channels_last(mask, 1)
        self._mask = self.as_float(mask)
        self._points, self._size = self.sizes(self._mask)
        stones = self.channels_last(planes, self.weight("stem.weight").shape[1])
        x = self.conv("stem", stones, self.code("stem"))
        bias = self.dense("stem_globals", globals_)
        x = self.add_everywhere("stem_globals", x, bias, self.code("blocks.0.first.input"))
        for i, block in enumerate(self.network.blocks):
            end = i + 1 == len(self.network.blocks)
            following = "head_points.input" if end else f"blocks.{i + 1}.first.input"
            x = self.block(f"blocks.{i}", x, self.code(following), pools=bool(block.pools))
        self.heads(x, globals_)

    def channels_last(self, planes: str, channels: int) -> _Bytes:
        """Planes, which are 0 or 1, as the kernels want them."""
        return _Bytes(self.op("Transpose", planes, perm=[0, 2, 3, 1]), _Code(1.0, 0), channels)

    def block(self, name: str, x: _Bytes, result: _Code, *, pools: bool) -> _Bytes:
        """`Block.forward`."""
        inner = self.code(f"{name}.second.input")
        if pools:
            bias = self.dense(f"{name}.spread", self.pool(f"{name}.pooled", x))
            branch = self.conv(f"{name}.first", x, self.code(f"{name}.first"))
            branch = self.add_everywhere(f"{name}.spread", branch, bias, inner)
        else:
            branch = self.on_board(self.conv(f"{name}.first", x, inner))
        branch = self.conv(f"{name}.second", branch, self.code(f"{name}.second"))
        return self.on_board(self.add(x, branch, result))

    def heads(self, x: _Bytes, globals_: str) -> None:
        """Both heads, into the graph's outputs."""
        summary = self.op("Concat", self.pool("head_summary", x), globals_, axis=1)
        policy = self.op("Relu", self.dense("policy_hidden", summary))
        bias = self.op("Unsqueeze", self.dense("policy_bias", policy), self.integers(1, 2))
        moves = self.op("Relu", self.op("Add", self.point_layer("head_points", x), bias))
        weight = self.weight("policy_points.weight").reshape(1, -1)
        moves = self.op(
            "Gemm",
            self.op("Reshape", moves, self.integers(-1, weight.shape[1])),
            self.store("policy_points.weight", weight),
            self.stored_weight("policy_points.bias"),
            transB=1,
        )
        mask = self.op("Flatten", self._mask, axis=1)
        moves = self.op("Reshape", moves, self.op("Shape", mask))
        off_board = self.op("Equal", mask, self.number(0.0))
        moves = self.op("Where", off_board, self.number(OFF_BOARD), moves)
        options = self.dense("policy_options", policy)
        value = self.op("Relu", self.dense("value_hidden", summary))
        self.op("Concat", moves, options, axis=1, output=OUTPUTS[0])
        self.dense("value", value, output=OUTPUTS[1])

    def pool(self, name: str, x: _Bytes) -> str:
        """`pool(F.relu(layer(x)) * mask, points)`, in float32."""
        kept = self.on_board(self.conv(name, x, self.code(name)))
        # Whole numbers, in steps: float32 adds them exactly, in whatever order a kernel does it.
        steps = self.op("Reshape", self.as_float(kept.name), self.integers(0, -1, kept.channels))
        step, axis = self.coded(kept.code)[0], self.integers(1)
        total = self.op("Mul", self.op("ReduceSum", steps, axis, keepdims=0), step)
        highest = self.op("Mul", self.op("ReduceMax", steps, axis, keepdims=0), step)
        mean = self.op("Div", total, self._points)
        return self.op("Concat", mean, self.op("Mul", mean, self._size), highest, axis=1)

    def conv(self, name: str, x: _Bytes, code: _Code) -> _Bytes:
        """A convolution that keeps height and width; what leaves the code's range is clamped."""
        weight, scale = whole_steps(self.weight(f"{name}.weight"))
        bias = self.weight(f"{name}.bias") / (np.float64(x.code.scale) * scale)
        outputs, _, size, _ = weight.shape
        output = self.op(
            "QLinearConv",
            *(x.name, *self.coded(x.code)),
            self.store(f"{name}.weight", weight),
            self.store(f"{name}.scale", scale),
            self.store(f"zeros {outputs}", np.zeros(outputs, np.int8)),
            *self.coded(code),
            self.store(f"{name}.bias", np.rint(bias).clip(-(2**31), 2**31 - 1).astype(np.int32)),
            domain=MICROSOFT,
            channels_last=1,
            kernel_shape=[size, size],
            pads=[size // 2] * 4,
        )
        return _Bytes(output, code, outputs)

    def point_layer(self, name: str, x: _Bytes) -> str:
        """A convolution of size 1 with float32 outputs [B, H, W, channels]."""
        weight, scale = whole_steps(self.weight(f"{name}.weight"))
        return self.op(
            "MatMulIntegerToFloat",
            x.name,
            self.store(f"{name}.weight", weight[:, :, 0, 0].T),
            self.number(x.code.scale),
            self.store(f"{name}.scale", scale),
            self.coded(x.code)[1],
            "",
            self.stored_weight(f"{name}.bias"),
            domain=MICROSOFT,
        )

    def add(self, x: _Bytes, y: _Bytes, code: _Code) -> _Bytes:
        """x + y, clamped to the code's range."""
        terms = *(x.name, *self.coded(x.code)), *(y.name, *self.coded(y.code))
        output = self.op("QLinearAdd", *terms, *self.coded(code), domain=MICROSOFT)
        return _Bytes(output, code, x.channels)

    def add_everywhere(self, name: str, x: _Bytes, bias: str, code: _Code) -> _Bytes:
        """`relu(x + bias) * mask`; bias [B, channels] is the output of the layer `name`."""
        bias_code = self.code(name)
        steps = self.op("QuantizeLinear", bias, *self.coded(bias_code))
        steps = self.op("Unsqueeze", steps, self.integers(1, 2))
        # Written out at every point: adding tensors of different shapes takes five times as long.
        steps = self.op("Expand", steps, self.op("Shape", x.name))
        return self.on_board(self.add(x, _Bytes(steps, bias_code, x.channels), code))

    def on_board(self, x: _Bytes) -> _Bytes:
        """x, nowhere negative, with 0 outside the board: the minimum of it and 255 or 0.

        Of the ways to multiply bytes by 0 or 1, the fastest in ONNX Runtime.
        """
        output = self.op("Min", x.name, self.byte_mask(x.channels))
        return _Bytes(output, x.code, x.channels)

    def byte_mask(self, channels: int) -> str:
        """The mask as 255 and 0, alike in all channels."""
        if channels not in self._masks:
            mask = self._byte_mask
            self._masks[channels] = self.op(
                "QLinearConv",
                *(mask.name, *self.coded(mask.code)),
                self.store(f"ones {channels}", np.ones((channels, 1, 1, 1), np.int8)),
                *(self.number(1.0), self.store("zero", np.array(0, np.int8))),
                *self.coded(_Code(1 / 255, 0)),
                domain=MICROSOFT,
                channels_last=1,
                kernel_shape=[1, 1],
            )
        return self._masks[channels]

    def code(self, name: str) -> _Code:
        """How a tensor is stored: where it starts at 0, clamping is the ReLU."""
        low, high = self._ranges[name]
        scale = (high - low) / 255
        return _Code(scale, round(-low / scale))

    def coded(self, code: _Code) -> tuple[str, str]:
        """Scale and zero point as initialisers."""
        return self.number(code.scale), self.store(
            f"byte {code.zero}", np.array(code.zero, np.uint8)
        )
