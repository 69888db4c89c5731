"""The replay buffer: what is stored, drawn, let go, damaged and taken up again."""

import dataclasses
import errno
import hashlib
import json
import logging
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from model.targets import Sample
from selfplay.replay import ReplayBuffer, ReplayConfig
from selfplay.shards import DamagedShardError, Shard
from selfplay.storage import StorageError
from tests.selfplay.samples import RECTANGLE, some_samples

SMALL = ReplayConfig(min_window=60, max_window=200, shard_samples=16, window_growth=0.5)


def assert_same(a: Sample, b: Sample) -> None:
    """Equal but for the policy's rounding to 16 bits."""
    for field in dataclasses.fields(Sample):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if field.name == "policy":
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=1e-6)
        else:
            np.testing.assert_array_equal(one, other)


def mixed_samples(n: int, seed: int = 0) -> list[Sample]:
    """Samples of two boards, taken turns with."""
    one = some_samples(n, seed=seed)
    other = some_samples(n, rules=RECTANGLE, opening="none", seed=seed)
    return [sample for pair in zip(one, other, strict=True) for sample in pair][:n]


def shard_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.shard"))


def drawn(buffer: ReplayBuffer, n: int = 200, seed: int = 5) -> list[Sample]:
    return buffer.sample(n, np.random.default_rng(seed))


def test_a_shard_gives_back_its_samples() -> None:
    samples = mixed_samples(30)
    shard, first = Shard.from_bytes(Shard.of([(s, i) for i, s in enumerate(samples)]).to_bytes(77))
    assert first == 77 and len(shard) == 30 and len(shard.games) == 2
    for found, sample in zip(shard.samples(np.arange(30)), samples, strict=True):
        assert_same(found, sample)
        assert found.policy.sum() == pytest.approx(1, abs=1e-6)
    some = np.array([7, 29, 7, 0])  # in this order, and more than once
    for found, i in zip(shard.samples(some), some, strict=True):
        assert_same(found, samples[i])
    np.testing.assert_array_equal(shard.versions, np.arange(30))


def test_shards_join_though_their_rule_sets_differ() -> None:
    samples = mixed_samples(20)
    joined = Shard.of([(s, 0) for s in samples[1:9]]).joined(
        Shard.of([(s, 1) for s in samples[9:]])
    )
    assert len(joined.games) == 2
    for found, sample in zip(joined.samples(np.arange(19)), samples[1:], strict=True):
        assert_same(found, sample)


def test_a_sample_without_policy_target_is_kept() -> None:
    (sample,) = some_samples(1)
    sample.actions, sample.policy = np.empty(0, np.int32), np.empty(0, np.float32)
    other = some_samples(2)[1]
    shard = Shard.of([(each, 0) for each in (sample, other, sample)])
    for found, each in zip(shard.samples(np.arange(3)), (sample, other, sample), strict=True):
        assert_same(found, each)


def test_every_flipped_byte_and_every_cut_is_found() -> None:
    data = Shard.of([(s, 0) for s in some_samples(3)]).to_bytes(0)
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x40
        with pytest.raises(DamagedShardError):
            Shard.from_bytes(bytes(changed))
        with pytest.raises(DamagedShardError):
            Shard.from_bytes(data[:at])


def test_everything_added_can_be_drawn(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    samples = mixed_samples(50)
    buffer.add(samples[:7], version=0)
    with pytest.raises(ValueError, match="no samples"):
        buffer.sample(1, np.random.default_rng(0))
    buffer.add(samples[7:30], version=1)
    buffer.flush()
    buffer.add(samples[30:], version=2)
    buffer.flush()
    assert buffer.total == buffer.window == 50
    assert shard_files(tmp_path) == [f"{first:012d}.shard" for first in (0, 16, 32, 48)]
    found = {sample.packed: sample for sample in drawn(buffer, 1000)}
    assert len(found) == 50
    for sample in samples:
        assert_same(found[sample.packed], sample)


def test_draws_are_uniform_over_the_window(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    samples = some_samples(300)
    buffer.add(samples, version=0)
    buffer.flush()
    window = SMALL.window(300)
    assert buffer.window == window < 300
    number = {sample.packed: i for i, sample in enumerate(samples)}
    counts = np.bincount([number[s.packed] for s in drawn(buffer, 50 * window)], minlength=300)
    assert counts[: 300 - window].sum() == 0
    # Each count is binomial with mean 50 and standard deviation 7.
    assert counts[300 - window :].min() > 15 and counts[300 - window :].max() < 95


def test_the_window_grows_by_the_power_law() -> None:
    config = ReplayConfig(min_window=250_000, max_window=10_000_000, window_growth=0.4)
    assert config.window(0) == 0 and config.window(1000) == 1000
    assert config.window(250_000) == 250_000
    # 16^0.75 = 8, so 16 c samples have a window of c (1 + 0.4 * 7 / 0.75).
    assert config.window(4_000_000) == pytest.approx(250_000 * (1 + 2.8 / 0.75), abs=1)
    assert config.window(10**9) == 10_000_000
    # The slope at the start is the growth.
    assert config.window(251_000) - config.window(250_000) == pytest.approx(400, abs=2)


def test_old_shards_leave_memory_and_disk(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    for round_ in range(40):
        buffer.add(some_samples(25, seed=round_), version=round_)
        buffer.flush()
    assert buffer.total == 1000
    start = 1000 - buffer.window
    assert shard_files(tmp_path) == [f"{i:012d}.shard" for i in range(start // 16 * 16, 1000, 16)]
    statistics = buffer.statistics(version=40)
    assert statistics.window == SMALL.window(1000) == buffer.window
    assert statistics.memory < 300 * statistics.window


def test_old_shards_are_kept_on_disk_where_asked(tmp_path: Path) -> None:
    config = dataclasses.replace(SMALL, keep_old=True)
    buffer = ReplayBuffer(tmp_path, config)
    buffer.add(some_samples(640), version=0)
    buffer.flush()
    assert len(shard_files(tmp_path)) == 40
    again = ReplayBuffer(tmp_path, config)
    assert again.statistics(0) == buffer.statistics(0)
    assert again.statistics(0).memory < 300 * 220


def test_a_folder_is_taken_up_as_it_was_left(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    for round_ in range(9):
        buffer.add(mixed_samples(21, seed=round_), version=round_)
        buffer.flush()
    drawn(buffer)
    buffer.flush()
    buffer.add(some_samples(5, seed=99), version=9)  # never flushed: lost
    again = ReplayBuffer(tmp_path, SMALL)
    assert again.total == buffer.total == 189
    assert again.statistics(9) == buffer.statistics(9)
    for one, other in zip(drawn(again), drawn(buffer), strict=True):
        assert_same(one, other)
    again.add(some_samples(5, seed=99), version=9)
    again.flush()
    assert again.total == 194


def test_statistics_are_those_of_the_window(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, ReplayConfig())
    assert buffer.statistics(0).age == buffer.statistics(0).reuse == 0
    samples = some_samples(40)
    buffer.add(samples[:30], version=2)
    buffer.add(samples[30:], version=6)
    buffer.flush()
    drawn(buffer, 100)
    statistics = buffer.statistics(version=7)
    assert statistics.total == statistics.window == 40
    assert statistics.age == pytest.approx((30 * 5 + 10 * 1) / 40)
    assert statistics.reuse == pytest.approx(2.5)


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign", "renamed"])
@pytest.mark.parametrize("which", [0, 2, -1])
def test_a_damaged_shard_is_put_in_quarantine_and_the_run_goes_on(
    tmp_path: Path, damage: str, which: int, caplog: pytest.LogCaptureFixture
) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    buffer.add(some_samples(60), version=0)
    buffer.flush()
    path = tmp_path / shard_files(tmp_path)[which]
    lost = 12 if which == -1 else 16
    data = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(data[: len(data) // 2])
        case "flip":
            path.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
        case "empty":
            path.write_bytes(b"")
        case "foreign":
            path.write_bytes(b"PK\x03\x04" + data[4:])
        case "renamed":
            path.write_bytes(Shard.from_bytes(data)[0].to_bytes(4321))
    with caplog.at_level(logging.WARNING):
        again = ReplayBuffer(tmp_path, SMALL)
    assert f"{path.name} is damaged" in caplog.text
    assert (tmp_path / "quarantine" / path.name).exists()
    assert (tmp_path / "quarantine" / path.with_suffix(".txt").name).read_text().strip()
    assert again.window == 60 - lost
    assert len({sample.packed for sample in drawn(again, 2000)}) == 60 - lost
    again.add(some_samples(30, seed=1), version=1)
    again.flush()
    assert ReplayBuffer(tmp_path, SMALL).statistics(1) == again.statistics(1)


def test_two_damaged_shards_of_one_name_are_both_kept(tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "000000000000.shard").write_bytes(b"NARABE-S")
        assert ReplayBuffer(tmp_path, SMALL).total == 0
    assert len(list((tmp_path / "quarantine").glob("*.shard"))) == 2
    assert len(list((tmp_path / "quarantine").glob("*.txt"))) == 2


def test_a_sound_shard_of_a_newer_format_is_refused_not_moved(tmp_path: Path) -> None:
    body = bytearray(Shard.of([(s, 0) for s in some_samples(3)]).to_bytes(0)[:-32])
    struct.pack_into("<I", body, 8, 2)
    path = tmp_path / "000000000000.shard"
    path.write_bytes(bytes(body) + hashlib.sha256(body).digest())
    with pytest.raises(StorageError, match=r"000000000000.shard: shard format 2 is newer"):
        ReplayBuffer(tmp_path, SMALL)
    assert path.exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"000000000000.shard": "x"}'])
def test_damaged_counts_begin_again(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    buffer.add(some_samples(20), version=0)
    buffer.flush()
    (tmp_path / "draws.json").write_text(content)
    with caplog.at_level(logging.WARNING):
        assert ReplayBuffer(tmp_path, SMALL).statistics(0).reuse == 0
    assert "begin again" in caplog.text


@pytest.mark.parametrize("fails_at", range(1, 5))
def test_a_full_disk_stops_with_everything_stored_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    samples = some_samples(60)
    buffer = ReplayBuffer(tmp_path, SMALL)
    buffer.add(samples[:10], version=0)
    buffer.flush()
    fsync, calls = os.fsync, iter(range(1, 100))

    def full(descriptor: int) -> None:
        # A file and its folder are synced in turns; each file that is written may be the last.
        if (next(calls) + 1) // 2 >= fails_at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="the disk is full; nothing stored is damaged"):
            buffer.add(samples[10:], version=1)
    assert not list(tmp_path.glob(".tmp-*"))
    stored = ReplayBuffer(tmp_path, SMALL)
    assert stored.total == [10, 16, 32, 48][fails_at - 1]
    assert not (tmp_path / "quarantine").exists()
    buffer.flush()  # there is space again: nothing is lost, nothing doubled
    assert buffer.total == 60
    found = [sample.packed for sample in drawn(ReplayBuffer(tmp_path, SMALL), 2000)]
    assert set(found) == {sample.packed for sample in samples}


def test_leftovers_of_a_kill_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".tmp-123").write_bytes(b"half a shard")
    ReplayBuffer(tmp_path, SMALL)
    assert not list(tmp_path.iterdir())


def test_impossible_samples_and_settings_are_refused(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    (sample,) = some_samples(1)
    with pytest.raises(ValueError, match="sample: policy"):
        buffer.add([dataclasses.replace(sample, policy=sample.policy * np.nan)], version=0)
    for field, value in (("min_window", 0), ("window_exponent", 2.0), ("shard_samples", -1)):
        with pytest.raises(ValueError, match=f"replay.{field}: {value}"):
            ReplayConfig(**{field: value})  # type: ignore[arg-type]


def test_the_counts_of_draws_are_json(tmp_path: Path) -> None:
    buffer = ReplayBuffer(tmp_path, SMALL)
    buffer.add(some_samples(16), version=0)
    drawn(buffer, 12)
    buffer.flush()
    assert json.loads((tmp_path / "draws.json").read_text()) == {"000000000000.shard": 12}
