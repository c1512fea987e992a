"""A query on its way: what it is made from, what came of it, and why it was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .prompts import UNANSWERED

Reason = Literal[
    "nothing",
    "empty",
    "short",
    "long",
    "strange",
    "source",
    "title",
    "copy",
    "answer",
    "answerable",
    "positive",
    "same",
    "alike",
]
REASONS: dict[Reason, str] = {
    "nothing": "the document gives nothing for the category",
    "empty": "it has no word",
    "short": "it has fewer than two words",
    "long": "it has more than 32 words or 300 characters",
    "strange": "none of its words stands in any document",
    "source": "it speaks of the passage, the document or the text",
    "title": "it is the title, holds it, or is a part of it",
    "copy": "most of it is copied from the document in one piece",
    "answer": "it gives its own answer away",
    "answerable": "the document answers it although it should not",
    "positive": "it says no word of negation although it should",
    "same": "it has the words of an earlier one",
    "alike": "it has nearly all words of an earlier one",
}
"""Why a query is left out, in the order in which it is looked for."""


@dataclass(frozen=True, slots=True)
class Source:
    """A category and the documents that a query of it is to be made from; the first is its target."""

    category: str
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A query and its answers; `unfounded` says that an answer was given which stands in no document."""

    text: str
    answers: tuple[str, ...] = ()
    unfounded: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """A draft that was left out; its text is empty where none was made."""

    source: Source
    reason: Reason
    text: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"category": self.source.category, "target": self.source.docs[0], "reason": self.reason, "text": self.text}


@dataclass(frozen=True, slots=True)
class Lost:
    """A document that a language model made nothing of: no reply came, or none of use."""

    source: Source
    why: str

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"category": self.source.category, "target": self.source.docs[0], "why": self.why}


@dataclass(frozen=True, slots=True)
class Made:
    """A query that stays."""

    id: str
    text: str
    source: Source
    answers: tuple[str, ...]
    made_by: str

    def fields(self) -> dict[str, Any]:
        """What `queries.jsonl` says besides id and text."""
        several = {"targets": list(self.source.docs)} if len(self.source.docs) > 1 else {}
        answers: dict[str, Any] = {"answers": list(self.answers)} if self.answers else {}
        if self.source.category == UNANSWERED:
            answers = {"answerable": False}
        return {"category": self.source.category, "target": self.source.docs[0], **several, **answers, "made_by": self.made_by}
