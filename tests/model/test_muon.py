"""Muon: orthogonal steps of the usual length for matrices, AdamW for the rest."""

import math

import pytest
import torch

from model.muon import ADAMW_STEP, Muon, orthogonalise


@pytest.mark.parametrize("shape", [(8, 8), (6, 40), (40, 6)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    left, values, right = torch.linalg.svd(torch.randn(shape), full_matrices=False)
    values = torch.linspace(1, 0.1, len(values))
    found = left.T @ orthogonalise((left @ torch.diag(values) @ right)[None])[0] @ right.T
    assert ((found.diagonal() > 0.6) & (found.diagonal() < 1.3)).all()
    assert (found - torch.diag(found.diagonal())).abs().max() < 1e-4


def test_a_kernel_moves_as_far_as_with_adamw_and_downhill() -> None:
    torch.manual_seed(0)
    kernel = torch.zeros(16, 16, 3, 3, requires_grad=True)
    kernel.grad = gradient = torch.randn_like(kernel)
    Muon([{"params": [kernel], "orthogonal": True}], lr=0.01, momentum=0.9).step()
    with torch.no_grad():
        length = kernel.norm().item() / math.sqrt(kernel.numel())
        assert length == pytest.approx(0.01 * ADAMW_STEP, rel=0.3)
        assert (kernel * gradient).sum() < 0
    assert kernel.grad is None


def test_other_weights_move_as_with_adamw() -> None:
    weights = [torch.ones(5, requires_grad=True) for _ in range(2)]
    groups = [[{"params": [weight], "weight_decay": 0.1}] for weight in weights]
    optimisers = [Muon(groups[0], lr=0.1, momentum=0.9), torch.optim.AdamW(groups[1], lr=0.1)]
    for optimiser, weight in zip(optimisers, weights, strict=True):
        for _ in range(3):
            weight.grad = torch.arange(5.0)
            optimiser.step()
    assert torch.equal(*weights)


def test_weights_of_one_shape_move_together_as_each_would_alone() -> None:
    torch.manual_seed(0)
    shapes = [(8, 6, 3, 3), (8, 6, 3, 3), (4, 5), (8, 6, 3, 3)]
    together = [torch.randn(shape).requires_grad_() for shape in shapes]
    alone = [weight.detach().clone().requires_grad_() for weight in together]
    optimiser = Muon([{"params": together, "orthogonal": True}], lr=0.1, momentum=0.9)
    others = [
        Muon([{"params": [weight], "orthogonal": True}], lr=0.1, momentum=0.9) for weight in alone
    ]
    for _ in range(3):
        for one, other in zip(together, alone, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        together[2].grad = alone[2].grad = None
        for each in (optimiser, *others):
            each.step()
    for one, other in zip(together, alone, strict=True):
        assert torch.allclose(one, other, atol=1e-5)
