"""Generated queries, from source document to kept query, the reasons to reject one, the tables and the dataset folder."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any, Literal

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.table import Column, Table
from rankproof._data.text import pluralise
from rankproof._formats.json import json_line
from rankproof._formats.texts import text_blocks
from rankproof._formats.write import qrels_blocks
from rankproof._io.files import write_blocks
from rankproof._io.paths import temporary_folder
from rankproof._llm.budget import Estimate, reply_notes
from rankproof.errors import UsageError
from rankproof.models._chat.base import ChatModel

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

    category: str
    target: str
    reason: RejectReason
    text: str = ""

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"category": self.category, "target": self.target, "reason": self.reason, "text": self.text}


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
        rejected = Counter((rejection.category, rejection.reason) for rejection in self.rejected)
        return {
            category: {
                "wanted": wanted,
                "kept": wanted - missing[category],
                "failed": failed[category],
                "rejected": {reason: rejected[category, reason] for reason in REJECT_REASONS if rejected[category, reason]},
            }
            for category, wanted in self.wanted.items()
        }


_EXAMPLES = 3
REPORT_FILE = "generate.json"


def shortfall_notes(generated: GeneratedQueries) -> list[str]:
    """Notes on categories with too few queries and on failed documents."""
    notes = [
        f"{category}: {pluralise(count, 'query', 'queries')} fewer than wanted"
        for category, count in generated.missing_counts().items()
        if count
    ]
    if generated.failed:
        failed = pluralise(len(generated.failed), "document")
        notes.append(f"{failed} failed: the model gave no valid reply; the report lists the errors")
    return notes


def generated_table(generated: GeneratedQueries, check: Mapping[str, Any] | None, usage: Mapping[str, Any]) -> Table:
    """Counts by category, the reject reasons in words, and the share of targets that BM25 finds where it was checked.

    `usage` has the counts of the calls of a language model.
    """
    counts = generated.counts()
    reasons = [reason for reason in REJECT_REASONS if any(reason in count["rejected"] for count in counts.values())]
    checked = (Column("bm25 finds", "share", "targets in the top 10 of BM25"),) if check else ()
    columns = (Column("category"), *(Column(name, "count") for name in ("wanted", "kept", "failed", *reasons)), *checked)
    rows = []
    for category, counted in counts.items():
        share = () if not check else (_found_share(check["categories"].get(category)),)
        rejected = (counted["rejected"].get(reason, 0) for reason in reasons)
        rows.append((category, counted["wanted"], counted["kept"], counted["failed"], *rejected, *share))
    return Table(
        "generate",
        f"{pluralise(len(generated.kept), 'query', 'queries')} by {generated.judge_label}",
        columns,
        tuple(rows),
        sentences=tuple(f"{reason}: {REJECT_REASONS[reason]}." for reason in reasons),
        notes=(*shortfall_notes(generated), *reply_notes(usage)),
        facts={
            "generated_by": generated.judge_label,
            "kept": len(generated.kept),
            "wanted": sum(generated.wanted.values()),
            "check": check,
        },
    )


def example_table(generated: GeneratedQueries) -> Table:
    """The first queries of each category."""
    rows = []
    for category in generated.wanted:
        own = [query for query in generated.kept if query.source.category == category]
        rows += [(category, query.text, query.source.docs[0]) for query in own[:_EXAMPLES]]
    columns = (Column("category"), Column("query"), Column("target"))
    return Table("generate-examples", "First queries of each category", columns, tuple(rows))


def cost_estimate_table(wanted: Mapping[str, int], most: Estimate, model: ChatModel | None) -> Table:
    """The estimated cost of the calls; makes no call."""
    usage = most.usage(model.price_in, model.price_out) if model else most.usage(0, 0)
    money = usage.money if model and (model.price_in or model.price_out) else None
    columns = (
        Column("queries", "count"),
        *(Column(name, "count") for name in ("calls", "tokens in", "tokens out")),
        Column("money", "number", "at the model's prices; empty if no price is set"),
    )
    note = "No call was made. 4 characters count as a token; an invalid reply and a rejected query cost another call."
    row = (sum(wanted.values()), most.calls, most.tokens_in, most.tokens_out, money)
    return Table("generate-plan", "Estimated cost", columns, (row,), sentences=(note,), facts={"wanted": dict(wanted)})


def _found_share(counts: Mapping[str, int] | None) -> float | None:
    return counts["found"] / counts["of"] if counts else None


def check_new_folder(folder: str) -> None:
    """Rejects a folder that exists."""
    if not folder:
        raise UsageError("no output folder", fix="name one with -o")
    if "\0" in folder:
        raise UsageError("the output folder has no valid name", fix="name another with -o")
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists", fix="specify a folder that does not exist yet")


def write_generated(generated: GeneratedQueries, report: Mapping[str, Any], folder: str, corpus: Corpus | None = None) -> None:
    """Writes the folder atomically; with the documents it is a dataset for `rankproof run`."""
    check_new_folder(folder)
    above = os.path.dirname(os.path.abspath(folder))
    try:
        os.makedirs(above, exist_ok=True)
        # Renamed as a whole, so that an interrupted command leaves no half-written dataset.
        with temporary_folder(above) as temporary:
            beside = temporary.path
            write_blocks(os.path.join(beside, "queries.jsonl"), _query_lines(generated))
            write_blocks(os.path.join(beside, "qrels.tsv"), _qrels_lines(generated))
            write_blocks(os.path.join(beside, REPORT_FILE), _report_blocks(report, generated.rejected))
            if corpus is not None:
                write_blocks(os.path.join(beside, "corpus.jsonl"), text_blocks(corpus))
            os.rename(beside, folder)
    except OSError as error:
        raise UsageError(f"{folder} could not be created ({error.strerror})", fix="specify a writable folder") from None


def _report_blocks(report: Mapping[str, Any], rejected: Sequence[RejectedQuery]) -> Iterator[bytes]:
    """The report with every rejected query as JSON; as one text, the queries would take far more memory than the file."""
    whole = json.dumps({**report, "rejected": []}, indent=2, ensure_ascii=True)
    yield (whole.removesuffix("]\n}") if rejected else whole + "\n").encode()
    for start in range(0, len(rejected), _REJECTED_PER_BLOCK):
        block = [
            json.dumps(query.plain(), indent=2, ensure_ascii=True) for query in rejected[start : start + _REJECTED_PER_BLOCK]
        ]
        text = indent(",\n".join(block), "    ")
        yield (("\n" if start == 0 else ",\n") + text).encode()
    if rejected:
        yield b"\n  ]\n}\n"


_REJECTED_PER_BLOCK = 1000


def _query_lines(generated: GeneratedQueries) -> Iterator[bytes]:
    for query in generated.kept:
        yield json_line({"_id": query.id, "text": query.text, **query.fields()})


def _qrels_lines(generated: GeneratedQueries) -> Iterator[bytes]:
    """TREC qrels with the label in the second column; BEIR qrels where a document id has white space."""
    qrels = generated.qrels()
    spaced = any(doc.split() != [doc] for docs in qrels.values() for doc in docs)
    return qrels_blocks(qrels, "beir" if spaced else "trec")
