"""TensorBoard: what is measured while a run goes on, and under which names.

The horizontal axis of every curve is the number of self-play positions stored so far. It grows from
the first game on, and a resumed run knows exactly where to go on: points behind the last commit are
purged when the run is opened again.
"""

import contextlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch.utils.tensorboard import SummaryWriter

from engine import Position, RuleSet
from selfplay import picture
from selfplay.cluster import Chunk
from selfplay.ratings import Estimate
from selfplay.stopwatch import shares
from selfplay.storage import cannot_write
from selfplay.worker import FinishedGame, GameStatistics, Work, offered

_MIB = 2**20

#: Pictures are drawn at most so often.
PICTURE_SECONDS = 60.0

#: Bins of predicted values, [-1, 1], for the calibration of the value.
CALIBRATION_BINS = 10

#: The Elo curve drawn as a band (TensorBoard's "Custom Scalars" tab).
_LAYOUT = {"Elo": {"rating with 95% interval": ["Margin", ["elo/rating", "elo/low", "elo/high"]]}}


class Metrics:
    """Collects measurements and writes one point of each curve at `write`.

    `position` is the number of self-play positions at the last commit: later points of an earlier
    session are purged.
    """

    def __init__(self, folder: Path, *, position: int) -> None:
        self._folder = folder
        self._writer: Any = SummaryWriter(str(folder), purge_step=position + 1, flush_secs=60)
        self._writer.add_custom_scalars(_LAYOUT)
        self._games: list[FinishedGame] = []
        self._work = Work()
        self._worker_memory: list[int] = []
        self._learning: dict[str, list[float]] = defaultdict(list)
        self._drawn = -math.inf
        self._position = position
        self._since = time.monotonic()

    def text(self, name: str, text: str, position: int) -> None:
        """Show a text, such as the resolved configuration (YAML), as it is."""
        block = "\n".join("    " + line for line in text.splitlines())
        self._writer.add_text(name, block, position)

    def played(self, chunk: Chunk) -> None:
        """Note a chunk of self-play."""
        self._games += chunk.games
        self._work += chunk.work
        self._worker_memory.append(chunk.memory)

    def learned(self, metrics: Mapping[str, float]) -> None:
        """Note one optimiser step's losses and their parts."""
        for name, value in metrics.items():
            self._learning[name].append(float(value))

    def write(self, position: int, others: Mapping[str, float]) -> None:
        """Write everything noted since the last point, and `others`.

        Without new positions since the last point, nothing is written yet, and what is noted is
        kept for the next one.
        """
        if position == self._position:
            return
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        self._position, curves = position, dict(others)
        for name, values in self._learning.items():
            curves[f"learn/{name}"] = float(np.mean(values))
        curves |= _speed_curves(self._work, len(self._games), seconds)
        curves["memory/learner_mib"] = psutil.Process().memory_info().rss / _MIB
        if self._worker_memory:
            curves["memory/worker_mib"] = max(self._worker_memory) / _MIB
        curves["memory/available_mib"] = psutil.virtual_memory().available / _MIB
        if self._games:
            curves |= game_curves(self._games)
            if time.monotonic() - self._drawn > PICTURE_SECONDS:
                self._draw(position)
        self._add_scalars(curves, position)
        self._games, self._work, self._worker_memory = [], Work(), []
        self._learning.clear()

    def rated(self, position: int, rating: Estimate, game: str = "") -> None:
        """Write the newest weights' Elo with its 95% interval: over all, or in one game."""
        bounds = {"rating": 0.0, "low": -rating.error, "high": rating.error}
        prefix = f"{game}/elo" if game else "elo"
        curves = {f"{prefix}/{name}": rating.elo + error for name, error in bounds.items()}
        self._add_scalars(curves, position)

    def close(self) -> None:
        """Close the file; what cannot be written any more is lost."""
        with contextlib.suppress(OSError):
            self._writer.close()

    def _add_scalars(self, curves: Mapping[str, float], position: int) -> None:
        """Write points and flush. Raises StorageError."""
        try:
            for name, value in curves.items():
                self._writer.add_scalar(name, value, position)
            self._writer.flush()
        except OSError as error:
            raise cannot_write(self._folder, error) from error

    def _draw(self, position: int) -> None:
        """Pictures: a full search of the newest game, the game's end, the value's calibration."""
        self._drawn = time.monotonic()
        game = self._games[-1]
        figures = {
            "game/end": picture.board_figure(
                replayed(game, len(game.record.actions)), numbers=True
            ),
            "value/calibration": calibration_figure(self._games),
        }
        full = np.flatnonzero(game.statistics.full)
        if len(full):
            figures["game/policy"] = policy_figure(game, int(full[len(full) // 2]))
        for name, figure in figures.items():
            self._writer.add_image(name, picture.pixels(figure), position, dataformats="HWC")


def replayed(game: FinishedGame, plies: int) -> Position:
    """The game's position after so many plies."""
    position = Position(game.record.rules, game.record.opening)
    for action in game.record.actions[:plies]:
        position.play(action)
    return position


def policy_figure(game: FinishedGame, searched: int) -> Figure:
    """The board before a ply, given by its search's number, with the policy target as heat map."""
    statistics, sample = game.statistics, game.samples[searched]
    ply = statistics.plies - len(game.samples) + searched
    heat = np.zeros(game.record.rules.num_actions)
    heat[sample.actions] = sample.policy
    position = replayed(game, ply)
    title = f"ply {ply}: {position.to_play}, seat {position.seat}, value {sample.root_value:+.2f}"
    return picture.board_figure(position, heat=heat, title=title)


def calibration_figure(games: Sequence[FinishedGame]) -> Figure:
    """What the network expected in positions of these games, against what happened."""
    predicted = np.concatenate([game.statistics.network_value for game in games])
    outcome = np.concatenate([game.statistics.outcome for game in games])
    counts, expected, happened = _calibration(predicted, outcome)
    figure = Figure(figsize=(4, 4), dpi=picture.DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot(xlim=(-1, 1), ylim=(-1, 1), aspect="equal")
    axes.plot((-1, 1), (-1, 1), color=picture.GRID, linewidth=1)
    sizes = 400 * counts / counts.sum()
    axes.scatter(expected, happened, s=10 + sizes, color=picture.ANNOTATION, alpha=0.8)
    axes.set_xlabel("expected by the network")
    axes.set_ylabel("mean result")
    axes.set_title("value calibration (size: share of positions)", fontsize=10)
    return figure


def game_curves(games: Iterable[FinishedGame]) -> dict[str, float]:
    """Outcomes, lengths, policies and values of games, over all and for each game played."""
    groups: dict[str, list[FinishedGame]] = defaultdict(list)
    for game in games:
        groups[f"{game.record.game}/{game.record.opening}"].append(game)
    if len(groups) == 1:
        return _curves_of(next(iter(groups.values())))
    everything = _curves_of([game for group in groups.values() for game in group])
    for name, group in groups.items():
        everything |= {f"{name}/{curve}": value for curve, value in _curves_of(group).items()}
    return everything


def _curves_of(games: list[FinishedGame]) -> dict[str, float]:
    n = len(games)
    seats = Counter(game.record.result["winner_seat"] for game in games)
    colours = Counter(game.record.result["winner_colour"] for game in games)
    reasons = Counter(game.record.result["reason"] for game in games)
    # A reason that did not occur is a point too: 0, not the last value that it had.
    played = {game.record.rules for game in games}
    possible = {reason for rules in played for reason in possible_reasons(rules)}
    curves = {
        "game/length": float(np.mean([game.statistics.plies for game in games])),
        "outcome/draws": seats[None] / n,
        **{f"outcome/seat_{seat}_wins": seats[seat] / n for seat in ("A", "B")},
        **{f"outcome/{colour}_wins": colours[colour] / n for colour in ("black", "white")},
        **{f"outcome/by_{reason}": reasons[reason] / n for reason in possible | reasons.keys()},
    }
    statistics = [game.statistics for game in games]
    return curves | _choice_curves(games) | _search_curves(statistics)


def possible_reasons(rules: RuleSet) -> set[str]:
    """The reasons with which a game of these rules can end, resignation included."""
    conditions = {
        "overline": rules.overline in ("symmetric-loss", "asymmetric"),
        "passes": rules.passing,
        "pass-tiebreak": rules.pass_tiebreak,
        "no-legal-action": rules.capture != "none" or rules.forbidden == "illegal",
        "ply-limit": rules.ply_limit > 0,
        "forbidden": rules.forbidden == "loss",
    }
    return {"line", "full-board", "resign", *(name for name, can in conditions.items() if can)}


def _choice_curves(games: list[FinishedGame]) -> dict[str, float]:
    """What was chosen in the phases of the opening.

    For each option that a phase offers: its share among the choices made there, 0 where nobody
    took it. For those that were taken: search's value of the position for the chooser, and the
    chooser's mean result. For a swap, `opening/PHASE/white` is how often the chooser leaves Black's
    stones to the other seat.
    """
    phases: dict[str, dict[str, list[tuple[float, int]]]] = defaultdict(dict)
    for game in games:
        winner = game.record.result["winner_seat"]
        for choice in game.statistics.choices:
            result = 0 if winner is None else 1 if winner == choice.seat else -1
            options = phases[choice.phase]
            for option in offered(game.record.opening, choice.phase):
                options.setdefault(option, [])
            options[choice.option].append((choice.root_value, result))
    curves = {}
    for phase, options in phases.items():
        choices = sum(map(len, options.values()))
        for option, taken in options.items():
            curves[f"opening/{phase}/{option}"] = len(taken) / choices
            if taken:
                value, result = np.mean(taken, axis=0)
                curves[f"opening/{phase}/{option}_value"] = float(value)
                curves[f"opening/{phase}/{option}_result"] = float(result)
    return curves


def _search_curves(statistics: list[GameStatistics]) -> dict[str, float]:
    """Policy and value of network and search. Means over searched plies; policy: full ones only."""

    def column(name: str) -> np.ndarray:
        return np.concatenate([getattr(game, name) for game in statistics])

    outcome = column("outcome").astype(np.float64)
    network, root = column("network_value"), column("root_value")
    if not len(outcome):
        return {}
    curves = {
        "game/legal_actions": float(column("legal_actions").mean()),
        "value/network_error": float(np.mean((network - outcome) ** 2)),
        "value/search_error": float(np.mean((root - outcome) ** 2)),
        "value/calibration_error": calibration_error(network, outcome),
        "value/network_mean": float(network.mean()),
    }
    if len(entropy := column("entropy")):
        curves["policy/entropy"] = float(entropy.mean())
        curves["policy/divergence_from_network"] = float(column("divergence").mean())
        curves["policy/agreement_with_network"] = float(column("agreement").mean())
    return curves


def calibration_error(predicted: np.ndarray, outcome: np.ndarray) -> float:
    """Expected calibration error of values in [-1, 1].

    The mean over bins of |mean prediction - mean outcome|, weighted by the number of positions in
    the bin (Guo et al. 2017, arXiv:1706.04599, section 2, for values instead of probabilities).
    """
    counts, expected, happened = _calibration(predicted, outcome)
    return float((counts * np.abs(expected - happened)).sum() / counts.sum())


def _calibration(
    predicted: np.ndarray, outcome: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Count, mean prediction and mean outcome of each bin that has positions."""
    bins = np.clip(((predicted + 1) / 2 * CALIBRATION_BINS).astype(int), 0, CALIBRATION_BINS - 1)
    sums = [
        np.bincount(bins, weights=weights, minlength=CALIBRATION_BINS)
        for weights in (None, predicted, outcome)
    ]
    counts, expected, happened = (each[sums[0] > 0] for each in sums)
    return counts, expected / counts, happened / counts


def _speed_curves(work: Work, games: int, seconds: float) -> dict[str, float]:
    seconds = max(seconds, 1e-9)
    curves = {
        "speed/games_per_second": games / seconds,
        "speed/positions_per_second": work.plies / seconds,
        "speed/evaluations_per_second": work.evaluations / seconds,
    }
    if work.capacity:
        curves["search/batch_fill"] = work.evaluations / work.capacity
    if work.search.get("cached"):
        hits = work.search["cached"]
        curves["search/cache_hits"] = hits / (hits + work.evaluations)
    curves |= {f"time/worker_{part}": share for part, share in shares(work.parts).items()}
    if work.plies:
        for name, count in work.search.items():
            curves[f"search/{name}_per_ply"] = count / work.plies
    return curves
