"""The network: a residual tower that plays any rule set on any board size.

A smaller board lies in the lower left corner of a larger canvas, and the plane `on_board` says
where. Every layer's output is multiplied by it and every pooling divides by the number of points on
the board, so that a position's result is the same on every canvas that holds it.

There is no normalisation layer: see docs/decisions/0003-network-without-normalisation.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine import OPTIONS
from engine.features import GLOBALS, PLANES

MASK_PLANE = PLANES.index("on_board")

OFF_BOARD = -1e4
"""Logit of points outside the board: probability 0 in float32, and still finite in bfloat16."""

POOL_CENTRE, POOL_SCALE = 14.0, 0.1
"""The second pooled mean is the first times (sqrt(points) - 14) / 10 (Wu, arXiv:1902.10565)."""

FIRST_PASS_BIAS = -3.0
"""Logit bias of passing at the start. Where the untrained value likes the seat to act, every move
looks worse than a draw by two passes: games end after a few plies and teach nothing but passing."""

POOLED = 3
"""Numbers that pooling makes of a channel: mean, mean scaled by the board's size, maximum."""


@dataclass(slots=True, kw_only=True)
class NetworkConfig:
    """Size of the network. The numbers of planes and globals are the engine's."""

    #: Residual blocks of two 3x3 convolutions.
    blocks: int = 4
    #: Channels of the trunk.
    channels: int = 32
    #: Every so-manieth block pools over the whole board; 0: none does.
    pool_every: int = 2
    #: Channels that are pooled in such a block.
    pool_channels: int = 16
    #: Channels of each head's convolution.
    head_channels: int = 16
    #: Hidden units of the heads' dense layers.
    hidden: int = 32

    def __post_init__(self) -> None:
        lowest = {"blocks": 1, "pool_every": 0}
        for name in self.__slots__:
            value = getattr(self, name)
            if type(value) is not int or value < lowest.get(name, 4):
                raise ValueError(f"model.{name}: {value!r} is no integer >= {lowest.get(name, 4)}")

    @property
    def name(self) -> str:
        """Short name, such as b4c32."""
        return f"b{self.blocks}c{self.channels}"


PRESETS: dict[str, NetworkConfig] = {
    config.name: config
    for config in (
        NetworkConfig(blocks=2, channels=16, pool_channels=8, head_channels=8, hidden=32),
        NetworkConfig(blocks=4, channels=32, pool_channels=16, head_channels=16, hidden=32),
        NetworkConfig(blocks=6, channels=64, pool_channels=32, head_channels=32, hidden=64),
        NetworkConfig(blocks=10, channels=128, pool_channels=32, head_channels=32, hidden=96),
    )
}


class Network(nn.Module):
    """Planes and globals in; logits of actions and of win, draw, loss out.

    The order of the weights' names and shapes is part of the checkpoint format.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        channels, head = config.channels, config.head_channels
        self.stem = _conv(len(PLANES), channels, 3)
        self.stem_globals = nn.Linear(len(GLOBALS), channels)
        self.blocks = nn.ModuleList(
            Block(config, pools=config.pool_every > 0 and (i + 1) % config.pool_every == 0)
            for i in range(config.blocks)
        )
        summary = POOLED * head + len(GLOBALS)
        self.head_points = _conv(channels, head, 1)
        self.head_summary = _conv(channels, head, 1)
        self.policy_hidden = nn.Linear(summary, config.hidden)
        self.policy_bias = nn.Linear(config.hidden, head)
        self.policy_points = nn.Conv2d(head, 1, 1)
        self.policy_options = nn.Linear(config.hidden, len(OPTIONS))
        self.value_hidden = nn.Linear(summary, config.hidden)
        self.value = nn.Linear(config.hidden, 3)
        self._initialise()

    def forward(self, planes: Tensor, globals_: Tensor) -> tuple[Tensor, Tensor]:
        """Judge planes [B, C, H, W] of any type with globals [B, G].

        Returns policy logits [B, H*W + 16], `OFF_BOARD` for points outside the board but not masked
        for legality, and value logits [B, 3] of win, draw and loss for the seat to act.
        """
        planes = planes.to(self.stem.weight.dtype)
        mask = planes[:, MASK_PLANE : MASK_PLANE + 1]  # [B, 1, H, W]
        points = mask.sum((2, 3)).clamp_min(1.0)  # [B, 1]; rows of padding have none
        x = self.stem(planes) + self.stem_globals(globals_)[:, :, None, None]
        mask = mask.to(x.dtype)  # else what autocast made smaller would be float32 again
        x = F.relu(x) * mask
        for block in self.blocks:
            x = block(x, mask, points)

        summary = pool(F.relu(self.head_summary(x)) * mask, points)
        summary = torch.cat([summary, globals_], dim=1)
        policy = F.relu(self.policy_hidden(summary))
        moves = self.head_points(x) + self.policy_bias(policy)[:, :, None, None]
        moves = self.policy_points(F.relu(moves)).masked_fill(mask == 0, OFF_BOARD)
        policy_logits = torch.cat([moves.flatten(1), self.policy_options(policy)], dim=1)
        value_logits = self.value(F.relu(self.value_hidden(summary)))
        return policy_logits, value_logits

    def channels_last(self) -> Network:
        """Lay the weights out with the channels innermost, which makes convolutions faster."""
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return self

    def _initialise(self) -> None:
        """He's variance for layers before a ReLU; small for outputs, so that play starts even."""
        for layer in (self.stem, self.head_points, self.head_summary):
            _he(layer)
        for dense in (self.policy_hidden, self.value_hidden):
            _he(dense)
        # What is added to a convolution gets a share of its variance.
        _he(self.stem_globals, gain=0.5)
        _he(self.policy_bias, gain=0.5)
        for output in (self.policy_points, self.policy_options):
            _he(output, gain=0.4)
        _he(self.value, gain=0.1)
        assert self.policy_options.bias is not None
        nn.init.constant_(self.policy_options.bias[OPTIONS.index("pass")], FIRST_PASS_BIAS)


class Block(nn.Module):
    """Two convolutions added to the trunk; in some blocks the whole board speaks in between."""

    def __init__(self, config: NetworkConfig, *, pools: bool) -> None:
        super().__init__()
        channels = config.channels
        self.first = _conv(channels, channels, 3)
        self.second = _conv(channels, channels, 3)
        # Fixup (Zhang et al. 2019, arXiv:1901.09321): each branch starts as nothing.
        _he(self.first, gain=config.blocks**-0.5)
        nn.init.zeros_(self.second.weight)
        self.pools = pools
        if pools:
            self.pooled = _conv(channels, config.pool_channels, 1)
            self.spread = nn.Linear(POOLED * config.pool_channels, channels)
            _he(self.pooled)
            _he(self.spread, gain=0.5 * config.blocks**-0.5)

    def forward(self, x: Tensor, mask: Tensor, points: Tensor) -> Tensor:
        """Trunk [B, channels, H, W], mask [B, 1, H, W] and points on the board [B, 1]."""
        branch = self.first(x)
        if self.pools:
            summary = pool(F.relu(self.pooled(x)) * mask, points)
            branch = branch + self.spread(summary)[:, :, None, None]
        branch = self.second(F.relu(branch) * mask)
        return F.relu(x + branch) * mask


def pool(x: Tensor, points: Tensor) -> Tensor:
    """Summary [B, 3 * channels] of x [B, channels, H, W] over the board's points [B, 1].

    x is 0 off the board and nowhere negative, so neither the sum nor the maximum sees the canvas.
    """
    mean = x.sum((2, 3)) / points
    scaled = mean * ((points.sqrt() - POOL_CENTRE) * POOL_SCALE)
    return torch.cat([mean, scaled, x.amax((2, 3))], dim=1)


def _conv(inputs: int, outputs: int, size: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, padding=size // 2)


def _he(layer: nn.Conv2d | nn.Linear, gain: float = 1.0) -> None:
    """Normal weights of variance 2 / inputs (He et al. 2015) times gain squared; biases 0."""
    inputs = layer.weight[0].numel()
    nn.init.normal_(layer.weight, std=gain * math.sqrt(2.0 / inputs))
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
