"""How large the numbers inside a network become: what its int8 version is scaled by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from model.network import MASK_PLANE, Block, Network
from model.positions import Positions

Ranges = dict[str, tuple[float, float]]
"""Name of a tensor -> lowest and highest value, 0 within."""

QUANTILE = 0.99998
"""Share of the values below the highest, and above the lowest; the few beyond are clamped. Of two
trained networks one is nearest to float32 with 0.99995, the other with all values; both suffer at
0.9998.
"""

BATCH = 16
"""Positions of a pass: all that a network computes for them is in memory."""

LOOKED_AT = 1 << 18
"""Values of a tensor that are looked at, about; those of whole points, evenly spaced."""

_FLOOR = 1e-6
"""Least highest value, for tensors that are 0."""


@torch.inference_mode()
def activation_ranges(network: Network, positions: Positions) -> Ranges:
    """Ranges of the tensors that int8 networks round: `LAYER` (output) and `LAYER.input`.

    The network computes in float32 on the CPU; it must not be in use.
    """
    seen: dict[str, tuple[Tensor, Tensor]] = {}
    found: dict[str, list[NDArray[np.float32]]] = defaultdict(list)
    passes = -(-len(positions) // BATCH)

    def keep(name: str, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        seen[name] = inputs[0], output

    handles = [
        layer.register_forward_hook(lambda _, inputs, out, name=name: keep(name, inputs, out))
        for name, layer in network.named_modules()
        if isinstance(layer, nn.Conv2d | nn.Linear | Block)
    ]
    try:
        for start in range(0, len(positions), BATCH):
            part = positions.part(slice(start, start + BATCH))
            planes = torch.from_numpy(part.planes)
            network(planes, torch.from_numpy(part.globals_))
            mask = planes[:, MASK_PLANE] > 0
            for name, tensor in _tensors(network, seen):
                found[name].append(_some(tensor, mask, LOOKED_AT // passes))
    finally:
        for handle in handles:
            handle.remove()
    return {name: _range(np.concatenate(arrays)) for name, arrays in found.items()}


def _tensors(
    network: Network, seen: dict[str, tuple[Tensor, Tensor]]
) -> Iterator[tuple[str, Tensor]]:
    """What is rounded, by name; `seen` holds inputs and outputs of layers and blocks.

    Of two terms that are added before a ReLU, the first matters only as far as the sum is positive:
    what is left of it is the ReLU's output without the second term.
    """
    bias = seen["stem_globals"][1]
    yield "stem_globals", bias
    yield "stem", seen["blocks.0"][0] - bias[:, :, None, None]
    for i, block in enumerate(network.blocks):
        name = f"blocks.{i}"
        x, result = seen[name]
        inner = seen[f"{name}.second"][0]
        yield f"{name}.first.input", x
        yield f"{name}.second.input", inner
        yield f"{name}.second", result - x
        if block.pools:
            bias = seen[f"{name}.spread"][1]
            yield f"{name}.spread", bias
            yield f"{name}.first", inner - bias[:, :, None, None]
            yield f"{name}.pooled", F.relu(seen[f"{name}.pooled"][1])
    yield "head_points.input", seen["head_points"][0]
    yield "head_summary", F.relu(seen["head_summary"][1])


def _some(values: Tensor, mask: Tensor, n: int) -> NDArray[np.float32]:
    """About n values of [B, C], or of [B, C, H, W] where the mask [B, H, W] is true."""
    if values.dim() == 4:
        values = values.movedim(1, 3)[mask]
    array: NDArray[np.float32] = values[:: max(1, values.numel() // n)].numpy().ravel()
    return array


def _range(values: NDArray[np.float32]) -> tuple[float, float]:
    """Quantiles on both sides, 0 within."""
    place = min(len(values) - 1, int(QUANTILE * len(values)))
    high = np.partition(values, place)[place]
    low = values.min()
    if low < 0:
        place = len(values) - 1 - place
        low = np.partition(values, place)[place]
    return min(0.0, float(low)), max(_FLOOR, float(high))
