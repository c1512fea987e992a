"""Preferences between the answers of two systems to a question."""

from __future__ import annotations

import re
from dataclasses import dataclass

TIE = "tie"
MACHINE_PREFIX = "llm:"
_MACHINE_NAMES = re.compile(
    r"(?:llm|gpt|o[134]|chatgpt|claude|gemini|llama|qwen|mistral|mixtral|deepseek|command|gemma|phi|auto|judge|ragas|deepeval)"
    r"(?:[^a-z]|$)"
)


@dataclass(frozen=True, slots=True)
class Preference:
    """Which of two answers is better: `preferred` is one of the systems `a` and `b`, or "tie".

    `first` is the system that was shown first, empty if that is not known. `who` is the person, or the label of a machine.
    """

    query: str
    a: str
    b: str
    preferred: str
    first: str = ""
    who: str = ""

    @property
    def is_machine(self) -> bool:
        """Whether a language model gave it, as its name says."""
        return _MACHINE_NAMES.match(self.who.casefold()) is not None

    @property
    def answers(self) -> tuple[str, str, str]:
        """The two answers, whatever their order."""
        return (self.query, *sorted((self.a, self.b)))  # type: ignore[return-value]
