import numpy as np
from numpy.typing import NDArray

from engine._position import RuleTable

PLANES: tuple[str, ...]
GLOBALS: tuple[str, ...]
OPTION_SLOTS: int

def blank(table: RuleTable, canvas: NDArray[np.int32], planes: NDArray[np.uint8]) -> None: ...
def decode(
    table: RuleTable,
    opening: int,
    packed: list[bytes],
    canvases: NDArray[np.int32],
    turns: NDArray[np.int64],
    rows: NDArray[np.int64],
    planes: NDArray[np.uint8],
    globals_: NDArray[np.float32],
    legal: NDArray[np.uint8],
) -> None: ...
