import numpy as np
from numpy.typing import NDArray

def judge(logits: NDArray[np.float32], values: NDArray[np.float32]) -> None: ...
