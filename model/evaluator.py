"""The network as an evaluator for search: with PyTorch, or with what is faster on the device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine import OPTIONS
from engine.evaluators import Evaluator
from engine.features import GLOBALS, PLANES
from model.losses import expected_value
from model.network import Network
from model.onnx_evaluator import OnnxEvaluator
from model.onnx_graph import onnx_network

Floats = NDArray[np.float32]
Keys = NDArray[np.uint64]


def evaluator_for(network: Network, device: str = "cpu", batch_size: int = 64) -> Evaluator:
    """The evaluator that plays with a network on a device: a copy, as it is now.

    ONNX Runtime in one thread on the CPU, where it is 1.3 to 1.4 times as fast as PyTorch
    (`python -m scripts.bench` prints the ratio), PyTorch elsewhere.
    """
    if device == "cpu":
        return OnnxEvaluator(onnx_network(network), batch_size=batch_size)
    return TorchEvaluator(network, device, batch_size)


class TorchEvaluator:
    """Judges positions with a network (`engine.evaluators.Evaluator`).

    The network always sees `batch_size` rows, the last ones padding, so that a position's result
    does not depend on how many others are asked about with it; longer calls are cut into several.
    The evaluator owns a copy of the network: training on does not change what it says.
    """

    def __init__(
        self, network: Network, device: torch.device | str = "cpu", batch_size: int = 64
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size} is less than 1")
        self.batch_size = batch_size
        self.device = torch.device(device)
        self._network = Network(network.config)
        self._network.load_state_dict(network.state_dict())
        self._network.to(self.device).channels_last().eval().requires_grad_(False)
        #: Input buffers by canvas (H, W): the same memory serves every call.
        self._buffers: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}

    def load_weights(self, weights: Mapping[str, Tensor | NDArray[np.float32]]) -> None:
        """Use other weights of the same network from now on: name -> tensor or array.

        Raises RuntimeError where names or shapes are others.
        """
        self._network.load_state_dict(
            {name: torch.as_tensor(value) for name, value in weights.items()}
        )

    @torch.inference_mode()
    def evaluate(self, planes: Floats, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and values [n], as `Evaluator.evaluate` states.

        `planes` [n, C, H, W], `globals_` [n, G]; `keys` [n] are not needed.
        """
        count, _, height, width = planes.shape
        logits = np.empty((count, height * width + len(OPTIONS)), np.float32)
        values = np.empty(count, np.float32)
        for start in range(0, count, self.batch_size):
            rows = slice(start, min(start + self.batch_size, count))
            logits[rows], values[rows] = self._bucket(planes[rows], globals_[rows])
        return logits, values

    def _bucket(self, planes: Floats, globals_: Floats) -> tuple[Floats, Floats]:
        """One pass of the network over at most `batch_size` rows."""
        count, _, height, width = planes.shape
        if (height, width) not in self._buffers:
            shape = (self.batch_size, len(PLANES), height, width)
            self._buffers[height, width] = (
                torch.zeros(shape).contiguous(memory_format=torch.channels_last),
                torch.zeros(self.batch_size, len(GLOBALS)),
            )
        padded_planes, padded_globals = self._buffers[height, width]
        padded_planes[:count] = torch.from_numpy(planes)
        padded_globals[:count] = torch.from_numpy(globals_)
        policy_logits, value_logits = self._network(
            padded_planes.to(self.device), padded_globals.to(self.device)
        )
        values = expected_value(value_logits[:count])
        return policy_logits[:count].cpu().numpy(), values.cpu().numpy()
