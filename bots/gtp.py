"""GTP, the text protocol of Go programs, for games won by a line; `docs/gtp.md` lists the commands.

Source: Gunnar Farnebäck, "Specification of the Go Text Protocol, version 2, draft 2", 2002.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import numpy as np

from bots import gtp_analysis
from bots.clock import Clock
from bots.gtp_vertex import (
    GtpError,
    diagram,
    parse_colour,
    parse_integer,
    parse_vertex,
    rows,
    vertex_name,
)
from bots.lines import Lines
from bots.player import Player
from bots.repertoire import Game, Repertoire, UnknownGameError
from bots.state import may_place, result_line, state_line
from engine import IllegalAction, Position, RuleError, RuleSet
from engine.search import SearchResult

HELP = """\
Beyond the specification; docs/gtp.md tells more.
narabe-games                 the games that this bot knows, by number
narabe-game NUMBER           sets up one of them
narabe-state                 the game as JSON; choice: whether narabe-choose is next
narabe-legal                 everything that the seat to act may do
narabe-choose                the bot takes an opening's decision: black, white, more, 1..12
narabe-choose OPTION         the other side's decision
narabe-why COLOUR VERTEX     why a move is illegal
narabe-draw COLOUR           whether this side accepts a draw
narabe-policy, -visits, -values, -line, -forbidden, -winning   for GoGui's analyze window
lz-analyze, kata-analyze [COLOUR] [INTERVAL] [KEY VALUE ...]   reports until a line arrives"""

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
    ) -> None:
        """`version` says which bot this is; `games` can be chosen from, `first` is set up."""
        self.closed = False
        self._version = version
        self._repertoire = Repertoire(games)
        self._new_player = new_player
        self._game = games[first]
        self._made: Player | None = None
        #: Positions before a set-up, and whether it only changed whose turn it was.
        self._earlier: list[tuple[Position, bool]] = []
        self._setting = Clock()
        self._clocks: dict[str, Clock] = {}
        self._lines: Lines | None = None
        self._arrived = self._free = 0.0
        self._commands: dict[str, Callable[..., Answer]] = {
            "protocol_version": lambda: "2",
            "name": lambda: "narabe",
            "version": lambda: self._version,
            "known_command": lambda name: "true" if name in self._commands else "false",
            "list_commands": lambda: "\n".join(self._commands),
            "help": lambda: HELP,
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
            "gogui-rules_game_id": lambda: self._game[0].name.replace("-", ""),
            "gogui-rules_board": lambda: "\n".join(rows(self._position)),
            "gogui-rules_board_size": self._board_size,
            "gogui-rules_legal_moves": self._legal_moves,
            "gogui-rules_side_to_move": lambda: self._position.to_play,
            "gogui-rules_final_result": lambda: result_line(self._position),
            "gogui-setup": self._gogui_setup,
            "gogui-setup_player": self._set_turn,
            "gogui-play_sequence": self._play_sequence,
            "gogui-analyze_commands": lambda: gtp_analysis.ANALYZE_COMMANDS,
            "lz-analyze": lambda *words: self._analyze(words, kata=False),
            "kata-analyze": lambda *words: self._analyze(words, kata=True),
            "narabe-games": self._list_games,
            "narabe-game": self._select_game,
            "narabe-legal": self._legal,
            "narabe-why": self._why,
            "narabe-choose": self._choose,
            "narabe-draw": self._draw,
            "narabe-state": lambda: state_line(self._position),
            "narabe-policy": self._look(gtp_analysis.policy, simulations=1),
            "narabe-visits": self._look(gtp_analysis.visits),
            "narabe-values": self._look(gtp_analysis.values),
            "narabe-line": self._look(gtp_analysis.best_line),
            "narabe-forbidden": lambda: self._points(sorted(self._position.forbidden())),
            "narabe-winning": lambda: self._points(self._position.winning_points()),
        }

    # --- lines ---

    def serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        """Answer until `quit` or the end of the input. Raises OSError when nobody listens."""
        self._lines = Lines(requests, _is_quit)
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
            self._made.warm_up()
        return self._made

    @property
    def _position(self) -> Position:
        return self._player.position

    def _start(self, game: Game) -> str:
        self._game, self._made = game, None
        self._earlier.clear()
        self._clocks.clear()
        _ = self._player
        return ""

    def _boardsize(self, size: str) -> str:
        side = parse_integer(size)
        try:
            game = self._repertoire.on_board(side, side, self._game)
        except UnknownGameError as error:
            raise GtpError(f"unacceptable size: {error}") from error
        return self._start(game)

    def _clear_board(self) -> str:
        return self._start(self._game)

    def _komi(self, komi: str) -> str:
        _number(komi, "komi")
        return ""

    def _list_games(self) -> str:
        return "\n".join(
            f"{index} {rules.name} {rules.width}x{rules.height} {opening}"
            for index, (rules, opening) in enumerate(self._repertoire.games)
        )

    def _select_game(self, index: str) -> str:
        number = parse_integer(index)
        if number >= len(self._repertoire.games):
            raise GtpError("no such game: see narabe-games")
        return self._start(self._repertoire.games[number])

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
        if mover != self._position.to_play:
            self._set_up([(mover, action)])
        else:
            self._play_action(action)
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
        flipped = mover != self._position.to_play
        self._turn_to(mover)
        action = self._think(mover)
        if flipped:
            self._player.reset(self._earlier.pop()[0])
        return vertex_name(self._position.rules, action)

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
            raise GtpError("the opening asks for a choice: use narabe-choose")
        if mover != self._position.to_play:
            self._set_turn(mover)

    def _think(self, mover: str) -> int:
        clock = self._clock(mover)
        limit = self._player.limit_by(clock, self._arrived)
        action = self._player.choose(limit, self._is_hurried)
        clock.spend(time.monotonic() - self._arrived)
        return action

    def _is_hurried(self) -> bool:
        """Whether the search must end because `quit` waits."""
        return self._lines is not None and self._lines.hurried

    def _undo(self) -> str:
        if self._position.actions:
            self._player.undo()
            # A change of turns goes with the move that it was made for.
            if self._position.actions or not (self._earlier and self._earlier[-1][1]):
                return ""
        if not self._earlier:
            raise GtpError("cannot undo")
        self._player.reset(self._earlier.pop()[0])
        return ""

    # --- setting up ---

    def _set_up(self, stones: Sequence[tuple[str, int]]) -> None:
        """Add stones out of turn: a new game begins from that board, without history.

        So stones that a controller sends in any order are no moves, and never come to be boards
        that must not be repeated.
        """
        position = self._position
        board = position.board.ravel().copy()
        for colour, action in stones:
            if position.phase != "play" or action >= board.size or board[action]:
                raise GtpError("illegal move")
            board[action] = 1 if colour == "black" else 2
        last = stones[-1][0]
        made = self._from_board(board, "white" if last == "black" else "black")
        if any(made.line_value(action, colour) for colour, action in stones):
            raise GtpError("illegal move")
        self._earlier.append((position.copy(), False))
        self._player.reset(made)

    def _from_board(self, board: np.ndarray, to_play: str) -> Position:
        """A position with these stones [H*W]. Raises `GtpError` where they cannot stand so."""
        blacks, whites = (np.flatnonzero(board == stone).tolist() for stone in (1, 2))
        rules, opening = self._game
        try:
            return Position.from_setup(
                rules, black=blacks, white=whites, to_play=to_play, opening=opening
            )
        except RuleError as error:
            raise GtpError("illegal move") from error

    def _gogui_setup(self, *moves: str) -> str:
        """Stones on a board; whose turn it is does not change, since the command does not say."""
        to_play = self._position.to_play
        stones = [self._parse_move(*pair) for pair in _pairs(moves)]
        if stones:
            self._set_up(stones)
            if self._position.to_play != to_play:
                self._player.reset(self._from_board(self._position.board.ravel(), to_play))
        return ""

    def _set_turn(self, colour: str) -> str:
        mover, position = parse_colour(colour), self._position
        if mover == position.to_play:
            return ""
        if position.phase != "play":
            raise GtpError("illegal move")
        made = self._from_board(position.board.ravel(), mover)
        self._earlier.append((position.copy(), True))
        self._player.reset(made)
        return ""

    def _play_sequence(self, *moves: str) -> str:
        for colour, vertex in _pairs(moves):
            self._play(colour, vertex)
        return ""

    # --- choices, and what viewers ask ---

    def _choose(self, option: str | None = None) -> str:
        """The seat to act chooses by thinking, or as it is told."""
        if self._position.outcome is not None or may_place(self._position):
            raise GtpError("there is nothing to choose: use play and genmove")
        if option is None:
            action = self._think(self._position.colour_of(self._position.seat))
        else:
            action = parse_vertex(self._position.rules, option)
        self._play_action(action)
        return vertex_name(self._position.rules, action)

    def _legal(self) -> str:
        return self._points(self._position.legal_actions().tolist())

    def _legal_moves(self) -> str:
        legal = self._position.legal_actions()
        return self._points(legal[legal <= self._position.rules.points].tolist())

    def _points(self, actions: Sequence[int]) -> str:
        return " ".join(vertex_name(self._position.rules, action) for action in actions)

    def _why(self, colour: str, vertex: str) -> str:
        """Why a move is illegal, or `legal`."""
        position = self._position
        mover = parse_colour(colour)
        try:
            action = parse_vertex(position.rules, vertex)
        except GtpError as error:
            if str(error) == "illegal move":
                return "off-board"
            raise
        if position.outcome is None and mover != position.to_play:
            return f"it is the turn of {position.to_play}"
        return position.why_illegal(action) or "legal"

    def _board_size(self) -> str:
        rules = self._game[0]
        if rules.width != rules.height:
            raise GtpError("the board is not square: see narabe-state")
        return str(rules.width)

    def _final_score(self) -> str:
        outcome = self._position.outcome
        if outcome is None:
            raise GtpError("cannot score: the game is not over")
        return {"black": "B+", "white": "W+", None: "0"}[outcome.winner_colour]

    def _draw(self, colour: str) -> str:
        """Whether this colour's player agrees to a draw that it is offered."""
        owner, position = parse_colour(colour), self._position
        if position.outcome is not None:
            raise GtpError("the game is over")
        seat = "A" if position.colour_of("A") == owner else "B"
        limit = self._player.limit_by(self._clock(owner), self._arrived)
        return "accept" if self._player.accepts_draw(seat, limit) else "decline"

    # --- analysis ---

    def _look(
        self, show: Callable[[Player, SearchResult], str], simulations: int | None = None
    ) -> Callable[[], str]:
        return lambda: show(self._player, self._consider(simulations))

    def _consider(self, simulations: int | None = None) -> SearchResult:
        """Think without a clock and without playing."""
        if self._position.outcome is not None:
            raise GtpError("the game is over")
        limit = self._player.limit_by(Clock(), time.monotonic(), simulations)
        return self._player.think(limit, self._is_hurried)

    def _analyze(self, words: Sequence[str], *, kata: bool) -> Answer:
        """Reports every so many hundredths of a second, until a line arrives or the input ends."""
        colour, interval, most = _analyze_options(list(words))
        if self._position.outcome is not None:
            raise GtpError("the game is over")
        if colour not in (None, self._position.to_play):
            raise GtpError(f"it is the turn of {self._position.to_play}")
        if self._lines is None:
            result = self._consider()
            return iter([gtp_analysis.report(self._player, result, kata=kata, most=most)])
        return self._stream(self._lines, kata, interval, most)

    def _stream(self, lines: Lines, kata: bool, interval: float, most: int) -> Iterator[str]:
        def is_over() -> bool:
            return lines.peek() is not None or lines.ended

        yield from gtp_analysis.stream(self._player, kata, most, interval, is_over)
        lines.wait()


def _words(line: str) -> list[str]:
    """A line's words, as section 2.5 of the specification reads it: without control characters,
    tabs as spaces, and without a comment.
    """
    text = "".join(" " if c == "\t" else c for c in line if c >= " " or c == "\t")
    return text.partition("#")[0].split()


def _is_quit(line: str) -> bool:
    words = _words(line)
    return words[-1:] == ["quit"] and len(words) <= 2


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise GtpError(f"syntax error: {what} is a number")
    return number


def _pairs(words: Sequence[str]) -> list[tuple[str, str]]:
    if len(words) % 2:
        raise GtpError("syntax error: moves are colours and vertices")
    return list(zip(words[::2], words[1::2], strict=True))


def _analyze_options(words: list[str]) -> tuple[str | None, float, int]:
    """Colour or None, seconds between reports, most moves in one; other options are passed over."""
    colour, interval, most = None, 1.0, 1 << 30
    if words and not words[0].isdecimal() and words[0].lower() in ("b", "w", "black", "white"):
        colour = parse_colour(words.pop(0))
    if words and words[0].isdecimal():
        interval = parse_integer(words.pop(0)) / 100
    for key, value in _pairs(words):
        if key == "interval":
            interval = parse_integer(value) / 100
        elif key == "maxmoves":
            most = max(1, parse_integer(value))
    return colour, max(0.01, interval), most
