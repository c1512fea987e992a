"""Preferences between the answers of two systems to a question."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rankproof._data.qrels import HUMAN_PREFIX, label_of

TIE = "tie"
_PEOPLE = re.compile(
    r"(?:arena_user|human|people|person|user|annotator|expert|author|rater|assessor|worker|crowd)s?(?:[ _:#-]*[0-9a-f]*)"
)
"""Names of people in published files, such as expert_17: a kind of people and a number."""


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
        """Whether a machine gave it, as its name says."""
        return bool(label_of(self.who))

    @property
    def answers(self) -> tuple[str, str, str]:
        """The two answers, whatever their order."""
        return (self.query, *sorted((self.a, self.b)))  # type: ignore[return-value]


def is_known_judge(who: str) -> bool:
    """Whether a name says that people or that a machine judged: an unknown machine must not count as people."""
    plain = who.casefold()
    return not plain or plain.startswith(HUMAN_PREFIX) or bool(label_of(who)) or _PEOPLE.fullmatch(plain) is not None
