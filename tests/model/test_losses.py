import dataclasses
import math

import pytest
import torch
from torch import Tensor

from model.losses import (
    Calibration,
    compute_losses,
    expected_value,
    masked_log_softmax,
    mixed_outcome,
)
from model.targets import Batch, make_batch
from tests.model.material import some_samples


def some_batch(n: int = 6) -> Batch:
    return make_batch(some_samples(n), 5, 5)


def some_logits(batch: Batch, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    policy = torch.randn(batch.legal.shape, generator=generator).requires_grad_()
    value = torch.randn(len(batch), 3, generator=generator).requires_grad_()
    return policy, value


def test_illegal_actions_have_no_probability_whatever_their_logits() -> None:
    logits = torch.tensor([[5.0, 1e9, -3.0, torch.inf, 0.0]])
    legal = torch.tensor([[True, False, True, False, False]])
    probability = masked_log_softmax(logits, legal).exp()
    assert probability[~legal].tolist() == [0.0, 0.0, 0.0]
    assert probability.sum().item() == pytest.approx(1.0)


def test_illegal_actions_get_no_gradient() -> None:
    batch = some_batch()
    policy, value = some_logits(batch)
    losses = compute_losses(policy, value, batch, value_mix=0.3)
    (losses.policy + losses.value).backward()
    assert policy.grad is not None and value.grad is not None
    assert (policy.grad[~batch.legal] == 0).all()
    assert (policy.grad[batch.legal] != 0).all()
    assert torch.isfinite(policy.grad).all() and torch.isfinite(value.grad).all()


def test_samples_without_weight_teach_nothing() -> None:
    batch = some_batch()
    batch.policy_weight[:2] = 0
    batch.value_weight[4:] = 0
    policy, value = some_logits(batch)
    losses = compute_losses(policy, value, batch, value_mix=0.3)
    (losses.policy + losses.value).backward()
    assert policy.grad is not None and value.grad is not None
    assert (policy.grad[:2] == 0).all() and policy.grad[2:].abs().sum(1).min() > 0
    assert (value.grad[4:] == 0).all() and value.grad[:4].abs().sum(1).min() > 0


def test_losses_are_means_over_the_weighted_samples() -> None:
    batch = some_batch()
    policy, value = some_logits(batch)
    rows = [compute_rows(policy, value, batch, row) for row in range(6)]
    batch.policy_weight[:] = torch.tensor([0.0, 1, 2, 0, 1, 0])
    losses = compute_losses(policy, value, batch, value_mix=0.3)
    expected = (rows[1][0] + 2 * rows[2][0] + rows[4][0]) / 4
    assert losses.policy.item() == pytest.approx(expected, rel=1e-5)
    assert losses.value.item() == pytest.approx(sum(row[1] for row in rows) / 6, rel=1e-5)


def compute_rows(policy: Tensor, value: Tensor, batch: Batch, row: int) -> tuple[float, float]:
    alone = Batch(**{name: tensor[row : row + 1] for name, tensor in batch.tensors().items()})
    losses = compute_losses(policy[row : row + 1], value[row : row + 1], alone, value_mix=0.3)
    return losses.policy.item(), losses.value.item()


def test_no_weight_at_all_is_no_loss() -> None:
    batch = some_batch()
    batch.policy_weight[:] = 0
    batch.value_weight[:] = 0
    losses = compute_losses(*some_logits(batch), batch, value_mix=0.3)
    assert set(losses.metrics().values()) == {0.0}


def test_a_perfect_policy_has_no_divergence() -> None:
    batch = some_batch()
    policy = batch.policy.clamp_min(1e-30).log()
    metrics = compute_losses(policy, torch.zeros(6, 3), batch, value_mix=0.0).metrics()
    assert metrics["policy_kl"] == pytest.approx(0, abs=1e-6)
    assert metrics["policy_entropy"] == pytest.approx(metrics["target_entropy"], abs=1e-6)
    assert metrics["policy_loss"] == pytest.approx(metrics["target_entropy"], abs=1e-6)
    assert metrics["agreement"] == 1
    assert metrics["value_loss"] == pytest.approx(math.log(3))


def test_entropy_of_an_even_policy_counts_legal_actions() -> None:
    batch = some_batch(1)
    metrics = compute_losses(
        torch.zeros(batch.legal.shape), torch.zeros(1, 3), batch, value_mix=0.0
    ).metrics()
    assert metrics["policy_entropy"] == pytest.approx(math.log(batch.legal.sum().item()), rel=1e-5)


def test_the_mixed_outcome_keeps_search_s_value() -> None:
    outcome = torch.eye(3)
    value = torch.tensor([0.5, -0.2, -1.0])
    draw = torch.tensor([0.1, 0.9, 0.3])
    searched = mixed_outcome(outcome, value, draw, 1.0)
    torch.testing.assert_close(searched[:, 0] - searched[:, 2], value)
    torch.testing.assert_close(searched[:, 1], torch.tensor([0.1, 0.8, 0.0]))
    torch.testing.assert_close(searched.sum(1), torch.ones(3))
    assert searched.min() >= 0
    assert torch.equal(mixed_outcome(outcome, value, draw, 0.0), outcome)
    half = mixed_outcome(outcome, value, draw, 0.5)
    torch.testing.assert_close(half, (outcome + searched) / 2)


def test_draws_are_learned_from_results_alone() -> None:
    """The gradient on the draw's logit is that of the result alone, less by the mix."""
    batch = some_batch()
    batch.root_value[:] = 0.05
    gradients = []
    for mix in (0.0, 0.4):
        policy, value = some_logits(batch, seed=1)
        value = (value.detach() * 0.3).requires_grad_()
        compute_losses(policy, value, batch, value_mix=mix).value.backward()
        assert value.grad is not None
        gradients.append(value.grad[:, 1])
    torch.testing.assert_close(gradients[1], gradients[0] * 0.6)


def test_expected_value_is_win_less_loss() -> None:
    logits = torch.tensor([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]).log()
    torch.testing.assert_close(expected_value(logits), torch.tensor([0.5, -0.7]))


def test_calibration_compares_predictions_with_results() -> None:
    calibration = Calibration()
    assert calibration.table() == [] and calibration.error() == 0
    batch = dataclasses.replace(some_batch(4), value_weight=torch.tensor([1.0, 1, 2, 0]))
    batch.outcome[:] = torch.tensor([[1.0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]])
    logits = torch.tensor([[0.75, 0, 0.25], [0.75, 0, 0.25], [1, 0, 0], [1, 0, 0]]).log()
    calibration.add(logits.clamp_min(-1e4), batch)
    (half, even, weight), certain = calibration.table()
    assert (half, even, weight) == (pytest.approx(0.5), 0.0, 2.0) and certain == (1.0, 1.0, 2.0)
    assert calibration.error() == pytest.approx(0.25)
    calibration.clear()
    assert calibration.table() == []
