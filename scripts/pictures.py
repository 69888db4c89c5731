"""Draw the pictures of docs/games.md: `python -m scripts.pictures [NAME ...]`.

Without names all of them. They are files of docs/images/games, made from the table `PICTURES`.
"""

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from engine import Position, RuleSet
from engine.storage import atomic_write
from selfplay import picture

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "games"
#: Width of a picture, in inches of `picture.DPI` pixels.
INCHES = 3.6


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A position to draw: stones that are set up, then actions; names are separated by blanks.

    Stones that the last action switched get squares, the places of those it captured rings.
    """

    name: str
    """Name of the file, without its ending."""
    game: str
    rules: Mapping[str, int | str] = dataclasses.field(default_factory=dict)
    """Fields of the preset that are changed."""
    opening: str = "none"
    black: str = ""
    white: str = ""
    actions: str = ""
    numbers: bool = False
    """Whether stones show when they were placed."""
    show: str = ""
    """"forbidden": crosses on Black's forbidden points. "refused": crosses on the empty points that
    the opening does not allow now. "allowed": rings on those that it does."""
    letters: str = ""
    """Points that get the letters A, B, ..., in this order."""


#: In the order of docs/games.md.
PICTURES = (
    Picture(
        name="irensei",
        game="irensei",
        black="b10 d10 e10 f10 g10 h10 i10 k13 m13 n12",
        white="d11 e9 f12 g11 h9 k12 l11 m10 j8 k15",
        letters="j10 c10",
    ),
    Picture(
        name="irensei-ko",
        game="irensei",
        rules={"size": 9, "line_length": 5, "gutter": 1},
        black="d5 e6 e4 c6 d3 d7",
        white="e5 f6 f4 g5 c4 g3",
        actions="f5",
    ),
    Picture(
        name="connect-go-switch",
        game="connect-go",
        rules={"size": 9},
        black="d5 e6 f6 e4 f4",
        white="e5 f5 c5 c4 g7",
        actions="g5",
    ),
    Picture(
        name="connect-go-win",
        game="connect-go",
        rules={"size": 9},
        black="c5 d5 e6 f6 e4 f4",
        white="e5 f5 b5 c4 g7 d3",
        actions="g5",
    ),
    Picture(
        name="renju-double-three",
        game="renju",
        black="f8 g8 h9 h10",
        white="g10 i9 g7 j10",
        show="forbidden",
    ),
    Picture(
        name="renju-double-four",
        game="renju",
        black="e5 f5 g5 h6 h7 h8 d12 f12 g12 j12",
        white="d5 h9 e7 j7 f9 j9 i4 k6 f14 l3",
        show="forbidden",
    ),
    Picture(
        name="renju-overline",
        game="renju",
        black="e8 f8 g8 i8 j8",
        white="d9 f9 g7 i9 k7",
        show="forbidden",
    ),
    Picture(
        name="renju-false-three",
        game="renju",
        black="e8 f8 h9 h10 g6 g7 g9 g10 g11",
        white="e7 f7 h6 i7 i12 e10 d10 f12 i9",
        show="forbidden",
        letters="h8",
    ),
    Picture(
        name="gomoku",
        game="gomoku",
        black="d9 e9 f9 h9 i9 k4 k5 k6 k7",
        white="e10 f10 g10 i10 i6 k3 j8 m5 l9",
        letters="g9 k8",
    ),
    Picture(
        name="caro",
        game="caro",
        black="d12 e12 f12 g12 a4 b4 c4 d4 f8 g8 h8 j8 k8",
        white="c12 i12 f4 e8 l8 g9 i7 d6 j11 l5 f10 h5 n10",
        letters="h12 e4 i8",
    ),
    Picture(
        name="mnk",
        game="mnk",
        rules={"width": 9, "height": 6, "line_length": 4},
        actions="e3 e4 d4 d3 e5 e2 c5 b6 f2",
        numbers=True,
    ),
    Picture(name="none", game="gomoku", actions="h8 i9", numbers=True),
    Picture(
        name="swap-1st",
        game="irensei",
        opening="swap-1st",
        actions="d15",
        numbers=True,
    ),
    Picture(
        name="swap",
        game="gomoku",
        opening="swap",
        actions="h8 g9 k6",
        numbers=True,
    ),
    Picture(
        name="swap-2",
        game="gomoku",
        opening="swap-2",
        actions="h8 g9 k6 more f11 j10",
        numbers=True,
    ),
    Picture(
        name="swap-5",
        game="irensei",
        opening="swap-5",
        actions="j10 pass k11 k9 pass h12 l8",
        numbers=True,
    ),
    Picture(
        name="renju-swap",
        game="renju",
        opening="renju-swap",
        actions="h8 h9",
        numbers=True,
        show="allowed",
    ),
    Picture(
        name="rif",
        game="renju",
        opening="rif",
        actions="h8 h9 h10 white h7 g7",
        numbers=True,
        show="refused",
    ),
    Picture(
        name="yamaguchi",
        game="renju",
        opening="yamaguchi",
        actions="h8 i9 j9 3 black g7 h10 g10 i7",
        numbers=True,
    ),
    Picture(
        name="soosorv-8",
        game="renju",
        opening="soosorv-8",
        actions="h8 h9 i10 white g9 5 white i9 i8 g8 g7 j9",
        numbers=True,
    ),
    Picture(
        name="taraguchi-10",
        game="renju",
        opening="taraguchi-10",
        actions="h8 white h9 black j9 white f10 10 i9 i8 g8 g9 h7 i10 g7 j8 i7 h10",
        numbers=True,
    ),
    Picture(
        name="pro",
        game="gomoku",
        opening="pro",
        actions="h8 i9",
        numbers=True,
        show="refused",
    ),
    Picture(
        name="long-pro",
        game="gomoku",
        opening="long-pro",
        actions="h8 i9",
        numbers=True,
        show="refused",
    ),
)


def set_up(entry: Picture) -> tuple[Position, dict[int, str]]:
    """The position to draw, and the marks on it. Raises `RuleError` and `IllegalAction`."""
    rules = RuleSet.preset(entry.game, **entry.rules)
    black, white = entry.black.split(), entry.white.split()
    position = Position(rules, entry.opening)
    if black or white:
        position = Position.from_setup(rules, black=black, white=white)
    marks: dict[int, str] = {}
    for action in entry.actions.split():
        ply = position.play(action)
        marks = dict.fromkeys(ply.switched, "square") | dict.fromkeys(ply.captured, "ring")
    if entry.show == "forbidden":
        marks |= dict.fromkeys(position.forbidden(), "cross")
    elif entry.show:
        marks |= _of_the_opening(position, refused=entry.show == "refused")
    return position, marks | {
        position.parse_action(point): chr(ord("A") + number)
        for number, point in enumerate(entry.letters.split())
    }


def _of_the_opening(position: Position, *, refused: bool) -> dict[int, str]:
    """Marks of the empty points that the opening refuses now, or of those that it allows."""
    free = np.flatnonzero(position.board.ravel() == 0)
    points = [point for point in free.tolist() if point not in position.offers]
    mark = "cross" if refused else "ring"
    return {point: mark for point in points if position.is_legal(point) != refused}


def draw(entry: Picture) -> bytes:
    """The picture as a PNG file."""
    position, marks = set_up(entry)
    figure = picture.board_figure(position, marks=marks, numbers=entry.numbers, inches=INCHES)
    return picture.png(figure)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m scripts.pictures", description=__doc__)
    names = [entry.name for entry in PICTURES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    wanted = parser.parse_args(argv).names
    for name in wanted:
        if name not in names:
            parser.error(f"{name!r} is not one of {', '.join(names)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for entry in PICTURES:
        if not wanted or entry.name in wanted:
            path = FOLDER / f"{entry.name}.png"
            atomic_write(path, draw(entry))
            print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
