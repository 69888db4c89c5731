"""GTP, the text protocol of Go programs, for games won by a line; `docs/gtp.md` lists the commands.

Source: Gunnar Farnebäck, "Specification of the Go Text Protocol, version 2, draft 2", 2002. Points
are written as there (columns without the letter I), unlike everywhere else in narabe.
"""

import inspect
import json
import re
from collections.abc import Callable, Sequence
from typing import BinaryIO

from bots.player import Player
from bots.repertoire import Game
from engine import OPTIONS, IllegalAction, Position, RuleSet

#: Columns as GTP letters them: 25, without I.
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"

_COLOURS = {"b": "black", "black": "black", "w": "white", "white": "white"}
_VERTEX = re.compile(r"([a-hj-z])([1-9][0-9]?)")
_STONES = ".XO"


class GtpError(ValueError):
    """A command that fails; the message is the answer after the question mark."""


def vertex_name(rules: RuleSet, action: int) -> str:
    """An action as GTP writes it: `J9`, `pass`, or narabe's word for another option."""
    if action < rules.points:
        return f"{COLUMNS[action % rules.width]}{action // rules.width + 1}"
    return OPTIONS[action - rules.points]


def parse_vertex(rules: RuleSet, text: str) -> int:
    """The action of a vertex, `pass` or an option. Raises `GtpError` for anything else."""
    name = text.lower()
    if name in OPTIONS:
        return rules.points + OPTIONS.index(name)
    match = _VERTEX.fullmatch(name)
    if match is None:
        raise GtpError("syntax error: not a vertex")
    column, row = COLUMNS.index(match[1].upper()), int(match[2]) - 1
    if column >= rules.width or row >= rules.height:
        raise GtpError("illegal move: off-board")
    return row * rules.width + column


def diagram(position: Position) -> str:
    """The board with GTP's coordinates, row 1 at the bottom, and whose turn it is."""
    board = position.board  # [H, W]
    height, width = board.shape
    letters = "    " + " ".join(COLUMNS[:width])
    rows = [
        f"{row + 1:3} " + " ".join(_STONES[stone] for stone in board[row]) + f" {row + 1}"
        for row in reversed(range(height))
    ]
    turn = f"seat {position.seat}, {position.to_play} to play, phase {position.phase}"
    return "\n".join(["", letters, *rows, letters, turn])


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
        self._games = games
        self._new_player = new_player
        self._commands: dict[str, Callable[..., str]] = {
            "protocol_version": lambda: "2",
            "name": lambda: "narabe",
            "version": lambda: self._version,
            "known_command": lambda name: "true" if name in self._commands else "false",
            "list_commands": lambda: "\n".join(self._commands),
            "quit": self._quit,
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "time_settings": lambda main, byoyomi, stones: "",
            "time_left": lambda colour, time, stones: "",
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "showboard": lambda: diagram(self._player.position),
            "final_score": self._final_score,
            "narabe-games": self._list_games,
            "narabe-game": self._select_game,
            "narabe-legal": self._legal,
            "narabe-choose": self._choose,
            "narabe-state": self._state,
        }
        self._start(first)

    def serve(self, requests: BinaryIO, answers: BinaryIO) -> None:
        """Answer until `quit` or the end of the input. Raises OSError when nobody listens."""
        while not self.closed and (line := requests.readline()):
            answer = self.answer(line.decode(errors="replace"))
            if answer is not None:
                answers.write(answer.encode())
                answers.flush()

    def answer(self, line: str) -> str | None:
        """The answer to one line, with the empty line that ends it; None for an empty line."""
        # Section 2.5 of the specification: control characters, tabs and comments.
        text = "".join(" " if c == "\t" else c for c in line if c >= " " or c == "\t")
        words = text.partition("#")[0].split()
        if not words:
            return None
        number = words.pop(0) if words[0].isdecimal() else ""
        try:
            return f"={number} {self._run(words)}\n\n"
        except GtpError as error:
            return f"?{number} {error}\n\n"

    def _run(self, words: list[str]) -> str:
        command = self._commands.get(words[0]) if words else None
        if command is None:
            raise GtpError("unknown command")
        try:
            inspect.signature(command).bind(*words[1:])
        except TypeError as error:
            raise GtpError("syntax error: wrong number of arguments") from error
        return command(*words[1:])

    # -- the session ------------------------------------------------------------------------------

    def _start(self, index: int) -> None:
        self._game = index
        self._player = self._new_player(*self._games[index])

    def _quit(self) -> str:
        self.closed = True
        return ""

    def _boardsize(self, size: str) -> str:
        sides = [(rules.width, rules.height) for rules, _ in self._games]
        wanted = (_integer(size), _integer(size))
        if wanted not in sides:
            raise GtpError("unacceptable size")
        # The game that is being played stays where it has this size already.
        self._start(self._game if sides[self._game] == wanted else sides.index(wanted))
        return ""

    def _clear_board(self) -> str:
        self._start(self._game)
        return ""

    def _komi(self, komi: str) -> str:
        try:
            float(komi)
        except ValueError as error:
            raise GtpError("syntax error: komi is a number") from error
        return ""

    def _list_games(self) -> str:
        return "\n".join(
            f"{index} {rules.name} {rules.width}x{rules.height} {opening}"
            for index, (rules, opening) in enumerate(self._games)
        )

    def _select_game(self, index: str) -> str:
        if not 0 <= _integer(index) < len(self._games):
            raise GtpError("no such game: see narabe-games")
        self._start(_integer(index))
        return ""

    # -- the game ---------------------------------------------------------------------------------

    def _play(self, colour: str, vertex: str) -> str:
        self._check_turn(colour)
        action = parse_vertex(self._position.rules, vertex)
        if action > self._position.rules.points:
            raise GtpError("syntax error: not a vertex")
        self._play_action(action)
        return ""

    def _genmove(self, colour: str) -> str:
        return self._generate(colour, play=True)

    def _reg_genmove(self, colour: str) -> str:
        return self._generate(colour, play=False)

    def _generate(self, colour: str, *, play: bool) -> str:
        mover = _colour(colour)
        if (outcome := self._position.outcome) is not None:
            # Controllers that know only Go do not see that a line has ended the game.
            return "resign" if outcome.winner_colour not in (None, mover) else "pass"
        self._check_turn(colour)
        if not self._places():
            raise GtpError("the opening asks for a choice: use narabe-choose")
        action = self._player.choose()
        if play:
            self._player.play(action)
        return vertex_name(self._position.rules, action)

    def _choose(self, option: str | None = None) -> str:
        """The seat to act chooses by thinking, or as it is told."""
        if self._position.outcome is not None or self._places():
            raise GtpError("there is nothing to choose: use play and genmove")
        if option is None:
            action = self._player.choose()
        else:
            action = parse_vertex(self._position.rules, option)
        self._play_action(action)
        return vertex_name(self._position.rules, action)

    def _legal(self) -> str:
        rules = self._position.rules
        return " ".join(vertex_name(rules, action) for action in self._position.legal_actions())

    def _undo(self) -> str:
        try:
            self._player.undo()
        except ValueError as error:
            raise GtpError("cannot undo") from error
        return ""

    def _final_score(self) -> str:
        outcome = self._position.outcome
        if outcome is None:
            raise GtpError("cannot score: the game is not over")
        return {"black": "B+1", "white": "W+1", None: "0"}[outcome.winner_colour]

    def _state(self) -> str:
        position, outcome = self._position, self._position.outcome
        state = {
            "game": position.rules.name,
            "width": position.rules.width,
            "height": position.rules.height,
            "opening": position.opening,
            "ply": position.ply,
            "phase": position.phase,
            "seat": position.seat,
            "colour": position.to_play,
            "choice": outcome is None and not self._places(),
            "result": outcome
            and {
                "winner_seat": outcome.winner_seat,
                "winner_colour": outcome.winner_colour,
                "reason": outcome.reason,
            },
        }
        return json.dumps(state)

    @property
    def _position(self) -> Position:
        return self._player.position

    def _places(self) -> bool:
        """Whether the seat to act may place a stone or pass: what `play` and `genmove` are for."""
        legal = self._position.legal_actions()
        return legal.size > 0 and int(legal[0]) <= self._position.rules.points

    def _check_turn(self, colour: str) -> None:
        if self._position.outcome is not None:
            raise GtpError("illegal move: game-over")
        if _colour(colour) != self._position.to_play:
            raise GtpError(f"illegal move: it is the turn of {self._position.to_play}")

    def _play_action(self, action: int) -> None:
        try:
            self._player.play(action)
        except IllegalAction as error:
            raise GtpError(f"illegal move: {error.reason}") from error


def _colour(text: str) -> str:
    try:
        return _COLOURS[text.lower()]
    except KeyError as error:
        raise GtpError("syntax error: a colour is black or white") from error


def _integer(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise GtpError("syntax error: not an integer")
    return int(text)
