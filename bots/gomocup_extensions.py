"""What other programs send besides the Gomocup protocol, and commands for any opening.

Sources: Yixin-Board and c-gomoku-cli, as they speak to engines; `docs/gomocup.md` lists the
commands.
"""

from __future__ import annotations

from collections.abc import Callable

from bots.clock import Clock
from bots.gomocup import GomocupSession
from bots.gomocup_board import stones_in_order
from bots.gomocup_waiting import STOPS
from bots.gomocup_words import GomocupError, integer
from bots.player import Limit
from bots.state import state_line
from engine import OPTIONS, Position

HELP = (
    "Beyond the specification; docs/gomocup.md tells more.",
    "NARABE_OPENING name: begins an opening, such as swap-1st or taraguchi-10",
    "NARABE_GO: the bot decides next; answers x,y or a word: black white more pass 1..12",
    "NARABE_TELL x,y or word: the other side's decision",
    "NARABE_STATE: the game as JSON",
    "INFO suggest 1: moves come as SUGGEST and wait for PLAY",
    "yxboard yxnbest yxstop yxshowforbid yxhashclear yxdraw yxshowinfo: as Yixin-Board sends them",
    "yxswap2step1..3 yxsoosorvstep1..6: its openings",
)


class ExtendedGomocupSession(GomocupSession):
    """The protocol with all of that."""

    def _all_commands(self) -> dict[str, Callable[[str], None]]:
        commands = super()._all_commands() | {
            **{word: lambda _: None for word in STOPS},
            "YXBOARD": lambda _: self._collect(self._set_board),
            "YXNBEST": lambda number: self._reply(max(1, integer(number, "YXNBEST"))),
            "YXSHOWFORBID": self._show_forbidden,
            "YXSHOWINFO": self._show_info,
            "YXHASHCLEAR": self._clear_hash,
            "YXDRAW": self._draw,
            "HELP": self._help,
            "NARABE_OPENING": self._opening,
            "NARABE_GO": lambda _: self._reply(),
            "NARABE_TELL": self._tell_action,
            "NARABE_STATE": self._state,
        }
        for step in (1, 2, 3):
            commands[f"YXSWAP2STEP{step}"] = self._swap2_step(step)
        for step in range(1, 7):
            commands[f"YXSOOSORVSTEP{step}"] = self._soosorv_step(step)
        return commands

    # --- what Yixin-Board sends besides ---

    def _show_forbidden(self, _: str) -> None:
        player, _game = self._playing()
        pairs = (self._name(point).split(",") for point in sorted(player.position.forbidden()))
        self._send("FORBID " + "".join(f"{int(x):02}{int(y):02}" for x, y in pairs) + ".")

    def _show_info(self, _: str) -> None:
        self._send("MESSAGE INFO MAX_THREAD_NUM 1")
        self._send("MESSAGE INFO MAX_HASH_SIZE 20")

    def _clear_hash(self, _: str) -> None:
        if self._player is not None:
            self._player.forget()

    def _draw(self, _: str) -> None:
        player, _game = self._playing()
        if player.position.outcome is not None:
            raise GomocupError("the game is over")

        def limit(clock: Clock) -> Limit:
            return player.limit_by(clock, self._arrived)

        seat, watch = player.position.seat, self._watch(limit)
        accepted = player.accepts_draw(seat, limit(self._clock), watch)
        self._send(f"MESSAGE DRAW {'ACCEPT' if accepted else 'REJECT'}")

    # --- openings ---

    def _swap2_step(self, step: int) -> Callable[[str], None]:
        def run(_: str) -> None:
            player, _game = self._playing()
            stones = [] if step == 1 else stones_in_order(player.position)
            self._tell(self._openings().swap2_step(step, stones))

        return run

    def _soosorv_step(self, step: int) -> Callable[[str], None]:
        def run(text: str) -> None:
            number = integer(text, f"YXSOOSORVSTEP{step}") if step in (4, 5) else 0

            def end(lines: list[str]) -> None:
                stones = [self._stone(line) for line in lines]
                self._tell(self._openings().soosorv_step(step, stones, number))

            if step == 1:
                self._playing()
                end([])
            else:
                self._collect(end)

        return run

    def _help(self, _: str) -> None:
        self._send_all(f"MESSAGE {line}" for line in HELP)

    def _opening(self, name: str) -> None:
        """Begin an opening of any name on the board."""
        player, game = self._playing()
        player.reset(Position(game[0], name))
        self._send("OK")

    def _tell_action(self, text: str) -> None:
        player, _game = self._playing()
        player.play(text if text.lower() in OPTIONS else self._point(text))
        self._send("OK")

    def _state(self, _: str) -> None:
        player, _game = self._playing()
        self._send(f"MESSAGE {state_line(player.position)}")

    def _tell(self, messages: list[str]) -> None:
        self._send_all(f"MESSAGE {message}" for message in messages)
