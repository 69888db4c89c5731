"""The games that a network was trained on, as checkpoints and bots state them (no torch here)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import RuleError, RuleSet
from engine.openings import opening


@dataclass(slots=True, kw_only=True, frozen=True)
class GameEntry:
    """One game: its rules and its opening."""

    rules: RuleSet
    opening: str = "none"

    def to_json(self) -> dict[str, Any]:
        """`{"game", "rules", "opening"}` as in game records."""
        return {"game": self.rules.name, "rules": self.rules.to_json(), "opening": self.opening}

    @classmethod
    def from_json(cls, data: Any) -> GameEntry:
        """The inverse of `to_json`. Raises RuleError for what is no such object."""
        if not isinstance(data, dict) or not isinstance(data.get("rules"), dict):
            raise RuleError("rule_sets: not a list of games")
        protocol = opening(str(data.get("opening")))
        return cls(rules=RuleSet.from_json(data["rules"]), opening=protocol.name)
