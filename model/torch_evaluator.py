"""The network as an evaluator for search, with PyTorch."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.buckets import BucketEvaluator, Floats, input_buffers
from model.network import Network

_WARM_UP = 3
"""Passes before a CUDA graph is recorded, in which cuDNN chooses its kernels (PyTorch's advice)."""


class TorchEvaluator(BucketEvaluator):
    """Judges positions with a network (`engine.evaluators.Evaluator`).

    The network always sees `batch_size` rows, the last ones padding, so that a position's result
    does not depend on how many others are asked about with it; longer calls are cut into several.
    On the CPU in float32 its last bits may depend on its place among them: on Intel's processors,
    PyTorch's matrix products (MKL) do not sum all rows of a batch in the same order.
    The evaluator owns a copy of the network: training on does not change what it says.

    With `bf16` it computes in bfloat16: on the CPU traced and frozen, on CUDA as a graph that is
    recorded once for each size of board and reads and writes pinned memory.
    """

    def __init__(
        self,
        network: Network,
        device: torch.device | str = "cpu",
        batch_size: int = 64,
        *,
        bf16: bool = False,
    ) -> None:
        super().__init__(batch_size)
        self.device = torch.device(device)
        self.bf16 = bf16
        self._network = copy.deepcopy(network).to(self.device).channels_last()
        self._network.eval().requires_grad_(False)
        self._half = _Half(self._network) if bf16 else None

    def load_weights(self, weights: Mapping[str, Tensor | NDArray[np.float32]]) -> None:
        """Use other weights of the same network from now on: name -> tensor or array.

        Raises RuntimeError where names or shapes are others.
        """
        self._network.load_state_dict(
            {name: torch.as_tensor(value) for name, value in weights.items()}
        )
        if self.bf16:
            self._half = _Half(self._network)
            self._canvases.clear()

    def _canvas(self, height: int, width: int) -> _CpuCanvas | _CudaCanvas:
        module: nn.Module = self._half or self._network
        if self.device.type == "cuda":
            return _CudaCanvas(module, self.device, self.batch_size, height, width)
        return _CpuCanvas(module, self.batch_size, height, width)


class _Half(nn.Module):
    """The network in bfloat16, with inputs and outputs in float32.

    Globals reach the network's layers as they are rounded to bfloat16 (8 bits of significand).
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = copy.deepcopy(network).to(torch.bfloat16).channels_last()

    def forward(self, planes: Tensor, globals_: Tensor) -> tuple[Tensor, Tensor]:
        """As `Network.forward`."""
        policy_logits, value_logits = self.network(planes.bfloat16(), globals_.bfloat16())
        return policy_logits.float(), value_logits.float()


class _CpuCanvas:
    """A network on the CPU; one in bfloat16 is traced and frozen for this size of board."""

    def __init__(self, module: nn.Module, batch_size: int, height: int, width: int) -> None:
        planes, globals_ = map(torch.from_numpy, input_buffers(batch_size, height, width))
        self._planes = planes.contiguous(memory_format=torch.channels_last)
        self._globals = globals_
        self.planes, self.globals_ = self._planes.numpy(), globals_.numpy()
        self._module = module
        if isinstance(module, _Half):
            self._module = _traced(module, self._planes, self._globals)

    @torch.inference_mode()
    def run(self, rows: int) -> tuple[Floats, Floats]:
        """`Canvas.run`."""
        policy_logits, value_logits = self._module(self._planes, self._globals)
        return policy_logits.numpy(), value_logits.numpy()


def _traced(module: nn.Module, planes: Tensor, globals_: Tensor) -> nn.Module:
    """The module as one frozen graph, its weights inside."""
    with torch.no_grad(), warnings.catch_warnings():
        # Its successors need a C++ compiler.
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(module.eval(), (planes, globals_), check_trace=False)  # type: ignore[no-untyped-call]
        frozen: nn.Module = torch.jit.freeze(traced)
        for _ in range(_WARM_UP):  # the first calls still optimise
            frozen(planes, globals_)
    return frozen


class _CudaCanvas:
    """A network as a CUDA graph: kernels launched together, between buffers in pinned memory."""

    def __init__(
        self, module: nn.Module, device: torch.device, batch_size: int, height: int, width: int
    ) -> None:
        zeros = map(torch.from_numpy, input_buffers(batch_size, height, width))
        self._pinned = [tensor.pin_memory() for tensor in zeros]
        self.planes, self.globals_ = (tensor.numpy() for tensor in self._pinned)
        self._inputs = [tensor.to(device) for tensor in self._pinned]
        self._inputs[0] = self._inputs[0].contiguous(memory_format=torch.channels_last)
        self._device = device
        self._graph = torch.cuda.CUDAGraph()
        self._outputs = self._record(module)
        self._answers = [torch.empty(output.shape, pin_memory=True) for output in self._outputs]

    @torch.inference_mode()
    def _record(self, module: nn.Module) -> tuple[Tensor, Tensor]:
        """Record the graph; returns where it leaves its outputs."""
        stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.device(self._device):
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UP):
                    module(*self._inputs)
            torch.cuda.current_stream().wait_stream(stream)
            with torch.cuda.graph(self._graph):
                policy_logits, value_logits = module(*self._inputs)
        return policy_logits, value_logits

    @torch.inference_mode()
    def run(self, rows: int) -> tuple[Floats, Floats]:
        """`Canvas.run`."""
        with torch.cuda.device(self._device):
            for placed, pinned in zip(self._inputs, self._pinned, strict=True):
                placed.copy_(pinned, non_blocking=True)
            self._graph.replay()
            for answer, output in zip(self._answers, self._outputs, strict=True):
                answer.copy_(output, non_blocking=True)
            torch.cuda.current_stream().synchronize()
        policy_logits, value_logits = self._answers
        return policy_logits.numpy(), value_logits.numpy()
