import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from engine import OPENINGS, PRESETS, RuleSet
from model.network import PRESETS as NETWORKS
from scripts.settings import GROUPS, Settings, SettingsError, one_line, resume, run_config, schema
from scripts.train import CONFIGS, checked_choices, longer, main, open_run
from selfplay.loop import StopConfig
from selfplay.run import RunFolder, RunState

#: A run of a second or two in one process.
SMALL = """
    cluster=local cluster.chunk_games=3 game=mnk game.rules.width=5 game.rules.height=4
    opening=swap-1st model.blocks=1 model.channels=4 model.pool_channels=4 model.head_channels=4
    model.hidden=4 search.simulations=6 selfplay.games=4 selfplay.fast_simulations=3
    learner.batch_size=16 loop.warmup=40 loop.publish_steps=8 loop.rate_versions=0
"""


@pytest.fixture(autouse=True, scope="module")
def configs() -> Iterator[None]:
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        yield


def composed(*overrides: str) -> DictConfig:
    return compose("train", ["run=test", *overrides])


def refused(*overrides: str) -> str:
    """The line that a user sees."""
    try:
        run_config(composed(*overrides))
    except (HydraException, OmegaConfBaseException) as error:
        return one_line(error)
    except SettingsError as error:
        return str(error)
    raise AssertionError("not refused")


def test_the_defaults_are_those_of_the_dataclasses() -> None:
    config = run_config(composed())
    for group, cls in GROUPS.items():
        if group != "model":
            assert getattr(config, group) == cls()
    assert config.games[0].rules == RuleSet.preset("irensei")


def test_every_choice_of_every_group_can_be_composed() -> None:
    files = [path for path in CONFIGS.glob("*/*.yaml") if path.parent.name != "experiment"]
    assert {path.parent.name for path in files} >= {"game", "opening", *GROUPS} - {"loop", "stop"}
    for path in files:
        run_config(composed(f"{path.parent.name}={path.stem}"))
    assert {path.stem for path in CONFIGS.glob("game/*")} == set(PRESETS)
    assert {path.stem for path in CONFIGS.glob("opening/*")} == set(OPENINGS)
    small = run_config(composed("experiment=irensei", "hardware=gpu"))
    assert small.search.simulations == run_config(composed("hardware=gpu")).search.simulations


def test_models_are_the_presets() -> None:
    assert {path.stem for path in CONFIGS.glob("model/*")} == set(NETWORKS)
    for name, network in NETWORKS.items():
        assert run_config(composed(f"model={name}")).model == network


def test_experiments() -> None:
    for path in CONFIGS.glob("experiment/*.yaml"):
        config = run_config(composed(f"experiment={path.stem}"))
        assert (config.model.channels >= 128) == path.stem.endswith("-gpu"), path
    demo = run_config(composed("experiment=demo"))
    assert demo.games[0].opening == "swap-1st"
    assert demo.games[0].rules == RuleSet.preset("irensei", size=9, line_length=5, gutter=1)
    assert run_config(composed("experiment=demo", "model=b2c16")).model == NETWORKS["b2c16"]


def test_frozen_and_literal_fields_can_be_overridden() -> None:
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Frozen:
        number: int = 1

    node = OmegaConf.structured(schema(Frozen))
    node.number = 2
    assert node.number == 2
    assert run_config(composed("learner.optimizer=sgd")).learner.optimizer == "sgd"


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("search.simulatons=3", "search.simulatons: no such key; did you mean simulations?"),
        ("serch.simulations=3", "serch: no such key; did you mean search?"),
        ("game.rules.sise=9", "game.rules.sise: no such key; did you mean size?"),
        ("search.simulations=abc", "search.simulations: Value 'abc' of type 'str'"),
        ("learner.lr=fast", "learner.lr: Value 'fast' of type 'str'"),
        ("game.rules.superko=3.5", "game.rules.superko: Value '3.5'"),
        ("game=chess", "In 'train': Could not find 'game/chess'; there are caro"),
        ("search.kind=alphabeta", "search.kind: 'alphabeta' is neither 'puct' nor 'gumbel'"),
        ("learner.optimizer=adam", "learner.optimizer: 'adam' is not one of muon, adamw, sgd"),
        ("game.rules.size=99", "game.rules.size: 99 is no integer in 3..25"),
        ("game.preset=chess", "game.preset: 'chess' is not one of"),
        ("opening.name=pie", "opening: 'pie' is not one of none, swap-1st"),
        ("selfplay.games=0", "selfplay.games: 0 is outside"),
        ("stop.minutes=-1", "stop.minutes: -1.0 is no number from 0 on"),
        ("stop.minutes=nan", "stop.minutes: nan is no number from 0 on"),
        ("loop.reuse=0", "loop.reuse: 0.0 is not positive"),
        ("loop.reuse=nan", "loop.reuse: nan is not positive"),
        ("seed=-1", "seed: -1 is negative"),
        ("search.c_init=nan", "search.c_init: nan is outside 0..1e+06"),
        ("search.c_base=inf", "search.c_base: inf is outside 0..1e+06"),
        ("search.virtual_loss=-1", "search.virtual_loss: -1.0 is outside 0..1e+06"),
        ("learner.schedule=cosine learner.schedule_steps=0", "learner.schedule_steps: 0 lets"),
        ("model.channels=2", "model.channels: 2 is no integer >= 4"),
        ("evaluator=onnx-int", "evaluator: 'onnx-int' is not known; did you mean onnx-int8"),
    ],
)
def test_mistakes_are_answered_with_the_key(override: str, line: str) -> None:
    said = refused(*override.split())
    assert said.startswith(line)
    assert "\n" not in said


def test_a_run_needs_a_name() -> None:
    with pytest.raises(OmegaConfBaseException) as error:
        _ = compose("train", []).run
    assert one_line(error.value) == "run: missing; give it as run=..."


def test_what_may_change_when_a_run_goes_on() -> None:
    stored = OmegaConf.to_yaml(composed("search.simulations=32", "stop.games=10"))
    unchanged = resume(stored, composed(), [])
    assert (unchanged.search.simulations, unchanged.stop.games) == (32, 10)
    longer_run = resume(stored, composed("stop.games=20"), ["stop.games"])
    assert longer_run.stop.games == 20
    # The same command as at the start is no change, whole groups included.
    again = composed("search=puct", "search.simulations=32", "stop.games=10", "cluster=local")
    moved = resume(stored, again, ["search", "search.simulations", "stop.games", "cluster"])
    assert (moved.search.simulations, moved.cluster.kind) == (32, "local")
    slower = resume(stored, composed("learner.lr=1e-4"), ["learner.lr"])
    assert slower.learner.lr == 1e-4
    other = resume(
        stored,
        composed("selfplay.threads=2", "selfplay.cache_mib=8"),
        ["selfplay.threads", "selfplay.cache_mib"],
    )
    assert (other.selfplay.threads, other.selfplay.cache_mib) == (2, 8)
    with pytest.raises(SettingsError, match=r"search\.simulations=64 \(the run has 32\)"):
        resume(stored, composed("search.simulations=64"), ["search.simulations"])
    with pytest.raises(SettingsError, match=r"model\.blocks=10"):
        resume(stored, composed("model=b10c128"), ["model"])
    with pytest.raises(SettingsError, match=r"stored config.yaml .*serch: no such key"):
        resume(stored + "serch: 1\n", composed(), [])


def test_how_to_go_on_for_longer() -> None:
    assert longer(StopConfig(minutes=10), RunState(seconds=600.5)) == "stop.minutes=21"
    assert longer(StopConfig(minutes=0.5, games=7), RunState()) == "stop.minutes=1 stop.games=14"
    assert longer(StopConfig(games=1_000_000), RunState(games=9)) == "stop.games=2000000"
    assert longer(StopConfig(), RunState(seconds=60)) == ""


@pytest.mark.parametrize("name", ["", "../a", "a b", "a=b", ".hidden"])
def test_a_run_needs_a_plain_name(name: str, tmp_path: Path) -> None:
    settings = composed(f"run='{name}'", f"runs={tmp_path}")
    with pytest.raises(SettingsError, match="run: "):
        open_run(settings, [])
    assert not list(tmp_path.iterdir())


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "scripts.train", *arguments]


def test_from_the_command_line(tmp_path: Path) -> None:
    """A run, its end, its going on, and a key that cannot change, as a user sees them."""
    small = ["run=first", f"runs={tmp_path}", *SMALL.split()]
    done = subprocess.run(command(*small, "stop.games=6"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "has reached its goal" in done.stdout
    again = rf"python -m scripts.train run=first runs={tmp_path} stop\.games=\d+\n"
    assert re.search(again, done.stdout)
    assert done.stderr == ""
    changed = command("run=first", f"runs={tmp_path}", "seed=5", "stop.games=12")
    refusal = subprocess.run(changed, capture_output=True, text=True)
    assert refusal.returncode == 2
    assert refusal.stderr.startswith("narabe: cannot change seed=5 (the run has 0)")
    assert refusal.stderr.count("\n") == 1


@pytest.mark.parametrize(("signals", "code"), [((), 130), ((signal.SIGTERM,), 143)])
def test_interrupted_at_once_it_says_so(
    signals: tuple[int, ...],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def application() -> None:
        raise KeyboardInterrupt(*signals)

    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")  # as `main` sets it, but for this test only
    monkeypatch.setattr("scripts.train._application", lambda: application)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == code
    assert capsys.readouterr().err == "narabe: interrupted; the same command goes on\n"


@pytest.mark.slow
def test_interrupted_it_ends_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("run=first", f"runs={tmp_path}", *SMALL.split()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    state = tmp_path / "first" / "state.json"
    while process.poll() is None and not (state.exists() and '"sessions": 1' in state.read_text()):
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"to go on: python -m scripts.train run=first runs={tmp_path}" in out
    assert err == ""
    with RunFolder.open(tmp_path / "first") as folder:
        assert folder.load_state().sessions == 1


@pytest.mark.slow
def test_multirun_makes_one_run_for_each_job(tmp_path: Path) -> None:
    jobs = ["-m", "run=sweep", f"runs={tmp_path}", *SMALL.split(), "stop.games=6", "seed=1,2"]
    done = subprocess.run(command(*jobs), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for seed in (1, 2):
        with RunFolder.open(tmp_path / f"sweep-seed-{seed}") as folder:
            assert OmegaConf.create(folder.config_yaml).seed == seed
            assert folder.load_state().games >= 6


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("+foo=1", "foo: no such key; there are run, "),
        ("++lerner.lr=3", "lerner: no such key; did you mean learner?"),
        ("+learner.learning_rate=3", "learner.learning_rate: no such key"),
        ("+search.foo.bar=1", "search.foo: no such key"),
        ("+game.colour=red", "game.colour: no such key; there are preset, rules"),
    ],
)
def test_keys_that_are_added_must_exist(override: str, message: str) -> None:
    settings = composed(override)
    with pytest.raises(SettingsError, match=re.escape(message)):
        run_config(settings)
    with pytest.raises(SettingsError, match=re.escape(message)):
        resume("run: x", settings, [])


def test_an_opening_with_a_number_needs_no_file() -> None:
    assert checked_choices(["run=x", "opening=soosorv-5"]) == ["run=x", "opening.name=soosorv-5"]
    assert checked_choices(["opening=swap-2"]) == ["opening=swap-2"]
    assert run_config(composed("opening.name=soosorv-5")).games[0].opening == "soosorv-5"
    for name, hint in (("swap2", "did you mean swap-2"), ("soosorv-13", "from 1 to 12")):
        with pytest.raises(SettingsError, match=hint):
            checked_choices([f"opening={name}"])


def test_a_damaged_configuration_is_called_so() -> None:
    for stored in ("game: null", "game: [", "learner:\n  lr: fast"):
        with pytest.raises(SettingsError, match=r"config\.yaml is damaged.*restore it"):
            resume(stored, composed(), [])
