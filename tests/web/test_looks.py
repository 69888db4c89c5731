"""How the page looks, moves and sounds: themes, marks, phones, keys, screen readers."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from selenium.webdriver.common.keys import Keys

from tests.web.browser import Page
from tests.web.test_page import TIC_TAC_TOE


def test_forbidden_and_illegal_points_say_why(page: Page) -> None:
    page.new_game("renju")
    # h8 would make two threes.
    page.act("f8 a1 g8 a3 h9 a5 h10 a7")
    assert page.all("#board .foul")
    page.hover(page.point("h8"))
    assert page.text("tip") == "h8: forbidden to Black: double-three"
    assert page.find("#tip").is_displayed()
    page.click_point("h8")
    page.wait(lambda: page.text("error") == "h8: forbidden to Black: double-three")
    assert page.ply == 8
    page.new_game("renju", forbidden="loss")
    page.act("f8 a1 g8 a3 h9 a5 h10 a7")
    page.hover(page.point("h8"))
    assert "loses at once" in page.text("tip")
    page.act("h8")
    assert page.text("prompt") == "White wins by a forbidden move of Black"
    page.new_game("irensei", width="5", height="5", line_length="4", gutter="0")
    page.act("a2 e5 b1 e4 pass")
    page.hover(page.point("a1"))
    assert page.text("tip") == "a1: would leave its own stones without a liberty"
    page.new_game("renju", "rif")
    page.act("h8")
    page.hover(page.point("a1"))
    assert page.text("tip") == "a1: the stone must lie in the central 3×3"
    assert len(page.all("#board .allowed")) == 8


def test_by_keyboard_alone(page: Page) -> None:
    page.new_game("mnk", **TIC_TAC_TOE)
    page.find("#board .cell[tabindex='0']").send_keys(Keys.ARROW_UP)
    page.press(Keys.ENTER)
    page.wait(lambda: page.stones == {"b3": "black"})
    page.press(Keys.ARROW_LEFT, Keys.SPACE)
    page.wait(lambda: page.stones == {"b3": "black", "a3": "white"})
    assert page.text("said") == "White a3. Black to move"
    focused = page.script("return document.activeElement.ariaLabel")
    assert focused == "a3, white stone, number 2, last move"
    page.press(Keys.PAGE_UP)
    page.wait(lambda: page.ply == 1)


def test_the_keyboard_stays_after_a_decision(page: Page) -> None:
    page.new_game("gomoku", "swap-2")
    page.act("a1 b1 c1")
    page.find("[data-choice='white']").send_keys(Keys.ENTER)
    page.wait(lambda: page.ply == 4)
    page.wait(lambda: "cell" in page.script("return document.activeElement.classList.value"))
    page.press(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ENTER)
    page.wait(lambda: len(page.stones) == 4)


def test_the_dark_teal_theme(page: Page) -> None:
    page.new_game("irensei")
    page.act("j10 k11")
    style = (
        "const element = document.querySelector(arguments[0]);"
        "return getComputedStyle(element).getPropertyValue(arguments[1])"
    )
    for selector, name, value in [
        ("#board .wood", "fill", "rgb(121, 138, 137)"),
        ("#board .stone.black", "fill", "rgb(7, 54, 66)"),
        ("#board .stone.white", "fill", "rgb(238, 232, 213)"),
        ("#board .region", "stroke", "rgb(38, 139, 210)"),
        ("#board .region", "stroke-width", "3px"),
        ("#board .region", "vector-effect", "non-scaling-stroke"),
        ("#board .region", "fill", "none"),
        ("#board .last", "stroke", "rgb(203, 75, 22)"),
    ]:
        assert page.script(style, selector, name) == value, (selector, name)
    # One surface, the gutter included; the border runs around the central 15x15.
    assert len(page.all("#board .wood")) == 1
    region = page.find("#board .region")
    assert [region.get_attribute(name) for name in ("x", "y", "width", "height")] == [
        "1.5",
        "1.5",
        "15",
        "15",
    ]
    stars = {
        (star.get_attribute("cx"), star.get_attribute("cy")) for star in page.all("#board .star")
    }
    assert stars == {("9", "9"), ("5", "5"), ("5", "13"), ("13", "5"), ("13", "13")}


def test_themes_and_numbers_are_remembered(page: Page) -> None:
    page.new_game("mnk", **TIC_TAC_TOE)
    page.act("b2 a1")
    page.click("#settings")
    page.choose('#settings-form [name="theme"]', "wood")
    page.choose('#settings-form [name="scheme"]', "dark")
    page.click('#settings-form [name="numbers"]')
    page.close_dialog("settings-dialog")
    page.visit(page.browser.current_url, afresh=False)
    assert [text.text for text in page.all("#board .number")] == ["2", "1"]
    assert page.find("html").get_attribute("data-theme") == "wood"
    background = "return getComputedStyle(document.body).backgroundColor"
    assert page.script(background) == "rgb(18, 35, 42)"


WATCH_STONES = """
window.seen = new Set();
new MutationObserver(() => {
  for (const stone of document.querySelectorAll("#board .stone")) {
    const name = getComputedStyle(stone).animationName;
    if (name !== "none") window.seen.add(name);
  }
}).observe(document.getElementById("board"), {subtree: true, childList: true});
"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_captures_and_switches_are_animated(page: Page, motion: str) -> None:
    media = {"features": [{"name": "prefers-reduced-motion", "value": motion}]}
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        page.script(WATCH_STONES)
        page.new_game("irensei", width="9", height="9", line_length="5", gutter="1")
        page.act("c3 a1 a2 h8 b1")
        assert "a1" not in page.stones
        page.new_game("connect-go", width="9", height="9")
        page.act("b1 a1 a2")
        assert page.stones["a1"] == "black"
        seen = set(page.script("return [...window.seen]"))
        assert seen == ({"arrive", "depart", "turn"} if motion == "no-preference" else set())
        page.wait(lambda: not page.all("#board .departing"), "captured stones are gone")
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@contextmanager
def phone(page: Page, width: int, height: int) -> Iterator[None]:
    """The page anew on a touch screen of so many pixels."""
    cdp = page.browser.execute_cdp_cmd
    screen = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": True}
    cdp("Emulation.setDeviceMetricsOverride", screen)
    cdp("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page.visit(page.browser.current_url)
        yield
    finally:
        cdp("Emulation.setTouchEmulationEnabled", {"enabled": False})
        cdp("Emulation.clearDeviceMetricsOverride", {})


#: What reaches beyond the width of the window, or of its own button.
CUT_OFF = """
const width = document.documentElement.clientWidth;
const wide = (it) => it.getBoundingClientRect().right > width + 1
    || (it.tagName === "BUTTON" && it.scrollWidth > it.clientWidth + 1);
const shown = [...document.querySelectorAll("body *")].filter((it) => it.checkVisibility());
return shown.filter(wide).map((it) => it.outerHTML.slice(0, 80))
    .concat(document.documentElement.scrollWidth > width ? ["the page"] : []);
"""


def test_on_a_phone(page: Page) -> None:
    """Stones are confirmed by a second tap, and buttons are large enough for a finger."""
    with phone(page, 360, 740):
        page.new_game("renju", "swap")
        page.click_point("h8")
        page.wait(lambda: page.text("confirmed") == "Play h8")
        assert page.stones == {}
        page.click_point("i8")
        page.wait(lambda: page.text("confirmed") == "Play i8")
        page.click("#confirmed")
        page.wait(lambda: page.stones == {"i8": "black"})
        page.click_point("h8")
        page.click_point("h8")
        page.wait(lambda: page.ply == 2)
        assert page.script(CUT_OFF) == []
        for button in page.all(".bar button, .controls button"):
            assert button.rect["width"] >= 24
            assert button.rect["height"] >= 36


@pytest.mark.parametrize("size", [(320, 568), (360, 640), (568, 320)])
def test_a_stone_can_be_confirmed_without_scrolling(page: Page, size: tuple[int, int]) -> None:
    with phone(page, *size):
        page.new_game("gomoku", "swap-2")
        page.script("window.scrollTo(0, 0)")
        page.click_point("a15")
        page.wait(lambda: page.text("confirmed") == "Play a15")
        box = "const box = document.getElementById('confirmed').getBoundingClientRect();"
        assert page.script(box + "return box.top >= 0 && box.bottom <= window.innerHeight")


@pytest.mark.parametrize("size", [(320, 568), (568, 320)])
def test_nothing_is_cut_off_on_a_small_phone(page: Page, size: tuple[int, int]) -> None:
    with phone(page, *size):
        page.new_game("gomoku", "swap-2")
        assert page.script(CUT_OFF) == []
        page.new_game("mnk", width="5", height="4", line_length="4")
        page.click("#analyse")
        page.wait(lambda: "300 simulations" in page.text("summary"), "the analysis")
        assert page.find("#candidates").is_displayed()
        page.click("#review")
        page.wait(lambda: page.all("#mistakes h3"), "the review")
        assert page.script(CUT_OFF) == []
        for dialog in ("new", "open", "save", "share", "settings", "players"):
            page.click(f"#{dialog}")
            inner = "const it = document.querySelector('dialog[open]'); return it.scrollWidth"
            assert page.script(inner) <= page.script(inner.replace("scroll", "client")), dialog
            assert page.script(CUT_OFF) == [], dialog
            page.script("document.querySelector('dialog[open]').close()")


@pytest.mark.parametrize("size", [(667, 375), (844, 390), (932, 430)])
def test_held_sideways_the_board_takes_the_height(page: Page, size: tuple[int, int]) -> None:
    """Everything else is beside it."""
    with phone(page, *size):
        page.new_game("irensei")
        board = page.find("#board").rect
        assert 0.98 * size[1] <= board["height"] <= size[1]
        for beside in ("#new", "#seats", "#prompt", "#undo", "#analysis-title"):
            assert page.find(beside).rect["x"] >= board["x"] + board["width"], beside
        # What is next to do is seen without scrolling.
        undo = page.find("#undo").rect
        assert undo["y"] + undo["height"] <= size[1]
        assert page.script(CUT_OFF) == []


def test_nothing_is_asked_of_other_hosts(page: Page, address: str) -> None:
    page.new_game("gomoku")
    page.act("h8")
    asked = page.script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert asked
    assert {url.split("/")[2] for url in asked} == {address}
    assert (
        page.script("return fetch('http://example.com/').then(() => 'open', () => 'shut')")
        == "shut"
    )
    assert any("Content Security Policy" in entry for entry in page.complaints)


def test_everything_has_a_name_for_screen_readers(page: Page) -> None:
    nameless = page.script("""
        return [...document.querySelectorAll("button, input, select, textarea, [role], dialog")]
            .filter((it) => !(it.ariaLabel || it.textContent.trim() || it.labels?.length
                              || it.getAttribute("aria-labelledby")))
            .filter((it) => !it.closest("[hidden]"))
            .filter((it) => !["row", "tooltip", "status", "alert"].includes(it.role))
            .map((it) => it.outerHTML.slice(0, 100))""")
    assert nameless == []
    tree = page.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = [node.get("role", {}).get("value") for node in tree]
    assert roles.count("gridcell") == 20
    assert "slider" in roles or not page.find("#graph").is_displayed()
