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


@pytest.mark.parametrize("side", [(side, side) for side in range(3, 26)] + [(3, 9), (9, 3)])
def test_lines_of_text_lie_inside_the_picture(side: tuple[int, int]) -> None:
    width, height = side
    rules = RuleSet.preset("mnk", width=width, height=height, line_length=3)
    heat = np.zeros(rules.num_actions)
    heat[rules.points :] = 1 / (rules.num_actions - rules.points)
    title = "ply 118: white, seat A, value +0.01"
    figure = picture.board_figure(Position(rules), heat=heat, title=title)
    below, above = figure.axes[0].texts[-2:]
    assert above.get_text() == title and "black 6%" in below.get_text()
    for text in (below, above):
        box = text.get_window_extent()
        assert figure.bbox.x0 < box.x0 < box.x1 < figure.bbox.x1
        assert figure.bbox.y0 < box.y0 < box.y1 < figure.bbox.y1


def test_a_png_can_be_read() -> None:
    figure = picture.board_figure(Position(RuleSet.preset("gomoku")), inches=3)
    image = Image.open(io.BytesIO(picture.png(figure)))
    assert image.width == 3 * picture.DPI


def test_marks_are_drawn_on_points_and_stones() -> None:
    position = Position(RuleSet.preset("gomoku"))
    position.play("h8")
    plain = coloured(picture.pixels(picture.board_figure(position)), picture.ANNOTATION)
    for mark in picture.MARKS:
        marked = picture.pixels(picture.board_figure(position, marks={"c3": mark, 200: mark}))
        assert coloured(marked, picture.ANNOTATION) > plain
    written = picture.pixels(picture.board_figure(position, marks={"c3": "A"}))
    assert coloured(written, picture.WHITE)
    assert not coloured(picture.pixels(picture.board_figure(position)), picture.WHITE)
    for point in ("pass", 225, -1):
        with pytest.raises(ValueError, match="no point of the board"):
            picture.board_figure(position, marks={point: "cross"})


def test_offered_points_are_drawn_and_not_counted_as_stones() -> None:
    position = Position(RuleSet.preset("renju"), "rif")
    for action in ("h8", "h9", "i10", "white", "g9", "i9"):
        position.play(action)
    offered = picture.pixels(picture.board_figure(position))
    heat = np.zeros(position.rules.num_actions)
    assert coloured(offered, picture.WHITE) > coloured(
        picture.pixels(picture.board_figure(position, heat=heat)), picture.WHITE
    )
    for action in ("i8", "i8", "g8"):
        position.play(action)
    names = {position.action_name(p): n for p, n in picture._placements(position).items()}
    assert names == {"h8": 1, "h9": 2, "i10": 3, "g9": 4, "i8": 5, "g8": 6}


def test_stones_are_counted_after_a_set_up() -> None:
    rules = RuleSet.preset("renju")
    position = Position.from_setup(rules, black=["a1"], white=["b1"], opening="rif")
    for action in ("h8", "h9", "a15"):
        position.play(action)
    assert sorted(picture._placements(position).values()) == [1, 2, 3]
