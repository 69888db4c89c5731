"""The Gomocup (piskvork) protocol; `docs/gomocup.md` lists the commands.

Sources: Petr Laštovička, "Gomoku AI protocol" (plastovicka.github.io/protocl2en.htm), and what
Yixin-Board and c-gomoku-cli send besides.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

from bots.clock import Clock
from bots.gomocup_board import (
    NOBODY,
    BoardError,
    empty_board,
    may_be_forbidden,
    read_board,
    without_passes,
    without_stone,
)
from bots.gomocup_info import KIN, Info, InfoError
from bots.gomocup_openings import OpeningError, Openings
from bots.gomocup_waiting import Waiting, is_end, is_heeded
from bots.gomocup_words import (
    GomocupError,
    action_name,
    integer,
    pair,
    parse_field,
    parse_point,
    parse_stone,
    point_name,
    refusal,
)
from bots.lines import Lines
from bots.player import READING, Limit, Player
from bots.repertoire import Game, Repertoire, UnknownGameError
from bots.state import result_line
from bots.yixin import DETAIL, LiveReport
from engine import IllegalAction, Position, RuleError, RuleSet

#: Boards that `START` may ask for.
MIN_SIDE, MAX_SIDE = 5, 25

#: Commands that lines of coordinates may follow, up to DONE: Yixin-Board has many.
_WITH_LINES = ("BOARD", "SWAP2BOARD", "YX")


class GomocupSession:
    """One conversation: `handle` takes a line, and `send` gets each line of the answer."""

    def __init__(
        self,
        version: str,
        games: Sequence[Game],
        new_player: Callable[[RuleSet, str], Player],
        first: int = 0,
        send: Callable[[str], None] = print,
    ) -> None:
        """`version` says which bot this is; `first` is the game played unless `INFO rule` says."""
        self.closed = False
        self._version = version
        self._repertoire = Repertoire(games)
        self._default = games[first]
        self._new_player = new_player
        self._send = send
        self._lines: Lines | None = None
        self._arrived = self._free = 0.0
        self._thought = False
        self._info, self._news = Info(), Info()
        #: The rule of the next game, where that is not the present one's or none of the bot's.
        self._later: int | None = None
        self._clock = Clock()
        self._yixin = False
        #: The position, and its ply, in which a move was suggested last.
        self._suggested: tuple[Position, int] | None = None
        self._game: Game | None = None
        self._player: Player | None = None
        self._block: list[str] | None = None
        self._skipping = False
        self._end_block: Callable[[list[str]], None] = self._board
        self._commands = self._all_commands()

    def _all_commands(self) -> dict[str, Callable[[str], None]]:
        """What answers each command."""
        return {
            "START": self._start,
            "RECTSTART": self._rect_start,
            "RESTART": self._restart,
            "BEGIN": self._begin,
            "TURN": self._turn,
            "PLAY": self._play,
            "TAKEBACK": self._take_back,
            "BOARD": lambda _: self._collect(self._board),
            "SWAP2BOARD": lambda _: self._collect(self._swap2board),
            "DONE": self._done,
            "INFO": self._take_info,
            "ABOUT": self._about,
            "END": self._end,
        }

    # --- lines ---

    def serve(
        self, requests: BinaryIO, answers: BinaryIO, on_end: Callable[[], None] = lambda: None
    ) -> None:
        """Answer until `END` or the end of the input; `on_end` as for `Lines`.

        Raises OSError when nobody listens.
        """

        def send(line: str) -> None:
            answers.write(f"{line}\n".encode())
            answers.flush()

        self._send = send
        self._lines = Lines(requests, is_end, is_heeded, on_end)
        for line in self._lines:
            self.handle(line.text, line.at)
            if self.closed:
                return

    def handle(self, text: str, at: float | None = None) -> None:
        """Answer one line, which arrived then (`time.monotonic()`; None: now)."""
        words = text.split(maxsplit=1)
        if not words:
            return
        word, rest = words[0], words[1] if len(words) > 1 else ""
        # A move's time runs from when it was asked for, but not while another one was answered.
        self._arrived = max(time.monotonic() if at is None else at, self._free)
        if word.upper().startswith("YX"):
            self._meet_yixin()
        command = self._commands.get(word.upper())
        if self._skipping and self._skip(word):
            return
        if self._block is not None and command is None:
            self._block.append(text)
            return
        if self._block is not None and word.upper() != "DONE":
            self._block = None
            self._send("ERROR the board did not end with DONE; it is dropped")
        done = self._do(command, word, rest.strip())
        self._skipping = not done and word.upper().startswith(_WITH_LINES)
        self._free = time.monotonic()
        if self._thought:
            self._clock.spend(self._free - self._arrived)
            self._thought = False

    def _do(self, command: Callable[[str], None] | None, word: str, rest: str) -> bool:
        """Answer a command; False for one that is unknown or fails."""
        try:
            if command is not None:
                command(rest)
                return True
            self._send(f"UNKNOWN {word[:40]} is no command of this program")
        except (GomocupError, BoardError, InfoError, OpeningError, RuleError) as error:
            self._send(f"ERROR {error}")
        except IllegalAction as error:
            assert self._player is not None
            self._send(f"ERROR {refusal(error, self._player.position)}")
        return False

    def _skip(self, word: str) -> bool:
        """Whether a line still belongs to a command that failed: coordinates, and DONE."""
        self._skipping = word[0] in "-0123456789"
        return self._skipping or word.upper() == "DONE"

    def _collect(self, end: Callable[[list[str]], None]) -> None:
        self._playing()
        self._block, self._end_block = [], end

    def _done(self, _: str) -> None:
        if self._block is None:
            raise GomocupError("DONE ends a board, and there was none")
        lines, self._block = self._block, None
        self._end_block(lines)

    # --- the game ---

    def _start(self, size: str) -> None:
        # Some managers send the width and the height.
        sides = [integer(word, "START") for word in size.split() or [size]]
        if len(set(sides)) > 1 or len(sides) > 2:
            raise GomocupError("START is for square boards; RECTSTART width,height for others")
        self._new_game(sides[0], sides[0])

    def _rect_start(self, sides: str) -> None:
        self._new_game(*pair(sides, "no width and height, such as 20,15"))

    def _new_game(self, width: int, height: int) -> None:
        """Forget everything but what `INFO` said since the last game.

        Yixin-Board and its kin say what has changed only, over any number of games.
        """
        if not all(MIN_SIDE <= side <= MAX_SIDE for side in (width, height)):
            raise GomocupError(f"a board has {MIN_SIDE} to {MAX_SIDE} points a side")
        kept = self._info if self._yixin else self._news
        info = dataclasses.replace(kept, time_left=self._news.time_left)
        game = self._find_game(info.rule, width, height)
        self._info, self._clock = info, info.clock()
        self._set_game(game)
        self._send("OK")

    def _find_game(self, rule: int | None, width: int, height: int) -> Game:
        try:
            if rule is None:
                rules, opening = self._repertoire.on_board(width, height, self._default)
            else:
                # Yixin-Board's number of renju is the specification's of continuous games.
                number = 4 if rule == 2 and self._yixin else rule
                rules, opening = self._repertoire.gomocup(number, width, height)
        except UnknownGameError as error:
            raise GomocupError(str(error)) from error
        # The protocol has no passes.
        return without_passes(rules), opening

    def _set_game(self, game: Game) -> None:
        """Begin a game as in a new process. The same one again needs no other player."""
        player = self._player if self._game == game else None
        if player is None:
            player = self._new_player(*game)
        player.renew(empty_board(game))
        player.limit_memory(self._info.memory())
        if self._info.level is not None:
            player.set_level(self._info.level)
        if not self._is_hurried():
            player.warm_up()
        if self._lines is not None:
            self._lines.ready()
        self._game, self._player, self._later = game, player, None

    def _restart(self, _: str) -> None:
        player, game = self._playing()
        if self._later is not None:
            self._set_game(self._find_game(self._later, game[0].width, game[0].height))
        else:
            player.reset(empty_board(game))
            player.forget()
        self._info.time_left = None
        self._clock = self._info.clock()
        self._send("OK")

    def _playing(self) -> tuple[Player, Game]:
        """The player and its game, for all that belongs to a game.

        Raises `GomocupError` without one, and where another one was asked for that is not known.
        """
        if self._player is None or self._game is None:
            raise GomocupError("no game has been started; send START first")
        if self._later is not None and not self._player.position.board.any():
            self._find_game(self._later, self._game[0].width, self._game[0].height)
        self._news = Info(rule=self._later)
        return self._player, self._game

    def _begin(self, _: str) -> None:
        player, _game = self._playing()
        if player.position.board.any():
            raise GomocupError("BEGIN is for an empty board; send RESTART first, or TURN")
        self._reply()

    def _turn(self, point: str) -> None:
        player, _ = self._playing()
        if self._suggested == (player.position, player.position.ply):
            raise GomocupError("a move has been suggested: PLAY x,y says which one is played")
        player.play(self._point(point))
        self._reply()

    def _play(self, point: str) -> None:
        player, _ = self._playing()
        action = self._point(point)
        player.play(action)
        self._send(self._name(action))

    def _take_back(self, point: str) -> None:
        player, game = self._playing()
        action = self._point(point)
        position = player.position
        if position.actions:
            if position.actions[-1] != action:
                raise GomocupError(f"{point} is not the last move")
            player.undo()
        else:
            player.reset(without_stone(position, game, action))
        self._send("OK")

    def _board(self, lines: list[str]) -> None:
        self._set_board(lines)
        self._reply()

    def _set_board(self, lines: list[str]) -> None:
        player, game = self._playing()
        fields = [parse_field(line, game[0]) for line in lines]
        stones = [(point, field) for point, field in fields if field != NOBODY]
        position = read_board(game, stones, self._name)
        for point, field in fields:
            if field == NOBODY and not may_be_forbidden(position, point):
                raise GomocupError(
                    f"{self._name(point)},3: is not a point forbidden to Black, and stones that"
                    " are nobody's belong to continuous games, which this bot does not know"
                )
        player.reset(position)

    # --- thinking ---

    def _reply(self, lines: int = 1) -> None:
        """Answer with the move of who is to play, and report so many lines of play."""
        player, _ = self._playing()
        action = self._think(1, lines)
        name = action_name(action, player.position)
        if self._info.suggest:
            self._suggested = player.position, player.position.ply
            self._send(f"SUGGEST {name}")
            return
        player.play(action)
        self._send(name)

    def _think(self, to_come: int, lines: int = 1) -> int:
        """Choose an action, of so many that share the time of this answer."""
        player, _ = self._playing()
        if player.position.outcome is not None:
            raise GomocupError(f"the game is over: {result_line(player.position)}")
        began = time.monotonic()
        report = LiveReport(player, self._name, self._info.show_detail, lines)
        self._send_all(report.first())

        def limit(clock: Clock) -> Limit:
            return self._limit(player, clock, began, to_come)

        action = player.choose(limit(self._clock), self._watch(limit, report))
        self._thought = True
        self._send_all(report.at_end())
        return action

    def _limit(self, player: Player, clock: Clock, now: float, to_come: int) -> Limit:
        nodes = self._info.max_node
        limit = player.limit_by(clock, self._arrived, nodes if nodes > 0 else None)
        if self._is_hurried():
            return dataclasses.replace(limit, until=now)
        kept = READING if self._info.show_detail & DETAIL else 0.0
        return limit.shared(now, to_come, kept)

    def _is_hurried(self) -> bool:
        """Whether nothing may be searched any more because `END` waits."""
        return self._lines is not None and self._lines.hurried

    def _watch(
        self, limit: Callable[[Clock], Limit], report: LiveReport | None = None
    ) -> Callable[[], bool]:
        """Reports, and ends the search for END, YXSTOP and limits that are said meanwhile.

        `limit` says where the search ends by a clock.
        """
        waiting = None
        if self._lines is not None:
            waiting = Waiting(self._lines, self._info, self._clock, limit)

        def watch() -> bool:
            if report is not None:
                self._send_all(report.while_searching())
            return waiting is not None and waiting.ends_search()

        return watch

    def _send_all(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._send(line)

    # --- information ---

    def _take_info(self, text: str) -> None:
        key, _, value = text.partition(" ")
        key, value = key.lower(), value.strip()
        if key == "evaluate":
            self._evaluate(value)
            return
        if key in KIN:
            self._meet_yixin()
        self._info.set(key, value)
        if key == "rule":
            self._change_rule()
        self._info.change(self._clock, key)
        if self._player is not None:
            self._player.limit_memory(self._info.memory())
            if key == "level":
                self._player.set_level(int(value))
        self._news.set(key, value)

    def _change_rule(self) -> None:
        """Go on by another rule: before the first move, else from the next game on.

        Managers do not read answers to `INFO`: what asks for a game of a rule that the bot does not
        know is refused, until another rule is said.
        """
        if self._game is None or self._player is None:
            return
        rules, self._later = self._game[0], self._info.rule
        game, told = None, f"rule {self._later} holds from the next START or RESTART on"
        try:
            game = self._find_game(self._later, rules.width, rules.height)
        except GomocupError as error:
            told = str(error)
        if game == self._game:
            self._later = None
        elif self._player.position.board.any():
            self._send(f"MESSAGE {told}")
        elif game is not None:
            self._set_game(game)

    def _meet_yixin(self) -> None:
        """Know Yixin-Board or its kin at the other end: its 2 means renju, though said before."""
        if not self._yixin:
            self._yixin = True
            if self._info.rule == 2:
                self._change_rule()

    def _evaluate(self, point: str) -> None:
        player, _ = self._playing()
        action = self._point(point)
        try:
            result = player.result()
            index = result.actions.tolist().index(action)
        except ValueError:
            self._send(f"MESSAGE {self._name(action)}: not searched")
            return
        self._send(
            f"MESSAGE {self._name(action)}: prior {100 * float(result.priors[index]):.1f}%,"
            f" {int(result.visits[index])} visits, wins {50 * (1 + float(result.q[index])):.1f}%"
        )

    def _about(self, _: str) -> None:
        self._send(
            f'name="narabe", version="{self._version}", author="the narabe authors", country="-"'
        )

    def _end(self, _: str) -> None:
        self.closed = True

    # --- openings ---

    def _openings(self) -> Openings:
        player, game = self._playing()
        return Openings(player, game[0], self._decide, self._name)

    def _decide(self, to_come: int) -> int:
        action = self._think(to_come)
        assert self._player is not None
        self._player.play(action)
        return action

    def _swap2board(self, lines: list[str]) -> None:
        self._send(self._openings().swap2board([self._stone(line) for line in lines]))

    # --- points ---

    def _point(self, text: str) -> int:
        return parse_point(text, self._playing()[1][0])

    def _stone(self, line: str) -> int:
        return parse_stone(line, self._playing()[1][0])

    def _name(self, action: int, separator: str = ",") -> str:
        assert self._game is not None
        return point_name(action, self._game[0], separator)
