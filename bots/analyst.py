"""Searches of many positions at once, batched over all of them: one thread and one evaluator.

What serves many askers, such as the JSON engine and the web page, asks an `Analyst`. Each query
names a position and limits, and is told what its search has found: once at the end, and as often
as it wants to before.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import threading
import time
import traceback
from collections.abc import Callable, Iterator

from bots.player import UNLIMITED
from bots.threats import LookOut, Threats, won
from bots.tree import SLICE, Trees, WinReading, best_proven, is_settled, ranking, read
from engine import Position
from engine.evaluators import Evaluator
from engine.search import SearchConfig, SearchResult, TreeNode
from engine.threats import Win
from model.buckets import write_in_place

#: Searches that go on at once, unless told otherwise.
SLOTS = 16
#: Kept evaluations of one canvas, in MiB.
CACHE_MIB = 64
#: Memory of all trees of one canvas, in MiB: where it ends, so do its searches.
TREES_MIB = 1024
#: Sizes of boards that are searched at once. A further one waits until nothing is searched on one
#: of these, and takes its memory.
CANVASES = 2

#: A step of the search and then some must fit before a deadline.
_STEPS = 1.5


class Closed(RuntimeError):  # noqa: N818 - reads as what it is, as StopIteration does
    """A query that came after the analyst was closed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Query:
    """A position, how far to search it, and whom to tell."""

    position: Position
    #: Called in the analyst's thread, which waits meanwhile: it should only hand the news on.
    report: Callable[[Analysis], None]
    #: The search ends at the first of these: simulations (None: as many as the tree holds), seconds
    #: of searching, and a moment of `time.monotonic()`. One evaluation is made in any case.
    simulations: int | None = None
    seconds: float | None = None
    until: float | None = None
    #: The search also ends as soon as the best action cannot change: for choosing a move.
    settle: bool = False
    #: Positions made at most for wins by threats before the search: a win is all that is reported,
    #: and what loses to one is not searched. All searches wait for these microseconds. 0: none.
    threats: int = 0
    #: Whether the network is asked for its opinion where a win by threats makes that needless.
    opinion: bool = False
    #: A higher one goes first, and takes the place of a lower one.
    priority: int = 0
    #: Seconds between two reports during the search; None: only the last.
    every: float | None = None
    #: Actions, the best ones first, whose lines of play are reported.
    lines: int = 1
    #: Governs the symmetry that the network sees, where the bot's search draws one.
    seed: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is known about a query's position."""

    query: Query
    #: None where nothing is known: the query ended before its search began, or failed.
    result: SearchResult | None = None
    #: Indices into the result's arrays: the best action first, then by visits and priors. Of
    #: proven ones, the best one wins the quickest, or loses the slowest, as far as is known.
    ranking: tuple[int, ...] = ()
    #: Lines of play that begin with the best actions, in the order of `ranking`.
    lines: tuple[tuple[TreeNode, ...], ...] = ()
    #: Plies to the end of the game by proven actions, as far as is known.
    plies_to_end: dict[int, int] = dataclasses.field(default_factory=dict)
    #: What was found before the search.
    threats: Threats = dataclasses.field(default_factory=Threats)
    #: Seconds of searching.
    seconds: float = 0.0
    #: Whether this is the last that is said about the query.
    final: bool = False
    cancelled: bool = False
    #: Why the search failed, for people.
    error: str | None = None


class Ticket:
    """A query under way."""

    def __init__(self, analyst: Analyst, query: Query, number: int) -> None:
        self.query = query
        self._analyst = analyst
        self._order = (-query.priority, number)
        self._cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled, by itself or with all."""
        return self._cancelled or self._analyst._abandoned

    def cancel(self) -> None:
        """End the search soon; what it has found is reported as final and cancelled.

        Does nothing once the search has ended.
        """
        self._cancelled = True
        self._analyst._wake()

    def __lt__(self, other: Ticket) -> bool:
        return self._order < other._order


class Analyst:
    """Answers queries from any thread, up to `slots` of them at once.

    Queries begin in order of their priorities, those of one priority in the order in which they
    came, and all that have begun get equal shares. A query that finds all slots taken by lower
    priorities takes the place of the last of them, which begins again later; the evaluations made
    for it are kept.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        search: SearchConfig,
        *,
        slots: int = SLOTS,
        cache_mib: int = CACHE_MIB,
        trees_mib: int = TREES_MIB,
        canvases: int = CANVASES,
    ) -> None:
        """`search` says how, not how far; always by PUCT, since Gumbel search plans its budget.

        `evaluator` gets batches of up to `slots * search.leaves_per_step` positions of one size.
        Memory is at most `canvases` times `cache_mib` and `trees_mib`. Raises `ValueError` where
        that cannot be.
        """
        if slots < 1 or canvases < 1:
            raise ValueError(f"analyst: {slots} slots on {canvases} canvases; give at least 1")
        self._evaluator = evaluator
        self._search = dataclasses.replace(search, kind="puct", simulations=UNLIMITED)
        self._slots, self._cache_mib, self._trees_mib = slots, cache_mib, trees_mib
        self._canvases = canvases
        self._rooms: dict[tuple[int, int], _Room] = {}
        self._changed = threading.Condition()
        # Under the lock of `_changed`:
        self._waiting: list[Ticket] = []
        self._numbers = itertools.count()
        self._stir = False
        self._forget = False
        self._closed = False
        self._abandoned = False
        self._thread = threading.Thread(target=self._work, name="analyst", daemon=True)
        self._thread.start()

    # --- for clients, from any thread ---

    def submit(self, query: Query) -> Ticket:
        """Begin a query, or let it wait. The position is copied.

        Raises `ValueError` for a finished game and for limits that are none, `Closed` after
        `close`.
        """
        if query.position.outcome is not None:
            raise ValueError("the game is over")
        if query.simulations is not None and query.simulations < 1:
            raise ValueError(f"simulations: {query.simulations} is less than 1")
        query = dataclasses.replace(query, position=query.position.copy())
        with self._changed:
            if self._closed:
                raise Closed("the analyst is closed")
            ticket = Ticket(self, query, next(self._numbers))
            heapq.heappush(self._waiting, ticket)
            self._changed.notify()
        return ticket

    def forget(self) -> None:
        """Forget kept evaluations; searches under way keep their trees."""
        with self._changed:
            self._forget = True
            self._changed.notify()

    def close(self, *, finish: bool = False) -> None:
        """End all searches, or with `finish` let all queries end first; returns after that."""
        with self._changed:
            self._closed = self._stir = True
            self._abandoned |= not finish
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def statistics(self) -> dict[str, int]:
        """`SearchBatch.statistics`, summed over the canvases in memory."""
        total: dict[str, int] = {}
        for room in list(self._rooms.values()):
            for name, count in room.batch.statistics().items():
                total[name] = total.get(name, 0) + count
        return total

    def _wake(self) -> None:
        with self._changed:
            self._stir = True
            self._changed.notify()

    # --- the thread ---

    def _work(self) -> None:
        while self._wait():
            self._begin_waiting()
            for room in list(self._rooms.values()):
                if room.searches:
                    self._step(room)

    def _wait(self) -> bool:
        """Wait for something to do; returns False when there never will be."""
        with self._changed:
            busy = any(room.searches for room in self._rooms.values())
            while not (busy or self._waiting or self._forget or self._closed):
                self._changed.wait()
            if self._forget:
                self._forget = False
                for room in self._rooms.values():
                    room.batch.forget()
            return bool(busy or self._waiting or not self._closed)

    def _begin_waiting(self) -> None:
        """Begin as many of the waiting queries as there is room for, and end cancelled ones."""
        cancelled: list[Ticket] = []
        with self._changed:
            if self._stir:
                self._stir = False
                cancelled = [ticket for ticket in self._waiting if ticket.is_cancelled]
                self._waiting = [ticket for ticket in self._waiting if not ticket.is_cancelled]
                heapq.heapify(self._waiting)
        for ticket in cancelled:
            _tell(ticket, Analysis(query=ticket.query, final=True, cancelled=True))
        while (first := self._next()) is not None:
            try:
                self._begin(first)
            except (MemoryError, ValueError) as error:
                _fail(first, error)

    def _begin(self, ticket: Ticket) -> None:
        """Look for wins by threats, and search where there is none of the seat to act.

        Raises `ValueError` and `MemoryError` for what cannot be searched.
        """
        query = ticket.query
        search = _Search(ticket)
        # One of its own: what it finds does not depend on what others were asked before.
        look_out = LookOut()
        # Proofs are of no use to a search that heeds none.
        look_out.look(query.position, query.threats if self._search.solver else 0, search.until)
        search.heed(look_out.found)
        if look_out.found.win is None or query.opinion:
            self._room_for(ticket).begin(search)
        else:
            _tell(ticket, search.victory(look_out.found.win))

    def _next(self) -> Ticket | None:
        """The query to begin now, taken from those that wait; None where it must wait on."""
        with self._changed:
            if not self._waiting:
                return None
            first = self._waiting[0]
            size = _canvas(first)
            if size not in self._rooms and len(self._rooms) >= self._canvases:
                idle = next((size for size, room in self._rooms.items() if not room.searches), None)
                if idle is None:
                    return None
                del self._rooms[idle]
            if sum(len(room.searches) for room in self._rooms.values()) >= self._slots:
                room, search = max(self._searches(), key=lambda pair: pair[1].ticket._order)
                if search.ticket._order[0] <= first._order[0]:
                    return None
                room.end(search)
                heapq.heappush(self._waiting, search.ticket)
                self._stir |= search.ticket.is_cancelled
            return heapq.heappop(self._waiting)

    def _searches(self) -> Iterator[tuple[_Room, _Search]]:
        for room in self._rooms.values():
            for search in room.searches.values():
                yield room, search

    def _room_for(self, ticket: Ticket) -> _Room:
        size = _canvas(ticket)
        room = self._rooms.pop(size, None)
        if room is None:
            room = _Room(self._make_batch(*size))
        # The one used last comes last: the first idle one makes place for another.
        self._rooms[size] = room
        return room

    def _make_batch(self, height: int, width: int) -> Trees:
        config = dataclasses.replace(self._search, arena_nodes=1 << 16)
        bytes_of = Trees(1, config, height=height, width=width, cache_mib=0).tree_bytes
        # One arena more than trees, to collect in.
        nodes = (self._trees_mib << 36) // (bytes_of * (self._slots + 1))
        config = dataclasses.replace(config, arena_nodes=max(2 * SLICE, nodes))
        batch = Trees(self._slots, config, height=height, width=width, cache_mib=self._cache_mib)
        write_in_place(batch, self._evaluator)
        return batch

    def _step(self, room: _Room) -> None:
        """One evaluation for all searches on a canvas; ends those that have come to their limit."""
        began = time.monotonic()
        try:
            room.batch.step(self._evaluator)
        except Exception as error:  # whatever an evaluator may raise
            self._drop(room, error)
            return
        now = time.monotonic()
        soon = now + _STEPS * (now - began)
        finished = set(room.batch.finished())
        for search in list(room.searches.values()):
            if search.slot in finished:
                search.go_on(room.batch)
            if search.has_ended or search.is_due(soon):
                room.end(search)
                _tell(search.ticket, search.analysis(room.batch, now, final=True))
            elif search.next_report is not None and now >= search.next_report:
                _tell(search.ticket, search.analysis(room.batch, now))
                search.next_report = time.monotonic() + (search.ticket.query.every or 0.0)

    def _drop(self, room: _Room, error: Exception) -> None:
        """End a canvas's searches where its evaluator failed, and forget it."""
        traceback.print_exception(error)
        self._rooms = {size: each for size, each in self._rooms.items() if each is not room}
        for search in room.searches.values():
            _fail(search.ticket, error)


class _Room:
    """The searches on boards of one size."""

    def __init__(self, batch: Trees) -> None:
        self.batch = batch
        self.searches: dict[int, _Search] = {}
        self._free = list(range(len(batch) - 1, -1, -1))

    def begin(self, search: _Search) -> None:
        """Plant a search's tree. Raises `ValueError` for what cannot be searched."""
        slot, query = self._free[-1], search.ticket.query
        self.batch.start(slot, query.position, query.seed, simulations=search.target)
        self.batch.give_up(slot, search.threats.losses)
        self._free.pop()
        search.slot = slot
        self.searches[slot] = search

    def end(self, search: _Search) -> None:
        """Stop it; its tree can be read until another one begins."""
        self.batch.stop(search.slot)
        del self.searches[search.slot]
        self._free.append(search.slot)


class _Search:
    """A query that is being searched."""

    def __init__(self, ticket: Ticket) -> None:
        query = ticket.query
        self.ticket = ticket
        #: Its tree's place in the room, once it has one.
        self.slot = -1
        self.threats = Threats()
        self.has_ended = False
        self._began = now = time.monotonic()
        limits = [query.until, None if query.seconds is None else now + query.seconds]
        self.until = min((limit for limit in limits if limit is not None), default=None)
        self.next_report = None if query.every is None else now + query.every
        self._budget = UNLIMITED if query.simulations is None else query.simulations
        # Asked for in slices: simulations that need no network are made all at once.
        self.target = min(SLICE, self._budget)

    def heed(self, found: Threats) -> None:
        """Search with what was found before; of a win, nothing but the network's opinion."""
        self.threats = found
        if found.win is not None:
            self.target = self._budget = 1

    def go_on(self, batch: Trees) -> None:
        """The tree wants nothing more: ask for the next simulations, or end."""
        done = batch.simulations(self.slot)
        self.has_ended = done < self.target or done >= self._budget
        if self.ticket.query.settle and not self.has_ended:
            self.has_ended = is_settled(batch.result(self.slot), self._budget - done)
        if not self.has_ended:
            self.target = min(self._budget, done + SLICE)
            batch.extend(self.slot, self.target)

    def is_due(self, soon: float) -> bool:
        """Whether the search ends now, whatever it has found."""
        return self.ticket.is_cancelled or (self.until is not None and soon >= self.until)

    def analysis(self, batch: Trees, now: float, *, final: bool = False) -> Analysis:
        """What it has found so far."""
        query = self.ticket.query
        result = batch.result(self.slot)
        if self.threats.win is not None:
            return self.victory(self.threats.win, result)
        proven = bool((abs(result.proofs) <= 1).any())
        reading = read(batch, self.slot) if proven else None
        lengths = reading.plies_to_end() if reading else {}
        result = dataclasses.replace(result, action=best_proven(result, lengths))
        order = ranking(result)
        # The best action comes first, even where it was not visited.
        shown = [k for k in order[: query.lines] if result.visits[k] or k == order[0]]
        return Analysis(
            query=query,
            result=result,
            ranking=tuple(order),
            lines=tuple(tuple(batch.line(self.slot, int(result.actions[k]))) for k in shown),
            plies_to_end=lengths,
            threats=self.threats,
            seconds=now - self._began,
            final=final,
            cancelled=final and self.ticket.is_cancelled,
        )

    def victory(self, win: Win, network: SearchResult | None = None) -> Analysis:
        """A win by threats, with the network's opinion where it was asked."""
        query = self.ticket.query
        result, reading = won(query.position, win, network), WinReading(query.position, win)
        return Analysis(
            query=query,
            result=result,
            ranking=tuple(ranking(result)),
            lines=(tuple(reading.line(result.action)),),
            plies_to_end=reading.plies_to_end(),
            threats=self.threats,
            seconds=time.monotonic() - self._began,
            final=True,
        )


def _canvas(ticket: Ticket) -> tuple[int, int]:
    rules = ticket.query.position.rules
    return rules.height, rules.width


def _fail(ticket: Ticket, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"
    _tell(ticket, Analysis(query=ticket.query, final=True, error=reason))


def _tell(ticket: Ticket, analysis: Analysis) -> None:
    try:
        ticket.query.report(analysis)
    except Exception:
        # One client's fault must not cost the others their searches.
        traceback.print_exc()
        ticket._cancelled = True
