"""The network as an evaluator for search, with PyTorch."""

from __future__ import annotations

import copy
import threading
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.evaluators import Floats
from model.buckets import BucketEvaluator, input_buffers
from model.network import Network

_WARM_UP = 3
"""Passes before a CUDA graph is recorded, in which cuDNN chooses its kernels (PyTorch's advice)."""

DEVICE = threading.Lock()
"""Held while a CUDA graph is recorded, and by the learner for a step. Versions are made ready in a
thread beside training: while one thread records, PyTorch's memory pools and random numbers are set
up for the recording, and another thread's work on the device could get into it or break it."""


class TorchEvaluator(BucketEvaluator):
    """Judges positions with a network (`engine.evaluators.Evaluator`).

    The network always sees `batch_size` rows, the last ones padding, so that a position's result
    does not depend on how many others are asked about with it; longer calls are cut into several.
    On the CPU in float32 its last bits may depend on its place among them: on Intel's processors,
    PyTorch's matrix products (MKL) do not sum all rows of a batch in the same order.
    The evaluator owns a copy of the network: training on does not change what it says.

    With `bf16` it computes in bfloat16: on the CPU traced and frozen, on CUDA as a graph that is
    recorded once for each size of board; inputs and answers lie in pinned memory.
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

        Not while there are twins. Raises RuntimeError where names or shapes are others.
        """
        self._network.load_state_dict(
            {name: torch.as_tensor(value) for name, value in weights.items()}
        )
        if self.bf16:
            self._half = _Half(self._network)
            self._places.clear()
            self._programs.clear()

    def _canvas(self, height: int, width: int) -> _CpuCanvas | _CudaCanvas:
        program: Any = self._programs.get((height, width))
        if program is None:
            program = self._programs[height, width] = self._program(height, width)
        if self.device.type == "cuda":
            return _CudaCanvas(program, self.batch_size, height, width)
        return _CpuCanvas(program, self.batch_size, height, width)

    def _program(self, height: int, width: int) -> _CpuProgram | _CudaProgram:
        module: nn.Module = self._half or self._network
        inputs = [torch.from_numpy(each) for each in input_buffers(self.batch_size, height, width)]
        if self.device.type == "cuda":
            return _CudaProgram(module, self.device, inputs)
        return _CpuProgram(module, inputs)


class _Half(nn.Module):
    """The network in bfloat16, with inputs and outputs in float32.

    Globals reach the network's layers as they are rounded to bfloat16 (8 bits of significand).
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = copy.deepcopy(network).to(torch.bfloat16).channels_last()

    def forward(self, planes: Tensor, globals_: Tensor) -> tuple[Tensor, Tensor]:
        """As `Network.forward`."""
        policy_logits, value_logits = self.network(planes, globals_.bfloat16())
        return policy_logits.float(), value_logits.float()


class _CpuProgram:
    """A network on the CPU; one in bfloat16 is traced and frozen for this size of board."""

    def __init__(self, module: nn.Module, inputs: list[Tensor]) -> None:
        planes, self.globals_ = inputs
        self._half = isinstance(module, _Half)
        dtype = torch.bfloat16 if self._half else torch.float32
        #: Planes as the network wants them in memory: they are brought there in one pass.
        self._placed = planes.to(dtype, memory_format=torch.channels_last)
        self._module = _traced(module, self._placed, self.globals_) if self._half else module

    @torch.inference_mode()
    def run(self, planes: Tensor, globals_: Tensor) -> tuple[Tensor, Tensor]:
        """Policy and value logits of a whole batch."""
        self._placed.copy_(planes)
        logits: tuple[Tensor, Tensor] = self._module(self._placed, globals_)
        return logits


class _CpuCanvas:
    """Inputs on the CPU, read where they are written."""

    def __init__(self, program: _CpuProgram, batch_size: int, height: int, width: int) -> None:
        self._program = program
        self.planes, self.globals_ = input_buffers(batch_size, height, width)
        self._inputs = torch.from_numpy(self.planes), torch.from_numpy(self.globals_)

    def run(self, rows: int) -> tuple[Floats, Floats]:
        """`Canvas.run`."""
        policy_logits, value_logits = self._program.run(*self._inputs)
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


class _CudaProgram:
    """A network as a CUDA graph: kernels launched together, between buffers on the device."""

    def __init__(self, module: nn.Module, device: torch.device, inputs: list[Tensor]) -> None:
        planes, globals_ = inputs
        placed = planes.to(device).contiguous(memory_format=torch.channels_last)
        self._inputs = placed, globals_.to(device)
        self._device = device
        self._graph = torch.cuda.CUDAGraph()
        self._outputs = self._record(module)

    @torch.inference_mode()
    def _record(self, module: nn.Module) -> tuple[Tensor, Tensor]:
        """Record the graph; returns where it leaves its outputs."""
        with DEVICE, torch.cuda.device(self._device):
            stream = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream(self._device))
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UP):
                    module(*self._inputs)
            torch.cuda.current_stream().wait_stream(stream)
            # "global" would make errors of other threads' copies and frees, which no lock covers.
            with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
                policy_logits, value_logits = module(*self._inputs)
        return policy_logits, value_logits

    def new_answers(self) -> list[Tensor]:
        """Pinned memory for policy and value logits of a whole batch."""
        return [torch.empty(output.shape, pin_memory=True) for output in self._outputs]

    @torch.inference_mode()
    def run(self, inputs: list[Tensor], answers: list[Tensor]) -> None:
        """Judge pinned inputs and wait for the pinned answers."""
        with torch.cuda.device(self._device):
            for placed, pinned in zip(self._inputs, inputs, strict=True):
                placed.copy_(pinned, non_blocking=True)
            self._graph.replay()
            for answer, output in zip(answers, self._outputs, strict=True):
                answer.copy_(output, non_blocking=True)
            torch.cuda.current_stream().synchronize()


class _CudaCanvas:
    """Inputs and answers of one caller in pinned memory, which the device reads and writes."""

    def __init__(self, program: _CudaProgram, batch_size: int, height: int, width: int) -> None:
        self._program = program
        zeros = map(torch.from_numpy, input_buffers(batch_size, height, width))
        self._inputs = [tensor.pin_memory() for tensor in zeros]
        self.planes, self.globals_ = (tensor.numpy() for tensor in self._inputs)
        self._answers = program.new_answers()

    def run(self, rows: int) -> tuple[Floats, Floats]:
        """`Canvas.run`."""
        self._program.run(self._inputs, self._answers)
        policy_logits, value_logits = self._answers
        return policy_logits.numpy(), value_logits.numpy()
