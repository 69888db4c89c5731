"""What a search found, for GTP's viewers: GoGui's analyze commands, and lz- and kata-analyze.

Sources: GoGui's manual, "Analyze Commands"; KataGo's "GTP Extensions".
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from bots.gtp_vertex import vertex_name
from bots.player import UNLIMITED, Limit, Player
from bots.tree import lower_bound, ranking
from engine.search import SearchResult

#: The answer to `gogui-analyze_commands`.
ANALYZE_COMMANDS = """\
gfx/Policy of the network/narabe-policy
gfx/Policy of the search/narabe-visits
gfx/Values/narabe-values
var/Best line/narabe-line
plist/Forbidden points/narabe-forbidden
plist/Winning points/narabe-winning
plist/Legal points/gogui-rules_legal_moves
string/State/narabe-state"""

#: Actions that get a label or an influence, at most.
_SHOWN = 30

#: Actions in a line of lz- and kata-analyze, at most.
_REPORTED = 20


def policy(player: Player, result: SearchResult) -> str:
    """The network's policy as influence, positive for Black."""
    return _influence(player, result, result.priors)


def visits(player: Player, result: SearchResult) -> str:
    """The search's policy as influence, positive for Black."""
    return _influence(player, result, result.policy)


def _influence(player: Player, result: SearchResult, weights: np.ndarray) -> str:
    rules = player.position.rules
    sign = 1 if player.position.to_play == "black" else -1
    order = np.argsort(-weights, kind="stable")[:_SHOWN]
    points = [
        f"{vertex_name(rules, int(result.actions[k]))} {sign * float(weights[k]):.4f}"
        for k in order
        if result.actions[k] < rules.points
    ]
    return "\n".join([f"INFLUENCE {' '.join(points)}", _summary(player, result)])


def values(player: Player, result: SearchResult) -> str:
    """What the visited actions promise the player to move, in percent, as labels."""
    rules = player.position.rules
    labels = [
        f"{vertex_name(rules, int(result.actions[k]))} {50 * (1 + float(result.q[k])):.0f}"
        for k in ranking(result)[:_SHOWN]
        if result.actions[k] < rules.points and result.visits[k]
    ]
    return "\n".join([f"LABEL {' '.join(labels)}", _summary(player, result)])


def _summary(player: Player, result: SearchResult) -> str:
    best = vertex_name(player.position.rules, result.action)
    chance = 50 * (1 + result.value)
    return f"TEXT {player.position.to_play}: {best}, wins {chance:.1f}%, {result.simulations}"


def best_line(player: Player, result: SearchResult) -> str:
    """The most visited line of play."""
    return " ".join(_line(player, result.action))


def _line(player: Player, action: int) -> list[str]:
    rules = player.position.rules
    moves = [node.action for node in player.line(action)] or [action]
    return [vertex_name(rules, move) for move in moves]


def stream(
    player: Player, kata: bool, most: int, interval: float, is_over: Callable[[], bool]
) -> Iterator[str]:
    """Lines of lz-analyze or kata-analyze, one every `interval` seconds, until `is_over`.

    Ends by itself when the search has nothing left to do.
    """
    while True:
        began = time.monotonic()

        def pause(began: float = began) -> bool:
            return is_over() or time.monotonic() - began >= interval

        result = player.think(Limit(simulations=UNLIMITED), pause)
        yield report(player, result, kata=kata, most=most)
        if is_over() or time.monotonic() - began < interval:
            return


def report(player: Player, result: SearchResult, *, kata: bool, most: int = _REPORTED) -> str:
    """One line of lz-analyze (per ten thousand) or of kata-analyze (fractions of one)."""
    rules = player.position.rules
    # A win by threats was found without the network.
    priors = result.priors if result.simulations else player.glance().priors
    parts = []
    for order, k in enumerate(ranking(result)[: min(most, _REPORTED)]):
        action, count = int(result.actions[k]), int(result.visits[k])
        if order and not count:
            break
        q, prior = float(result.q[k]), float(priors[k])
        chance = (1 + q) / 2
        low = (1 + lower_bound(q, count)) / 2
        numbers = (
            f"utility {q:.6g} winrate {chance:.6g} scoreMean 0 scoreStdev 0 scoreLead 0"
            f" prior {prior:.6g} lcb {low:.6g}"
            if kata
            else f"winrate {round(10000 * chance)} prior {round(10000 * prior)}"
            f" lcb {round(10000 * low)}"
        )
        line = " ".join(_line(player, action))
        parts.append(
            f"info move {vertex_name(rules, action)} visits {count} {numbers}"
            f" order {order} pv {line}"
        )
    return " ".join(parts)
