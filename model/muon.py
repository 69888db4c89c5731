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
            if group["orthogonal"]:
                weights = [weight for weight in group["params"] if weight.grad is not None]
                for shape in dict.fromkeys(weight.shape for weight in weights):
                    self._move([w for w in weights if w.shape == shape], group)
        super().step(closure)

    def _move(self, weights: list[Tensor], group: dict[str, Any]) -> None:
        """Move weights of one shape together: most are small, and each call costs."""
        gradients: list[Any] = [weight.grad for weight in weights]
        momenta = [self._momentum(weight) for weight in weights]
        torch._foreach_mul_(momenta, self.momentum)
        torch._foreach_add_(momenta, gradients)
        # Nesterov's look ahead, as in the original.
        ahead = torch._foreach_add(gradients, momenta, alpha=self.momentum)
        matrices = torch.stack([each.flatten(1) for each in ahead])
        scale = group["lr"] * ADAMW_STEP * math.sqrt(max(matrices.shape[1:]))
        steps = orthogonalise(matrices).mul_(-scale)
        torch._foreach_mul_(weights, 1 - group["lr"] * group["weight_decay"])
        for weight, step in zip(weights, steps, strict=True):
            weight.add_(step.view_as(weight))
            weight.grad = None  # so that AdamW passes over it

    def _momentum(self, weight: Tensor) -> Tensor:
        state = self.state[weight]
        if not state:
            # AdamW cannot load a state without "step".
            state["step"] = torch.tensor(0.0)
            state["momentum_buffer"] = torch.zeros_like(weight)
        state["step"] += 1
        momentum: Tensor = state["momentum_buffer"]
        return momentum


def orthogonalise(matrices: Tensor) -> Tensor:
    """Matrices [k, n, m] with the same singular vectors and singular values near 1 (0.7 to 1.2)."""
    a, b, c = NEWTON_SCHULZ
    wide = matrices.shape[-2] <= matrices.shape[-1]
    x: Tensor = matrices if wide else matrices.mT
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x if wide else x.mT
