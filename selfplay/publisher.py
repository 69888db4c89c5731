"""Hands weights versions to the workers, each with the evaluator that serves it.

A version is made ready (`model.serving.prepare`: int8 networks are scaled and compared) in a thread
beside the loop, and the old weights play until it is. In the deterministic loop it is done at once.
"""

import copy
import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.checkpoint import Checkpoint
from model.choice import Choice
from model.evaluator import Served, why_not
from model.positions import Positions
from model.serving import DamagedError, Prepared, load_served, prepare, save_prepared
from selfplay.cluster import Workers
from selfplay.storage import cannot_write

_log = logging.getLogger(__name__)


@dataclass(slots=True, frozen=True, kw_only=True)
class _Version:
    """A version on its way to the workers."""

    number: int
    path: Path
    weights: Mapping[str, np.ndarray]
    prepared: Future[Prepared]


class Publisher:
    """Makes versions ready and publishes them, one at a time and in order.

    `device` and `batch_size` are those that networks are compared with.
    """

    def __init__(
        self,
        workers: Workers,
        choice: Choice,
        *,
        device: str,
        batch_size: int,
        background: bool,
    ) -> None:
        self.kind = ""
        self._workers, self._choice = workers, choice
        self._device, self._batch_size = device, batch_size
        self._background = background
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="evaluator")
        self._waiting: _Version | None = None
        self._curves: dict[str, float] = {}
        self._told: set[str] = set()

    def start(self, checkpoint: Checkpoint, path: Path, positions: Positions) -> None:
        """Publish the version that a run starts or goes on with, at once.

        One that was played with is served as before where that can be had here, whatever is chosen
        for later ones: its games can still be played again. What served it is made anew where it
        is missing or damaged. Raises CheckpointError, StorageError.
        """
        try:
            served = load_served(path)
        except DamagedError as error:
            _log.warning("%s; it is made again", error)
            served = None
        if served is not None and not why_not(served.kind, self._device):
            self._hand_over(checkpoint.meta.version, checkpoint.weights, served)
        else:
            self.publish(checkpoint, path, positions)
            self.poll(wait=True)

    def publish(self, checkpoint: Checkpoint, path: Path, positions: Positions) -> None:
        """Make a version ready and publish it: now, or at a `poll` when it is. Raises StorageError.

        A version that is still waiting goes first.
        """
        self.poll(wait=True)
        network = copy.deepcopy(checkpoint.network)
        self._waiting = _Version(
            number=checkpoint.meta.version,
            path=path,
            weights=checkpoint.weights,
            prepared=self._thread.submit(
                prepare, network, positions, self._choice.kinds, self._device, self._batch_size
            ),
        )
        self.poll(wait=not self._background)

    def poll(self, *, wait: bool = False) -> None:
        """Publish the version that waits, if it is ready. Raises StorageError."""
        version = self._waiting
        if version is None or not (wait or version.prepared.done()):
            return
        self._waiting = None
        prepared = version.prepared.result()
        try:
            save_prepared(version.path, prepared)
        except OSError as error:
            raise cannot_write(version.path, error) from error
        self._curves |= prepared.curves(self._choice.wanted)
        self._tell(prepared)
        self._hand_over(version.number, version.weights, prepared.served)

    def take_curves(self) -> dict[str, float]:
        """What was measured since the last call, under the names of the curves."""
        taken, self._curves = self._curves, {}
        return taken

    def close(self) -> None:
        """Wait for the thread; a version that is not ready is dropped."""
        self._thread.shutdown(cancel_futures=True)

    def _tell(self, prepared: Prepared) -> None:
        """Say of each kind that failed why it did, and what plays; not again for each version."""
        for kind, reason in prepared.failures.items():
            line = f"evaluator: {kind} failed ({reason}); {prepared.served.kind} plays instead"
            if line not in self._told:
                self._told.add(line)
                _log.warning(line)

    def _hand_over(self, number: int, weights: Mapping[str, np.ndarray], served: Served) -> None:
        self.kind = served.kind
        self._workers.publish(number, weights, served)
