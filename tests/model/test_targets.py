import dataclasses

import numpy as np
import pytest
import torch

from engine import Position
from engine.features import PLANES
from engine.symmetry import count
from model.targets import Sample, make_batch
from tests.model.material import GAMES, IRENSEI, RECTANGLE, SMALL, some_samples


def mixed(n: int) -> list[Sample]:
    return [
        sample for rules, opening in GAMES for sample in some_samples(n, rules, opening, seed=n)
    ]


def test_games_of_several_sizes_make_one_batch() -> None:
    samples = mixed(4)
    batch = make_batch(samples, 9, 10, np.random.default_rng(0))
    assert len(batch) == 12
    assert batch.planes.shape == (12, len(PLANES), 9, 10)
    assert batch.legal.shape == batch.policy.shape == (12, 106)
    torch.testing.assert_close(batch.policy.sum(1), torch.ones(12))
    assert not ((batch.policy > 0) & ~batch.legal).any()
    for row, sample in enumerate(samples):
        assert batch.outcome[row].tolist().index(1.0) == 1 - sample.outcome
        assert batch.planes[row, PLANES.index("on_board")].sum() == sample.rules.points
        assert batch.root_value[row].item() == pytest.approx(sample.root_value)


def test_without_symmetries_the_policy_stays_where_it_is() -> None:
    sample = some_samples(1, RECTANGLE)[0]
    batch = make_batch([sample], RECTANGLE.height, RECTANGLE.width)
    expected = np.zeros(RECTANGLE.num_actions, np.float32)
    expected[sample.actions] = sample.policy
    np.testing.assert_array_equal(batch.policy[0].numpy(), expected)


@pytest.mark.parametrize("rules", [IRENSEI, RECTANGLE, SMALL])
def test_planes_and_policy_are_turned_alike(rules) -> None:
    """A target points to where, in the turned planes, the stone then lies."""
    rng = np.random.default_rng(3)
    position = Position(rules)
    for _ in range(4):
        position.play(int(rng.choice(position.legal_actions()[:20])))
    action = int(rng.choice([a for a in position.legal_actions() if a < rules.points]))
    after = position.copy()
    after.play(action)
    before = one_sample(position, action)
    later = one_sample(after, int(after.legal_actions()[0]))
    places = set()
    for symmetry in range(count(rules)):
        batch = make_batch([before, later], 10, 10, symmetries=[symmetry, symmetry])
        place = int(batch.policy[0].argmax())
        own, other = batch.planes[:, PLANES.index("own")], batch.planes[:, PLANES.index("other")]
        new = (own[1] + other[1]) - (own[0] + other[0])  # [H, W]
        assert new.flatten().tolist() == [float(i == place) for i in range(100)]
        places.add(place)
    assert len(places) > 1


def one_sample(position: Position, action: int) -> Sample:
    return Sample(
        packed=position.pack(),
        rules=position.rules,
        opening=position.opening,
        actions=np.array([action], np.int32),
        policy=np.ones(1, np.float32),
        outcome=0,
        root_value=0.0,
    )


def test_all_symmetries_are_drawn_and_depend_on_the_generator_only() -> None:
    samples = some_samples(1, IRENSEI, "none", seed=2) * 200
    batch = make_batch(samples, 9, 9, np.random.default_rng(0))
    again = make_batch(samples, 9, 9, np.random.default_rng(0))
    assert torch.equal(batch.planes, again.planes) and torch.equal(batch.policy, again.policy)
    assert len({row.numpy().tobytes() for row in batch.policy}) == 8
    rectangles = make_batch(some_samples(1, RECTANGLE) * 100, 9, 9, np.random.default_rng(0))
    assert len({row.numpy().tobytes() for row in rectangles.policy}) <= 4


def test_a_fast_search_may_come_without_a_policy() -> None:
    none = np.zeros(0)
    sample = dataclasses.replace(
        some_samples(1)[0],
        actions=none.astype(np.int32),
        policy=none.astype(np.float32),
        policy_weight=0.0,
    )
    batch = make_batch([sample], 5, 5)
    assert batch.policy.sum() == 0 and batch.policy_weight.item() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outcome": 2}, "outcome 2"),
        ({"root_value": 1.5}, "root value 1.5"),
        ({"root_value": float("nan")}, "root value nan"),
        ({"policy": np.full(6, 0.1, np.float32)}, "policy sums to 0.6"),
        ({"packed": b"nonsense"}, "packed position"),
    ],
)
def test_wrong_samples_are_refused(change: dict[str, object], message: str) -> None:
    sample = dataclasses.replace(some_samples(1)[0], **change)
    with pytest.raises(ValueError, match=message):
        make_batch([sample], 5, 5)


def test_a_target_on_an_illegal_action_is_refused() -> None:
    position = Position(SMALL)
    position.play(7)
    with pytest.raises(ValueError, match="sample 0: policy target on an illegal action"):
        make_batch([one_sample(position, 7)], 5, 5)


def test_a_board_larger_than_the_canvas_is_refused() -> None:
    with pytest.raises(ValueError, match="too small"):
        make_batch(some_samples(1, IRENSEI), 8, 9)
    with pytest.raises(ValueError, match="no samples"):
        make_batch([], 8, 9)
