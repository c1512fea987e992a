"""Checks of the documents."""

from __future__ import annotations

from collections.abc import Sequence

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, check, check_result, count_with_verb
from rankproof._analysis.doctor.normalised_text import normalised_text, words_of
from rankproof._data.dataset import Document

FEW_WORDS = 3
"""A document of fewer words than this can hardly answer anything."""


@check(
    "empty-documents",
    "warning",
    "documents without title and text",
    advice="restore their content, or remove them",
    needs=("documents",),
    broken=lambda example: example.with_documents(e1=(" ", "\n")),
)
def empty(subject: DoctorInput) -> CheckResult:
    """Documents without title and text."""
    return _short(
        subject, [doc.id for doc in subject.corpus.values() if not _content(doc).strip()], "have neither title nor text"
    )


@check(
    "near-empty-documents",
    "hint",
    "documents of a word or two",
    advice="check that their content was not lost on the way",
    needs=("documents",),
    broken=lambda example: example.with_documents(e1=("", "two words")),
)
def near_empty(subject: DoctorInput) -> CheckResult:
    """Documents of a word or two."""
    counts = {doc.id: len(words_of(_content(doc))) for doc in subject.corpus.values() if len(doc.text) < 50}
    few = [doc for doc, count in counts.items() if count < FEW_WORDS and _content(subject.corpus[doc]).strip()]
    return _short(subject, few, f"have fewer than {FEW_WORDS} words")


@check(
    "duplicate-documents",
    "warning",
    "documents with the same title and text",
    advice="keep one of each, or judge all copies alike: a system that finds the wrong copy is punished",
    needs=("documents",),
    broken=lambda example: example.with_documents(e1=("About  D01", example.documents["d01"][1].upper())),
)
def duplicates(subject: DoctorInput) -> CheckResult:
    """Documents with the same title and text; an example lists all that are the same."""
    groups: dict[str, list[str]] = {}
    for doc in subject.corpus.values():
        if text := normalised_text(f"{doc.title}\n{doc.text}"):
            groups.setdefault(text, []).append(doc.id)
    same = [ids for ids in groups.values() if len(ids) > 1]
    extra = sum(len(ids) - 1 for ids in same)
    wanting = _queries_by_relevant(subject)
    torn = sum(len({wanting.get(doc, frozenset()) for doc in ids}) > 1 for ids in same)
    said = (
        f"{count_with_verb(extra, 'document repeats', 'documents repeat')} the title and text of another one; groups of copies: "
        f"{len(same)}, judged as if the copies differed: {torn}"
    )
    return check_result([" = ".join(ids) for ids in same], len(subject.corpus), said, count=extra)


def _queries_by_relevant(subject: DoctorInput) -> dict[str, frozenset[str]]:
    """Relevant document to the queries that it is relevant for."""
    found: dict[str, list[str]] = {}
    for query, docs in subject.qrels.items():
        for doc, grade in docs.items():
            if grade >= subject.rel:
                found.setdefault(doc, []).append(query)
    return {doc: frozenset(queries) for doc, queries in found.items()}


def _short(subject: DoctorInput, ids: Sequence[str], what: str) -> CheckResult:
    judged = {doc for docs in subject.qrels.values() for doc, grade in docs.items() if grade >= subject.rel}
    relevant = sum(doc in judged for doc in ids)
    said = f"{len(ids)} of {len(subject.corpus)} documents {what}; judged relevant of them: {relevant}"
    return check_result(ids, len(subject.corpus), said)


def _content(doc: Document) -> str:
    return f"{doc.title} {doc.text}"
