"""A rubric: a question about an answer, a scale with a sentence for each grade, and examples."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal

Seen = Literal["question", "contexts", "reference"]
"""What a judge sees beside the answer."""
CRITERION = "criterion:"
"""How the name of what a graded answer is checked against begins: criterion:NAME:VERSION."""
USEFUL_SCORE = 0.5
"""The score from which on an answer counts as good where only yes or no counts."""
_VERSION_LENGTH = 8


@dataclass(frozen=True, slots=True)
class RubricExample:
    """An answer with its grade, and why it has it."""

    answer: str
    grade: int
    question: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Rubric:
    """What a criterion asks of an answer; a higher grade is better.

    `grades` has the meaning of each grade from the lowest to the highest, `steps` what a judge should do before it grades.
    """

    name: str
    question: str
    grades: Mapping[int, str]
    sees: tuple[Seen, ...] = ("question",)
    steps: tuple[str, ...] = ()
    examples: tuple[RubricExample, ...] = ()

    @cached_property
    def version(self) -> str:
        """A digest of all that a judge reads of the rubric, but for its name."""
        grades = {str(grade): meaning for grade, meaning in self.grades.items()}
        examples = [asdict(example) for example in self.examples]
        seen = [self.question, grades, self.sees, self.steps, examples]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:_VERSION_LENGTH]

    @property
    def lowest(self) -> int:
        """The lowest grade, which is worth 0."""
        return min(self.grades)

    @property
    def highest(self) -> int:
        """The highest grade, which is worth 1."""
        return max(self.grades)

    def score(self, grade: float) -> float:
        """The grade on a scale from 0 to 1."""
        return (grade - self.lowest) / (self.highest - self.lowest)

    def grade(self, score: float) -> int:
        """The grade with this score."""
        return round(self.lowest + score * (self.highest - self.lowest))


def criterion_of(name: str, version: str) -> str:
    """What answers are checked against that this version of the rubric grades."""
    return f"{CRITERION}{name}:{version}"
