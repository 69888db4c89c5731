"""Calls of any number of rows, cut into parts that a network takes from buffers of fixed size.

What every kind of evaluator shares; imports neither torch nor anything that does.
"""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from engine import OPTIONS, _outcomes
from engine.evaluators import Evaluator, Floats, Keys, Planes
from engine.features import GLOBALS, PLANES
from engine.search import SearchBatch


class Canvas(Protocol):
    """A network with the memory for boards of one size: each call writes into it anew."""

    #: Inputs [batch size, C, H, W] and [batch size, G].
    planes: Planes
    globals_: Floats

    def run(self, rows: int) -> tuple[Floats, Floats]:
        """Judge at least the first `rows` rows of the inputs.

        Returns policy logits [rows or more, H*W + 16] and value logits [rows or more, 3], in memory
        that the caller may write to and that the next call may overwrite.
        """
        ...


@dataclass(slots=True, frozen=True)
class _Place:
    """What one caller uses for boards of one size."""

    canvas: Canvas
    values: Floats
    """[batch size]: those of the last call of at most so many rows."""


class BucketEvaluator(ABC):
    """Judges positions (`engine.evaluators.Evaluator`), at most `batch_size` rows at a time.

    Inputs and answers lie in memory made once for each size of board, so that a call of up to
    `batch_size` rows allocates nothing that grows with them. Rows that a part leaves unused hold
    what earlier calls left there: a network must answer a row the same whatever the others are.

    For one thread; another one asks a `twin`.
    """

    def __init__(self, batch_size: int) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: {batch_size} is less than 1")
        self.batch_size = batch_size
        self._places: dict[tuple[int, int], _Place] = {}
        #: What a kind makes of the network once for each size of board; twins share it.
        self._programs: dict[tuple[int, int], Any] = {}
        self._lock = threading.Lock()

    def twin(self) -> Self:
        """The same network for another thread: inputs and answers are its own.

        The network works for one of the twins at a time.
        """
        twin = copy.copy(self)
        twin._places = {}
        return twin

    @abstractmethod
    def _canvas(self, height: int, width: int) -> Canvas:
        """The network on boards of this size; called by one thread at a time."""

    def inputs(self, height: int, width: int) -> tuple[Planes, Floats]:
        """Memory that is evaluated in place: planes [batch size, C, H, W], globals [batch size, G].

        Who writes positions into its first rows, and asks about these rows, saves a copy. Every
        call about other arrays overwrites it.
        """
        canvas = self._place(height, width).canvas
        return canvas.planes, canvas.globals_

    def _place(self, height: int, width: int) -> _Place:
        place = self._places.get((height, width))
        if place is None:
            with self._lock:
                canvas = self._canvas(height, width)
            place = _Place(canvas, np.zeros(self.batch_size, np.float32))
            self._places[height, width] = place
        return place

    def evaluate(self, planes: Planes, globals_: Floats, keys: Keys) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and values [n], as `Evaluator.evaluate` states.

        `planes` [n, C, H, W], `globals_` [n, G]; `keys` [n] are not needed.
        """
        count, _, height, width = planes.shape
        if count > self.batch_size:
            logits, outcomes = self.evaluate_outcomes(planes, globals_)
            return logits, outcomes[:, 0] - outcomes[:, 2]
        place = self._place(height, width)
        logits, _ = self._judge(place, planes, globals_)
        return logits, place.values[:count]

    def evaluate_outcomes(self, planes: Planes, globals_: Floats) -> tuple[Floats, Floats]:
        """Policy logits [n, H*W + 16] and probabilities of win, draw and loss [n, 3].

        As those of `evaluate` they are valid until the next call.
        """
        count, _, height, width = planes.shape
        place = self._place(height, width)
        if count <= self.batch_size:
            return self._judge(place, planes, globals_)
        logits = np.empty((count, height * width + len(OPTIONS)), np.float32)
        outcomes = np.empty((count, 3), np.float32)
        for start in range(0, count, self.batch_size):
            part = slice(start, start + self.batch_size)
            logits[part], outcomes[part] = self._judge(place, planes[part], globals_[part])
        return logits, outcomes

    def _judge(self, place: _Place, planes: Planes, globals_: Floats) -> tuple[Floats, Floats]:
        """`evaluate_outcomes` of at most `batch_size` rows, and their values in the place."""
        canvas, rows = place.canvas, len(planes)
        if planes.base is not canvas.planes or globals_.base is not canvas.globals_:
            canvas.planes[:rows] = planes
            canvas.globals_[:rows] = globals_
        with self._lock:
            logits, outcomes = canvas.run(rows)
        logits, outcomes = logits[:rows], outcomes[:rows]
        _outcomes.judge(outcomes, place.values[:rows])
        return logits, outcomes


def write_in_place(batch: SearchBatch, evaluator: Evaluator) -> None:
    """Let a search make its batches where the evaluator reads them, if that has such memory."""
    if not isinstance(evaluator, BucketEvaluator) or evaluator.batch_size < batch.batch_size:
        return
    batch.write_into(*evaluator.inputs(batch.height, batch.width))


def input_buffers(batch_size: int, height: int, width: int) -> tuple[Planes, Floats]:
    """Zeros for planes [batch size, C, H, W] and globals [batch size, G]."""
    return (
        np.zeros((batch_size, len(PLANES), height, width), np.uint8),
        np.zeros((batch_size, len(GLOBALS)), np.float32),
    )


def output_buffers(batch_size: int, height: int, width: int) -> tuple[Floats, Floats]:
    """Memory for policy logits [batch size, H*W + 16] and value logits [batch size, 3]."""
    return (
        np.zeros((batch_size, height * width + len(OPTIONS)), np.float32),
        np.zeros((batch_size, 3), np.float32),
    )
