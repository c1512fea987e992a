"""Checks of the documents."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, check_result, count_with_verb, doctor_check
from rankproof._analysis.doctor.normalised_text import normalised_text, repeated_positions, words_of
from rankproof._data.corpus import Document

FEW_WORDS = 3
"""Documents with fewer words count as nearly empty."""


@doctor_check(
    "empty-documents",
    "warning",
    "documents without title and text",
    advice="restore their content, or remove them",
    needs=("documents",),
    broken=lambda example: example.with_documents(e1=(" ", "\n")),
)
def empty(inputs: DoctorInput) -> CheckResult:
    """Documents without title and text."""
    return _short(inputs, [doc.id for doc in inputs.corpus.values() if not _content(doc).strip()], "have neither title nor text")


@doctor_check(
    "near-empty-documents",
    "hint",
    "documents with fewer than 3 words",
    advice="check that no content was lost during conversion",
    needs=("documents",),
    broken=lambda example: example.with_documents(e1=("", "two words")),
)
def near_empty(inputs: DoctorInput) -> CheckResult:
    """Documents with fewer than 3 words."""
    short = (doc for doc in inputs.corpus.documents() if len(doc.text) < 50 and _content(doc).strip())
    few = [doc.id for doc in short if len(words_of(_content(doc))) < FEW_WORDS]
    return _short(inputs, few, f"have fewer than {FEW_WORDS} words")


@doctor_check(
    "duplicate-documents",
    "warning",
    "documents with the same title and text",
    advice="keep one copy of each, or give all copies the same grade: an unjudged copy counts as not relevant",
    needs=("documents",),
    broken=lambda example: example.with_documents(e1=("About  D01", example.documents["d01"][1].upper())),
)
def duplicates(inputs: DoctorInput) -> CheckResult:
    """Documents with the same title and text; an example lists all copies."""
    groups: dict[str, list[str]] = {}
    for position in repeated_positions(map(_normalised, inputs.corpus.documents()), len(inputs.corpus)):
        partition, row = inputs.corpus.partitions.at(position)
        doc = partition.document(row)
        if text := _normalised(doc):
            groups.setdefault(text, []).append(doc.id)
    same = [ids for ids in groups.values() if len(ids) > 1]
    extra = sum(len(ids) - 1 for ids in same)
    queries = _queries_by_relevant(inputs)
    inconsistent = sum(len({queries.get(doc, frozenset()) for doc in ids}) > 1 for ids in same)
    sentence = (
        f"{count_with_verb(extra, 'document repeats', 'documents repeat')} the title and text of another one; groups of copies: "
        f"{len(same)}, with different judgements: {inconsistent}"
    )
    return check_result([" = ".join(ids) for ids in same], len(inputs.corpus), sentence, count=extra)


def _queries_by_relevant(inputs: DoctorInput) -> dict[str, frozenset[str]]:
    """Relevant document to its queries."""
    queries_of: dict[str, list[str]] = {}
    for query, docs in inputs.qrels.items():
        for doc, grade in docs.items():
            if grade >= inputs.rel:
                queries_of.setdefault(doc, []).append(query)
    return {doc: frozenset(queries) for doc, queries in queries_of.items()}


def _short(inputs: DoctorInput, ids: Sequence[str], what: str) -> CheckResult:
    judged = {doc for docs in inputs.qrels.values() for doc, grade in docs.items() if grade >= inputs.rel}
    relevant = sum(doc in judged for doc in ids)
    sentence = f"{len(ids)} of {len(inputs.corpus)} documents {what}; judged relevant among them: {relevant}"
    return check_result(ids, len(inputs.corpus), sentence)


def _normalised(doc: Document) -> str:
    return normalised_text(f"{doc.title}\n{doc.text}")


def _content(doc: Document) -> str:
    return f"{doc.title} {doc.text}"
