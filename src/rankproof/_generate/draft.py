"""The prompts, categories and reject reasons of generated queries, and their values from draft to kept query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rankproof._llm.prompts import UNTRUSTED_DATA_RULE, fill_prompt, quote_untrusted
from rankproof.models._chat.base import ChatRequest, Message

SYSTEM = "You write queries as people type them into a search engine, to test that engine. " + UNTRUSTED_DATA_RULE
PROMPT = """Write {task}

The query must make sense to someone who has never seen the passage: never speak of the passage, the document, the text or the \
author, and never copy more than four words in a row. Write it in the language of the passage, on one line, in at most 25 words.
The answer is the shortest piece of the passage that answers the query, copied letter by letter, or "" where the passage has none.
Reply with JSON only: {"query": "…", "answer": "…"}

{passages}"""
SCHEMA = (
    '{"type":"object","properties":{"query":{"type":"string"},"answer":{"type":"string"}},'
    '"required":["query","answer"],"additionalProperties":false}'
)
TASKS: Mapping[str, str] = {
    "factual": "a question that one fact of the passage answers: a number, a name, a date.",
    "how-to": "a question about how to do something that the passage explains.",
    "keyword": "a query of two to four keywords, no sentence, that the passage is a good result for.",
    "paraphrase": "a query that the passage answers, in other words than its own: synonyms, everyday language.",
    "question": "a natural question that the passage answers.",
    "misspelt": "a query that the passage is a good result for, with one or two slips of spelling as people make them.",
    "inferential": "a question that the passage answers only to a reader who draws a conclusion from it.",
    "comparative": "a question that compares what the two passages are about, and that needs both to be answered.",
    "multi-hop": "a question that needs one fact of each of the two passages to be answered.",
    "unanswerable": 'a question on the subject of the passage that the passage does not answer; the answer is "".',
    "negated": "a question with a negation (not, without, except, never) that the passage answers.",
    "ambiguous": "a short query that the passage answers but that could well mean something else too.",
    "appliance": "a question about the setting of a device or tool that the passage tells.",
    "timing": "a question about when, how long or how often that the passage answers.",
    "technique": "a question about a technique or method that the passage explains.",
    "ingredient": "a question about what something is made of, or what can stand in for it, that the passage answers.",
    "simple": "a question with one constraint that the passage answers.",
    "medium": "a question with three constraints that the passage answers.",
    "complex": "a question with five or more constraints that the passage answers.",
}
"""The task of each category; the last seven are question types and complexities of a cooking site."""
TWO_DOCUMENT_CATEGORIES = ("comparative", "multi-hop")
"""Categories whose queries need two documents."""
UNANSWERABLE = "unanswerable"
"""The category of queries that their target does not answer."""
MAX_PASSAGE_CHARACTERS = 4000
"""The length that a passage is truncated to in the prompt."""
RejectReason = Literal[
    "no-draft",
    "empty",
    "short",
    "long",
    "unknown-words",
    "names-source",
    "title",
    "copied",
    "gives-answer",
    "answerable",
    "no-negation",
    "duplicate",
    "near-duplicate",
]
REJECT_REASONS: dict[RejectReason, str] = {
    "no-draft": "the document gives no query of the category",
    "empty": "it has no letters",
    "short": "it has fewer than 2 words",
    "long": "it has more than 32 words or 300 characters",
    "unknown-words": "none of its words is in any document",
    "names-source": "it mentions the passage, the document or the text",
    "title": "it is the title, contains it, or is a part of it",
    "copied": "most of it is copied from the document word for word",
    "gives-answer": "it contains its own answer",
    "answerable": "it should be unanswerable, but the document answers it",
    "no-negation": "it should have a negation, but has none",
    "duplicate": "it has the same words as an earlier query",
    "near-duplicate": "it has nearly the same words as an earlier query",
}
"""Why a query is rejected, in the order of the checks."""


def build_request(category: str, passages: Sequence[str], max_tokens: int) -> ChatRequest:
    """The request for one query."""
    text = fill_prompt(PROMPT, task=TASKS[category], passages=quote_untrusted(passages, characters=MAX_PASSAGE_CHARACTERS))
    return ChatRequest((Message("system", SYSTEM), Message("user", text)), max_tokens, SCHEMA)


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A category and the documents to generate a query of it from; the first is the target."""

    category: str
    docs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryDraft:
    """A query and its answers; `unfounded` says that the model gave an answer that is in no document."""

    text: str
    answers: tuple[str, ...] = ()
    unfounded: bool = False


@dataclass(frozen=True, slots=True)
class RejectedQuery:
    """A rejected draft; the text is empty where there was no draft."""

    source: SourceDocument
    reason: RejectReason
    text: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"category": self.source.category, "target": self.source.docs[0], "reason": self.reason, "text": self.text}


@dataclass(frozen=True, slots=True)
class FailedDocument:
    """A document for which the language model gave no valid reply."""

    source: SourceDocument
    error: str

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"category": self.source.category, "target": self.source.docs[0], "error": self.error}


@dataclass(frozen=True, slots=True)
class KeptQuery:
    """A query that passed every filter."""

    id: str
    text: str
    source: SourceDocument
    answers: tuple[str, ...]
    generated_by: str

    def fields(self) -> dict[str, Any]:
        """The fields of the query in queries.jsonl, besides id and text."""
        several = {"targets": list(self.source.docs)} if len(self.source.docs) > 1 else {}
        answers: dict[str, Any] = {"answers": list(self.answers)} if self.answers else {}
        if self.source.category == UNANSWERABLE:
            answers = {"answerable": False}
        return {
            "category": self.source.category,
            "target": self.source.docs[0],
            **several,
            **answers,
            "generated_by": self.generated_by,
        }
