"""Every opening protocol, action by action, worked out by hand from the rule text.

A game is told as lines of "seat colour black action": who acts, the colour of the next stone, the
seat that has Black before the action, and the action. The last line is normal play.
"""

import pytest

from tests.reference.adapters import IMPLEMENTATIONS, Game
from tests.reference.position import OPTIONS
from tests.reference.rules import Rules, preset

RENJU = preset("renju")
GOMOKU = preset("gomoku")
SMALL = preset("gomoku", size=5)

every_kind = pytest.mark.parametrize("kind", IMPLEMENTATIONS)


def start(kind: str, rules: Rules, opening: str, actions: str = "") -> Game:
    game: Game = IMPLEMENTATIONS[kind](rules, opening)
    for action in actions.split():
        game.play(action)
    return game


# -- whole openings ------------------------------------------------------------------------------

WHOLE = [
    ("none", GOMOKU, "A b A h8, B w A h9, A b A"),
    ("swap-1st", GOMOKU, "A b A h8, B w A black, A w B h9, B b B"),
    ("swap-1st", GOMOKU, "A b A h8, B w A white, B w A h9, A b A"),
    ("swap", GOMOKU, "A b A a1, A w A h8, A b A o15, B w A black, A w B h9, B b B"),
    ("swap", GOMOKU, "A b A a1, A w A h8, A b A o15, B w A white, B w A h9, A b A"),
    ("swap-2", GOMOKU, "A b A a1, A w A h8, A b A o15, B w A black, A w B"),
    (
        "swap-2",
        GOMOKU,
        """A b A a1, A w A h8, A b A o15, B w A more, B w A b1, B b A c1, A w A white,
        A w B d1, B b B""",
    ),
    (
        "swap-5",
        GOMOKU,
        """A b A a1, B w A pass, A w B b1, B b B c1, A w B d1, B b B e1, A w B black,
        B w A f1, A b A""",
    ),
    ("pro", RENJU, "A b A h8, B w A h9, A b A k8, B w A i8, A b A"),
    ("pro", GOMOKU, "A b A h8, B w A a1, A b A a15, B w A"),
    ("long-pro", GOMOKU, "A b A h8, B w A h7, A b A h12, B w A"),
    (  # White is kept
        "renju-swap",
        RENJU,
        """A b A h8, B w A h9, A b A i10, B w A white, B w A a1, A b A c3, A b A d3, B b A c3,
        B w A o15, A b A""",
    ),
    (  # Black is taken: everything that follows changes seats
        "renju-swap",
        RENJU,
        """A b A h8, B w A i9, A b A j6, B w A black, A w B a1, B b B c3, B b B d3, A b B d3,
        A w B o15, B b B""",
    ),
    (
        "rif",
        RENJU,
        """A b A h8, A w A h9, A b A j6, B w A white, B w A a1, A b A c3, A b A d3, B b A d3,
        B w A c3, A b A""",
    ),
    (
        "rif",
        RENJU,
        """A b A h8, A w A i9, A b A f6, B w A black, A w B a1, B b B c3, B b B d3, A b B c3,
        A w B d3, B b B""",
    ),
    (
        "yamaguchi",
        RENJU,
        """A b A h8, A w A i9, A b A j9, A w A 3, B w A black, A w B h10, B b B a1, B b B b1,
        B b B c1, A b B b1, A w B a1, B b B""",
    ),
    (  # one fifth move is just played
        "yamaguchi",
        RENJU,
        """A b A h8, A w A i9, A b A j9, A w A 1, B w A white, B w A h10, A b A a1, B w A b1,
        A b A""",
    ),
    (
        "soosorv-8",
        RENJU,
        """A b A h8, A w A h9, A b A h10, B w A white, B w A b9, B b A 2, A b A white, B b B a1,
        B b B a2, A b B a1, A w B o15, B b B""",
    ),
    (
        "soosorv-8",
        RENJU,
        """A b A h8, A w A h9, A b A h10, B w A black, A w B b8, A b B 3, B b B black, B b B a1,
        B b B a2, B b B a3, A b B a3, A w B a2, B b B""",
    ),
    (
        "soosorv-8",
        RENJU,
        """A b A h8, A w A h9, A b A h10, B w A white, B w A b9, B b A 1, A b A black, A b A a1,
        B w A a2, A b A""",
    ),
    (
        "soosorv-1",
        RENJU,
        """A b A h8, A w A h9, A b A h10, B w A white, B w A b9, B b A 1, A b A white, B b B a1,
        A w B a2, B b B""",
    ),
    (  # every swap is made, five in all
        "taraguchi-10",
        RENJU,
        """A b A h8, B w A black, A w B h9, B b B white, A b A h10, B w A black, A w B k11,
        B b B white, A b A d4, B w A black, A w B o15, B b B""",
    ),
    (  # none is made
        "taraguchi-10",
        RENJU,
        """A b A h8, B w A white, B w A h9, A b A black, A b A h10, B w A white, B w A e5,
        A b A black, A b A l12, B w A white, B w A a1, A b A""",
    ),
    (
        "taraguchi-10",
        RENJU,
        """A b A h8, B w A white, B w A h9, A b A black, A b A h10, B w A black, A w B e11,
        B b B 10, B b B a1, B b B b1, B b B c1, B b B d1, B b B e1, B b B f1, B b B g1,
        B b B h1, B b B i1, B b B j1, A b B e1, A w B a15, B b B""",
    ),
    (
        "taraguchi-1",
        RENJU,
        """A b A h8, B w A white, B w A h9, A b A black, A b A h10, B w A white, B w A e11, A b A 1,
        A b A a1, B w A b1, A b A""",
    ),
    (  # offers run out on a small board: its left half and c1 stand for all points
        "yamaguchi",
        SMALL,
        """A b A c3, A w A c4, A b A c5, A w A 12, B w A white, B w A c2, A b A c1, A b A a1,
        A b A a2, A b A a3, A b A a4, A b A a5, A b A b1, A b A b2, A b A b3, A b A b4, A b A b5,
        B b A b5, B w A e5, A b A""",
    ),
]


@every_kind
@pytest.mark.parametrize(("opening", "rules", "told"), WHOLE)
def test_whole_opening(opening: str, rules: Rules, told: str, kind: str) -> None:
    game = start(kind, rules, opening)
    for line in told.split(","):
        seat, colour, black, *action = line.split()
        assert (game.seat, game.to_play[0]) == (seat, colour), line
        assert game.colour_of(black) == "black", line
        for name in action:
            stones = game.rows()
            assert game.why_illegal(name) is None, line
            assert game.play(name) == set()
            assert game.why_illegal("a16") == "off-board"
            if name in OPTIONS:
                assert game.rows() == stones
    assert game.ending() is None
    for option in ("black", "white", "more", "1", "12"):  # the opening is over
        assert game.why_illegal(option) == "not-in-this-phase"


# -- what is legal -------------------------------------------------------------------------------


def square(columns: str, rows: str) -> set[str]:
    return {f"{column}{row}" for column in columns for row in rows.split()}


BOARD = square("abcdefghijklmno", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")
CENTRAL_3 = square("ghi", "7 8 9")
CENTRAL_5 = square("fghij", "6 7 8 9 10")
CENTRAL_7 = square("efghijk", "5 6 7 8 9 10 11")
CENTRAL_9 = square("defghijkl", "4 5 6 7 8 9 10 11 12")
COLOURS = {"black", "white"}
STONES_4 = {"h8", "h9", "i10", "a1"}
THREE_SWAPS = "h8 white h9 black i10 white"

LEGAL = [
    ("pro", "", {"h8"}),
    ("pro", "h8", BOARD - {"h8"}),
    ("pro", "h8 a1", BOARD - CENTRAL_5 - {"a1"}),
    ("pro", "h8 a1 b1", BOARD - {"h8", "a1", "b1"}),
    ("long-pro", "h8 a1", BOARD - CENTRAL_7 - {"a1"}),
    ("renju-swap", "h8", CENTRAL_3 - {"h8"}),
    ("renju-swap", "h8 h9", CENTRAL_5 - {"h8", "h9", "f6", "j6"}),
    ("renju-swap", "h8 g8", CENTRAL_5 - {"h8", "g8", "j6", "j10"}),
    ("renju-swap", "h8 i9", CENTRAL_5 - {"h8", "i9", "f6"}),
    ("renju-swap", "h8 g9", CENTRAL_5 - {"h8", "g9", "j6"}),
    ("renju-swap", "h8 h9 i10", COLOURS),
    ("rif", "", {"h8"}),
    ("rif", "h8", CENTRAL_3 - {"h8"}),
    ("rif", "h8 h9", CENTRAL_5 - {"h8", "h9"}),
    ("rif", "h8 h9 i10", COLOURS),
    ("rif", "h8 h9 i10 black", BOARD - {"h8", "h9", "i10"}),
    ("rif", "h8 h9 i10 black a1", BOARD - STONES_4),
    ("rif", "h8 h9 i10 black a1 b2", BOARD - STONES_4 - {"b2"}),
    ("rif", "h8 h9 i10 black a1 b2 c3", {"b2", "c3"}),
    ("rif", "h8 h9 i10 black a1 b2 c3 c3", BOARD - STONES_4 - {"c3"}),
    ("yamaguchi", "h8 h9 i10", {str(number) for number in range(1, 13)}),
    ("yamaguchi", "h8 h9 i10 12", COLOURS),
    ("yamaguchi", "h8 h9 i10 1 white a1", BOARD - STONES_4),
    ("soosorv-8", "h8 h9 i10", COLOURS),
    ("soosorv-8", "h8 h9 i10 black a1", {str(number) for number in range(1, 9)}),
    ("soosorv", "h8 h9 i10 black a1", {str(number) for number in range(1, 9)}),
    ("soosorv-4", "h8 h9 i10 black a1", {"1", "2", "3", "4"}),
    ("soosorv-12", "h8 h9 i10 black a1", {str(number) for number in range(1, 13)}),
    ("soosorv-8", "h8 h9 i10 black a1 5", COLOURS),
    ("soosorv-8", "h8 h9 i10 black a1 2 white b1 c1", {"b1", "c1"}),
    ("taraguchi-10", "", {"h8"}),
    ("taraguchi-10", "h8", COLOURS),
    ("taraguchi-10", "h8 white", CENTRAL_3 - {"h8"}),
    ("taraguchi-10", "h8 white h9", COLOURS),
    ("taraguchi-10", "h8 white h9 black", CENTRAL_5 - {"h8", "h9"}),
    ("taraguchi-10", "h8 white h9 black i10", COLOURS),
    ("taraguchi-10", THREE_SWAPS, CENTRAL_7 - {"h8", "h9", "i10"}),
    ("taraguchi-10", f"{THREE_SWAPS} e11", {"black", "white", "10"}),
    ("taraguchi", f"{THREE_SWAPS} e11", {"black", "white", "10"}),
    ("taraguchi-5", f"{THREE_SWAPS} e11", {"black", "white", "5"}),
    ("taraguchi-10", f"{THREE_SWAPS} e11 white", CENTRAL_9 - {"h8", "h9", "i10", "e11"}),
    ("taraguchi-10", f"{THREE_SWAPS} e11 white d4", COLOURS),
    ("taraguchi-10", f"{THREE_SWAPS} e11 10", BOARD - {"h8", "h9", "i10", "e11"}),
    ("taraguchi-1", f"{THREE_SWAPS} e11 1", BOARD - {"h8", "h9", "i10", "e11"}),
]


@every_kind
@pytest.mark.parametrize(("opening", "actions", "legal"), LEGAL)
def test_legal_actions(opening: str, actions: str, legal: set[str], kind: str) -> None:
    assert start(kind, RENJU, opening, actions).legal() == legal


# -- what is refused -----------------------------------------------------------------------------

# Black and White of the fourth stones are mirrored between rows 7 and 8, beside the centre.
SHIFTED = "h8 h9 h7 white h6"
RUN_OUT = "c3 c4 c5 12 white c2 c1 a1 a2 a3 a4 a5 b1 b2 b3 b4 b5"
LATER = "not-in-this-phase"

REFUSED = [
    ("none", RENJU, "", "black more 1 12 pass", LATER),
    ("none", RENJU, "h8", "h8", "occupied"),
    ("swap-1st", GOMOKU, "", "black white more pass 1", LATER),
    ("swap-1st", GOMOKU, "h8", "h9 h8 more pass 1", LATER),
    ("swap", GOMOKU, "h8 h9", "black white pass", LATER),
    ("swap-2", GOMOKU, "h8 h9 h10", "h11 pass 3", LATER),
    ("swap-2", GOMOKU, "h8 h9 h10 more h11 h12", "more h13", LATER),
    ("swap-5", GOMOKU, "", "pass black", LATER),
    ("swap-5", GOMOKU, "h8 pass", "pass", LATER),
    ("pro", RENJU, "", "h9 g8 a1 black pass", LATER),
    ("pro", RENJU, "", "p8 a16 a0", "off-board"),
    ("pro", RENJU, "h8", "h8", "occupied"),
    ("pro", RENJU, "h8 h9", "f6 j10 g7 h10 black", LATER),
    ("pro", RENJU, "h8 h9", "h8 h9", "occupied"),  # before the region is asked for
    ("pro", RENJU, "h8 a1", "a1", "occupied"),
    ("pro", RENJU, "h8 h9 k8", "black white pass", LATER),
    ("long-pro", RENJU, "h8 h9", "f6 e5 k11 e8", LATER),
    ("renju-swap", RENJU, "", "h7 white", LATER),
    ("renju-swap", RENJU, "h8", "h10 f8 j8 a1 black", LATER),
    ("renju-swap", RENJU, "h8", "h8", "occupied"),
    ("renju-swap", RENJU, "h8 h9", "j6 f6 k8 h11 black", LATER),  # D13 and its mirror image
    ("renju-swap", RENJU, "h8 i8", "f6 f10", LATER),
    ("renju-swap", RENJU, "h8 i9", "f6", LATER),  # I13
    ("renju-swap", RENJU, "h8 h9 i10", "a1 more pass 2", LATER),
    ("renju-swap", RENJU, "h8 h9 i10 black", "black white pass 2", LATER),
    ("renju-swap", RENJU, "h8 h9 i10 black a1", "2 black pass", LATER),
    ("rif", RENJU, "h8", "h10 f8 1 pass", LATER),
    ("rif", RENJU, "h8 h9", "k8 h11 e8 black pass", LATER),
    ("rif", RENJU, "h8 h9 i10", "a1 h8 1 more pass", LATER),
    ("rif", RENJU, "h8 h9 i10 white", "h8 h9 i10", "occupied"),
    ("rif", RENJU, "h8 h9 i10 white a1", "h8 a1", "occupied"),
    ("rif", RENJU, "h8 h9 i10 white a1", "pass black 2", LATER),
    ("rif", RENJU, "h8 h9 i10 white a1 b2", "b2", "equivalent"),
    ("rif", RENJU, "h8 h9 i10 white a1 b2", "a1", "occupied"),
    ("rif", RENJU, "h8 h9 i10 white a1 b2 c3", "d4 o15 black pass", LATER),
    ("rif", RENJU, "h8 h9 i10 white a1 b2 c3", "a1 h8", "occupied"),
    ("rif", RENJU, "h8 h9 i10 white a1 b2 c3 b2", "b2", "occupied"),
    ("rif", RENJU, "h8 h9 i10 white a1 b2 c3 b2", "pass", LATER),  # before stone 6
    ("rif", RENJU, "h8 h9 h10 white h7 g7", "g7 i7", "equivalent"),
    ("rif", RENJU, f"{SHIFTED} g7", "g7 g8 i7 i8", "equivalent"),
    ("rif", RENJU, f"{SHIFTED} a1", "o1 a14 o14", "equivalent"),
    ("yamaguchi", RENJU, "h8 h9 i10", "black white a1 pass more", LATER),
    ("yamaguchi", RENJU, "h8 h9 i10 3", "3 a1 pass", LATER),
    ("yamaguchi", RENJU, "h8 h9 i10 1 white a1", "1 black pass", LATER),
    ("yamaguchi", RENJU, "h8 h9 h10 4 white h7 g7 g8", "i7 i8 g8", "equivalent"),
    ("yamaguchi", SMALL, RUN_OUT, "d1 d5 e3 12", LATER),
    ("yamaguchi", SMALL, RUN_OUT, "c2 c5", "occupied"),
    ("soosorv-8", RENJU, "h8 h9 i10", "8 a1 pass", LATER),
    ("soosorv-8", RENJU, "h8 h9 i10 black", "8 white pass", LATER),
    ("soosorv-8", RENJU, "h8 h9 i10 black a1", "9 12 black white b1 pass", LATER),
    ("soosorv-4", RENJU, "h8 h9 i10 black a1", "5 8", LATER),
    ("soosorv-8", RENJU, "h8 h9 i10 black a1 3", "3 b1 pass more", LATER),
    ("soosorv-8", RENJU, "h8 h9 i10 black a1 3 white", "white pass 3", LATER),
    ("soosorv-8", RENJU, "h8 h9 i9 black g8 3 white g9", "g9", "equivalent"),
    ("soosorv-8", RENJU, "h8 h9 h7 black h6 2 white g7", "g8 i8", "equivalent"),
    ("soosorv-8", RENJU, "h8 h9 i10 black a1 2 white b1 c1", "d1", LATER),
    ("taraguchi-10", RENJU, "", "g8 black 10", LATER),
    ("taraguchi-10", RENJU, "h8", "h9 10 pass", LATER),
    ("taraguchi-10", RENJU, "h8 white", "h10 f8 black", LATER),
    ("taraguchi-10", RENJU, "h8 white h9 black", "k8 h5 white", LATER),
    ("taraguchi-10", RENJU, THREE_SWAPS, "d8 h12 l8 h4 black 10", LATER),
    ("taraguchi-10", RENJU, f"{THREE_SWAPS} e11", "1 9 11 12 d4 pass", LATER),
    ("taraguchi-10", RENJU, f"{THREE_SWAPS} e11 black", "c8 h13 m8 h3 black 10", LATER),
    ("taraguchi-10", RENJU, f"{THREE_SWAPS} e11 black d4", "d5 10 pass", LATER),
    ("taraguchi-10", RENJU, f"{THREE_SWAPS} e11 10 a1", "a1", "equivalent"),
    ("taraguchi-10", RENJU, f"{THREE_SWAPS} e11 10 a1", "black white 10 pass", LATER),
    ("taraguchi-2", RENJU, "h8 white h9 black h10 white h7 2 a1", "o1", "equivalent"),
    ("taraguchi-2", RENJU, f"{THREE_SWAPS} e11 2 a1 b1", "c1 black", LATER),
    ("taraguchi-2", RENJU, f"{THREE_SWAPS} e11", "10 1", LATER),
]


@every_kind
@pytest.mark.parametrize(("opening", "rules", "actions", "refused", "reason"), REFUSED)
def test_refused(
    opening: str, rules: Rules, actions: str, refused: str, reason: str, kind: str
) -> None:
    game = start(kind, rules, opening, actions)
    for action in refused.split():
        assert game.why_illegal(action) == reason, action


# -- boards and names ----------------------------------------------------------------------------

FITTING = [
    ("rif", 5, 5),
    ("rif", 5, 7),
    ("soosorv-3", 5, 5),
    ("renju-swap", 5, 5),
    ("yamaguchi", 19, 19),
    ("pro", 7, 7),
    ("pro", 7, 9),
    ("long-pro", 9, 9),
    ("taraguchi-10", 9, 9),
    ("swap-5", 4, 3),
]
NOT_FITTING = [
    ("rif", 3, 3),
    ("rif", 6, 6),
    ("renju-swap", 15, 14),
    ("yamaguchi", 4, 5),
    ("soosorv-3", 20, 19),
    ("pro", 5, 5),
    ("pro", 8, 8),
    ("pro", 5, 15),
    ("long-pro", 7, 7),
    ("taraguchi-10", 7, 7),
    ("taraguchi-3", 9, 10),
]


@every_kind
@pytest.mark.parametrize(("opening", "width", "height"), FITTING)
def test_a_board_with_the_regions(opening: str, width: int, height: int, kind: str) -> None:
    game = start(kind, preset("mnk", width=width, height=height), opening)
    if not opening.startswith("swap"):
        assert game.legal() == {f"{'abcdefghijklmno'[width // 2]}{height // 2 + 1}"}


@every_kind
@pytest.mark.parametrize(("opening", "width", "height"), NOT_FITTING)
def test_a_board_without_the_regions(opening: str, width: int, height: int, kind: str) -> None:
    with pytest.raises(ValueError, match=r"odd"):
        start(kind, preset("mnk", width=width, height=height), opening)


@every_kind
@pytest.mark.parametrize(
    "opening", ["soosorv-0", "soosorv-13", "soosorv-08", "soosorv-", "taraguchi-13", "rif-2", ""]
)
def test_no_such_opening(opening: str, kind: str) -> None:
    with pytest.raises(ValueError, match=r"opening|N is"):
        start(kind, RENJU, opening)


# -- captures and lines --------------------------------------------------------------------------


@every_kind
def test_a_picked_stone_captures_where_an_offered_one_did_not(kind: str) -> None:
    rules = preset("irensei", size=5, line_length=5, gutter=0)
    game = start(kind, rules, "rif", "c3 c4 a2 white a1")
    for action in ("b1", "e1"):
        assert game.play(action) == set()
    assert game.rows() == "...../..O../..X../X..../O...."
    assert game.play("b1") == {"a1"}
    assert game.rows() == "...../..O../..X../X..../.X..."
    assert (game.seat, game.to_play) == ("B", "white")


@every_kind
def test_a_line_in_the_opening_wins_for_the_owner_of_the_colour(kind: str) -> None:
    """White picks a fifth move that gives Black three in a row."""
    rules = preset("mnk", size=5, line_length=3)
    for choice, owner in (("white", "A"), ("black", "B")):
        game = start(kind, rules, "rif", f"c3 c4 d3 {choice} a1 b3 e5 b3")
        assert game.ending() == (owner, "black", "line")
        assert game.line() == {"b3", "c3", "d3"}


@every_kind
def test_an_offer_and_a_choice_are_actions_that_count(kind: str) -> None:
    rules = preset("gomoku", ply_limit=7)
    game = start(kind, rules, "rif", "h8 h9 i10 white a1 b1")
    assert game.ending() is None
    game.play("c1")
    assert game.ending() == (None, None, "ply-limit")
