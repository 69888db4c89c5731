"""SGF: every game and every opening comes back as it was; foreign files are played or refused."""

import json
import random
import re
from typing import Any

import pytest
from sgfmill import boards, sgf, sgf_grammar

from engine import OPENINGS, PRESETS, Position, RuleSet
from engine.sgf import FORMAT, Line, Remark, SgfError, SgfGame, from_sgf, to_sgf
from engine.sgf_nodes import PROPERTY

# Every opening fits on 9x9.
SMALL: dict[str, dict[str, Any]] = {
    "irensei": {"line_length": 5, "gutter": 1},
    "mnk": {"line_length": 5},
}
GAMES = [(game, opening) for game in PRESETS for opening in OPENINGS]
NAMES = ["", "]", "\\", "a\\]b", "two\nlines\r\n", "tab\t; (:)", "棋士 Ø 🙂", "\ud800", "x\\\n]"]


def small(game: str, size: int = 9) -> RuleSet:
    return RuleSet.preset(game, size=size, **SMALL.get(game, {}))


def play_on(position: Position, chance: random.Random, plies: int) -> Position:
    """Random legal actions; options more often than their number would make them."""
    for _ in range(plies):
        legal = position.legal_actions().tolist()
        if not legal:
            break
        options = [action for action in legal if action >= position.rules.points]
        take_option = bool(options) and chance.random() < 0.2
        position.play(chance.choice(options if take_option else legal))
    return position


def read_one(text: str | bytes, **arguments: Any) -> SgfGame:
    (game,) = from_sgf(text, **arguments)
    return game


def assert_same(one: Position, other: Position) -> None:
    assert other.rules == one.rules
    assert other.opening == one.opening
    assert other.actions == one.actions
    assert (other.key, other.phase, other.seat) == (one.key, one.phase, one.seat)
    assert other.offers == one.offers
    assert other.rows() == one.rows()
    assert other.outcome == one.outcome


def shown(text: str) -> str:
    """The last board as a program sees it that follows SGF alone; rows as `Position.rows`."""
    (tree,) = sgf_grammar.parse_sgf_collection(text.encode())
    size = int(tree.sequence[0]["SZ"][0])
    board = boards.Board(size)
    captures = tree.sequence[0]["GM"] == [b"1"]
    for node in sgf.Sgf_game.from_coarse_game_tree(tree).get_main_sequence():
        black, white, empty = node.get_setup_stones()
        for colour, points in (("b", black), ("w", white), (None, empty)):
            for row, column in points:
                board.board[row][column] = colour
        colour, move = node.get_move()
        if move is not None and captures:
            board.play(*move, colour)
        elif move is not None:
            assert board.board[move[0]][move[1]] is None
            board.board[move[0]][move[1]] = colour
    symbols = {None: ".", "b": "X", "w": "O"}
    return "/".join("".join(symbols[stone] for stone in row) for row in board.board[::-1])


# -- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "opening"), GAMES)
def test_random_games_come_back(game: str, opening: str) -> None:
    chance = random.Random(f"{game} {opening}")
    # The short ones end inside the opening.
    for plies in (*range(14), 30, 200):
        position = play_on(Position(small(game), opening), chance, plies)
        text = to_sgf(position)
        read = read_one(text)
        assert_same(position, read.position)
        assert to_sgf(read.position) == text
        assert from_sgf(text.encode())[0].position.key == position.key
        assert shown(text) == position.rows()


@pytest.mark.parametrize("opening", ["soosorv-1", "soosorv-3", "taraguchi-1", "taraguchi-12"])
def test_numbered_openings_come_back(opening: str) -> None:
    position = play_on(Position(small("renju"), opening), random.Random(opening), 30)
    assert_same(position, read_one(to_sgf(position)).position)


def test_a_name_without_its_number_is_written_with_it() -> None:
    assert read_one(to_sgf(Position(small("renju"), "soosorv"))).position.opening == "soosorv-8"


@pytest.mark.parametrize(
    ("game", "width", "height"),
    [("gomoku", 25, 25), ("connect-go", 25, 7), ("irensei", 13, 25), ("mnk", 3, 5), ("caro", 8, 9)],
)
def test_boards_of_any_sides_come_back(game: str, width: int, height: int) -> None:
    rules = RuleSet.preset(game, width=width, height=height, line_length=3)
    corners = [0, width - 1, (height - 1) * width, width * height - 1]
    for point in corners:
        position = Position(rules, "swap-1st")
        position.play(point)
        text = to_sgf(position)
        column, row = point % width, height - 1 - point // width
        assert f";B[{chr(97 + column)}{chr(97 + row)}]" in text
        assert (f"SZ[{width}:{height}]" if width != height else f"SZ[{width}]") in text
        play_on(position, random.Random(point), 60)
        assert_same(position, read_one(to_sgf(position)).position)


@pytest.mark.parametrize("game", PRESETS)
@pytest.mark.parametrize("to_play", ["black", "white"])
def test_set_ups_come_back(game: str, to_play: str) -> None:
    chance = random.Random(game)
    for black, white in ((["a1", "c3"], ["b2", "i9"]), ([], [])):
        position = Position.from_setup(
            small(game), black=black, white=white, to_play=to_play, opening="swap"
        )
        play_on(position, chance, 12)
        text = to_sgf(position)
        assert f"PL[{to_play[0].upper()}]" in text
        assert_same(position, read_one(text).position)
        assert shown(text) == position.rows()
        undone = read_one(text).position
        for _ in position.actions:
            undone.undo()
        assert undone.board.any() == bool(black)


@pytest.mark.parametrize("one", NAMES)
def test_texts_come_back(one: str) -> None:
    position = play_on(Position(small("gomoku"), "swap-2"), random.Random(len(one)), 8)
    for other in NAMES:
        players, notes = {"A": one, "B": other}, {"more": [one, {"n": 1.5, other: None}]}
        text = to_sgf(position, name=other, players=players, notes=notes)
        read = read_one(text.encode())
        assert (read.name, dict(read.players), read.notes) == (other, players, notes)
        assert_same(position, read.position)


def test_other_programs_see_the_names_and_the_result() -> None:
    position = Position(small("gomoku"), "swap-1st")
    for action in ("e5", "black", "d4"):
        position.play(action)
    result = {"winner_seat": "A", "winner_colour": "white", "reason": "resign"}
    text = to_sgf(position, name="g1", players={"A": "x]é", "B": "y"}, result=result)
    root = sgf.Sgf_game.from_bytes(text.encode()).get_root()
    values = {name: root.get(name) for name in ("FF", "GM", "GN", "RU", "PB", "PW", "RE", "AP")}
    assert values == {
        "FF": 4, "GM": 4, "GN": "g1", "RU": "gomoku", "PB": "y", "PW": "x]é", "RE": "W+R",
        "AP": ("narabe", str(FORMAT)),
    }  # fmt: skip
    assert read_one(text).result == result


def test_results_come_back() -> None:
    position = Position(RuleSet.preset("mnk"))
    for action in ("a1", "b2", "a2", "b1", "a3"):
        position.play(action)
    assert "RE[B+]" in to_sgf(position)
    won = {"winner_seat": "A", "winner_colour": "black", "reason": "line"}
    assert read_one(to_sgf(position)).result == won
    with pytest.raises(SgfError, match="by the rules of mnk black has won"):
        to_sgf(position, result={"winner_seat": "B", "winner_colour": "white", "reason": "resign"})
    draw = {"winner_seat": None, "winner_colour": None, "reason": "agreed"}
    text = to_sgf(Position(small("renju")), result=draw)
    assert "RE[0]" in text and read_one(text).result == draw
    assert read_one(to_sgf(Position(small("renju")))).result is None


def test_a_collection_is_the_texts_one_after_the_other() -> None:
    positions = [play_on(Position(small(game)), random.Random(game), 20) for game in PRESETS]
    games = from_sgf("".join(to_sgf(position) for position in positions))
    for position, game in zip(positions, games, strict=True):
        assert_same(position, game.position)


def without_property(text: str) -> str:
    """As a program that drops what it does not know would write it."""
    (tree,) = sgf_grammar.parse_sgf_collection(text.encode())
    del tree.sequence[0][PROPERTY]
    return bytes(sgf_grammar.serialise_game_tree(tree)).decode()


@pytest.mark.parametrize("game", PRESETS)
@pytest.mark.parametrize("opening", ["none", "long-pro"])
def test_games_of_stones_come_back_from_the_moves_alone(game: str, opening: str) -> None:
    for seed in range(5):
        position = play_on(Position(small(game), opening), random.Random(seed), 150)
        read = read_one(without_property(to_sgf(position)), opening=opening)
        assert_same(position, read.position)


# -- files of other programs ---------------------------------------------------------------------

FOREIGN = """Some words before it
(;GM[4]FF[4]SZ[15]PB[First]PW[Second]GN[Final]RE[W+Time]AP[Other:2]
;B[hh]C[a comment\\] with ; and (brackets)];W[hg]
 (;B[ig];W[ih])
 (;B[aa];W[bb];B[cc]))
"""


def test_a_foreign_game_of_gomoku() -> None:
    game = read_one(FOREIGN)
    position = game.position
    assert position.rules == RuleSet.preset("gomoku")
    names = [position.action_name(action) for action in position.actions]
    assert names == ["h8", "h9", "i9", "i8"]
    assert game.name == "Final" and dict(game.players) == {"A": "First", "B": "Second"}
    assert game.result == {"winner_seat": "B", "winner_colour": "white", "reason": "time"}
    renju = read_one(FOREIGN, game="renju", rules={"pass_after": 8})
    assert renju.position.rules == RuleSet.preset("renju", pass_after=8)


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("Freestyle", "gomoku"),
        ("Standard", "gomoku-standard"),
        ("Renju", "renju"),
        ("Caro", "caro"),
        ("exact five", "gomoku-standard"),
    ],
)
def test_names_that_other_programs_give_to_gomoku(text: str, preset: str) -> None:
    assert read_one(f"(;GM[4]SZ[15]RU[{text}];B[hh])").position.rules == RuleSet.preset(preset)


def test_other_names_of_rules_are_refused() -> None:
    for root in ("GM[4]RU[Swap2]", "GM[1]RU[Freestyle]", "GM[1]RU[Standard]"):
        with pytest.raises(SgfError, match="do not say which game this is"):
            read_one(f"(;{root}SZ[15];B[hh])")


def test_a_foreign_game_in_letters_and_numbers() -> None:
    game = read_one("(;GM[4]SZ[15]AB[a1][B15]AW[cc]PL[W];W[h8];B[o10];W[O1])")
    names = [game.position.action_name(action) for action in game.position.actions]
    assert names == ["h8", "o10", "o1"]
    assert {"a1", "b15", "c13"} <= {
        game.position.action_name(point)
        for point, stone in enumerate(game.position.board.ravel())
        if stone
    }
    for text, message in (
        ("(;GM[4]SZ[15];B[h16])", "off the board"),
        ("(;GM[4]SZ[15];B[h0])", "off the board"),
        ("(;GM[4]SZ[15];B[p1])", "off the board"),
        ("(;GM[4]SZ[15];B[8,8])", "neither two letters nor a letter and a number"),
    ):
        with pytest.raises(SgfError, match=message):
            from_sgf(text)


FIVE = {"black": ["a1", "b1", "c1", "d1", "e1"], "white": ["a9", "b8", "c9", "d8"]}


def test_a_set_up_with_a_line_is_written_as_it_is_and_not_read() -> None:
    rules = RuleSet.preset("gomoku", size=9)
    text = to_sgf(Position.from_setup(rules, **FIVE, to_play="white", allow_lines=True))  # type: ignore[arg-type]
    for each in (text, without_property(text)):
        with pytest.raises(SgfError, match="black has a line through a1: the game is over"):
            read_one(each, game="gomoku")


def test_a_foreign_game_with_captures_passes_and_a_set_up() -> None:
    text = """(;GM[1]FF[4]SZ[9:7]RU[Irensei line_length=5 gutter=1];AB[aa:ba][ac]AW[ab]AE[ii]
    ;W[ca];B[bb];W[];B[tt])"""
    with pytest.raises(SgfError, match=r"node 1: a point off the board of 9x7"):
        from_sgf(text)
    position = read_one(text.replace("AE[ii]", "AE[ag]")).position
    assert position.rules == RuleSet.preset("irensei", width=9, height=7, line_length=5, gutter=1)
    # Black at b6 takes the stone at a6.
    assert position.rows().split("/")[:3] == ["XXO......", ".X.......", "X........"]
    assert position.outcome is not None and position.outcome.reason == "passes"
    assert position.seat in "AB" and position.ply == 4


def test_charsets() -> None:
    text = "(;GM[4]SZ[9]{}PB[\xe9];B[aa])"
    latin = text.format("").encode("latin-1")
    assert read_one(latin).players == {"A": "\xe9"}
    assert read_one(text.format("CA[utf-8]").encode()).players == {"A": "\xe9"}
    assert read_one(text.format("CA[KOI8-R]").encode("latin-1")).players == {"A": "И"}
    assert read_one(text.format("CA[none such]")).players == {"A": "\xe9"}
    for charset in ("none such", "hex", "undefined"):
        with pytest.raises(SgfError, match=rf"CA\[{charset}\]: no charset"):
            from_sgf(text.format(f"CA[{charset}]").encode())


def test_white_may_begin() -> None:
    for text in ("(;GM[4]SZ[9];W[aa];B[bb])", "(;GM[4]SZ[9]PL[White];W[aa];B[bb])"):
        position = read_one(text).position
        assert (position.to_play, position.ply, position.seat) == ("white", 2, "B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no SGF that can be read: no SGF data found"),
        ("(;GM[4]SZ[9];B[aa]", "error parsing game 1: unexpected end of SGF data"),
        ("(;GM[4]SZ[9])(;GM[4]SZ[9];B[a", "error parsing game 2: unexpected end of SGF data"),
        ("(;GM[4]SZ[9];B)", "error parsing game 1: property with no values"),
        ("(;GM[4]SZ[9];B[aa])(;GM[4]SZ[9];B[aa];W[aa])", r"^game 2: move 2 \(white a9\): occupied"),
        ("(;SZ[19];B[aa])", "do not say which game this is; name it, one of irensei, "),
        ("(;GM[2];B[aa])", "do not say which game"),
        ("(;GM[x];B[aa])", "GM: 'x' is no number"),
        ("(;GM[4]RU[house rules];B[aa])", r"RU\[house rules\] and GM do not say"),
        ("(;RU[gomoku line_length=77];B[aa])", "rules.line_length: 77 is outside"),
        ("(;RU[gomoku colour=3];B[aa])", "rules.colour: no such rule"),
        ("(;GM[4]SZ[2])", "rules.width: 2 is outside 3..25"),
        ("(;GM[4]SZ[15:26])", "rules.height: 26 is outside 3..25"),
        ("(;GM[4]SZ[15:])", "SZ: '' is no number"),
        ("(;GM[4]SZ[9];B[aa];B[bb])", r"^move 2 \(black b8\): white is to place"),
        ("(;GM[4]SZ[9];B[aa]W[bb])", "node 1: more than one move"),
        ("(;GM[4]SZ[9];B[aa][bb])", "node 1: more than one move"),
        ("(;GM[4]SZ[9];B[aj])", "node 1: a point off the board of 9x9"),
        ("(;GM[4]SZ[9];B[1a])", "node 1: '1a' is no point"),
        ("(;GM[4]SZ[9];B[abc])", "node 1: 'abc' is no point"),
        ("(;GM[4]SZ[9];B[])", r"^move 1 \(black pass\): not-in-this-phase$"),
        ("(;GM[4]SZ[9]AB[aa]AW[aa];B[bb])", "node 0: two stones on one point"),
        ("(;GM[4]SZ[9]AB[aa:];B[bb])", "node 0: AB: not a list of points"),
        ("(;GM[4]SZ[9]PL[x];B[bb])", "PL: 'x' is no colour"),
        ("(;GM[4]SZ[9];B[bb];AW[cc];B[dd])", "node 2: a set-up after move 1 that changes"),
        ("(;GM[4]SZ[9];B[bb];PL[B];B[dd])", "node 2: a set-up after move 1 that changes"),
        ("(;RU[mnk]SZ[3];B[aa];W[ba];B[ab];W[bb];B[ac];W[bc])", r"move 6 \(white b1\): game-over"),
        ("(;RU[mnk]SZ[3]RE[W+];B[aa];W[ba];B[ab];W[bb];B[ac])", "black has won \\(line\\)"),
        ("(;RU[irensei]AB[aa]AW[ba][ab];B[cc])", "setup: the chain at a19 has no liberty"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(SgfError, match=message) as refused:
        from_sgf(text)
    assert "\n" not in str(refused.value)
    with pytest.raises(SgfError):
        from_sgf(text.encode())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "chess"}, "game: 'chess' is not one of"),
        ({"game": "gomoku", "rules": {"size": 13}}, "SZ: the board's width is 15, not 13"),
        ({"game": "gomoku", "rules": {"colour": 1}}, "rules.colour: no such rule"),
        ({"opening": "swop"}, "opening: 'swop' is not one of"),
        (
            {"opening": "swap-1st"},
            r"^move 2 \(white h9\): not-in-this-phase \(choose of the opening swap-1st\)$",
        ),
        ({"opening": "pro", "rules": {"size": 15}}, r"move 3 \(black i9\): not-in-this-phase"),
    ],
)
def test_what_the_caller_says_must_fit(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SgfError, match=message):
        from_sgf(FOREIGN, **arguments)


def test_offers_are_not_taken_for_moves() -> None:
    text = "(;GM[4]SZ[15];B[hh];W[hg];B[hf];W[aa];B[bb])"
    actions = ["h8", "h9", "h10", "white", "a15", "b14"]
    assert Position(RuleSet.preset("renju"), "rif").phase == "stone-1"
    with pytest.raises(SgfError, match=r"move 4 \(white a15\): not-in-this-phase"):
        from_sgf(text, game="renju", opening="rif")
    position = Position(RuleSet.preset("renju"), "rif")
    for action in actions:
        position.play(action)
    read = read_one(to_sgf(position)).position
    assert read.offers == position.offers == [position.parse_action("b14")]


# -- damaged properties --------------------------------------------------------------------------


def with_property(text: str, change: Any) -> str:
    """The text with its property's object changed by a function, or replaced by a string."""
    (tree,) = sgf_grammar.parse_sgf_collection(text.encode())
    root = tree.sequence[0]
    if not isinstance(change, str):
        saved = json.loads(sgf_grammar.simpletext_value(root[PROPERTY][0]))
        change = json.dumps(change(saved))
    root[PROPERTY] = [sgf_grammar.escape_text(change.encode())]
    return bytes(sgf_grammar.serialise_game_tree(tree)).decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("", "NARABE: not JSON"),
        ("[" * 100_000, "NARABE: not JSON"),
        ("[1]", "NARABE: not a JSON object"),
        ("{}", "NARABE: format: missing"),
        ({"format": 2}, "NARABE: format 2 is not 1, the one known here"),
        ({"format": True}, "NARABE: format: True is not of type int"),
        ({"rules": 3}, "NARABE: rules: 3 is not of type dict"),
        ({"rules": {}}, "NARABE: name: missing"),
        ({"rules": {"name": ["gomoku"]}}, "NARABE: name: "),
        ({"rules": {"name": "chess"}}, "game: 'chess' is not one of"),
        ({"rules": {"name": "gomoku", "size": 8}}, "SZ: the board is not that of NARABE, 8x8"),
        ({"opening": None}, "NARABE: opening: None is not of type str"),
        ({"opening": "swop"}, "opening: 'swop' is not one of"),
        ({"actions": "e5"}, "NARABE: actions: 'e5' is not of type list"),
        ({"actions": ["e5", 5]}, "NARABE: actions: 5 is not of type str"),
        ({"actions": ["e5", "e6"]}, "NARABE: action 2: e6: not-in-this-phase"),
        ({"actions": ["e5", "x" * 9999]}, "NARABE: action 2: x{20}: unknown-action"),
        ({"actions": ["e5", "black"]}, "move 2 is not that of NARABE: take that property out"),
        ({"actions": ["e6", "black", "a1"]}, "move 1 is not that of NARABE"),
        ({"players": {"C": "x"}}, "NARABE: players: 'C' is no seat"),
        ({"players": {"A": 1}}, "NARABE: A: 1 is not of type str"),
        ({"name": 1}, "NARABE: name: 1 is not of type str"),
        ({"notes": []}, "NARABE: notes: "),
        ({"result": {}}, "NARABE: result.winner_seat"),
        ({"result": {"winner_seat": ["A"]}}, "NARABE: result.winner_seat"),
        ({"result": {"winner_seat": "A"}}, "NARABE: reason: missing"),
    ],
)
def test_damaged_properties_are_refused(change: Any, message: str) -> None:
    position = Position(small("gomoku"), "swap-1st")
    for action in ("e5", "black", "a1"):
        position.play(action)
    damage = change if isinstance(change, str) else lambda saved: saved | change
    with pytest.raises(SgfError, match=message) as refused:
        from_sgf(with_property(to_sgf(position), damage))
    assert len(str(refused.value)) <= 300


def test_a_cut_or_changed_file_is_read_or_refused_and_nothing_else() -> None:
    position = play_on(Position(small("connect-go"), "swap-5"), random.Random(1), 60)
    data = to_sgf(position, players={"A": "é]", "B": "\\"}).encode()
    chance = random.Random(2)
    for _ in range(300):
        damaged = bytearray(data[: chance.randrange(len(data))] if chance.random() < 0.3 else data)
        for _ in range(chance.randrange(4)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            from_sgf(bytes(damaged))
        except SgfError as error:
            assert re.fullmatch(r"[^\n]{1,300}", str(error))


# -- remarks -------------------------------------------------------------------------------------


def random_remarks(
    start: Position, actions: list[str], chance: random.Random, depth: int = 0
) -> dict[int, Remark]:
    """About some of the positions of a line, with variations that are no worse."""
    found, again = {}, start.copy()
    for ply in range(len(actions) + 1):
        if ply:
            again.play(actions[ply - 1])
        lines = []
        while depth < 2 and again.outcome is None and chance.random() < 0.3:
            other = play_on(again.copy(), chance, chance.randint(1, 4))
            names = [again.action_name(action) for action in other.actions[again.ply :]]
            said = random_remarks(again, names, chance, depth + 1)
            said.pop(0, None)  # that is the position before the variation
            lines.append(Line(actions=tuple(names), remarks=said))
        if lines or chance.random() < 0.5:
            comment = chance.choice(["", "a\nb", "c]d\\e", "棋: (;B[aa])"])
            value = chance.choice([None, 0.25, -1.0, 1.0])
            remark = Remark(comment=comment, value=value, lines=tuple(lines))
            if remark != Remark():
                found[ply] = remark
    return found


@pytest.mark.parametrize(("game", "opening"), GAMES)
def test_remarks_come_back(game: str, opening: str) -> None:
    chance = random.Random(f"remarks {game} {opening}")
    start = Position(small(game), opening)
    position = play_on(start.copy(), chance, 30)
    names = [position.action_name(action) for action in position.actions]
    remarks = random_remarks(start, names, chance)
    text = to_sgf(position, remarks=remarks)
    found = read_one(text)
    assert_same(position, found.position)
    assert found.remarks == remarks
    assert read_one(text.encode()).remarks == remarks
    # The main line is what it was without them.
    (tree,) = sgf_grammar.parse_sgf_collection(text.encode())
    (bare,) = sgf_grammar.parse_sgf_collection(to_sgf(position).encode())
    moves = [
        [(key, node[key]) for key in ("B", "W", "AB", "AW") if key in node]
        for node in sgf_grammar.main_sequence_iter(tree)
    ]
    plain = [
        [(key, node[key]) for key in ("B", "W", "AB", "AW") if key in node]
        for node in sgf_grammar.main_sequence_iter(bare)
    ]
    assert [node for node in moves if node] == [node for node in plain if node]


def test_other_programs_see_values_comments_and_variations() -> None:
    position = Position(RuleSet.preset("gomoku", size=9))
    for action in ("e5", "d5"):
        position.play(action)
    line = Line(actions=("d6", "e6"), remarks={1: Remark(comment="better", value=0.5)})
    text = to_sgf(position, remarks={1: Remark(value=-0.25, comment="so so", lines=(line,))})
    assert "B[ee]C[so so]V[-0.25]" in text
    assert re.search(r"\(;W\[de\]\)\s*\(;C\[better\]", text)
    assert re.search(r"V\[0.5\]W\[dd\];B\[ed\]\)", text)


def test_a_variation_at_the_end_is_not_taken_for_the_game() -> None:
    position = Position(RuleSet.preset("gomoku", size=9))
    position.play("e5")
    remarks = {1: Remark(lines=(Line(actions=("a1",)),))}
    found = read_one(to_sgf(position, remarks=remarks))
    assert found.position.actions == position.actions
    assert found.remarks == remarks


def test_foreign_comments_and_variations() -> None:
    game = read_one(
        "(;GM[4]SZ[9]CA[UTF-8]C[start];B[ee]C[good \\] move](;W[ed]V[-0.5];B[dd])"
        "(;W[fd]C[or];B[gc](;W[aa])(;W[bb]V[3.5])))"
    )
    names = [game.position.action_name(action) for action in game.position.actions]
    assert names == ["e5", "e6", "d6"]
    inner = Line(actions=("b8",))
    line = Line(
        actions=("f6", "g7", "a9"),
        remarks={1: Remark(comment="or"), 2: Remark(lines=(inner,))},
    )
    assert game.remarks == {
        0: Remark(comment="start"),
        1: Remark(comment="good ] move", lines=(line,)),
        2: Remark(value=-0.5),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(;GM[4]SZ[9];B[ee](;W[ed])(;W[ee]))", "a variation after 1 actions: move 1 .*occupied"),
        ("(;GM[4]SZ[9];B[ee](;W[ed])(;B[aa]))", "a variation after 1 actions: .*white is to place"),
        ("(;GM[4]SZ[9];B[ee](;W[ed])(;C[x]))", "a variation after 1 actions: without a move"),
        ("(;GM[4]SZ[9];B[ee](;W[ed])(;NARABE[1\\]]W[aa]))", "NARABE: not JSON"),
        ('(;GM[4]SZ[9];B[ee](;W[ed])(;NARABE[{"actions":[1\\]}]W[aa]))', "not a list of names"),
        ('(;GM[4]SZ[9];B[ee](;W[ed])(;NARABE[{"actions":["a1"\\]}]W[aa];B[bb]))', "more moves"),
        ('(;GM[4]SZ[9];B[ee];NARABE[{"ply":7}])', "ply: 7 is none of 1 to 1"),
        ("(;GM[4]SZ[9]" + 70 * "(;B[aa])(;B[bb];W[cc];B[dd];W[ee]" + 71 * ")", "nested|occupied"),
    ],
)
def test_remarks_that_cannot_be_read_are_refused(text: str, message: str) -> None:
    with pytest.raises(SgfError, match=message):
        from_sgf(text)


def test_deep_nesting_is_refused() -> None:
    text = "(;GM[4]SZ[25]" + "".join(
        f"(;C[x])(;{'BW'[n % 2]}[{chr(97 + n % 25)}{chr(97 + n // 25)}]" for n in range(100)
    )
    with pytest.raises(SgfError, match="nested more than"):
        from_sgf(text + 101 * ")")


def test_remarks_that_do_not_fit_are_not_written() -> None:
    position = Position(RuleSet.preset("gomoku", size=9))
    with pytest.raises(SgfError, match="ply 3"):
        to_sgf(position, remarks={3: Remark(comment="x")})
    with pytest.raises(SgfError, match="a variation at ply 0: z9"):
        to_sgf(position, remarks={0: Remark(lines=(Line(actions=("z9",)),))})
