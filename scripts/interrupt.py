"""Ctrl-C and SIGTERM: the first asks the work to stop soon, the second ends it at once."""

import signal
from types import FrameType, TracebackType
from typing import Any


class Interrupt:
    """While entered, turns signals into a request that the work asks for with `requested`.

    A second signal raises KeyboardInterrupt, with its number, at once. `exit_code` is the shell's
    convention for the signal received (128 + number), 0 if there was none.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.exit_code = 0
        self._previous: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupt":
        for number in self.SIGNALS:
            self._previous[number] = signal.signal(number, self._receive)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def requested(self) -> bool:
        """Whether a signal has come."""
        return self.exit_code != 0

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested():
            raise KeyboardInterrupt(number)
        self.exit_code = 128 + number
