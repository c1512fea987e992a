"""Checks of the queries' texts."""

from __future__ import annotations

from .check import Found, counted, found
from .sameness import same_text
from .subject import Subject


def without_text(subject: Subject) -> Found:
    """Judged queries whose text is missing or empty."""
    mute = [query for query in subject.qrels if query not in subject.queries or not subject.queries[query].text.strip()]
    return found(mute, len(subject.qrels), f"{len(mute)} of {len(subject.qrels)} judged queries have no text")


def without_judgements(subject: Subject) -> Found:
    """Queries that nobody judged."""
    unjudged = [query for query in subject.queries if query not in subject.qrels]
    said = f"{len(unjudged)} of {len(subject.queries)} queries have no judgement and are left out of every mean"
    return found(unjudged, len(subject.queries), said)


def repeated(subject: Subject) -> Found:
    """Queries with the same text; an example lists all that are the same."""
    groups: dict[str, list[str]] = {}
    for query in subject.queries.values():
        if text := same_text(query.text):
            groups.setdefault(text, []).append(query.id)
    same = [ids for ids in groups.values() if len(ids) > 1]
    extra = sum(len(ids) - 1 for ids in same)
    torn = sum(len({tuple(sorted(subject.qrels.get(query, {}).items())) for query in ids}) > 1 for ids in same)
    said = (
        f"{counted(extra, 'query has', 'queries have')} the text of another one; groups of such queries: {len(same)}, "
        f"judged differently: {torn}"
    )
    return found([" = ".join(ids) for ids in same], len(subject.queries), said, count=extra)


def equals_document(subject: Subject) -> Found:
    """Queries whose text is a document's text or title."""
    asked = {same_text(query.text): query.id for query in subject.queries.values()}
    asked.pop("", None)
    met: dict[str, str] = {}
    for doc in subject.corpus.values():
        for part, text in (("text", doc.text), ("title", doc.title)):
            if query := asked.get(same_text(text)):
                met.setdefault(query, f"{query} is the {part} of {doc.id}")
    said = f"{counted(len(met), 'query is', 'queries are')} the very text or title of a document, which any system finds"
    return found(list(met.values()), len(subject.queries), said)
