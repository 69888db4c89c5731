"""A network whose answer is not waited for when a move is due, and what is played without it."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np

from engine import OPTIONS
from engine.evaluators import Evaluator, Floats, Keys, Planes
from engine.features import PLANES

#: Where a move is due within so many of the slowest recent evaluations, the next one may be late.
NEAR = 20
#: How late a waiting thread is thought to wake, in seconds: at first, at least, and at most. On a
#: loaded machine it does so by tens of milliseconds.
WAKING, LEAST_WAKING, MOST_WAKING = 0.03, 0.02, 0.1
#: Of a short time no more than this share is kept for it: the rest is the network's.
MOST_OF_IT = 0.7
#: So much of that is expected of the next move still, unless it is later again.
_KEPT = 0.98

#: Stones count as neighbours up to so many lines away.
_REACH = 2
_STONES = [PLANES.index("own"), PLANES.index("other")]


class NeighbourEvaluator:
    """Knows no more than that moves beside stones are better: without a network, in no time."""

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """As `Evaluator.evaluate` states: logits by the stones around each point, values 0."""
        count, _, height, width = planes.shape
        stones = np.pad(
            planes[:, _STONES].sum(axis=1), ((0, 0), (_REACH, _REACH), (_REACH, _REACH))
        )
        around = sum(
            stones[:, up : up + height, right : right + width]
            for up in range(2 * _REACH + 1)
            for right in range(2 * _REACH + 1)
        )
        logits = np.zeros((count, height * width + len(OPTIONS)), np.float32)
        logits[:, : height * width] = np.sqrt(around).reshape(count, -1)
        return logits, np.zeros(count, np.float32)


class PatientEvaluator:
    """Asks a network in a thread when time is short, and answers without it when time is up.

    An evaluation cannot be interrupted: on a loaded machine one of 10 milliseconds may take 100.
    Who waits wakes late there too, so time is up as much earlier as that took lately. All players
    of a network share one of these, since it is asked one thing at a time.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        #: When an answer is waited for no longer, and how near that may be where nothing is late.
        self._end, self._near = math.inf, 0.0
        self._waking = WAKING
        self._thread: ThreadPoolExecutor | None = None
        self._asked: Future[tuple[Floats, Floats]] | None = None
        #: Whether an answer was not the network's since `wait_until`.
        self.is_late = False

    def wait_until(self, due: float | None, slowest: float = 0.0) -> None:
        """Answer until then (`time.monotonic()`); None: whenever the network does.

        `slowest` is what an evaluation took lately at most, in seconds.
        """
        self._end, self._near, self.is_late = math.inf, NEAR * slowest, False
        if due is not None:
            self._waking = max(LEAST_WAKING, _KEPT * self._waking)
            left = max(0.0, due - time.monotonic())
            self._end = due - min(self._waking, MOST_OF_IT * left)

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """The network's answer, or `NeighbourEvaluator`'s where that would come too late."""
        if self._asked is None and self._left() > self._near:
            return self._evaluator.evaluate(planes, globals_, keys)
        if self._is_free():
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, "patience")
            # The batch may be written anew before the network has read it.
            batch = planes.copy(), globals_.copy(), keys.copy()
            asked = self._asked = self._thread.submit(self._evaluator.evaluate, *batch)
            if self._is_free():
                return asked.result()
        self.is_late = True
        return NeighbourEvaluator().evaluate(planes, globals_, keys)

    def _left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def _is_free(self) -> bool:
        """Whether the network has answered what it was asked last, by the time a move is due."""
        if self._asked is None:
            return True
        left = self._left()
        if wait([self._asked], None if math.isinf(left) else left).done:
            self._asked = None
            return True
        if left > 0:
            late = time.monotonic() - self._end
            self._waking = max(self._waking, min(late, MOST_WAKING))
        return False
