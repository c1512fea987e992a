"""Checks of the documents."""

from __future__ import annotations

from collections.abc import Sequence

from ...data.corpus import Document
from ...errors import shown
from .check import Fault, Found, counted, found, of_systems
from .sameness import same_text, words_of
from .subject import Subject

FEW_WORDS = 3
"""A document of fewer words than this can hardly answer anything."""


def dangling(subject: Subject) -> Found:
    """Judged documents that the corpus lacks."""
    judged = {doc for docs in subject.qrels.values() for doc in docs}
    missing = sorted(doc for doc in judged if doc not in subject.corpus)
    wanted = {doc for docs in subject.qrels.values() for doc, grade in docs.items() if grade >= subject.rel}
    lost = sum(doc in wanted for doc in missing)
    said = (
        f"{len(missing)} of {len(judged)} judged documents are not in the corpus, {lost} of them relevant: nothing can find them"
    )
    return found(missing, len(judged), said)


def unknown(subject: Subject) -> Found:
    """Retrieved documents that the corpus lacks, by system."""
    retrieved = {name: set(run.docs) for name, run in subject.runs.items()}
    strangers = {name: sorted(docs.difference(subject.corpus)) for name, docs in retrieved.items()}
    return of_systems(
        "retrieved documents are not in the corpus",
        (
            Fault(name, len(docs), len(retrieved[name]), f"{len(docs)} of {len(retrieved[name])}, such as {shown(docs[0])}")
            for name, docs in strangers.items()
            if docs
        ),
    )


def empty(subject: Subject) -> Found:
    """Documents without title and text."""
    return _short(
        subject, [doc.id for doc in subject.corpus.values() if not _content(doc).strip()], "have neither title nor text"
    )


def near_empty(subject: Subject) -> Found:
    """Documents of a word or two."""
    counts = {doc.id: len(words_of(_content(doc))) for doc in subject.corpus.values() if len(doc.text) < 50}
    few = [doc for doc, count in counts.items() if count < FEW_WORDS and _content(subject.corpus[doc]).strip()]
    return _short(subject, few, f"have fewer than {FEW_WORDS} words")


def duplicates(subject: Subject) -> Found:
    """Documents with the same title and text; an example lists all that are the same."""
    groups: dict[str, list[str]] = {}
    for doc in subject.corpus.values():
        if text := same_text(f"{doc.title}\n{doc.text}"):
            groups.setdefault(text, []).append(doc.id)
    same = [ids for ids in groups.values() if len(ids) > 1]
    extra = sum(len(ids) - 1 for ids in same)
    wanting = _queries_by_relevant(subject)
    torn = sum(len({wanting.get(doc, frozenset()) for doc in ids}) > 1 for ids in same)
    said = (
        f"{counted(extra, 'document repeats', 'documents repeat')} the title and text of another one; groups of copies: "
        f"{len(same)}, judged as if the copies differed: {torn}"
    )
    return found([" = ".join(ids) for ids in same], len(subject.corpus), said, count=extra)


def _queries_by_relevant(subject: Subject) -> dict[str, frozenset[str]]:
    """Relevant document to the queries that it is relevant for."""
    found: dict[str, list[str]] = {}
    for query, docs in subject.qrels.items():
        for doc, grade in docs.items():
            if grade >= subject.rel:
                found.setdefault(doc, []).append(query)
    return {doc: frozenset(queries) for doc, queries in found.items()}


def _short(subject: Subject, ids: Sequence[str], what: str) -> Found:
    judged = {doc for docs in subject.qrels.values() for doc, grade in docs.items() if grade >= subject.rel}
    relevant = sum(doc in judged for doc in ids)
    said = f"{len(ids)} of {len(subject.corpus)} documents {what}; judged relevant of them: {relevant}"
    return found(ids, len(subject.corpus), said)


def _content(doc: Document) -> str:
    return f"{doc.title} {doc.text}"
