"""GTP, the text protocol of Go programs, for games won by a line; `docs/gtp.md` lists the commands.

Source: Gunnar Farnebäck, "Specification of the Go Text Protocol, version 2, draft 2", 2002.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from bots.clock import Clock
from bots.gtp_setup import Earlier, after_stone, from_board
from bots.gtp_vertex import (
    GtpError,
    diagram,
    parse_colour,
    parse_integer,
    parse_vertex,
    vertex_name,
)
from bots.lines import Lines
from bots.player import Limit, Player
from bots.repertoire import Game, Repertoire, UnknownGameError, with_opening
from bots.state import may_place
from engine import IllegalAction, Position, RuleError, RuleSet
from engine.openings import opening as find_opening

#: A command's answer, or its lines as they come.
Answer = str | Iterator[str]


class GtpSession:
    """One conversation: `answer` takes a line and gives the text to send back."""

    def __init__(
        self,
        version: str,
        games: Sequence[Game],
        new_player: Callable[[RuleSet, str], Player],
        first: int = 0,
        opening: str | None = None,
    ) -> None:
        """`version` says which bot this is; `games` can be chosen from, `first` is set up.

        `opening` is played in place of each game's own (None: that).
        """
        self.closed = False
        self._version = version
        self._repertoire = Repertoire(games)
        self._new_player = new_player
        self._opening = opening
        self._game = with_opening(games[first], self._opening)
        self._made: Player | None = None
        self._level: int | None = None
        #: Since a stone came out of turn: whether stones that are played may be a set-up's.
        self._setting_up = False
        self._earlier: list[Earlier] = []
        self._setting = Clock()
        self._clocks: dict[str, Clock] = {}
        self._lines: Lines | None = None
        self._arrived = self._free = 0.0
        self._commands = self._all_commands()

    def _all_commands(self) -> dict[str, Callable[..., Answer]]:
        """What answers each command."""
        return {
            "protocol_version": lambda: "2",
            "name": lambda: "narabe",
            "version": lambda: self._version,
            "known_command": lambda name: "true" if name in self._commands else "false",
            "list_commands": lambda: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "showboard": lambda: diagram(self._position),
            "final_score": self._final_score,
        }

    # --- lines ---

    def serve(
        self, requests: BinaryIO, answers: BinaryIO, on_end: Callable[[], None] = lambda: None
    ) -> None:
        """Answer until `quit` or the end of the input; `on_end` as for `Lines`.

        Raises OSError when nobody listens.
        """
        self._lines = Lines(requests, _is_quit, on_end=on_end)
        for line in self._lines:
            for part in self._respond(line.text, line.at):
                answers.write(part.encode())
                answers.flush()
            if self.closed:
                return

    def answer(self, line: str) -> str | None:
        """The answer to one line, with the empty line that ends it; None for an empty line."""
        return "".join(self._respond(line, time.monotonic())) or None

    def _respond(self, line: str, at: float) -> Iterator[str]:
        """The answer to a line that arrived then, in parts."""
        words = _words(line)
        if not words:
            return
        number = words.pop(0) if words[0].isdecimal() else ""
        # A move's time runs from when it was asked for, but not while another one was answered.
        self._arrived = max(at, self._free)
        try:
            answer = self._run(words)
            if isinstance(answer, str):
                yield f"={number} {answer}\n\n"
            else:
                yield f"={number}\n"
                for part in answer:
                    yield f"{part}\n"
                yield "\n"
        except GtpError as error:
            yield f"?{number} {error}\n\n"
        self._free = time.monotonic()

    def _run(self, words: list[str]) -> Answer:
        command = self._commands.get(words[0]) if words else None
        if command is None:
            raise GtpError("unknown command")
        try:
            inspect.signature(command).bind(*words[1:])
        except TypeError as error:
            raise GtpError("syntax error: wrong number of arguments") from error
        return command(*words[1:])

    def _quit(self) -> str:
        self.closed = True
        return ""

    # --- which game ---

    @property
    def _player(self) -> Player:
        """The player, made when it is first needed: only then the network is loaded."""
        if self._made is None:
            self._made = self._new_player(*self._game)
            if self._level is not None:
                self._made.set_level(self._level)
            if not self._is_hurried():
                self._made.warm_up()
            if self._lines is not None:
                self._lines.ready()
        return self._made

    @property
    def _position(self) -> Position:
        return self._player.position

    def _start(self, game: Game) -> str:
        try:
            find_opening(game[1]).check(game[0])
        except RuleError as error:
            raise GtpError(str(error)) from error
        self._game, self._made = game, None
        self._earlier.clear()
        self._setting_up = False
        self._clocks.clear()
        _ = self._player
        return ""

    def _boardsize(self, size: str) -> str:
        side = parse_integer(size)
        try:
            game = self._repertoire.on_board(side, side, self._game)
        except UnknownGameError as error:
            raise GtpError(f"unacceptable size: {error}") from error
        return self._start(with_opening(game, self._opening))

    def _clear_board(self) -> str:
        return self._start(self._game)

    def _komi(self, komi: str) -> str:
        _number(komi, "komi")
        return ""

    # --- time ---

    def _time_settings(self, main: str, byo_yomi: str, stones: str) -> str:
        """Main time, then byo-yomi: seconds for so many stones; byo-yomi for none is no limit."""
        left, period = _number(main, "time"), _number(byo_yomi, "time")
        number = parse_integer(stones)
        self._clocks.clear()
        if period > 0 and number == 0:
            self._setting = Clock()
        elif left > 0 or number == 0:
            self._setting = Clock(left=left, period=period, period_stones=number)
        else:
            self._setting = Clock(left=period, stones=number, period=period, period_stones=number)
        return ""

    def _time_left(self, colour: str, left: str, stones: str) -> str:
        clock = self._clock(parse_colour(colour))
        clock.left, clock.stones = _number(left, "time"), parse_integer(stones)
        return ""

    def _clock(self, colour: str) -> Clock:
        return self._clocks.setdefault(colour, dataclasses.replace(self._setting))

    # --- the game ---

    def _play(self, colour: str, vertex: str) -> str:
        mover, action = self._parse_move(colour, vertex)
        position = self._position
        in_turn = mover == position.to_play
        if in_turn and not (self._setting_up and position.why_illegal(action)):
            self._play_action(action)
            self._setting_up &= action < position.rules.points
        else:
            self._set_up_stone(mover, action)
        return ""

    def _parse_move(self, colour: str, vertex: str) -> tuple[str, int]:
        mover, rules = parse_colour(colour), self._position.rules
        action = parse_vertex(rules, vertex)
        if action > rules.points:
            raise GtpError("syntax error: not a vertex")
        return mover, action

    def _play_action(self, action: int) -> None:
        try:
            self._player.play(action)
        except IllegalAction as error:
            raise GtpError("illegal move") from error

    def _genmove(self, colour: str) -> str:
        mover = parse_colour(colour)
        self._setting_up = False
        if (end := self._end_for(mover)) is not None:
            return end
        self._turn_to(mover)
        action = self._think(mover)
        if self._player.resigns():
            return "resign"
        self._player.play(action)
        return vertex_name(self._position.rules, action)

    def _reg_genmove(self, colour: str) -> str:
        mover = parse_colour(colour)
        if (end := self._end_for(mover)) is not None:
            return end
        with self._turned_to(mover):
            return vertex_name(self._position.rules, self._think(mover))

    def _end_for(self, mover: str) -> str | None:
        """What genmove answers after the game's end, None before it.

        Controllers that know only Go do not see that a line has ended the game.
        """
        outcome = self._position.outcome
        if outcome is None:
            return None
        return "resign" if outcome.winner_colour not in (None, mover) else "pass"

    def _turn_to(self, mover: str) -> None:
        if not may_place(self._position):
            raise GtpError("the opening asks for a choice: narabe-choose, or narabe-opening none")
        if mover != self._position.to_play:
            self._set_turn(mover)

    @contextlib.contextmanager
    def _turned_to(self, mover: str) -> Iterator[None]:
        """As if it were this colour's turn, for as long as the context lasts."""
        flipped = mover != self._position.to_play
        self._turn_to(mover)
        try:
            yield
        finally:
            if flipped:
                self._player.reset(self._earlier.pop().position)

    def _think(self, mover: str) -> int:
        clock = self._clock(mover)
        action = self._player.choose(self._limit(clock, self._arrived), self._is_hurried)
        clock.spend(time.monotonic() - self._arrived)
        return action

    def _limit(self, clock: Clock, began: float) -> Limit:
        """The limit of what was asked for then; where the search must end, none is begun."""
        limit = self._player.limit_by(clock, began)
        return dataclasses.replace(limit, until=began) if self._is_hurried() else limit

    def _is_hurried(self) -> bool:
        """Whether the search must end because `quit` waits."""
        return self._lines is not None and self._lines.hurried

    def _undo(self) -> str:
        if self._position.actions:
            self._player.undo()
            if self._position.actions or not (self._earlier and self._earlier[-1].joined):
                return ""
        if not self._earlier:
            raise GtpError("cannot undo")
        self._go_back(self._earlier.pop())
        return ""

    def _go_back(self, earlier: Earlier) -> None:
        self._player.reset(earlier.position)
        self._setting_up = earlier.setting_up

    def _final_score(self) -> str:
        outcome = self._position.outcome
        if outcome is None:
            raise GtpError("cannot score: the game is not over")
        return {"black": "B+", "white": "W+", None: "0"}[outcome.winner_colour]

    # --- setting up ---

    def _set_up_stone(self, colour: str, point: int) -> None:
        """Play a stone out of turn: a new game begins from the board after it, without history.

        It captures and switches as a move does; on the way to a board that is set up, in whatever
        order, no stone does, and no board on it must not be repeated. A line that such stones make
        ends the game, but as long as more of them come, it was none: what closes or lengthens it
        may be yet to come.
        """
        if self._position.phase != "play" and not self._setting_up:
            raise GtpError("illegal move")
        made = after_stone(self._game, self._position, (colour, point))
        self._replace(made, joined=bool(made.actions))
        self._setting_up = True

    def _replace(self, position: Position, *, joined: bool) -> None:
        """Begin from another position; `joined`: taken back with the action after it."""
        self._earlier.append(self._now(joined=joined))
        self._player.reset(position)

    def _now(self, *, joined: bool) -> Earlier:
        return Earlier(self._position.copy(), joined, self._setting_up)

    def _set_turn(self, colour: str, *, for_move: bool = True) -> str:
        """Change whose turn it is; `for_move`: taken back with the move that it is made for."""
        mover, position = parse_colour(colour), self._position
        if mover == position.to_play:
            return ""
        if position.phase != "play":
            raise GtpError("illegal move")
        made = from_board(self._game, position.board.ravel(), mover)
        self._replace(made, joined=for_move)
        return ""


def _words(line: str) -> list[str]:
    """A line's words, as section 2.5 of the specification reads it: without control characters,
    tabs as spaces, and without a comment.
    """
    text = "".join(" " if c == "\t" else c for c in line if c >= " " or c == "\t")
    return text.partition("#")[0].split()


def _is_quit(line: str) -> bool:
    words = _words(line)
    return words == ["quit"] or (words[1:] == ["quit"] and words[0].isdecimal())


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GtpError(f"syntax error: {what} is a number")
    return number
