"""The analysis engine: JSON lines in, JSON lines out, about many positions at once.

`docs/analysis.md` describes the protocol, which is in the manner of KataGo's parallel analysis
engine ("KataGo Parallel Analysis Engine", docs/Analysis_Engine.md of its repository): a query names
a game and some of its positions, and each gets answers of its own, in the order in which they are
ready.
"""

from __future__ import annotations

import dataclasses
import functools
import queue
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

from bots.analysis_answer import about_position, about_search, about_threats, to_line
from bots.analysis_query import LONGEST_ID, Asked, Command, parse_request
from bots.analyst import Analysis, Analyst, Closed, Query, Ticket
from bots.repertoire import Game, Repertoire
from engine import Position
from engine.json_lines import RequestError, parse, read_lines
from model.bot import BotError

#: Raised where older clients would no longer understand the answers.
PROTOCOL = 1

#: Answers that may be outstanding; where so many are, no further line is read.
MOST_OUTSTANDING = 10_000
#: Reports during a search are left out while so many answers wait to be written.
BACKLOG = 64

#: Ids should be strings; of those that are numbers, smaller ones than this are repeated.
_LONG_NUMBER = 1e15

#: More lines of play than any position has actions.
_ALL = 1 << 16

#: Makes an answer, in the thread that writes it.
Answer = Callable[[], dict[str, Any]]


@dataclasses.dataclass(slots=True)
class _Open:
    """A query whose last answer has not been made yet."""

    asked: Asked
    #: Answers still to come.
    left: int
    #: Its positions that were given to the analyst.
    tickets: dict[int, Ticket] = dataclasses.field(default_factory=dict)


class AnalysisSession:
    """One conversation: one thread reads, the analyst's searches, and that of `serve` writes."""

    def __init__(
        self,
        version: str,
        games: Sequence[Game],
        new_analyst: Callable[[], Analyst],
        *,
        simulations: int,
        seed: int = 0,
    ) -> None:
        """`version` says which bot this is, `new_analyst` loads its network.

        `simulations` are made where a query names no limit.
        """
        self._version = version
        self._repertoire = Repertoire(games)
        self._new_analyst = new_analyst
        self._simulations, self._seed = simulations, seed
        self._analyst: Analyst | None = None
        self._answers: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._outstanding = threading.Semaphore(MOST_OUTSTANDING)
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}  # under the lock

    def serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        """Answer every line of `requests`, to their end. Raises OSError when nobody listens."""
        threading.Thread(target=self._read, args=(requests,), daemon=True).start()
        try:
            while (answer := self._answers.get()) is not None:
                answers.write(to_line(answer()))
                answers.flush()
        finally:
            if self._analyst is not None:
                self._analyst.close()

    # --- the thread that reads ---

    def _read(self, requests: BinaryIO) -> None:
        for number, line in enumerate(read_lines(requests), start=1):
            if line is None or line.strip():
                self._handle(number, line)
        if self._analyst is not None:
            self._analyst.close(finish=True)
        self._answers.put(None)

    def _handle(self, number: int, line: bytes | None) -> None:
        """Answer one line, or begin to."""
        name: object = None
        try:
            request = parse(line)
            name = request.get("id")
            asked = parse_request(request, self._repertoire)
            if isinstance(asked, Asked):
                self._begin(asked)
            else:
                self._say(self._obey(asked))
            return
        except Closed:
            return  # nobody listens any more
        except (RequestError, BotError) as error:
            reason = str(error)
        except Exception as error:
            # A fault of ours must not cost the client its other lines.
            traceback.print_exc()
            reason = f"internal error, please report it: {type(error).__name__}: {error}"[:300]
        self._say({"id": _repeated(name), "line": number, "error": reason})

    def _say(self, said: dict[str, Any]) -> None:
        """Answer at once."""

        def answer() -> dict[str, Any]:
            self._outstanding.release()
            return said

        self._outstanding.acquire()
        self._answers.put(answer)

    def _obey(self, command: Command) -> dict[str, Any]:
        said: dict[str, Any] = {"id": command.id, "action": command.action}
        if command.action == "query_version":
            said |= {"name": "narabe", "version": self._version, "protocol": PROTOCOL}
        elif command.action == "clear_cache":
            if self._analyst is not None:
                self._analyst.forget()
        else:
            if command.terminate_id is not None:
                said["terminate_id"] = command.terminate_id
            said["terminated"] = self._terminate(command)
        return said

    def _terminate(self, command: Command) -> int:
        """End what the command names; returns how many positions that were."""
        with self._lock:
            tickets = [
                ticket
                for name, opened in self._open.items()
                for ply, ticket in opened.tickets.items()
                if command.terminate_id in (None, name)
                and (command.plies is None or ply in command.plies)
            ]
        for ticket in tickets:
            ticket.cancel()
        return len(tickets)

    def _begin(self, asked: Asked) -> None:
        """Give a query's positions to the analyst. Raises `RequestError`, `BotError`, `Closed`."""
        opened = _Open(asked, len(asked.positions))
        if self._analyst is None:
            self._analyst = self._new_analyst()
        with self._lock:
            if asked.id in self._open:
                raise RequestError(f"id: {asked.id!r} is still under way; name this query another")
            self._open[asked.id] = opened
        unlimited = asked.simulations is None and asked.seconds is not None
        for ply, position in asked.positions.items():
            self._outstanding.acquire()
            if position.outcome is not None:
                self._answers.put(functools.partial(self._final, opened, position, None))
                continue
            query = Query(
                position=position,
                report=functools.partial(self._report, opened),
                simulations=None if unlimited else asked.simulations or self._simulations,
                seconds=asked.seconds,
                priority=asked.priority,
                threats=asked.threat_nodes,
                opinion=True,
                every=asked.report_every,
                lines=_ALL if asked.moves is None else max(1, asked.moves),
                seed=self._seed,
            )
            ticket = self._analyst.submit(query)
            with self._lock:
                if asked.id in self._open:
                    opened.tickets[ply] = ticket

    # --- the analyst's thread ---

    def _report(self, opened: _Open, analysis: Analysis) -> None:
        position = analysis.query.position
        if analysis.final:
            self._answers.put(functools.partial(self._final, opened, position, analysis))
        elif self._answers.qsize() < BACKLOG:
            self._answers.put(functools.partial(_answer, opened.asked, position, analysis))

    # --- the thread that writes ---

    def _final(
        self, opened: _Open, position: Position, analysis: Analysis | None
    ) -> dict[str, Any]:
        """The last answer about a position."""
        self._outstanding.release()
        with self._lock:
            opened.left -= 1
            opened.tickets.pop(position.ply, None)
            if not opened.left:
                del self._open[opened.asked.id]
        return _answer(opened.asked, position, analysis)


def _answer(asked: Asked, position: Position, analysis: Analysis | None) -> dict[str, Any]:
    """About a position; without an analysis where its game is over."""
    said = {"id": asked.id, "final": analysis is None or analysis.final}
    if analysis is not None and analysis.error is not None:
        return said | {"ply": position.ply, "error": analysis.error}
    if analysis is not None and analysis.cancelled:
        said["cancelled"] = True
    said |= about_position(position, asked.want)
    if analysis is None:
        return said
    if analysis.final and analysis.result is not None and "threats" in asked.want:
        said["threats"] = about_threats(position, analysis.threats)
    return said | about_search(analysis, asked.moves, asked.want)


def _repeated(name: object) -> str | int | float | None:
    """What an error repeats of an id, which may be the error itself."""
    if isinstance(name, str):
        return name[:LONGEST_ID]
    if isinstance(name, bool) or not isinstance(name, int | float):
        return None
    return name if abs(name) < _LONG_NUMBER else None
