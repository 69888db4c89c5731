"""A player: one game, one search tree that is kept between moves, and an evaluator."""

import numpy as np

from engine import Ply, Position
from engine.evaluators import Evaluator
from engine.search import SearchBatch, SearchConfig, SearchResult, choose


class Player:
    """Follows a game and says what it would play, for whichever seat is to act.

    Thinking is limited by `config.simulations` for each action. The tree below a played action is
    kept; after `undo` it is built again.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        config: SearchConfig,
        position: Position,
        *,
        height: int,
        width: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> None:
        """`height` and `width` are those of the network's canvas, at least the board's.

        With `temperature` above 0, actions are drawn by their visits and games vary with `seed`.
        Raises `ValueError` for a board larger than the canvas.
        """
        self._evaluator = evaluator
        self._batch = SearchBatch(
            1, config, height=height, width=width, batch_size=config.leaves_per_step
        )
        self._temperature = temperature
        self._random = np.random.default_rng(seed)
        self.reset(position)

    def reset(self, position: Position) -> None:
        """Begin (again) from a copy of this position."""
        self._position = position.copy()
        self._has_tree = False

    @property
    def position(self) -> Position:
        """The game's position. Not to be played on: use `play` and `undo`."""
        return self._position

    def play(self, action: int | str) -> Ply:
        """Play an action of either seat. Raises `IllegalAction`; nothing has changed then."""
        ply = self._position.play(action)
        if self._has_tree:
            if self._position.outcome is None:
                self._batch.advance(0, self._position.actions[-1])
            else:
                self._has_tree = False
        return ply

    def undo(self) -> None:
        """Take the last action back. Raises `ValueError` at the start of the game."""
        if not self._position.actions:
            raise ValueError("there is nothing to undo")
        self._position.undo()
        self._has_tree = False

    def think(self) -> SearchResult:
        """Search the position for the seat to act. Raises `ValueError` when the game is over."""
        if self._position.outcome is not None:
            raise ValueError("the game is over")
        if not self._has_tree:
            seed = int(self._random.integers(2**63))
            self._batch.start(0, self._position, seed=seed)
            self._has_tree = True
        self._batch.run(self._evaluator)
        return self._batch.result(0)

    def choose(self) -> int:
        """Think, and choose an action without playing it. Raises `ValueError` as `think` does."""
        return choose(self.think(), self._temperature, self._random)
