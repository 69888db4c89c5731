"""Whole games on the page, by mouse, in headless Chromium."""

import base64
import json
import re
import socket
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from bots.web.limits import Limits
from engine import OPENINGS, PRESETS, Position, RuleSet
from tests.web.browser import Page
from tests.web.served import HASHES, serving

BOT = "testing-v000003"

TIC_TAC_TOE = {"width": "3", "height": "3", "line_length": "3"}

#: A game, its opening and rules, the actions, and the line that ends it.
GAMES = {
    "irensei, with a capture": (
        ("irensei", "none", {"width": "9", "height": "9", "line_length": "5", "gutter": "1"}),
        "c3 a1 a2 h8 b1 h7 d4 h6 e5 h2 f6 b8 g7",
        "c3 d4 e5 f6 g7",
    ),
    "connect-go, with a switch": (
        ("connect-go", "none", {"width": "9", "height": "9"}),
        "b1 a1 a2 i9 c1 i8 d1 i7 e1",
        "a1 b1 c1 d1 e1",
    ),
    "renju, soosorv-8": (
        ("renju", "soosorv", {}),
        "h8 h9 i10 white g9 5 white i9 i8 g8 g7 j9 g7 i7 g8 o1 i8 o3 j8 o5 k8",
        "g8 h8 i8 j8 k8",
    ),
    "gomoku, swap-2": (
        ("gomoku", "swap-2", {}),
        "h8 g9 k6 more f11 j10 black a1 i8 a3 j8 a5 k8 a7 l8",
        "h8 i8 j8 k8 l8",
    ),
    "gomoku-standard": (
        ("gomoku-standard", "none", {}),
        "h8 a1 i9 a3 j10 a5 k11 a7 l12",
        "h8 i9 j10 k11 l12",
    ),
    "caro": (("caro", "none", {}), "h8 g8 i8 a3 j8 a5 k8 a7 l8", "h8 i8 j8 k8 l8"),
    "mnk": (("mnk", "none", TIC_TAC_TOE), "b2 a1 a2 c1 c2", "a2 b2 c2"),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_whole_game(page: Page, name: str) -> None:
    (game, opening, rules), actions, line = GAMES[name]
    page.new_game(game, opening, **rules)
    expected = Position(
        RuleSet.preset(game, **{field: int(value) for field, value in rules.items()}), opening
    )
    for action in actions.split():
        page.act(action)
        expected.play(action)
        shown = {
            expected.action_name(point): ("", "black", "white")[stone]
            for point, stone in enumerate(expected.board.flat)
            if stone
        }
        assert page.stones == shown, action
    outcome = expected.outcome
    assert outcome is not None
    assert page.text("prompt") == "Black wins by a line"
    assert f"{outcome.winner_seat}" == page.find(".seat:has(.won) .hint").text[0]
    assert len(page.all("#board .winning")) == len(line.split())
    in_line = [
        cell.get_attribute("data-point")
        for cell in page.all('#board [aria-label*="in the winning line"]')
    ]
    assert sorted(str(point) for point in in_line) == line.split()


def test_a_game_against_the_bot(page: Page) -> None:
    """The first game offered is the bot's own, with a person at seat A."""
    assert page.text("title") == "Line game (m, n, k) 5×4, 4 in a row"
    while page.text("prompt") == "Black to move":
        before = page.ply
        free = next(
            cell.get_attribute("data-point")
            for cell in page.all("#board .cell.playable")
            if cell.get_attribute("data-point")
        )
        page.act(str(free))
        page.wait(
            lambda before=before: page.ply >= before + 2 or page.all("#prompt:not(:empty)"),
            "the bot moves",
        )
        page.wait(lambda: "thinking" not in page.text("prompt"), "the bot has moved")
    stones = page.stones
    assert abs(list(stones.values()).count("black") - list(stones.values()).count("white")) <= 1
    assert page.find("html").get_attribute("data-phase") == "over"


def test_two_bots_play_while_somebody_watches(page: Page) -> None:
    page.new_game("mnk", **TIC_TAC_TOE, seat_A=BOT, seat_B=BOT)
    page.wait(lambda: page.find("html").get_attribute("data-phase") == "over", "the end")
    assert page.ply >= 5


def test_a_reload_in_the_middle(page: Page) -> None:
    page.new_game("gomoku", "swap-2")
    page.act("h8 g9 k6 more f11")
    game, stones = page.game, page.stones
    page.visit(page.browser.current_url, afresh=False)
    assert (page.game, page.ply, page.stones) == (game, 5, stones)
    page.act("j10 black")
    page.click("#back")
    page.wait(lambda: page.ply == 6)
    page.visit(page.browser.current_url, afresh=False)
    assert page.ply == 6
    assert page.choices == ["black", "white"]
    page.click("#last")
    page.wait(lambda: page.ply == 7)


def test_sgf_is_saved_and_opened_again(page: Page, downloads: Path) -> None:
    page.new_game("renju", "soosorv")
    page.act("h8 h9 i10 white g9 2 white i9 g7 g7 i7")
    stones, before = page.stones, page.game
    page.click("#save")
    page.click("#save-sgf")
    file = downloads / "renju.sgf"
    page.wait(file.exists, "the file is there")
    assert "soosorv-8" in file.read_text()
    page.new_game("mnk")
    page.click("#open")
    page.find("#file").send_keys(str(file))
    page.wait(lambda: page.text("title") == "Renju 15×15, 5 in a row, soosorv-8")
    assert page.game != before
    assert (page.ply, page.stones) == (11, stones)
    page.act("g8")
    page.click("#save")
    page.click("#save-record")
    record = downloads / "renju.jsonl"
    page.wait(record.exists, "the record is there")
    assert json.loads(record.read_text())["actions"][-1] == "g8"
    page.click("#open")
    page.find("#pasted").send_keys(record.read_text())
    page.click("#load")
    page.wait(lambda: page.ply == 12 and not page.find("#open-dialog").is_displayed())


def test_what_cannot_be_opened_says_why(page: Page) -> None:
    page.click("#open")
    page.find("#pasted").send_keys("(;GM[1]SZ[19];B[aa])")
    page.click("#load")
    page.wait(lambda: "do not say which game" in page.text("open-error"))
    page.script("document.querySelector('#open-dialog details').open = true")
    page.choose("#file-game", "irensei")
    page.click("#load")
    page.wait(lambda: page.text("title") == "Irensei 19×19, 7 in a row")
    assert page.stones == {"a19": "black"}


def test_a_link_holds_the_game(page: Page, address: str) -> None:
    page.new_game("irensei", "swap-1st", width="9", height="9", line_length="5", gutter="1")
    page.act("e5 white d4 f6")
    page.click("#back")
    page.wait(lambda: page.ply == 3)
    page.click("#share")
    link = page.find("#link").get_attribute("value") or ""
    assert link.startswith(f"http://{address}/#game=")
    page.browser.get("about:blank")
    page.visit(link)
    assert page.text("title") == "Irensei 9×9, 5 in a row, swap-1st"
    assert page.stones == {"e5": "black", "d4": "white"}


def test_links_that_cannot_be_opened_say_why(page: Page, address: str) -> None:
    def link(record: object) -> str:
        text = base64.urlsafe_b64encode(json.dumps(record).encode()).decode().rstrip("=")
        return f"http://{address}/#game={text}"

    good = link({"game": "mnk", "actions": ["b2"]})
    links = [
        (link({"game": "chess"}), "game: 'chess' is not one of"),
        (link({"game": "mnk", "actions": ["b2", "b2"]}), "b2: occupied"),
        (link([[[]]]), "Expected `object`"),
        (f"http://{address}/#table=nobody", "no longer there"),
        (f"http://{address}/#table=", "names no table"),
        (f"http://{address}/#elsewhere", "neither a game nor a table"),
        *[(good[:-cut], "its end is missing") for cut in (1, 2, 3, 20)],
        (f"http://{address}/#game=%%%", "it is damaged"),
        (f"http://{address}/#game=", "it is damaged"),
    ]
    page.new_game("gomoku", "swap")
    page.act("h8 i9")
    game = page.game
    for url, why in links:
        page.browser.get("about:blank")
        page.visit(url, afresh=False)
        assert page.text("notice-text").startswith("The link cannot be opened: "), url
        assert why in page.text("notice-text"), url
        assert (page.game, page.ply) == (game, 2), "the game that was open stays"
    # In a page that is open already; and where no game was open before.
    page.click("#heard")
    assert not page.find("#notice").is_displayed()
    page.script("location.hash = '#game=e'")
    page.wait(lambda: "its end is missing" in page.text("notice-text"))
    assert (page.game, page.ply) == (game, 2)
    page.script("localStorage.clear(); sessionStorage.clear()")
    page.browser.get("about:blank")
    page.visit(links[1][0], afresh=False)
    assert "b2: occupied" in page.text("notice-text")
    assert page.ply == 0
    page.new_game("gomoku")
    assert not page.find("#notice").is_displayed()


def test_what_a_file_says_that_is_not_kept_is_told(page: Page) -> None:
    page.click("#open")
    page.find("#pasted").send_keys("(;GM[4]SZ[15];B[hh](;W[hi];B[aa])(;W[ii]C[or here];B[bb]))")
    page.click("#load")
    page.wait(lambda: page.ply == 3)
    page.wait(lambda: page.find("#notice").is_displayed())
    assert page.text("notice-text").startswith("1 variation and 1 comment of the file are not")
    page.click("#open")
    page.find("#pasted").send_keys("(;GM[4]SZ[15];B[hh])")
    page.click("#load")
    page.wait(lambda: page.ply == 1)
    assert not page.find("#notice").is_displayed()


def test_names_of_strangers_are_text(page: Page) -> None:
    evil = "<img src=x onerror='document.title=1'><b>x</b>"
    page.click("#open")
    page.find("#pasted").send_keys(f"(;GM[4]SZ[15]GN[{evil}]PB[{evil}];B[hh])")
    page.click("#load")
    page.wait(lambda: page.ply == 1)
    assert page.find(".seat .who").text == evil
    assert not page.all(".seat img, .seat b")


def test_the_curve_comes_back_with_the_file(page: Page, downloads: Path) -> None:
    page.new_game("mnk", width="5", height="4", line_length="4")
    page.act("a1 b2 c3")
    page.click("#review")
    page.wait(lambda: page.all("#mistakes h3"))
    curve = page.find("#graph .graph-line").get_attribute("d")
    page.click("#save")
    page.click("#save-sgf")
    page.wait((downloads / "mnk.sgf").exists)
    page.new_game("mnk")
    assert not page.find("#graph").is_displayed()
    page.click("#open")
    page.find("#file").send_keys(str(downloads / "mnk.sgf"))
    page.wait(lambda: page.ply == 3)
    assert page.find("#graph .graph-line").get_attribute("d") == curve


def test_analysis_shows(page: Page) -> None:
    page.click("#analyse")
    page.wait(lambda: page.all("#board rect.heat.best"), "the heat map")
    page.wait(lambda: "300 simulations" in page.text("summary"), "the end of the analysis")
    assert not page.text("summary").endswith("…")
    rows = page.all("#candidates tbody tr")
    assert len(rows) == 6
    assert len(page.all("#board rect.heat")) == 12
    first = rows[0].text.split()
    page.hover(rows[0])
    page.wait(lambda: page.all("#board .layer-line .variation"), "the best line on the board")
    shown = [text.text for text in page.all("#board .layer-line .number")]
    assert shown == [str(k + 1) for k in range(len(shown))]
    assert len(shown) == len(first) - 3
    # On the board, too.
    page.hover(page.find("#analysis-title"))
    page.wait(lambda: not page.all("#board .layer-line .variation"))
    page.hover(page.point(first[0]))
    page.wait(lambda: len(page.all("#board .layer-line .variation")) == len(shown))
    page.click("#analyse")
    page.wait(lambda: not page.all("#board rect.heat"))


def test_the_graph_and_the_review(page: Page) -> None:
    page.new_game("mnk", width="5", height="4", line_length="4")
    # White does not stop three in a row, open at both ends.
    page.act("b2 a4 c2 b4 d2 e4 a2")
    assert page.text("prompt") == "Black wins by a line"
    page.click("#review")
    page.wait(lambda: page.all("#mistakes h3"), "the review")
    mistakes = [button.text for button in page.all("#mistakes button")]
    assert any(mistake.startswith("Move ") for mistake in mistakes), mistakes
    assert len(page.all("#graph .graph-mistake")) == len(mistakes)
    assert len(page.all("#moves .mistake")) == len(mistakes)
    page.find("#mistakes button").click()
    ply = page.wait(lambda: page.ply < 7 and page.ply)
    assert f"Move {ply + 1}," in mistakes[0]
    graph = page.find("#graph svg")
    page.hover(graph)
    graph.click()  # in the middle
    page.wait(lambda: page.ply in (3, 4))
    graph.send_keys(Keys.END)
    page.wait(lambda: page.ply == 7)


_HOLD = """
const [selector, key, times] = arguments;
window.sent ??= [];
window.plainly ??= WebSocket.prototype.send;
WebSocket.prototype.send = function (text) {
  window.sent.push(JSON.parse(text).type);
  window.plainly.call(this, text);
};
const held = document.querySelector(selector);
for (let k = 0; k < times; k++)
  held.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
"""


def test_a_held_key_goes_through_a_long_game(browser: Page) -> None:
    """Faster than the server takes messages: the page sends the newest wish, one at a time."""
    points = [f"{column}{row}" for row in range(1, 21) for column in "abcdefghijklmnopqrst"]
    record = {
        "game": "gomoku", "rules": {"width": 20, "height": 20, "line_length": 26},
        "actions": points, "values": [0.0] * 401,
    }  # fmt: skip
    text = base64.urlsafe_b64encode(json.dumps(record).encode()).decode().rstrip("=")
    limits = Limits()
    with serving(burst=limits.burst, rate=limits.rate) as address:
        browser.visit(f"http://{address}/#game={text}")
        browser.wait(lambda: browser.ply == 400)
        browser.script(_HOLD, "#board", "PageUp", 150)
        browser.wait(lambda: browser.ply == 250, "the position that was wished for last")
        for key, times, ply in (("ArrowLeft", 200, 50), ("ArrowRight", 100, 150), ("End", 1, 400)):
            browser.script(_HOLD, "#graph svg", key, times)
            browser.wait(lambda ply=ply: browser.ply == ply, f"{key}, {times} times")
        for _ in range(30):
            browser.script(_HOLD, "#graph svg", "ArrowLeft", 10)
        browser.wait(lambda: browser.ply == 100)
        assert browser.text("error") == ""
        sent = browser.script("return window.sent")
        assert set(sent) == {"go"}
        assert len(sent) < 60
    assert browser.complaints == []


def test_a_server_that_is_too_busy_is_told_again(browser: Page) -> None:
    """What the page shows is what the server does, also after messages were refused."""
    bot = {HASHES.name: HASHES}
    with serving(bot, burst=10, rate=8.0, analysis=64) as address:
        browser.visit(address)
        browser.new_game("gomoku", seat_A="")
        browser.script(
            "const [undo, analyse] = arguments;"
            "for (let k = 0; k < 25; k++) undo.dispatchEvent(new Event('click'));"
            "analyse.click()",
            browser.find("#undo"),
            browser.find("#analyse"),
        )
        browser.wait(lambda: "too many messages" in browser.text("error"))
        browser.wait(lambda: "64 simulations" in browser.text("summary"), "the analysis")
    assert browser.complaints == []


def test_undo_redo_pass_resign(page: Page) -> None:
    page.new_game("irensei", width="9", height="9", line_length="5", gutter="1")
    page.act("e5 pass d4")
    page.click("#undo")
    page.wait(lambda: page.ply == 2)
    page.click("#undo")
    page.wait(lambda: page.ply == 1)
    page.click("#redo")
    page.wait(lambda: page.ply == 2)
    page.act("c3")
    assert page.find("#redo").get_attribute("disabled")
    page.click("#resign")
    page.click("#resigned")
    page.wait(lambda: page.text("prompt") == "Black wins by resignation")
    page.new_game("irensei", width="9", height="9", line_length="5", gutter="1")
    page.act("pass pass")
    assert page.text("prompt") == "Draw by two passes"


def test_undo_goes_back_to_the_persons_turn(page: Page) -> None:
    page.act("a1")
    page.wait(lambda: page.ply == 2)
    page.click("#undo")
    page.wait(lambda: page.ply == 0)
    page.act("c3")
    page.wait(lambda: page.ply == 2)
    assert page.stones["c3"] == "black"


def test_players_change_seats_in_the_middle(page: Page) -> None:
    page.new_game("mnk", width="5", height="4", line_length="4")
    page.act("a1 b1")
    page.click("#players")
    page.choose('#seats-form [name="seat-A"]', BOT)
    page.click("#sit")
    page.wait(lambda: page.ply == 3, "the bot takes over")
    assert "level 10" in page.find(".seat").text


def test_a_lost_connection_resumes_even_on_another_server(browser: Page) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with serving(port=port) as address:
        browser.visit(address)
        browser.new_game("gomoku", "swap-2", seat_A="")
        browser.act("h8 g9 k6 more")
        stones = browser.stones
    browser.wait(lambda: browser.find("#offline").is_displayed(), "the page says that it is alone")
    with serving(port=port):
        browser.wait(lambda: not browser.find("#offline").is_displayed(), "the page is back")
        browser.wait(lambda: browser.choices == [] and browser.ply == 4)
        assert browser.stones == stones
        browser.act("f11 j10 white")
    assert browser.complaints == []


@pytest.mark.slow
def test_every_game_and_opening_can_be_begun(page: Page) -> None:
    for game, rules in PRESETS.items():
        page.new_game(game)
        assert f" {rules.width}×{rules.height}, {rules.line_length} in a row" in page.text("title")
        assert len(page.all("#board [data-point]")) == rules.points
    for opening in OPENINGS:
        page.new_game("renju", re.sub(r"(soosorv|taraguchi)-\d+", r"\1", opening))
        assert page.text("title").endswith("in a row" if opening == "none" else f", {opening}")
        marked = len(page.all("#board .allowed"))
        first = Position(RuleSet.preset("renju"), opening).legal_actions()
        assert marked == (1 if len(first) == 1 else 0)
