"""Calls of any number of rows, cut into parts that a network takes from buffers of fixed size.

What every kind of evaluator shares; imports neither torch nor anything that does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine import OPTIONS
from engine.evaluators import Evaluator
from engine.features import GLOBALS, PLANES
from engine.search import SearchBatch

Floats = NDArray[np.float32]
Keys = NDArray[np.uint64]


class Canvas(Protocol):
    """A network with the memory for boards of one size: each call writes into it anew."""

    #: Inputs [batch size, C, H, W] and [batch size, G].
    planes: Floats
    globals_: Floats

    def run(self, rows: int) -> tuple[Floats, Floats]:
        """Judge at least the first `rows` rows of the inputs.

        Returns policy logits [rows or more, H*W + 16] and value logits [rows or more, 3], in memory
        that the next call may overwrite.
        """
        ...


class BucketEvaluator(ABC):
    """Judges positions (`engine.evaluators.Evaluator`), at most `batch_size` rows at a time.

    Inputs are written in place into a canvas made once for each size of board, answers are arrays
    of their own. Rows that a part leaves unused hold what earlier calls left there: a network must
    answer a row the same whatever the others are.
    """

    def __init__(self, batch_size: int) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size} is less than 1")
        self.batch_size = batch_size
        self._canvases: dict[tuple[int, int], Canvas] = {}

    @abstractmethod
    def _canvas(self, height: int, width: int) -> Canvas:
        """The network on boards of this size."""

    def inputs(self, height: int, width: int) -> tuple[Floats, Floats] | None:
        """Memory that is evaluated in place: planes [batch size, C, H, W], globals [batch size, G].

        Who writes positions into its first rows, and asks about these rows, saves a copy. Every
        call about other arrays overwrites it. None where the network wants another order in memory.
        """
        canvas = self._canvas_of(height, width)
        if not canvas.planes.flags.c_contiguous:
            return None
        return canvas.planes, canvas.globals_

    def _canvas_of(self, height: int, width: int) -> Canvas:
        canvas = self._canvases.get((height, width))
        if canvas is None:
            canvas = self._canvases[height, width] = self._canvas(height, width)
        return canvas

    def evaluate(self, planes: Floats, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and values [n], as `Evaluator.evaluate` states.

        `planes` [n, C, H, W], `globals_` [n, G]; `keys` [n] are not needed.
        """
        logits, outcomes = self.evaluate_outcomes(planes, globals_)
        return logits, outcomes[:, 0] - outcomes[:, 2]

    def evaluate_outcomes(self, planes: Floats, globals_: Floats) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and probabilities of win, draw and loss [n, 3]."""
        count, _, height, width = planes.shape
        canvas = self._canvas_of(height, width)
        logits = np.empty((count, height * width + len(OPTIONS)), np.float32)
        outcomes = np.empty((count, 3), np.float32)
        for start in range(0, count, self.batch_size):
            rows = min(self.batch_size, count - start)
            part = slice(start, start + rows)
            if planes.base is not canvas.planes or globals_.base is not canvas.globals_:
                canvas.planes[:rows] = planes[part]
                canvas.globals_[:rows] = globals_[part]
            found_logits, found_outcomes = canvas.run(rows)
            logits[part], outcomes[part] = found_logits[:rows], found_outcomes[:rows]
        return logits, _softmax(outcomes)


def write_in_place(batch: SearchBatch, evaluator: Evaluator) -> None:
    """Let a search make its batches where the evaluator reads them, if that has such memory."""
    if not isinstance(evaluator, BucketEvaluator) or evaluator.batch_size < batch.batch_size:
        return
    if inputs := evaluator.inputs(batch.height, batch.width):
        batch.write_into(*inputs)


def input_buffers(batch_size: int, height: int, width: int) -> tuple[Floats, Floats]:
    """Zeros for planes [batch size, C, H, W] and globals [batch size, G]."""
    return (
        np.zeros((batch_size, len(PLANES), height, width), np.float32),
        np.zeros((batch_size, len(GLOBALS)), np.float32),
    )


def output_buffers(batch_size: int, height: int, width: int) -> tuple[Floats, Floats]:
    """Memory for policy logits [batch size, H*W + 16] and value logits [batch size, 3]."""
    return (
        np.zeros((batch_size, height * width + len(OPTIONS)), np.float32),
        np.zeros((batch_size, 3), np.float32),
    )


def _softmax(logits: Floats) -> Floats:
    """Along the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    result: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return result
