import numpy as np
import pytest
import torch
from torch import Tensor

from engine import OPTIONS, Position, RuleSet
from engine.features import GLOBALS, PLANES, features
from model.network import MASK_PLANE, PRESETS, Network, NetworkConfig
from tests.model.material import GAMES, IRENSEI, TINY, some_positions, wild_network


def inputs(positions: list[Position], height: int, width: int) -> tuple[Tensor, Tensor]:
    """Planes [n, C, height, width] and globals [n, G]."""
    rows = [features(position, height, width) for position in positions]
    planes, globals_, _ = (np.stack(arrays) for arrays in zip(*rows, strict=True))
    return torch.from_numpy(planes), torch.from_numpy(globals_)


def split(logits: Tensor, rules: RuleSet, height: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Logits of the board's points, of points beside the board, and of the options."""
    canvas = logits[:, : height * width].unflatten(1, (height, width))
    on_board = torch.zeros(height, width, dtype=torch.bool)
    on_board[: rules.height, : rules.width] = True
    return canvas[:, on_board], canvas[:, ~on_board], logits[:, height * width :]


@pytest.mark.parametrize("name", ["b2c16", "b4c32", "b6c64"])
@pytest.mark.parametrize(("rules", "opening"), GAMES)
def test_results_are_the_same_on_every_canvas(name: str, rules: RuleSet, opening: str) -> None:
    network = wild_network(PRESETS[name])
    positions = some_positions(rules, opening, 3)
    with torch.inference_mode():
        own, own_value = network(*inputs(positions, rules.height, rules.width))
        for height, width in ((9, 9), (11, 13), (19, 19)):
            policy, value = network(*inputs(positions, height, width))
            points, beside, options = split(policy, rules, height, width)
            torch.testing.assert_close(points, own[:, : rules.points], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(options, own[:, rules.points :], atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(value, own_value, atol=1e-5, rtol=1e-5)
            assert (beside <= -1e4).all()


def test_boards_of_several_sizes_share_a_batch() -> None:
    network = wild_network()
    positions = [some_positions(rules, opening, 1)[0] for rules, opening in GAMES]
    with torch.inference_mode():
        together = network(*inputs(positions, 9, 9))
        for row, position in enumerate(positions):
            alone = network(*inputs([position], 9, 9))
            for ours, theirs in zip(together, alone, strict=True):
                torch.testing.assert_close(ours[row : row + 1], theirs, atol=1e-5, rtol=1e-5)


def test_points_beside_the_board_have_no_probability() -> None:
    planes, globals_ = inputs(some_positions(*GAMES[1], 2), 12, 12)
    policy, _ = wild_network()(planes, globals_)
    _, beside, _ = split(torch.softmax(policy, 1), GAMES[1][0], 12, 12)
    assert (beside == 0).all()


def test_outputs_depend_on_every_input_of_the_board() -> None:
    network = wild_network()
    planes, globals_ = inputs(some_positions(IRENSEI, "none", 1), 9, 9)
    planes = planes.float().requires_grad_()
    globals_.requires_grad_()
    _, value = network(planes, globals_)
    value[0, 0].backward()
    assert planes.grad is not None and globals_.grad is not None
    assert planes.grad.abs().sum((0, 2, 3)).min() > 0
    assert globals_.grad.abs().min() > 0


def test_every_weight_is_trained() -> None:
    network = wild_network().train()
    policy, value = network(*inputs(some_positions(IRENSEI, "swap-1st", 8), 9, 9))
    (policy.clamp_min(-100).square().mean() + value.square().mean()).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name


def test_a_new_network_has_no_strong_opinion() -> None:
    torch.manual_seed(0)
    for config in PRESETS.values():
        policy, value = Network(config)(*inputs(some_positions(IRENSEI, "none", 4), 9, 9))
        assert policy.std(1).max() < 0.5
        assert (torch.softmax(value, 1) - 1 / 3).abs().max() < 0.15


def test_rows_of_padding_are_finite() -> None:
    planes, globals_ = torch.zeros(2, len(PLANES), 9, 9), torch.zeros(2, len(GLOBALS))
    assert planes[:, MASK_PLANE].sum() == 0
    policy, value = wild_network()(planes, globals_)
    assert policy.shape == (2, 81 + len(OPTIONS)) and value.shape == (2, 3)
    assert torch.isfinite(policy).all() and torch.isfinite(value).all()


def test_names_of_sizes() -> None:
    assert list(PRESETS) == ["b2c16", "b4c32", "b6c64", "b10c128"]
    assert TINY.name == "b2c8"


@pytest.mark.parametrize(
    ("field", "value"), [("blocks", 0), ("channels", 3), ("hidden", 2.5), ("pool_every", -1)]
)
def test_impossible_sizes_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"model\.{field}"):
        NetworkConfig(**{field: value})
