"""Losses and what one wants to see beside them.

Policy: cross entropy against search's visit distribution, with a softmax over legal actions only.
Outcome: cross entropy of win/draw/loss against a mix of the game's result and search's root value.
Every mean is weighted by the samples' weights, so that a loss is comparable between batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from model.targets import Batch


@dataclass(slots=True)
class Losses:
    """Scalars of one batch; those that are trained on carry gradients."""

    policy: Tensor
    """Cross entropy of search's policy, nats."""
    value: Tensor
    """Cross entropy of the mixed outcome, nats."""
    entropy: Tensor
    """Entropy of the network's policy over legal actions, nats. No gradient."""
    target_entropy: Tensor
    """Entropy of search's policy, nats. No gradient."""
    agreement: Tensor
    """Share of samples where network and search prefer the same action. No gradient."""

    def metrics(self) -> dict[str, float]:
        """Plain numbers, with the KL divergence of the network's policy from search's."""
        values = torch.stack(
            [
                self.policy.detach(),
                self.value.detach(),
                self.entropy,
                self.target_entropy,
                self.agreement,
            ]
        ).tolist()
        names = ("policy_loss", "value_loss", "policy_entropy", "target_entropy", "agreement")
        return dict(zip(names, values, strict=True)) | {"policy_kl": values[0] - values[3]}


def masked_log_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """Log probabilities [B, A] over the legal actions; -inf where illegal, whatever the logits are.

    A row needs at least one legal action.
    """
    return F.log_softmax(logits.float().masked_fill(~legal, -torch.inf), dim=1)


def mixed_outcome(outcome: Tensor, root_value: Tensor, draw: Tensor, mix: float) -> Tensor:
    """Target [B, 3] of win, draw, loss: `(1 - mix) * outcome + mix * (w, d, l)`.

    Search's root value v [B] says how much likelier a win is than a loss, but not how likely a
    draw. The network's own belief in a draw `draw` [B], a constant here, fills the gap:

        d = min(draw, 1 - |v|),   w = (1 - d + v) / 2,   l = (1 - d - v) / 2

    so w - l = v, all are >= 0, and (where the minimum does not bind) the gradient on the draw
    probability is (1 - mix) times that of the game's result alone: draws are learned from results
    without bias, and v = 0 in a game without draws means an even fight, not a draw.
    """
    draw = torch.minimum(draw, 1.0 - root_value.abs())
    win = (1.0 - draw + root_value) / 2
    loss = (1.0 - draw - root_value) / 2
    searched = torch.stack([win, draw, loss], dim=1).clamp_min(0.0)  # rounding
    return (1.0 - mix) * outcome + mix * searched


def compute_losses(
    policy_logits: Tensor, value_logits: Tensor, batch: Batch, *, value_mix: float
) -> Losses:
    """Losses of logits [B, A] and [B, 3] on a batch; see the module's text."""
    log_policy = masked_log_softmax(policy_logits, batch.legal)
    log_policy = log_policy.masked_fill(~batch.legal, 0.0)  # a target of 0 times -inf would be NaN
    log_value = F.log_softmax(value_logits.float(), dim=1)
    draw = log_value.detach()[:, 1].exp()
    target = mixed_outcome(batch.outcome, batch.root_value, draw, value_mix)
    with torch.no_grad():
        probability = log_policy.exp().masked_fill(~batch.legal, 0.0)
        entropy = -(probability * log_policy).sum(1)
        target_entropy = -torch.xlogy(batch.policy, batch.policy).sum(1)
        # Illegal actions have probability 0, so the most probable one is legal.
        same = (probability.argmax(1) == batch.policy.argmax(1)).float()
    weight = batch.policy_weight
    return Losses(
        policy=_mean(-(batch.policy * log_policy).sum(1), weight),
        value=_mean(-(target * log_value).sum(1), batch.value_weight),
        entropy=_mean(entropy, weight),
        target_entropy=_mean(target_entropy, weight),
        agreement=_mean(same, weight),
    )


def expected_value(value_logits: Tensor) -> Tensor:
    """Expected result [B] in [-1, 1] for the seat to act: P(win) - P(loss) of logits [B, 3]."""
    probability = torch.softmax(value_logits.float(), dim=1)
    return probability[:, 0] - probability[:, 2]


def _mean(values: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean of [B]; 0 where all weights are 0."""
    return (values * weight).sum() / weight.sum().clamp_min(1e-6)


CALIBRATION_BINS = 10


@dataclass(slots=True)
class Calibration:
    """Reliability of the value head: do positions judged at v end at v on average?

    Samples are collected in equal bins of the predicted value over [-1, 1].
    """

    weight: Tensor = field(default_factory=lambda: torch.zeros(CALIBRATION_BINS))
    """[bins]: total weight of the samples in each bin."""
    predicted: Tensor = field(default_factory=lambda: torch.zeros(CALIBRATION_BINS))
    """[bins]: weighted sum of predicted values."""
    actual: Tensor = field(default_factory=lambda: torch.zeros(CALIBRATION_BINS))
    """[bins]: weighted sum of the games' results (+1, 0, -1)."""

    def add(self, value_logits: Tensor, batch: Batch) -> None:
        """Count a batch's predictions, logits [B, 3], against the games' results."""
        value = expected_value(value_logits.detach()).cpu()
        weight = batch.value_weight.cpu()
        actual = (batch.outcome[:, 0] - batch.outcome[:, 2]).cpu()
        bins = ((value + 1) * (CALIBRATION_BINS / 2)).long().clamp(0, CALIBRATION_BINS - 1)
        self.weight.index_add_(0, bins, weight)
        self.predicted.index_add_(0, bins, value * weight)
        self.actual.index_add_(0, bins, actual * weight)

    def table(self) -> list[tuple[float, float, float]]:
        """(mean predicted value, mean result, weight) of each bin that has samples."""
        return [
            (predicted / weight, actual / weight, weight)
            for predicted, actual, weight in zip(
                self.predicted.tolist(), self.actual.tolist(), self.weight.tolist(), strict=True
            )
            if weight > 0
        ]

    def error(self) -> float:
        """Expected calibration error: weighted mean of |predicted - actual|; 0 if empty."""
        table = self.table()
        total = sum(weight for _, _, weight in table)
        gaps = sum(abs(predicted - actual) * weight for predicted, actual, weight in table)
        return gaps / total if total else 0.0

    def clear(self) -> None:
        """Forget all samples."""
        for tensor in (self.weight, self.predicted, self.actual):
            tensor.zero_()
