"""One connection: what its page says is done, and what it should know is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from bots.analyst import Analysis, Ticket
from bots.web import messages, words
from bots.web.catalogue import catalogue
from bots.web.desks import ANALYSIS, UnknownBotError
from bots.web.files import Choice, FileError, read_file, to_record_line, to_sgf_text
from bots.web.game import GameError
from bots.web.limits import Bucket, cost
from bots.web.lounge import Lounge
from bots.web.messages import MessageError
from bots.web.report import analysis_view
from bots.web.review import Review
from bots.web.table import Table
from engine import IllegalAction, RuleError
from model.bot import BotError

#: Seconds after which a page that takes none of its answers is let go.
DEAF = 30.0
#: Where so many messages wait for a slow page, reports of an analysis are left out.
SLOW = 8
#: Seconds between two reports of an analysis.
EVERY = 0.25
#: Close codes (RFC 6455): a broken rule; come again later.
BROKEN_RULE, TRY_AGAIN = 1008, 1013

_encode = msgspec.json.Encoder().encode


class Session:
    """A page's connection. It shows one table at a time."""

    def __init__(self, socket: WebSocket, lounge: Lounge, visitor: str) -> None:
        self._socket, self._lounge, self._visitor = socket, lounge, visitor
        self._desks, self._limits = lounge.desks, lounge.limits
        self._table: Table | None = None
        #: Encoded messages; None stands for the table's view, as it is when it is sent.
        self._out: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._view_waits = False
        #: Set while nothing waits to be sent, or nobody is there.
        self._sent = asyncio.Event()
        self._bucket = Bucket(self._limits.burst, self._limits.rate)
        self._refused = 0
        self._analyst: str | None = None
        self._analysis: Ticket | None = None
        self._review: Review | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            messages.Begin: self._begin,
            messages.Open: self._open,
            messages.Play: self._play,
            messages.Go: lambda message: self._change(lambda table: table.game.go(message.ply)),
            messages.Undo: lambda _: self._change(lambda table: table.game.undo()),
            messages.Redo: lambda _: self._change(lambda table: table.game.redo()),
            messages.Resign: lambda _: self._change(lambda table: table.game.resign()),
            messages.Nudge: lambda message: self._seen().nudge(message.bot, message.level),
            messages.Sit: self._sit,
            messages.Analyse: self._analyse,
            messages.Review: self._start_review,
            messages.Save: self._save,
        }

    async def run(self) -> None:
        """Serve the connection to its end."""
        writer = asyncio.create_task(self._write())
        self.tell({"type": "hello", "bots": self._desks.catalogue(), **catalogue()})
        try:
            await self._read()
        except (WebSocketDisconnect, RuntimeError, TimeoutError):
            pass  # closed from this side while a message was read, or nobody listens
        finally:
            self._stop_analysis()
            self._end_review()
            if self._table is not None:
                self._table.leave(self)
            writer.cancel()

    async def _read(self) -> None:
        while True:
            received = await self._socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            text = received.get("text")
            if text is None:
                self._refuse("messages are text")
            else:
                await self._handle(text)
            if self._refused > self._limits.patience:
                await self._socket.close(BROKEN_RULE, "too many messages")
                return
            # Who asks without listening to the answers is not asked on; and others have their turn.
            await asyncio.wait_for(self._sent.wait(), DEAF)
            await asyncio.sleep(0)

    # --- sending ---

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message, after those that wait."""
        self._put(_encode(message))

    def show(self, table: Table) -> None:
        """`Watcher.show`."""
        self._show()
        self._follow()

    def _show(self) -> None:
        """Send the table's view. One that waits already will be up to date when it is sent."""
        if not self._view_waits:
            self._view_waits = True
            self._put(None)

    def _put(self, item: bytes | None) -> None:
        self._sent.clear()
        self._out.put_nowait(item)

    async def _write(self) -> None:
        try:
            while True:
                item = await self._out.get()
                if item is None:
                    assert self._table is not None
                    self._view_waits = False
                    item = _encode(self._table.view())
                await self._socket.send_text(item.decode())
                if self._out.empty():
                    self._sent.set()
        except (WebSocketDisconnect, RuntimeError):
            pass  # nobody is there any more, which `_read` is told
        finally:
            self._sent.set()

    def _refuse(self, text: str, **more: bool) -> None:
        self._refused += 1
        self.tell({"type": "error", "text": text, **more})

    # --- receiving ---

    async def _handle(self, text: str) -> None:
        moves = len(self._table.game.moves) if self._table else 0
        if not self._bucket.take(cost(len(text), moves)):
            # Each is told, so that nothing is thought to be done: `patience` bounds how many.
            self._refuse("too many messages; wait a moment", busy=True)
            await asyncio.sleep(1 / self._limits.rate)
            return
        try:
            message = messages.read(text)
            if isinstance(message, messages.Load):
                await self._load(message)
            else:
                self._handlers[type(message)](message)
        except MessageError as error:
            self._refuse(str(error))
        except (GameError, RuleError, FileError, BotError, UnknownBotError) as error:
            self.tell({"type": "error", "text": str(error)})
        except IllegalAction as error:
            self.tell({"type": "error", "text": self._why(error)})

    def _why(self, error: IllegalAction) -> str:
        return words.refusal(self._table.game.position, error) if self._table else str(error)

    def _seen(self) -> Table:
        if self._table is None:
            raise GameError("no game is open; begin one first")
        return self._table

    def _sit_at(self, table: Table) -> None:
        if self._table is not None and self._table is not table:
            self._end_review()
            self._table.leave(self)
        self._table = table
        table.join(self)

    def _change(self, change: Callable[[Table], object]) -> None:
        table = self._seen()
        change(table)
        table.changed()

    # --- games ---

    def _begin(self, message: messages.Begin) -> None:
        self._check_seats(message.record.seats)
        self._sit_at(self._lounge.open(message.record, self._visitor))

    def _open(self, message: messages.Open) -> None:
        table = self._lounge.find(message.id)
        if table is not None:
            self._sit_at(table)
        elif message.record is not None:
            self._begin(messages.Begin(record=message.record))
        else:
            self.tell({"type": "gone", "id": message.id})

    def _play(self, message: messages.Play) -> None:
        table = self._seen()
        game = table.game
        if message.ply != game.ply:
            self._show()  # the page was behind; it sees what happened
            return
        if game.bot_to_act is not None:
            raise GameError("it is the bot's turn")
        game.play(message.action)
        table.changed()

    def _sit(self, message: messages.Sit) -> None:
        self._check_seats(message.seats)
        self._change(lambda table: table.game.seats.update(message.seats))

    def _check_seats(self, seats: Mapping[str, messages.SeatSetup]) -> None:
        for setup in seats.values():
            if setup.bot is not None and setup.bot not in self._desks.bots:
                # A kept game may name a bot that this server does not have: a person takes over.
                setup.bot = None

    # --- analysis ---

    def _analyse(self, message: messages.Analyse) -> None:
        if message.bot is not None:
            self._desks.check(message.bot)
        self._stop_analysis()
        self._analyst = message.bot
        self._follow()

    def _stop_analysis(self) -> None:
        if self._analysis is not None:
            self._analysis.cancel()
            self._analysis = None

    def _follow(self) -> None:
        """Analyse the position that the table shows now."""
        self._stop_analysis()
        table = self._table
        if table is None or self._analyst is None or table.game.is_over:
            return
        ply, turn = table.game.ply, table.turn

        def report(analysis: Analysis) -> None:
            if self._analysis is not search or table is not self._table:
                return
            if analysis.result is None:
                self.tell({"type": "error", "text": f"the analysis has failed: {analysis.error}"})
                return
            shown = analysis_view(analysis)
            table.game.values[ply] = round(shown["value"], 4)
            if analysis.final or self._out.qsize() < SLOW:
                self.tell({"type": "analysis", "id": table.id, "ply": ply, "turn": turn, **shown})

        try:
            search = self._analysis = self._desks.search(
                self._analyst,
                table.game.position,
                report,
                simulations=self._limits.analysis,
                priority=ANALYSIS,
                every=EVERY,
            )
        except BotError as error:
            self._analyst = None
            self.tell({"type": "error", "text": str(error)})

    def _start_review(self, message: messages.Review) -> None:
        self._end_review()
        if message.bot is None:
            return
        table = self._seen()
        self._desks.check(message.bot)
        self._review = Review(
            table.game,
            self._desks,
            message.bot,
            lambda found: self.tell({**found, "id": table.id}),
            simulations=self._limits.review,
            width=self._limits.review_width,
        )

    def _end_review(self) -> None:
        if self._review is not None:
            self._review.stop()
            self._review = None

    # --- files ---

    def _save(self, message: messages.Save) -> None:
        game = self._seen().game
        as_sgf = message.kind == "sgf"
        text = to_sgf_text(game) if as_sgf else to_record_line(game)
        name = f"{game.title or game.position.rules.name}.{'sgf' if as_sgf else 'jsonl'}"
        self.tell({"type": "file", "name": name, "text": text})

    async def _load(self, message: messages.Load) -> None:
        """Read a file. Raises `FileError`."""
        try:
            async with self._lounge.reading:
                opened = await asyncio.to_thread(
                    read_file, message.text, message.index, message.game, message.opening
                )
        except Choice as choice:
            self.tell({"type": "choose", "titles": choice.titles})
            return
        self._begin(messages.Begin(record=opened.record))
        if opened.left_out:
            self.tell({"type": "notice", "text": opened.left_out})
