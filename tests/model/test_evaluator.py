import contextlib
import gc
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from engine import Position, RuleSet
from engine.evaluators import Evaluator
from engine.features import features
from engine.search import SearchBatch, SearchConfig
from model import torch_evaluator
from model.buckets import input_buffers, write_in_place
from model.evaluator import EXACT, KINDS, TorchEvaluator, evaluator_for, why_not
from model.games import GameEntry
from model.network import PRESETS, Network
from model.onnx_evaluator import OnnxEvaluator
from model.onnx_graph import onnx_network
from model.openvino_evaluator import OpenVinoEvaluator
from model.positions import Positions, random_positions
from model.serving import make_served
from tests.model.material import GAMES, IRENSEI, some_positions, wild_network


def arrays(n: int, height: int = 9, width: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [features(p, height, width) for p in some_positions(IRENSEI, "swap-1st", n)]
    planes, globals_, _ = (np.stack(parts) for parts in zip(*rows, strict=True))
    return planes, globals_, np.zeros(n, np.uint64)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if reason := why_not(request.param, "cpu"):
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture
def make(kind: str) -> Any:
    """Makes an evaluator of a network with a batch size, of each kind that can be had."""

    def evaluator(network: Network, batch_size: int) -> Evaluator:
        served = make_served(kind, network, calibration())
        return evaluator_for(network, "cpu", batch_size, served)

    return evaluator


def calibration() -> Positions:
    game = GameEntry(rules=IRENSEI, opening="swap-1st")
    return random_positions([game], 64, 9, 9, np.random.default_rng(1))


#: Largest differences of logits and of values from the network's, for weights of magnitude 1.
TOLERANCES = {"torch": (1e-5, 1e-6), "onnx": (1e-5, 1e-6)}


def test_answers_are_the_network_s(make: Any, kind: str) -> None:
    network = wild_network()
    planes, globals_, keys = arrays(5)
    logits, values = make(network, 8).evaluate(planes, globals_, keys)
    with torch.inference_mode():
        policy, outcome = network(torch.from_numpy(planes), torch.from_numpy(globals_))
    of_logits, of_values = TOLERANCES.get(kind, (0.1, 0.02))
    np.testing.assert_allclose(logits, policy.numpy(), atol=of_logits, rtol=1e-5)
    probability = torch.softmax(outcome, 1)
    expected = (probability[:, 0] - probability[:, 2]).numpy()
    np.testing.assert_allclose(values, expected, atol=of_values)
    assert logits.dtype == values.dtype == np.float32
    assert logits.shape == (5, 97) and values.shape == (5,)


def test_a_row_s_answer_does_not_depend_on_the_others(make: Any) -> None:
    evaluator = make(wild_network(PRESETS["b2c16"]), 8)
    planes, globals_, keys = arrays(19)  # two full batches and a part of one
    logits, values = evaluator.evaluate(planes, globals_, keys)
    for n in (1, 3, 8):
        for start in (0, 5):
            rows = slice(start, start + n)
            some = evaluator.evaluate(planes[rows], globals_[rows], keys[rows])
            if isinstance(evaluator, TorchEvaluator) and not evaluator.bf16:
                # MKL on Intel's processors: see the evaluator.
                np.testing.assert_allclose(some[0], logits[rows], atol=2e-5, rtol=2e-6)
                np.testing.assert_allclose(some[1], values[rows], atol=1e-6)
                continue
            np.testing.assert_array_equal(some[0], logits[rows])
            np.testing.assert_array_equal(some[1], values[rows])


@pytest.mark.parametrize("kind", ["onnx", "openvino"])
def test_networks_exported_with_planes_in_float32_still_play(kind: str) -> None:
    if reason := why_not(kind, "cpu"):
        pytest.skip(reason)
    evaluator = OnnxEvaluator if kind == "onnx" else OpenVinoEvaluator
    file = onnx_network(wild_network())
    model = onnx.load_from_string(file)
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    planes, globals_, keys = arrays(19)
    expected = evaluator(file, batch_size=8).evaluate(planes, globals_, keys)
    found = evaluator(model.SerializeToString(), batch_size=8).evaluate(planes, globals_, keys)
    for some, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(some, wanted)


@pytest.mark.parametrize("preset", ["b2c16", "b4c32"])
@pytest.mark.parametrize("rounded", [False, True])
def test_a_row_s_answer_does_not_depend_on_the_bucket(preset: str, rounded: bool) -> None:
    network = wild_network(PRESETS[preset])
    file = onnx_network(network)
    if rounded:
        file = make_served("onnx-int8", network, calibration()).int8
    planes, globals_, keys = arrays(40)
    logits, values = OnnxEvaluator(file, batch_size=40).evaluate(planes, globals_, keys)
    for batch_size in (1, 3, 8, 16, 32):
        some = OnnxEvaluator(file, batch_size=batch_size).evaluate(planes, globals_, keys)
        np.testing.assert_array_equal(some[0], logits)
        np.testing.assert_array_equal(some[1], values)
    many = OnnxEvaluator(file, batch_size=16)
    for n in range(1, 10):
        some = many.evaluate(planes[:n], globals_[:n], keys[:n])
        np.testing.assert_array_equal(some[0], logits[:n])
        np.testing.assert_array_equal(some[1], values[:n])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("half", [False, True])
def test_cuda_graphs_say_the_same(half: bool) -> None:
    network = wild_network(PRESETS["b4c32"])
    planes, globals_, keys = arrays(19)
    expected = OnnxEvaluator(onnx_network(network), batch_size=8).evaluate(planes, globals_, keys)
    evaluator = TorchEvaluator(network, "cuda", 8, bf16=half)
    found = evaluator.evaluate(planes, globals_, keys)
    np.testing.assert_allclose(found[0], expected[0], atol=0.2 if half else 5e-3, rtol=1e-3)
    np.testing.assert_allclose(found[1], expected[1], atol=0.05 if half else 1e-3)
    alone = evaluator.evaluate(planes[5:6], globals_[5:6], keys[5:6])
    np.testing.assert_array_equal(alone[0][0], found[0][5])
    other = wild_network(PRESETS["b4c32"], seed=1)
    evaluator.load_weights(other.state_dict())
    changed = TorchEvaluator(other, "cuda", 8, bf16=half).evaluate(planes, globals_, keys)
    np.testing.assert_array_equal(evaluator.evaluate(planes, globals_, keys)[0], changed[0])


def test_several_board_sizes_take_turns(make: Any, kind: str) -> None:
    evaluator = make(wild_network(), 4)
    first, again = (
        [tuple(map(np.copy, evaluator.evaluate(*arrays(3, size, size)))) for size in (9, 11)]
        for _ in range(2)
    )
    for (ours, value), (theirs, same_value) in zip(first, again, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(value, same_value)
    np.testing.assert_allclose(first[0][1], first[1][1], atol=1e-5 if kind in EXACT else 0.02)


def test_a_call_allocates_nothing_that_grows_with_the_batch(make: Any) -> None:
    """Of what numpy allocates, which tracemalloc is told; PyTorch's own outputs are not seen."""
    peaks = []
    for n in (1, 64):
        evaluator = make(wild_network(PRESETS["b2c16"]), n)
        planes, globals_ = evaluator.inputs(9, 9)
        keys = np.zeros(n, np.uint64)
        evaluator.evaluate(planes[:n], globals_[:n], keys)
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            evaluator.evaluate(planes[:n], globals_[:n], keys)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
    # 64 rows of 97 logits, 3 outcomes and a value would be 25 kB.
    assert abs(peaks[1] - peaks[0]) < 1000


def test_twins_take_turns_with_answers_of_their_own(make: Any, kind: str) -> None:
    """Threads that ask one network about their own positions, in its memory."""
    network = wild_network(PRESETS["b2c16"])
    evaluator = make(network, 4)
    planes, globals_, keys = arrays(12)
    expected = [each.copy() for each in make(network, 4).evaluate(planes, globals_, keys)]
    twins = [evaluator, evaluator.twin(), evaluator.twin()]
    memories = [twin.inputs(9, 9)[0] for twin in twins]
    assert len({memory.ctypes.data for memory in memories}) == 3

    def ask(number: int) -> tuple[np.ndarray, np.ndarray]:
        twin, part = twins[number], slice(4 * number, 4 * number + 4)
        own = twin.inputs(9, 9)
        own[0][:], own[1][:] = planes[part], globals_[part]
        for _ in range(20):
            answers = twin.evaluate(own[0][:4], own[1][:4], keys[:4])
        return answers

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(ask, range(3)))
    exactly = {"atol": 0.0, "rtol": 0.0} if kind != "torch" else {"atol": 2e-5, "rtol": 2e-6}
    for found, wanted in zip(zip(*answers, strict=True), expected, strict=True):
        np.testing.assert_allclose(np.concatenate(found), wanted, **exactly)


def test_recording_for_cuda_has_the_device_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without CUDA: what is asked of PyTorch, and that the learner's steps wait meanwhile."""
    recorded: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def graph(graph: object, **options: Any) -> Iterator[None]:
        assert torch_evaluator.DEVICE.locked()
        recorded.append(options)
        yield

    stream = SimpleNamespace(wait_stream=lambda other: None)
    for name, fake in {
        "CUDAGraph": object,
        "Stream": lambda device: stream,
        "current_stream": lambda *_: stream,
        "device": lambda device: contextlib.nullcontext(),
        "stream": lambda stream: contextlib.nullcontext(),
        "graph": graph,
    }.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    inputs = [torch.from_numpy(each) for each in input_buffers(2, 5, 5)]
    torch_evaluator._CudaProgram(wild_network(), torch.device("cpu"), inputs)
    assert recorded == [{"stream": stream, "capture_error_mode": "thread_local"}]
    assert not torch_evaluator.DEVICE.locked()


def test_batches_are_read_where_they_were_written(make: Any) -> None:
    """Searches of two board sizes in turn, each writing into the evaluator's own memory."""
    evaluator = make(wild_network(PRESETS["b2c16"]), 4)
    results = []
    for in_place in (False, True):
        batches = []
        for size in (9, 11):
            batch = SearchBatch(4, SearchConfig(simulations=20), height=size, width=size)
            for tree in range(4):
                batch.start(tree, Position(IRENSEI, "swap-1st"), seed=tree)
            if in_place:
                write_in_place(batch, evaluator)
                assert batch.planes is evaluator.inputs(size, size)[0]
            batches.append(batch)
        while sum(batch.step(evaluator) for batch in batches):
            pass
        results.append([batch.tree(0) for batch in batches])
    for copied, read in zip(*results, strict=True):
        np.testing.assert_array_equal(copied, read)


@pytest.mark.parametrize(("rules", "opening"), GAMES)
def test_search_plays_with_it(make: Any, rules: RuleSet, opening: str) -> None:
    config = SearchConfig(simulations=20)
    batch = SearchBatch(3, config, height=9, width=9)
    for tree in range(3):
        batch.start(tree, Position(rules, opening), seed=tree)
    batch.run(make(wild_network(), 3))
    for tree in range(3):
        result = batch.result(tree)
        assert result.simulations >= 20 and -1 <= result.value <= 1
        assert np.isfinite(result.policy).all()
        assert batch.position(tree).is_legal(result.action)


def test_a_batch_size_below_one_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="batch_size"):
        make(wild_network(), 0)


@pytest.mark.parametrize("half", [False, True])
def test_weights_can_be_exchanged(half: bool) -> None:
    evaluator = TorchEvaluator(wild_network(), batch_size=4, bf16=half)
    evaluator.evaluate(*arrays(2))
    other = wild_network(seed=1).channels_last()
    evaluator.load_weights({name: t.numpy() for name, t in other.state_dict().items()})
    expected = TorchEvaluator(other, batch_size=4, bf16=half).evaluate(*arrays(2))
    found = evaluator.evaluate(*arrays(2))
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    with pytest.raises(RuntimeError, match="Missing key"):
        evaluator.load_weights({"value.bias": np.zeros(3, np.float32)})


def test_training_on_does_not_change_what_it_says(make: Any) -> None:
    network = wild_network()
    evaluator = make(network, 4)
    before = evaluator.evaluate(*arrays(2))[0].copy()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(before, evaluator.evaluate(*arrays(2))[0])
