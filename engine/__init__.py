"""Stone games won by a line: rules, positions, network features and search."""

from engine.notation import IllegalAction
from engine.openings import OPENINGS
from engine.position import Outcome, Ply, Position
from engine.rules import OPTIONS, PRESETS, REASONS, RuleError, RuleSet

__all__ = [
    "OPENINGS",
    "OPTIONS",
    "PRESETS",
    "REASONS",
    "IllegalAction",
    "Outcome",
    "Ply",
    "Position",
    "RuleError",
    "RuleSet",
]
