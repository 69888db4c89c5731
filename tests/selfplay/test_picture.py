import io

import numpy as np
import pytest
from PIL import Image

from engine import Position, RuleSet
from selfplay import picture


def coloured(image: np.ndarray, colour: str) -> int:
    """How many pixels have exactly this colour."""
    wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return int((image == wanted).all(axis=2).sum())


@pytest.mark.parametrize("side", [(9, 9), (5, 4), (19, 19)])
def test_boards_of_any_shape(side: tuple[int, int]) -> None:
    width, height = side
    rules = RuleSet.preset("mnk", width=width, height=height, line_length=4)
    empty = picture.pixels(picture.board_figure(Position(rules)))
    assert coloured(empty, picture.BACKGROUND) > 0.5 * empty.shape[0] * empty.shape[1]
    assert coloured(empty, picture.BORDER)
    assert not coloured(empty, picture.WHITE)
    # As wide as asked for, and in the board's proportions with its coordinates.
    assert empty.shape[1] == 5 * picture.DPI
    assert empty.shape[0] == pytest.approx(600 * (height + 1.6) / (width + 1.6), abs=2)


def test_stones_last_move_heat_and_line_are_drawn() -> None:
    rules = RuleSet.preset("irensei", size=9, line_length=5, gutter=1)
    position = Position(rules)
    for action in ("c3", "c4", "d3", "d4", "e3", "e4", "f3", "f4"):
        position.play(action)
    plain = picture.pixels(picture.board_figure(position))
    assert coloured(plain, picture.BLACK)
    assert coloured(plain, picture.WHITE)
    heat = np.zeros(rules.num_actions)
    heat[position.parse_action("g3")] = 0.7
    heat[position.parse_action("pass")] = 0.3
    hot = picture.pixels(picture.board_figure(position, heat=heat, title="ply 8"))
    assert coloured(hot, picture.ANNOTATION) > coloured(plain, picture.ANNOTATION)
    position.play("g3")
    won = picture.pixels(picture.board_figure(position, numbers=True))
    assert coloured(won, picture.ANNOTATION) > coloured(plain, picture.ANNOTATION)


def test_a_png_can_be_read() -> None:
    figure = picture.board_figure(Position(RuleSet.preset("gomoku")), inches=3)
    image = Image.open(io.BytesIO(picture.png(figure)))
    assert image.width == 3 * picture.DPI
