"""Types of the compiled module; see `_solver.pyx`."""

from collections.abc import Sequence
from typing import final

from engine._position import PositionCore, RuleTable

FOREVER: int

@final
class SolverCore:
    """Searches positions of one `RuleTable`."""

    nodes: int
    table: RuleTable
    def __init__(
        self, table: RuleTable, table_bits: int, turned: Sequence[Sequence[int]]
    ) -> None: ...
    def set_position(self, position: PositionCore) -> None: ...
    def attack(self, seat: int, depth: int, max_nodes: int) -> tuple[bool, int] | None: ...
    def clear(self) -> None: ...
