"""Train: start a run, or go on with one. `python -m scripts.train --help` says more."""

import math
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from selfplay.loop import RunConfig, StopConfig
    from selfplay.run import RunFolder, RunState

CONFIGS = Path(__file__).parent.parent / "configs"

#: Names that a run may have: a folder below `runs`, and a value that Hydra takes unquoted.
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Exit codes: a configuration that cannot be used; a run that failed.
BAD_CONFIG, FAILED = 2, 1


def main() -> None:
    """Run the Hydra application; errors become one line on stderr."""
    # Hydra's own error messages would come instead of `explained`'s otherwise.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        explained(lambda: _application()())
    except KeyboardInterrupt as error:
        number = next(iter(error.args), signal.SIGINT)
        fail("interrupted; the same command goes on", 128 + number)


def _application() -> Callable[[], Any]:
    """The Hydra application. Slow imports stand inside, so that Ctrl-C is answered at once."""
    import hydra
    from hydra.core.config_store import ConfigStore
    from omegaconf import DictConfig

    from scripts.settings import Settings

    sys.argv[1:] = checked_choices(sys.argv[1:])
    ConfigStore.instance().store(name="schema", node=Settings)

    def train(settings: DictConfig) -> None:
        explained(lambda: train_once(settings))

    application: Callable[[], Any] = hydra.main(
        version_base="1.3", config_path=str(CONFIGS), config_name="train"
    )(train)
    return application


def checked_choices(arguments: list[str]) -> list[str]:
    """The command line, with openings that have no file of their own given by name.

    Raises `SettingsError` for a group that is given no name, for which Hydra has but a traceback,
    and for an opening that there is not.
    """
    from engine import RuleError
    from engine.openings import opening
    from scripts.settings import SettingsError

    checked = []
    for argument in arguments:
        group, _, value = argument.partition("=")
        if (CONFIGS / group).is_dir() and re.match(r"null$|\[\s*\{", value):
            names = ", ".join(sorted(path.stem for path in (CONFIGS / group).glob("*.yaml")))
            raise SettingsError(f"{group}: {value} names no file; there are {names}")
        if group == "opening" and re.fullmatch(r"[\w-]+", value):
            try:
                opening(value)
            except RuleError as error:
                raise SettingsError(str(error)) from error
            if not (CONFIGS / group / f"{value}.yaml").exists():
                argument = f"opening.name={value}"
        checked.append(argument)
    return checked


def explained(call: Callable[[], Any]) -> None:
    """Call it; an error that a user can do something about ends the program with one line."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from model.checkpoint import CheckpointError
    from model.export import ExportError
    from model.learner import DivergedError, LearnerStateError
    from scripts.gtp_game import GtpGameError
    from scripts.settings import SettingsError, one_line
    from selfplay.cluster import ClusterError
    from selfplay.gauntlet import GauntletError
    from selfplay.players import PlayerError
    from selfplay.records import RecordError
    from selfplay.run import RunError
    from selfplay.storage import StorageError

    try:
        call()
    except (HydraException, OmegaConfBaseException) as error:
        fail(one_line(error), BAD_CONFIG)
    except SettingsError as error:
        fail(str(error), BAD_CONFIG)
    except (RunError, StorageError, RecordError, CheckpointError, LearnerStateError) as error:
        fail(str(error), FAILED)
    except (ClusterError, DivergedError, GauntletError, PlayerError) as error:
        fail(str(error), FAILED)
    except (ExportError, GtpGameError) as error:
        fail(str(error), FAILED)


def train_once(settings: Any) -> None:
    """Train one run to its goal, as composed by Hydra. Exits with 130 or 143 when interrupted."""
    from hydra.core.hydra_config import HydraConfig

    from scripts.display import Display
    from scripts.interrupt import Interrupt
    from selfplay.loop import train

    settings.run = run_name(settings)
    config, folder = open_run(settings, list(HydraConfig.get().overrides.task))
    with folder, Interrupt() as interrupt, Display(f"narabe · {settings.run}") as display:
        state = train(config, folder, report=display.update, stop=interrupt.requested)
    if interrupt.requested():
        print(f"interrupted; to go on: python -m scripts.train {where(settings)}")
        sys.exit(interrupt.exit_code)
    print(
        f"{folder.path} has reached its goal: {state.games:,} games, {state.steps:,} steps,"
        f" version {state.version}, {state.seconds / 60:.1f} minutes.\n"
        f"  watch     tensorboard --logdir {settings.runs}\n"
        f"  go on     python -m scripts.train {where(settings)} {longer(config.stop, state)}"
    )


def open_run(settings: Any, overrides: list[str]) -> "tuple[RunConfig, RunFolder]":
    """Make the run's folder, or open the one that exists with its stored configuration.

    `overrides` are those of the command line: what may change of them applies to a run that goes
    on. Raises `SettingsError`, `RunError`, `StorageError`.
    """
    from omegaconf import OmegaConf

    from scripts.settings import SettingsError, resume, run_config
    from selfplay.run import RunFolder

    if not RUN_NAME.fullmatch(settings.run):
        raise SettingsError(
            f"run: {settings.run!r} is no name for a run: letters, digits, '.', '_' and '-',"
            " a letter or digit first"
        )
    path = Path(settings.runs) / settings.run
    if not RunFolder.exists(path):
        config = run_config(settings)
        return config, RunFolder.create(path, OmegaConf.to_yaml(settings, resolve=True))
    folder = RunFolder.open(path)
    try:
        settings = resume(folder.config_yaml, settings, _overridden(overrides))
        config = run_config(settings)
        folder.store_config(OmegaConf.to_yaml(settings, resolve=True))
    except BaseException:
        folder.close()
        raise
    return config, folder


def where(settings: Any) -> str:
    """The arguments that name the run."""
    place = "" if settings.runs == "runs" else f" {shlex.quote(f'runs={settings.runs}')}"
    return f"run={settings.run}{place}"


def longer(stop: "StopConfig", state: "RunState") -> str:
    """Arguments for a run twice as long as it is or was to be, in whole minutes."""
    reached = {"minutes": state.seconds / 60, "games": state.games, "steps": state.steps}
    limits = {name: max(getattr(stop, name), value) for name, value in reached.items()}
    return " ".join(
        f"stop.{name}={math.ceil(2 * limit)}"
        for name, limit in limits.items()
        if getattr(stop, name)
    )


def run_name(settings: Any) -> str:
    """The run's name; in a multirun each job's name tells what distinguishes it from the others."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.types import RunMode

    hydra = HydraConfig.get()
    if hydra.mode != RunMode.MULTIRUN:
        return str(settings.run)
    given = [text for text in sys.argv[1:] if "=" in text and not text.startswith("-")]
    parsed = OverridesParser.create().parse_overrides(given)
    swept = {override.key_or_group for override in parsed if override.is_sweep_override()} - {"run"}
    values = [text for text in hydra.overrides.task if text.lstrip("+").split("=")[0] in swept]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join([str(settings.run), *values]))


def _overridden(task: list[str]) -> list[str]:
    """The keys and groups given on the command line; "" stands for all of them."""
    keys = [override.lstrip("+~").split("=")[0].split("@")[0] for override in task]
    return ["" if key == "experiment" else key for key in keys]


def fail(message: str, code: int) -> NoReturn:
    """End the program with a line on standard error."""
    print(f"narabe: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
