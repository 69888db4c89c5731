"""Export a checkpoint as a bot: a folder that plays without torch, ray or hydra."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.search import SearchConfig


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    arguments = _parser().parse_args(argv)
    # Only now: torch takes seconds to import, and --help does without it.
    from model.checkpoint import CheckpointError
    from model.export import ExportError, export

    try:
        search = SearchConfig(simulations=arguments.simulations)
        bot = export(arguments.checkpoint, arguments.folder, search, name=arguments.name)
    except (CheckpointError, ExportError, OSError, ValueError) as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    print(
        f"{bot.name} is in {arguments.folder};"
        f" play it with: python -m scripts.play {arguments.folder}"
    )
    return 0


def _parser() -> argparse.ArgumentParser:
    defaults = {field.name: field.default for field in dataclasses.fields(SearchConfig)}
    parser = argparse.ArgumentParser(prog="python -m scripts.export", description=__doc__)
    parser.add_argument(
        "checkpoint", type=Path, help="a checkpoint: its .safetensors or .json file"
    )
    parser.add_argument(
        "folder", type=Path, help="folder of the bot; made, or an older bot replaced"
    )
    parser.add_argument(
        "--simulations",
        type=int,
        default=defaults["simulations"],
        help="simulations a move (%(default)s)",
    )
    parser.add_argument("--name", help="name of the bot (the run's and the version's)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
