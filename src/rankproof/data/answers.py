"""Answers by query: what a system said, and what it said it from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ..errors import UsageError
from .ids import checked_id

State = Literal["answered", "abstained", "failed"]
ABSTENTION = "NO ANSWER"
"""What an answer says that has nothing to say, unless another phrase was agreed on."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer.

    `given` are the ids of the passages that it was made from, best first, `cited` those of them that it names as its sources;
    `abstained` says that the passages do not tell, `failed` that there is no answer because something went wrong.
    """

    text: str
    cited: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    state: State = "answered"


class Answers(Mapping[str, Answer]):
    """Query id to answer, in the order they came; `says_given` whether every one says what it was made from, if only nothing."""

    __slots__ = ("_answers", "says_given", "source")

    def __init__(self, answers: Mapping[str, Answer], *, source: str = "", says_given: bool = True) -> None:
        self._answers = MappingProxyType({checked_id(query, "query", source=source): one for query, one in answers.items()})
        self.source, self.says_given = source, says_given

    def __getitem__(self, query: str) -> Answer:
        return self._answers[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)

    def __repr__(self) -> str:
        return f"<Answers {self.source}: {len(self)} queries>"


def answer_of(value: Answer | str) -> Answer:
    """The answer, which may be a text alone; an empty one abstains, and so does one that says the usual phrase."""
    if isinstance(value, Answer):
        return value
    if not isinstance(value, str):
        raise UsageError(f"an answer is a {type(value).__name__}", fix="give text, or an Answer")
    return Answer(value, state="abstained" if abstains(value) else "answered")


def abstains(text: str, phrase: str = ABSTENTION) -> bool:
    """Whether the text says nothing, or nothing but the phrase, apart from case, blanks and marks around it."""
    said, wanted = (re.findall(r"\w+", each.casefold()) for each in (text, phrase))
    return not text.strip() or (bool(wanted) and said == wanted)
