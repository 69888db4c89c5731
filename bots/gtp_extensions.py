"""GTP beyond its specification: GoGui's commands, lz- and kata-analyze, openings with choices.

Sources: GoGui's manual; KataGo's "GTP Extensions". `docs/gtp.md` lists the commands.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from bots import gtp_analysis
from bots.clock import Clock
from bots.gtp import Answer, GtpSession
from bots.gtp_setup import from_board, with_stones
from bots.gtp_vertex import GtpError, parse_colour, parse_integer, parse_vertex, rows, vertex_name
from bots.lines import Lines
from bots.player import Player
from bots.repertoire import with_opening
from bots.state import may_place, result_line, state_line
from engine.search import SearchResult

HELP = """\
Beyond the specification; docs/gtp.md tells more.
narabe-games                 the games that this bot knows, by number
narabe-game NUMBER           sets up one of them
narabe-opening NAME          begins again with this opening, such as swap-2, or none
narabe-state                 the game as JSON; choice: whether narabe-choose is next
narabe-legal                 everything that the seat to act may do
narabe-choose                the bot takes an opening's decision: black, white, more, 1..12
narabe-choose OPTION         the other side's decision
narabe-why COLOUR VERTEX     why a move is illegal
narabe-draw COLOUR           whether this side accepts a draw
narabe-level NUMBER          how strong the bot plays, from 1 to 10
narabe-policy, -visits, -values, -line, -forbidden, -winning   for GoGui's analyze window
lz-analyze, kata-analyze [COLOUR] [INTERVAL] [KEY VALUE ...]   reports until a line arrives"""


class ExtendedGtpSession(GtpSession):
    """The protocol with all of that."""

    def _all_commands(self) -> dict[str, Callable[..., Answer]]:
        return super()._all_commands() | {
            "help": lambda: HELP,
            "gogui-rules_game_id": lambda: self._game[0].name.replace("-", ""),
            "gogui-rules_board": lambda: "\n".join(rows(self._position)),
            "gogui-rules_board_size": self._board_size,
            "gogui-rules_legal_moves": self._legal_moves,
            "gogui-rules_side_to_move": lambda: self._position.to_play,
            "gogui-rules_final_result": lambda: result_line(self._position),
            "gogui-setup": self._gogui_setup,
            "gogui-setup_player": lambda colour: self._set_turn(colour, for_move=False),
            "gogui-play_sequence": self._play_sequence,
            "gogui-analyze_commands": lambda: gtp_analysis.ANALYZE_COMMANDS,
            "lz-analyze": lambda *words: self._analyze(words, kata=False),
            "kata-analyze": lambda *words: self._analyze(words, kata=True),
            "narabe-games": self._list_games,
            "narabe-game": self._select_game,
            "narabe-opening": self._select_opening,
            "narabe-legal": self._legal,
            "narabe-why": self._why,
            "narabe-choose": self._choose,
            "narabe-draw": self._draw,
            "narabe-level": self._set_level,
            "narabe-state": lambda: state_line(self._position),
            "narabe-policy": self._policy,
            "narabe-visits": self._look(gtp_analysis.visits),
            "narabe-values": self._look(gtp_analysis.values),
            "narabe-line": self._look(gtp_analysis.best_line),
            "narabe-forbidden": lambda: self._points(sorted(self._position.forbidden())),
            "narabe-winning": lambda: self._points(self._position.winning_points()),
        }

    # --- GoGui ---

    def _gogui_setup(self, *moves: str) -> str:
        """Stones on a board; whose turn it is does not change, since the command does not say."""
        position = self._position
        stones = [self._parse_move(*pair) for pair in _pairs(moves)]
        if not stones:
            return ""
        if position.phase != "play":
            raise GtpError("illegal move")
        made = from_board(self._game, with_stones(position, stones), position.to_play)
        if made.stones_in_lines():
            raise GtpError("illegal move")
        self._replace(made, joined=False)
        self._setting_up = False
        return ""

    def _play_sequence(self, *moves: str) -> str:
        """All of the moves, or where one fails, none."""
        before, kept = self._now(joined=False), len(self._earlier)
        try:
            for colour, vertex in _pairs(moves):
                self._play(colour, vertex)
        except GtpError:
            del self._earlier[kept:]
            self._go_back(before)
            raise
        return ""

    def _board_size(self) -> str:
        rules = self._game[0]
        if rules.width != rules.height:
            raise GtpError("the board is not square: see narabe-state")
        return str(rules.width)

    def _legal_moves(self) -> str:
        legal = self._position.legal_actions()
        return self._points(legal[legal <= self._position.rules.points].tolist())

    # --- games and choices ---

    def _list_games(self) -> str:
        lines = []
        for index, (rules, opening) in enumerate(self._repertoire.games):
            size = f"{rules.width}x{rules.height}"
            others = [
                f"{name}={value}"
                for name, value in rules.overrides().items()
                if name not in ("size", "width", "height")
            ]
            lines.append(" ".join([str(index), rules.name, size, opening, *others]))
        return "\n".join(lines)

    def _select_game(self, index: str) -> str:
        number = parse_integer(index)
        if number >= len(self._repertoire.games):
            raise GtpError("no such game: see narabe-games")
        return self._start(with_opening(self._repertoire.games[number], self._opening))

    def _select_opening(self, name: str) -> str:
        """Begin again with this opening; it is that of the games that follow, too."""
        self._start((self._game[0], name))
        self._opening = name
        return ""

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

    def _draw(self, colour: str) -> str:
        """Whether this colour's player agrees to a draw that it is offered."""
        owner, position = parse_colour(colour), self._position
        if position.outcome is not None:
            raise GtpError("the game is over")
        seat = "A" if position.colour_of("A") == owner else "B"
        limit = self._limit(self._clock(owner), self._arrived)
        return "accept" if self._player.accepts_draw(seat, limit, self._is_hurried) else "decline"

    def _set_level(self, number: str) -> str:
        """How strong the bot plays, in this game and those that follow."""
        level = parse_integer(number)
        try:
            self._player.set_level(level)
        except ValueError as error:
            raise GtpError(str(error)) from error
        self._level = level
        return ""

    # --- analysis ---

    def _look(self, show: Callable[[Player, SearchResult], str]) -> Callable[[], str]:
        return lambda: show(self._player, self._consider())

    def _consider(self) -> SearchResult:
        """Think without a clock and without playing."""
        self._check_going_on()
        return self._player.think(self._limit(Clock(), time.monotonic()), self._is_hurried)

    def _policy(self) -> str:
        self._check_going_on()
        return gtp_analysis.policy(self._player, self._player.glance())

    def _check_going_on(self) -> None:
        if self._position.outcome is not None:
            raise GtpError("the game is over")

    def _analyze(self, words: Sequence[str], *, kata: bool) -> Answer:
        """Reports every so many hundredths of a second, until a line arrives or the input ends."""
        colour, interval, most = _analyze_options(list(words))
        self._check_going_on()
        turn: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if colour not in (None, self._position.to_play):
            if self._position.phase != "play":
                raise GtpError(f"it is the turn of {self._position.to_play}, in an opening")
            turn = self._turned_to(colour)
        if self._lines is None:
            with turn:
                result = self._consider()
                return iter([gtp_analysis.report(self._player, result, kata=kata, most=most)])
        return self._stream(self._lines, turn, kata, interval, most)

    def _stream(
        self,
        lines: Lines,
        turn: contextlib.AbstractContextManager[None],
        kata: bool,
        interval: float,
        most: int,
    ) -> Iterator[str]:
        def is_over() -> bool:
            return lines.peek() is not None or lines.ended

        with turn:
            yield from gtp_analysis.stream(self._player, kata, most, interval, is_over)
        lines.wait()


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
