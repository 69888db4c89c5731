import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine import storage
from model.learner import (
    AVERAGED_STEPS,
    STATE_FILE,
    DivergedError,
    Learner,
    LearnerConfig,
    LearnerStateError,
)
from model.network import Network
from model.targets import Batch, make_batch
from model.torch_evaluator import DEVICE
from tests.model.material import TINY, some_samples, wild_network


def some_learner(folder: Path, seed: int = 0, **settings: object) -> Learner:
    config = LearnerConfig(**({"device": "cpu", "warmup_steps": 0} | settings))
    return Learner(config, wild_network(seed=seed), folder)


def some_batches(n: int, size: int = 8) -> list[Batch]:
    samples = some_samples(n * size)
    return [make_batch(samples[i * size : (i + 1) * size], 5, 5) for i in range(n)]


def state_of(learner: Learner) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in learner._tensors().items()}


def all_weights(learner: Learner) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in learner.network.parameters()])


def same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(
        torch.equal(tensor, theirs[name]) for name, tensor in ours.items()
    )


def test_a_few_samples_are_learned_by_heart(tmp_path: Path) -> None:
    torch.manual_seed(2)
    config = LearnerConfig(device="cpu", lr=1e-2, warmup_steps=10, value_mix=0.0)
    learner = Learner(config, Network(TINY), tmp_path)
    samples = some_samples(6)
    batch = make_batch(samples, 5, 5)
    first = learner.step(batch)
    for _ in range(150):
        last = learner.step(batch)
    assert first["policy_kl"] > 0.3 and first["value_loss"] > 0.9
    assert last["policy_kl"] < 0.1 and last["value_loss"] < 0.1
    with torch.inference_mode():
        _, value = learner.ema_network(batch.planes, batch.globals_)
    assert value.argmax(1).tolist() == [1 - sample.outcome for sample in samples]


@pytest.mark.parametrize("has_units", [False, True])
def test_bfloat16_where_the_processor_multiplies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_units: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": has_units}, False)
    (batch,) = some_batches(1)
    steps = {}
    for mixed in (False, True):
        learner = some_learner(tmp_path, mixed_precision=mixed, lr=1e-3)
        steps[mixed] = [learner.step(batch)["loss"] for _ in range(20)]
        assert all(parameter.dtype == torch.float32 for parameter in learner.network.parameters())
        assert steps[mixed][-1] < 0.95 * steps[mixed][0]
    assert steps[True] == pytest.approx(steps[False], rel=0.05)
    assert (steps[True] == steps[False]) is not has_units


def test_metrics_are_plain_numbers(tmp_path: Path) -> None:
    metrics = some_learner(tmp_path).step(some_batches(1)[0])
    assert set(metrics) == {
        "loss", "policy_loss", "value_loss", "policy_entropy", "target_entropy", "policy_kl",
        "agreement", "gradient_norm", "lr",
    }  # fmt: skip
    assert all(type(value) is float and math.isfinite(value) for value in metrics.values())
    assert metrics["loss"] == pytest.approx(metrics["policy_loss"] + metrics["value_loss"])


def test_calibration_collects_until_cleared(tmp_path: Path) -> None:
    learner = some_learner(tmp_path)
    for batch in some_batches(2):
        learner.step(batch)
    assert sum(weight for _, _, weight in learner.calibration.table()) == 16


@pytest.mark.parametrize("optimizer", ["muon", "adamw", "sgd"])
def test_the_same_batches_give_the_same_weights(tmp_path: Path, optimizer: str) -> None:
    learners = [some_learner(tmp_path, optimizer=optimizer, lr=1e-2) for _ in range(2)]
    for batch in some_batches(3):
        assert learners[0].step(batch) == learners[1].step(batch)
    assert same(state_of(learners[0]), state_of(learners[1]))


@pytest.mark.parametrize("optimizer", ["muon", "adamw", "sgd"])
def test_training_goes_on_bit_for_bit_after_loading(tmp_path: Path, optimizer: str) -> None:
    settings = {"optimizer": optimizer, "schedule": "cosine", "schedule_steps": 20}
    learner = some_learner(tmp_path, **settings)
    batches = some_batches(8)
    for batch in batches[:4]:
        learner.step(batch)
    learner.save(tmp_path)
    resumed = some_learner(tmp_path, seed=1, **settings)
    resumed.load(tmp_path)
    assert resumed.steps == 4
    for batch in batches[4:]:
        assert learner.step(batch) == resumed.step(batch)
    assert same(state_of(learner), state_of(resumed))


def test_a_state_of_no_steps_can_be_stored(tmp_path: Path) -> None:
    learner = some_learner(tmp_path, optimizer="sgd")
    learner.save(tmp_path)
    resumed = some_learner(tmp_path, seed=1, optimizer="sgd")
    resumed.load(tmp_path)
    assert same(state_of(learner), state_of(resumed))


def test_the_playing_weights_are_an_average(tmp_path: Path) -> None:
    learner = some_learner(tmp_path, ema_decay=0.5, lr=1e-2)
    expected = learner.network.value.bias.detach().clone()
    for step, batch in enumerate(some_batches(12), 1):
        learner.step(batch)
        decay = min(0.5, step / (step + 9))
        expected = decay * expected + (1 - decay) * learner.network.value.bias.detach()
    torch.testing.assert_close(learner.ema_network.value.bias.data, expected)
    assert not torch.equal(learner.ema_network.value.bias, learner.network.value.bias)


def test_without_averaging_the_newest_weights_play(tmp_path: Path) -> None:
    learner = some_learner(tmp_path, ema_decay=0.0)
    learner.step(some_batches(1)[0])
    newest, playing = learner.network.state_dict(), learner.ema_network.state_dict()
    for name, tensor in newest.items():
        torch.testing.assert_close(playing[name], tensor)


def test_gradients_are_clipped_but_reported_in_full(tmp_path: Path) -> None:
    batch = some_batches(1)[0]
    settings = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "lr": 1.0}
    norms, moves = [], []
    for clip_norm in (0.01, 0.0):
        learner = some_learner(tmp_path, clip_norm=clip_norm, **settings)
        before = all_weights(learner)
        norms.append(learner.step(batch)["gradient_norm"])
        moves.append((all_weights(learner) - before).norm().item())
    assert norms[0] == norms[1] > 0.01
    assert moves[0] == pytest.approx(0.01, rel=1e-2)
    assert moves[1] == pytest.approx(norms[1], rel=1e-2)


def test_weights_decay_and_biases_do_not(tmp_path: Path) -> None:
    batch = some_batches(1)[0]
    batch.policy_weight[:] = 0
    batch.value_weight[:] = 0
    learner = some_learner(tmp_path, weight_decay=0.5, lr=0.1)
    before = {name: p.detach().clone() for name, p in learner.network.named_parameters()}
    learner.step(batch)
    for name, parameter in learner.network.named_parameters():
        factor = 0.95 if parameter.dim() > 1 else 1.0
        torch.testing.assert_close(parameter.data, before[name] * factor)


def test_learning_rates() -> None:
    config = LearnerConfig(lr=1.0, warmup_steps=4, schedule_steps=10, schedule_factor=0.1)
    assert [config.learning_rate(step) for step in (0, 1, 3, 4, 99)] == [0.25, 0.5, 1, 1, 1]
    cosine = dataclasses.replace(config, schedule="cosine")
    rates = [cosine.learning_rate(step) for step in (5, 10, 11, 99)]
    assert rates == pytest.approx([0.55, 0.1, 0.1, 0.1])
    to_the_goal = dataclasses.replace(cosine, schedule_steps=0)
    rates = [to_the_goal.learning_rate(99, done) for done in (0.0, 0.5, 1.0)]
    assert rates == pytest.approx([1.0, 0.55, 0.1])
    with pytest.raises(ValueError, match=r"learner.schedule_steps: 0 is less than 1"):
        dataclasses.replace(config, schedule="step", schedule_steps=0)
    step = dataclasses.replace(config, schedule="step")
    rates = [step.learning_rate(step_) for step_ in (9, 10, 19, 20)]
    assert rates == pytest.approx([1, 0.1, 0.1, 0.01])


@pytest.mark.parametrize("field", ["globals_", "root_value", "policy"])
def test_nan_stops_training_and_keeps_the_batch(tmp_path: Path, field: str) -> None:
    learner = some_learner(tmp_path)
    good, bad = some_batches(2)
    learner.step(good)
    before = state_of(learner)
    getattr(bad, field).view(-1)[3] = torch.nan
    with pytest.raises(DivergedError, match=r"step 1 diverged: loss nan.*diverged-00000001"):
        learner.step(bad)
    assert same(state_of(learner), before)
    stored = load_file(tmp_path / "diverged-00000001.safetensors")
    for name, tensor in bad.tensors().items():
        torch.testing.assert_close(stored[name], tensor, equal_nan=True)


def test_an_exploding_loss_stops_training(tmp_path: Path) -> None:
    learner = some_learner(tmp_path)
    batch = some_batches(1)[0]
    for _ in range(AVERAGED_STEPS):
        learner.step(batch)
    with torch.no_grad():
        learner.network.value.bias[0] = 1000.0
    before = state_of(learner)
    with pytest.raises(DivergedError, match=r"diverged: loss .* usually"):
        learner.step(batch)
    assert same(state_of(learner), before)
    assert len(list(tmp_path.glob("diverged-*"))) == 1


def test_divergence_is_reported_also_where_the_batch_cannot_be_stored(tmp_path: Path) -> None:
    learner = some_learner(tmp_path / "missing")
    batch = some_batches(1)[0]
    batch.globals_[0, 0] = torch.inf
    with pytest.raises(DivergedError, match="could not be stored"):
        learner.step(batch)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("optimizer", "adam"),
        ("schedule", "linear"),
        ("batch_size", 0),
        ("lr", 0.0),
        ("lr", math.nan),
        ("ema_decay", 1.0),
        ("value_mix", 1.5),
        ("clip_norm", -1.0),
        ("explode_factor", 1.0),
    ],
)
def test_impossible_settings_are_refused(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"learner\.{field}"):
        LearnerConfig(**{field: value})


def test_a_device_that_is_not_there_is_refused(tmp_path: Path) -> None:
    for device in ("no-such-device", "cuda:77"):
        with pytest.raises(ValueError, match=r"learner\.device"):
            some_learner(tmp_path, device=device)


def refused(folder: Path, message: str, **settings: object) -> None:
    """Loading raises one clear line, and leaves the learner as it was."""
    learner = some_learner(folder, seed=2, **{"optimizer": "adamw"} | settings)
    before = state_of(learner)
    with pytest.raises(LearnerStateError, match=message) as caught:
        learner.load(folder)
    assert str(folder / STATE_FILE) in str(caught.value) and "\n" not in str(caught.value)
    assert same(state_of(learner), before) and learner.steps == 0


def test_states_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "cannot be read")
    learner = some_learner(tmp_path, optimizer="adamw")
    learner.step(some_batches(1)[0])
    file = learner.save(tmp_path)
    whole = file.read_bytes()
    refused(tmp_path, "made by optimizer 'adamw'.*learner.optimizer=adamw", optimizer="sgd")
    for size in (0, 5, 200, len(whole) - 1):
        file.write_bytes(whole[:size])
        refused(tmp_path, "truncated or .*restore it from a backup or start a new run$")
    save_file({"weights": torch.zeros(3)}, file)
    refused(tmp_path, "truncated or no learner's state")
    tensors = state_of(learner)
    scalars = {"format": 1, "steps": 1, "usual_loss": 1.0, "optimizer": "adamw"}
    write_state(file, tensors, scalars | {"format": 2})
    refused(tmp_path, "newer narabe")
    write_state(file, tensors, {"format": 1})
    refused(tmp_path, "truncated or no learner's state")
    write_state(file, {n: t for n, t in tensors.items() if n != "average/value.bias"}, scalars)
    refused(tmp_path, "of another network")
    write_state(file, {n: t for n, t in tensors.items() if "exp_avg_sq" not in n}, scalars)
    refused(tmp_path, "or damaged .*exp_avg_sq is missing")
    write_state(file, tensors | {"network/stem.weight": torch.zeros(1)}, scalars)
    refused(tmp_path, "of another network")


def write_state(file: Path, tensors: dict[str, torch.Tensor], scalars: dict[str, object]) -> None:
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, file, metadata={"narabe learner": json.dumps(scalars)})


def test_a_full_disk_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = some_learner(tmp_path)
    old = learner.save(tmp_path).read_bytes()
    learner.step(some_batches(1)[0])

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        learner.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [STATE_FILE]
    assert (tmp_path / STATE_FILE).read_bytes() == old


def test_a_step_has_the_device_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA graphs are recorded in another thread of the same process."""
    learner, (batch,) = some_learner(tmp_path), some_batches(1)
    held: list[bool] = []
    original = learner._check

    def check(*arguments: Any) -> None:
        held.append(DEVICE.locked())
        original(*arguments)

    monkeypatch.setattr(learner, "_check", check)
    learner.step(batch)
    assert held == [True] and not DEVICE.locked()
