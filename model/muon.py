"""Muon: matrices move by orthogonal steps, everything else as with AdamW.

Jordan et al. 2024 (https://kellerjordan.github.io/posts/muon/): the momentum of a weight matrix is
replaced by the nearest matrix with orthogonal rows or columns, so that every direction learns at
the same pace and not only those with large gradients. Steps are scaled as in Liu et al. 2025
(arXiv:2502.16982), section 2.2, so that AdamW's learning rate serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic iteration that brings singular values near 1 (Jordan et al. 2024)."""
ITERATIONS = 5
ADAMW_STEP = 0.2
"""Usual root mean square of an element in AdamW's step (Liu et al. 2025)."""


class Muon(torch.optim.AdamW):
    """AdamW, but for groups with `"orthogonal": True`, whose weights are matrices or kernels.

    A kernel [outputs, inputs, height, width] counts as the matrix [outputs, the rest]. The gradient
    of an orthogonal weight is gone after the step.
    """

    def __init__(self, groups: list[dict[str, Any]], lr: float, momentum: float) -> None:
        super().__init__([{"orthogonal": False, **group} for group in groups], lr=lr, foreach=True)
        self.momentum = momentum

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Move all weights that have a gradient."""
        for group in self.param_groups:
            for weight in group["params"] if group["orthogonal"] else ():
                if weight.grad is not None:
                    self._move(weight, weight.grad, group["lr"], group["weight_decay"])
                    weight.grad = None  # so that AdamW passes over it
        super().step(closure)

    def _move(self, weight: Tensor, gradient: Tensor, lr: float, weight_decay: float) -> None:
        state = self.state[weight]
        if not state:
            # AdamW cannot load a state without "step".
            state["step"] = torch.tensor(0.0)
            state["momentum_buffer"] = torch.zeros_like(weight)
        state["step"] += 1
        momentum = state["momentum_buffer"]
        momentum.mul_(self.momentum).add_(gradient)
        # Nesterov's look ahead, as in the original.
        ahead = gradient.add(momentum, alpha=self.momentum)
        matrix = ahead.flatten(1)
        weight.mul_(1 - lr * weight_decay)
        scale = ADAMW_STEP * math.sqrt(max(matrix.shape))
        weight.add_(orthogonalise(matrix).view_as(weight), alpha=-lr * scale)


def orthogonalise(matrix: Tensor) -> Tensor:
    """A matrix [n, m] with the same singular vectors and singular values near 1 (0.7 to 1.2)."""
    a, b, c = NEWTON_SCHULZ
    wide = matrix.shape[0] <= matrix.shape[1]
    x: Tensor = matrix if wide else matrix.T
    x = x / (x.norm() + 1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x if wide else x.T
