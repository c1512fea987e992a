"""Generated queries: their values from source document to kept query, the reasons to reject one, and all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Judgement, Qrels

TWO_DOCUMENT_CATEGORIES = ("comparative", "multi-hop")
"""Categories whose queries need two documents."""
UNANSWERABLE = "unanswerable"
"""The category of queries that their target does not answer."""
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
    """A rejected draft; the text is empty if there was no draft."""

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


@dataclass(frozen=True, eq=False)
class GeneratedQueries:
    """The kept queries, the rejected ones with their reasons, and the documents that failed."""

    wanted: Mapping[str, int]
    judge_label: str
    kept: list[KeptQuery] = field(default_factory=list)
    rejected: list[RejectedQuery] = field(default_factory=list)
    failed: list[FailedDocument] = field(default_factory=list)

    def queries(self) -> Queries:
        """The queries, with category, target, answers and generator as fields."""
        return Queries((Query(query.id, query.text, fields=query.fields()) for query in self.kept), source="generated queries")

    def qrels(self) -> Qrels:
        """Each target with grade 1, that of an unanswerable query with grade 0; labelled with the generator."""
        rows = (
            Judgement(query.id, doc, 0 if query.source.category == UNANSWERABLE else 1, judge_label=query.generated_by)
            for query in self.kept
            for doc in query.source.docs
        )
        return Qrels(rows, source="generated qrels")

    def missing_counts(self) -> dict[str, int]:
        """How many queries of each category are missing."""
        kept = Counter(query.source.category for query in self.kept)
        return {category: wanted - kept[category] for category, wanted in self.wanted.items()}

    def counts(self) -> dict[str, Any]:
        """By category: wanted, kept, failed, and rejected by reason."""
        missing, failed = self.missing_counts(), Counter(failure.source.category for failure in self.failed)
        rejected = Counter((rejection.source.category, rejection.reason) for rejection in self.rejected)
        return {
            category: {
                "wanted": wanted,
                "kept": wanted - missing[category],
                "failed": failed[category],
                "rejected": {reason: rejected[category, reason] for reason in REJECT_REASONS if rejected[category, reason]},
            }
            for category, wanted in self.wanted.items()
        }
