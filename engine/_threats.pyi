"""Types of the compiled module; see `_threats.pyx`."""

from typing import final

from engine._position import PositionCore, RuleTable

MOST: int

@final
class ThreatCore:
    """Searches positions of one `RuleTable`."""

    table: RuleTable
    def __init__(self, table: RuleTable, table_bits: int) -> None: ...
    def search(
        self,
        position: PositionCore,
        threes: bool,
        most: int,
        nodes: int,
        until: float,
        passed: bool,
    ) -> tuple[list[int], int] | None: ...
    @property
    def nodes(self) -> int: ...
    @property
    def spent(self) -> bool: ...
