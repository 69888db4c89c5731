"""What a gauntlet's games say: scores by seat and colour, ratings; as a table and as JSON."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich import box
from rich.table import Table

from engine import Position
from selfplay.ratings import Estimate, Ratings, Score, rate
from selfplay.records import GameRecord

FORMAT = 1
"""Version of the JSON; grows when older readers could not understand it."""

SIDES = ("A", "B", "black", "white")
"""How a pair's score is split: by the first player's seat, and by its colour at the end."""


@dataclass(slots=True, kw_only=True)
class PairResult:
    """The games that two players have played; scores are the first one's."""

    first: str
    second: str
    score: Score = field(default_factory=Score)
    #: `SIDES` -> the score of the games that the first player played on that side.
    sides: dict[str, Score] = field(default_factory=lambda: dict.fromkeys(SIDES, Score()))
    #: Games that went exactly like an earlier one; not part of the scores.
    duplicates: int = 0

    def reversed(self) -> "PairResult":
        """The same as the second player sees it."""
        other = {"A": "B", "B": "A", "black": "white", "white": "black"}
        return PairResult(
            first=self.second,
            second=self.first,
            score=self.score.reversed(),
            sides={side: self.sides[other[side]].reversed() for side in SIDES},
            duplicates=self.duplicates,
        )

    def difference(self) -> Estimate | None:
        """By how much the first player is stronger, from these games alone; None without any."""
        if not self.score.games:
            return None
        return rate({(self.first, self.second): self.score}, anchor=self.second)[self.first]


@dataclass(slots=True, kw_only=True)
class GauntletResult:
    """All results of a gauntlet's folder."""

    players: list[str]
    anchor: str
    pairs: list[PairResult]
    ratings: Ratings

    def score(self, player: str) -> Score:
        """All games of a player."""
        return sum((pair.score for pair in self.pairs_of(player)), Score())

    def pairs_of(self, player: str) -> list[PairResult]:
        """The player's results, one for each opponent, with the player as the first."""
        own = [pair for pair in self.pairs if player in (pair.first, pair.second)]
        return [pair if pair.first == player else pair.reversed() for pair in own]

    def rating(self, player: str) -> Estimate | None:
        """The player's rating; None if no chain of games connects it with the anchor."""
        return self.ratings.get(player)

    @property
    def unrated(self) -> list[str]:
        """Players that no chain of games connects with the anchor."""
        return [player for player in self.players if player not in self.ratings]

    @property
    def duplicates(self) -> int:
        """Games that went like an earlier one and are not counted."""
        return sum(pair.duplicates for pair in self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values; ratings that cannot be known are null."""
        return {
            "format": FORMAT,
            "anchor": self.anchor,
            "players": [
                {"name": name, **_score_json(self.score(name)), **_estimate(self.rating(name))}
                for name in self.players
            ],
            "pairs": [
                {
                    "first": pair.first,
                    "second": pair.second,
                    **_score_json(pair.score),
                    **_estimate(pair.difference()),
                    "by_side": {side: _score_json(pair.sides[side]) for side in SIDES},
                    "duplicates": pair.duplicates,
                }
                for pair in self.pairs
            ],
        }

    def ranking(self) -> Table:
        """The players, best first."""
        table = Table(title=f"Ratings, {self.anchor} at 0", box=box.SIMPLE_HEAD)
        table.add_column("player", overflow="fold")
        for name in ("Elo ± 95%", "games", "wins", "draws", "losses", "score"):
            table.add_column(name, justify="right")
        ratings = {name: self.rating(name) for name in self.players}
        for name in sorted(ratings, key=lambda name: _by_strength(ratings[name])):
            score, rating = self.score(name), ratings[name]
            share = f"{score.points / score.games:.0%}" if score.games else ""
            counts = (score.games, score.wins, score.draws, score.losses)
            table.add_row(name, str(rating or "not connected"), *map(str, counts), share)
        return table

    def table(self, player: str | None = None) -> Table:
        """One row for each pair, or for each opponent of one player."""
        title = f"Wins-draws-losses of {player or 'the player'}, by its seat and by its colour"
        table = Table(title=title, box=box.SIMPLE_HEAD)
        for name in ("opponent",) if player else ("player", "opponent"):
            table.add_column(name, overflow="fold")
        for name in ("games", "all", "A", "B", "Black", "White", "Elo ± 95%"):
            table.add_column(name, justify="right", no_wrap=True)
        for pair in self.pairs_of(player) if player else self.pairs:
            names = [pair.second] if player else [pair.first, pair.second]
            scores = [pair.score, *(pair.sides[side] for side in SIDES)]
            games = str(pair.score.games)
            if pair.duplicates:
                games += f" (+{pair.duplicates} twice)"
            elo = pair.difference()
            table.add_row(*names, games, *map(_short, scores), str(elo) if elo else "")
        return table


def standings(
    records: Iterable[GameRecord], players: Sequence[str], *, anchor: str
) -> GauntletResult:
    """Count the games of records in the order played.

    A game whose players sat in the same seats and played the same actions as in an earlier one says
    nothing new and is not counted again. `players` come first in the result, in their order; others
    that have played follow.
    """
    pairs: dict[tuple[str, str], PairResult] = {}
    names = dict.fromkeys(players)
    seen: Counter[tuple[str, ...]] = Counter()
    for record in records:
        a, b = record.seats["A"], record.seats["B"]
        names.update(dict.fromkeys((a, b)))
        order = list(names)
        first, second = sorted((a, b), key=order.index)
        pair = pairs.setdefault((first, second), PairResult(first=first, second=second))
        game = (a, b, *record.actions)
        seen[game] += 1
        if seen[game] > 1:
            pair.duplicates += 1
        else:
            _count(pair, record)
    order = list(names)
    return GauntletResult(
        players=order,
        anchor=anchor,
        pairs=sorted(
            pairs.values(), key=lambda pair: (order.index(pair.first), order.index(pair.second))
        ),
        ratings=rate({key: pair.score for key, pair in pairs.items()}, anchor=anchor),
    )


def _count(pair: PairResult, record: GameRecord) -> None:
    """Add one game to the pair's scores."""
    winner = record.winner
    one = Score(wins=int(winner == pair.first), losses=int(winner == pair.second))
    if winner is None:
        one = Score(draws=1)
    seat = "A" if record.seats["A"] == pair.first else "B"
    pair.score += one
    for side in (seat, _colours(record)[seat]):
        pair.sides[side] += one


def _colours(record: GameRecord) -> Mapping[str, str]:
    """Seat -> colour at the end of the game."""
    position = Position(record.rules, record.opening)
    for action in record.actions:
        position.play(action)
    return {seat: position.colour_of(seat) for seat in ("A", "B")}


def _by_strength(rating: Estimate | None) -> float:
    return -rating.elo if rating else float("inf")


def _short(score: Score) -> str:
    return f"{score.wins}-{score.draws}-{score.losses}"


def _score_json(score: Score) -> dict[str, int]:
    return {
        "games": score.games,
        "wins": score.wins,
        "draws": score.draws,
        "losses": score.losses,
    }


def _estimate(estimate: Estimate | None) -> dict[str, float | None]:
    if estimate is None:
        return {"elo": None, "error": None}
    return {"elo": round(estimate.elo, 2), "error": round(estimate.error, 2)}


def overview(results: Mapping[str, GauntletResult]) -> Table:
    """Several games one below the other: each player's Elo in each, and its mean over them."""
    anchors = list(dict.fromkeys(result.anchor for result in results.values()))
    players = list(dict.fromkeys(name for result in results.values() for name in result.players))
    table = Table(title=f"Elo by game, {', '.join(anchors)} at 0", box=box.SIMPLE_HEAD)
    table.add_column("game", no_wrap=True)
    for player in players:
        table.add_column(player, justify="right", overflow="fold")
    for game, result in results.items():
        table.add_row(game, *(str(result.rating(player) or "-") for player in players))
    means = []
    for player in players:
        found = [result.rating(player) for result in results.values()]
        rated = [estimate.elo for estimate in found if estimate is not None]
        means.append(f"{sum(rated) / len(rated):+.0f}" if rated else "-")
    table.add_row("mean", *means)
    return table
