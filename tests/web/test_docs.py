"""docs/web.md says what the code does."""

import re
from pathlib import Path

from bots.web import messages
from bots.web.files import MOST_NODES
from bots.web.limits import Limits

PAGE = (Path(__file__).parents[2] / "docs" / "web.md").read_text()


def test_every_message_is_told() -> None:
    told = PAGE[PAGE.index("## Messages") :]
    for message in messages.Message.__args__:
        tag = message.__struct_config__.tag
        assert f"`{tag}`" in told, tag
        for field in message.__struct_fields__:
            assert f"`{field}`" in told, (tag, field)
    for field in messages.Record.__struct_fields__:
        assert f"`{field}`" in told, field


def test_the_bounds() -> None:
    limits = Limits()
    for bound in (
        f"{limits.games:,}, of one visitor {limits.games_each}",
        f"{limits.connections}, of one visitor {limits.connections_each}",
        f"{messages.LONGEST >> 10} KiB; {limits.burst} at once and {limits.rate:.0f} a second",
        f"after {limits.patience} of them",
        f"{messages.MOST_ACTIONS:,} actions",
        f"{MOST_NODES:,} nodes",
        f"up to {limits.analysis:,} simulations",
        f"({limits.review} simulations each)",
    ):
        assert bound in PAGE, bound
    script = (Path(messages.__file__).parent / "static" / "js" / "files.js").read_text()
    (most,) = re.findall(r"MOST_BYTES = ([\d_]+)", script)
    assert f"{int(most) // 1000} kB" in PAGE
