"""A game at the terminal, with scripted people."""

import pytest

from bots.player import Player
from bots.terminal import play_at_terminal
from engine import Position, RuleSet
from engine.evaluators import UniformEvaluator
from engine.search import SearchConfig


class Terminal:
    """Answers questions with the given lines, then ends the input; remembers what was said."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.said: list[str] = []

    def ask(self, prompt: str) -> str:
        self.said.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    @property
    def text(self) -> str:
        return "\n".join(self.said)


def play(humans: str, *lines: str, opening: str = "none") -> tuple[Terminal, Position]:
    rules = RuleSet.preset("mnk")
    player = Player(
        UniformEvaluator(),
        SearchConfig(simulations=200),
        Position(rules, opening),
        height=3,
        width=3,
    )
    terminal = Terminal(*lines)
    play_at_terminal(player, humans, terminal.ask, terminal.said.append)
    return terminal, player.position


def test_two_people() -> None:
    terminal, position = play("AB", "a1", "A2", " b1 ", "b2", "c1")
    assert position.outcome is not None
    assert "black (seat A) wins (line)" in terminal.said[-1]


def test_nobody() -> None:
    terminal, position = play("")
    assert position.outcome is not None
    assert terminal.said[0].startswith("mnk")
    assert terminal.said[1].startswith("A (black): ")
    assert "simulations]" in terminal.said[1]


def test_the_bot_answers() -> None:
    terminal, position = play("A", "a1", "a2")
    assert position.ply == 4
    assert any(line.startswith("B (white): ") for line in terminal.said)
    assert position.board[2, 0] == 2, "the third in the column is blocked"


def test_what_cannot_be_played_is_explained() -> None:
    terminal, position = play("AB", "a1", "a1", "z9", "nonsense", "", "help")
    assert position.ply == 1
    for reason in ("occupied", "off-board", "unknown-action"):
        assert reason in terminal.text
    assert terminal.text.count("legal  everything") == 2


@pytest.mark.parametrize("last", ["quit", "QUIT "])
def test_quitting_leaves_at_once(last: str) -> None:
    _, position = play("AB", "a1", last, "a2")
    assert position.ply == 1


def test_hint_and_legal() -> None:
    terminal, position = play("AB", "a1", "a2", "b1", "b2", "legal", "hint")
    assert position.ply == 4
    assert "c1 c2 a3 b3 c3" in terminal.said
    assert any(line.startswith("c1  [a proven win") for line in terminal.said)


def test_undo_goes_back_to_a_turn_of_a_person() -> None:
    terminal, position = play("A", "undo", "b2", "undo", "a1", "undo")
    assert position.ply == 0
    assert "no turn of yours" in terminal.text
    _, position = play("B", "undo", "undo")
    assert position.ply == 1, "the first move was the bot's and stands"


def test_words_that_an_opening_allows_are_listed() -> None:
    terminal, position = play("AB", "b2", "white", opening="swap-1st")
    assert "B (white): black or white: " in terminal.text
    assert position.phase == "play"
    assert position.seat == "B"


def test_a_seat_is_told_with_its_own_colour() -> None:
    terminal, _ = play("AB", "a1", "b2", "c3", "black", "a2", "quit", opening="swap")
    asked = [line for line in terminal.text.splitlines() if line.startswith(("A (", "B ("))]
    starts = ["A (black)", "A (black, places white)", "A (black)", "B (white)", "A (white)"]
    assert [line.split(":")[0] for line in asked] == [*starts, "B (black)"]


def test_a_player_that_gives_up() -> None:
    rules = RuleSet.preset("mnk")
    player = Player(
        UniformEvaluator(),
        SearchConfig(simulations=200),
        Position(rules),
        height=3,
        width=3,
        resign=0.9,
    )
    for action in ("a1", "b1", "c3", "c1"):
        player.play(action)
    terminal = Terminal("a3")
    play_at_terminal(player, "A", terminal.ask, terminal.said.append)
    assert terminal.said[-1].startswith("B (white) resigns")
    assert player.position.ply == 5
