"""Bradley-Terry ratings on the Elo scale with 95% intervals.

Player i beats player j with probability p_ij = 1 / (1 + 10^(-(r_i - r_j) / 400)) (Bradley & Terry
1952, "Rank analysis of incomplete block designs: I"; the scale is Elo's). The ratings maximise

    sum over pairs of  s_ij log p_ij + s_ji log p_ji,    s_ij = wins of i over j + draws / 2,

where a draw is half a win for each. Draws vary less than that model says, so intervals are on the
wide side where there are many.

Weak prior: each player is given `prior_games` drawn games, shared out over its opponents in
proportion to the games played (much as R. Coulom's BayesElo has virtual draws). Ratings stay finite
when somebody has won every game: a maximum exists when, however the players are split in two
groups, somebody in the one has beaten somebody in the other (Ford 1957, "Solution of a ranking
problem from binary comparisons"). With two players and one virtual game, the difference is
400 log10((s_ij + 1/2) / (s_ji + 1/2)).

The anchor's rating is 0. The intervals are r +- 1.96 standard errors from the inverse of the Fisher
information, whose entries, in units of (ln 10 / 400)^2, are n_ij p_ij p_ji summed over j on the
diagonal and -n_ij p_ij p_ji elsewhere (virtual games included), with the anchor's row and column
left out. So they are those of a rating's difference from the anchor, which has no error. A player
that no chain of games connects with the anchor cannot be rated.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

ELO = math.log(10) / 400
"""One Elo point in the natural logarithm of the odds."""

Z95 = float(special.ndtri(0.975))
"""Half the width of a 95% interval in standard errors, 1.96."""


@dataclass(slots=True, kw_only=True, frozen=True)
class Score:
    """The games that a first player has played with a second one."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A win counts 1, a draw 1/2."""
        return self.wins + self.draws / 2

    def __add__(self, other: "Score") -> "Score":
        return Score(
            wins=self.wins + other.wins,
            draws=self.draws + other.draws,
            losses=self.losses + other.losses,
        )

    def reversed(self) -> "Score":
        """The same games as the second player sees them."""
        return Score(wins=self.losses, draws=self.draws, losses=self.wins)


@dataclass(slots=True, kw_only=True, frozen=True)
class Estimate:
    """A rating or a difference of two in Elo points, and half the width of its 95% interval."""

    elo: float
    error: float

    def __str__(self) -> str:
        return f"{self.elo:+.0f} ± {self.error:.0f}"


class Ratings:
    """The ratings of all players that games connect with the anchor."""

    def __init__(
        self, players: list[str], anchor: str, elo: NDArray[np.float64], cov: NDArray[np.float64]
    ) -> None:
        self.players = players
        """Players with a rating."""
        self.anchor = anchor
        self._index = {name: i for i, name in enumerate(players)}
        self._elo = elo  # [P]
        self._cov = cov  # [P, P], zero for the anchor

    def __contains__(self, name: str) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Estimate:
        """A player's rating. Raises KeyError for a player that cannot be rated."""
        return self.difference(name, self.anchor)

    def get(self, name: str) -> Estimate | None:
        """A player's rating; None for a player that cannot be rated."""
        return None if name not in self._index else self[name]

    def difference(self, first: str, second: str) -> Estimate:
        """By how much the first player is rated above the second (KeyError as above).

        Its interval is not that of the two ratings: their errors are correlated.
        """
        i, j = self._index[first], self._index[second]
        variance = self._cov[i, i] + self._cov[j, j] - 2 * self._cov[i, j]
        return Estimate(
            elo=float(self._elo[i] - self._elo[j]), error=Z95 * math.sqrt(max(0.0, variance))
        )


def rate(
    scores: Mapping[tuple[str, str], Score], *, anchor: str, prior_games: float = 1.0
) -> Ratings:
    """Rate the players of all games that are connected with the anchor.

    `scores` maps (first, second) to their games; a pair may stand there in both orders. Players
    missing in the result's `players` are not connected. Raises ValueError if the prior is not
    positive or a player meets itself.
    """
    if prior_games <= 0:
        raise ValueError(f"prior_games: {prior_games} is not positive")
    names = _connected(scores, anchor)
    points = np.zeros((len(names), len(names)))
    index = {name: i for i, name in enumerate(names)}
    for (first, second), score in scores.items():
        if first == second:
            raise ValueError(f"player {first!r} cannot play itself")
        if first in index and second in index:
            points[index[first], index[second]] += score.points
            points[index[second], index[first]] += score.reversed().points
    points += _prior(points + points.T, prior_games) / 2
    return _fit(names, index[anchor], points)


def _connected(scores: Mapping[tuple[str, str], Score], anchor: str) -> list[str]:
    """The anchor, then the players that a chain of games leads to, in the order of `scores`."""
    names = list(dict.fromkeys([anchor, *(name for pair in scores for name in pair)]))
    index = {name: i for i, name in enumerate(names)}
    played = [(index[a], index[b]) for (a, b), score in scores.items() if score.games]
    rows, columns = np.array(played, dtype=np.int64).reshape(-1, 2).T
    size = len(names)
    graph = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
    _, component = sparse.csgraph.connected_components(graph, directed=False)
    return [name for name in names if component[index[name]] == component[0]]


def _prior(games: NDArray[np.float64], prior_games: float) -> NDArray[np.float64]:
    """Virtual drawn games [P, P]: each player's share goes to its opponents by games played.

    A pair gets the mean of what its two players give, so that two players alone get `prior_games`.
    """
    share = games / np.maximum(games.sum(axis=1, keepdims=True), 1)
    virtual: NDArray[np.float64] = prior_games * (share + share.T) / 2
    return virtual


def _fit(names: list[str], anchor: int, points: NDArray[np.float64]) -> Ratings:
    """Maximise the likelihood of `points` [P, P] (row's player against column's), anchor at 0."""
    size = len(names)
    free = np.array([i for i in range(size) if i != anchor], dtype=np.int64)
    games = points + points.T

    def expand(x: NDArray[np.float64]) -> NDArray[np.float64]:
        r = np.zeros(size)
        r[free] = x
        return r

    def loss(x: NDArray[np.float64]) -> float:
        r = expand(x)
        return float(-(points * special.log_expit(r[:, None] - r[None, :])).sum())

    def gradient(x: NDArray[np.float64]) -> NDArray[np.float64]:
        r = expand(x)
        expected = games * special.expit(r[:, None] - r[None, :])
        slope: NDArray[np.float64] = (expected - points).sum(axis=1)[free]
        return slope

    def information(x: NDArray[np.float64]) -> NDArray[np.float64]:
        r = expand(x)
        p = special.expit(r[:, None] - r[None, :])
        weights = games * p * p.T
        laplacian: NDArray[np.float64] = np.diag(weights.sum(axis=1)) - weights
        return laplacian[np.ix_(free, free)]

    elo, cov = np.zeros(size), np.zeros((size, size))
    if len(free):
        start = np.zeros(len(free))
        found = optimize.minimize(
            loss,
            start,
            method="trust-exact",
            jac=gradient,
            hess=information,
            options={"gtol": 1e-8},
        )
        elo = expand(found.x) / ELO
        cov[np.ix_(free, free)] = np.linalg.inv(information(found.x)) / ELO**2
    return Ratings(names, names[anchor], elo, cov)
