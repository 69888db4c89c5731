"""How large the numbers inside a network become: what its int8 version is scaled by."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import torch
from torch import Tensor, nn

from model.network import MASK_PLANE, Network
from model.positions import Positions

QUANTILE = 0.9999
"""Share of the numbers that the scale holds; the few beyond are clamped. On a trained network, the
policy's divergence is about half of what it is with all of them (and ten times as large at 0.999).
"""

BATCH = 64
"""Positions of a pass; of each the quantile is taken, and the largest counts."""

_FLOOR = 1e-6
"""Smallest range, for layers that say nothing."""


@torch.inference_mode()
def activation_ranges(network: Network, positions: Positions) -> dict[str, float]:
    """Magnitudes that hold nearly all values on the board, by name.

    `LAYER` is for a layer's output (its positive part where only a ReLU sees it), `LAYER.input` for
    a convolution's input. The network is called in float32 on the CPU; it must not be in use.
    """
    found: dict[str, float] = defaultdict(lambda: _FLOOR)
    mask = torch.empty(0)

    def hook(name: str, layer: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        positive = name.endswith(("pooled", "head_summary"))
        found[name] = max(found[name], _largest(output, mask, positive=positive))
        if output.dim() == 4:
            key = f"{name}.input"
            found[key] = max(found[key], _largest(inputs[0], mask, positive=True))

    handles = [
        layer.register_forward_hook(lambda *call, name=name: hook(name, *call))
        for name, layer in network.named_modules()
        if isinstance(layer, nn.Conv2d | nn.Linear)
    ]
    try:
        for start in range(0, len(positions), BATCH):
            part = positions.part(slice(start, start + BATCH))
            planes = torch.from_numpy(part.planes)
            mask = planes[:, MASK_PLANE : MASK_PLANE + 1] > 0
            network(planes, torch.from_numpy(part.globals_))
    finally:
        for handle in handles:
            handle.remove()
    return dict(found)


def _largest(values: Tensor, mask: Tensor, *, positive: bool) -> float:
    """The quantile of the values on the board, or of their magnitudes."""
    if values.dim() == 4:
        values = values.movedim(1, 3)[mask.squeeze(1)]
    array = values.numpy().ravel()
    place = min(len(array) - 1, int(QUANTILE * len(array)))
    return float(np.partition(array if positive else np.abs(array), place)[place])
