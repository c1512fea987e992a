"""Checks of ids: spellings that only a machine tells apart."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from .check import Found, counted, found
from .sameness import same_id, same_id_or_number
from .subject import Subject


def alike(subject: Subject) -> Found:
    """Ids of one source that differ by case, blanks or Unicode form only."""
    groups: dict[tuple[str, ...], str] = {}
    for source, ids in _sources(subject):
        for spellings in _grouped(ids, same_id).values():
            if len(spellings) > 1:
                groups.setdefault(tuple(sorted(spellings)), source)
    examples = [" and ".join(map(repr, spellings)) + f" ({source})" for spellings, source in groups.items()]
    said = f"{counted(len(groups), 'group of ids differs', 'groups of ids differ')} by case, blanks or Unicode form only"
    return found(examples, None, said)


def mismatched(subject: Subject) -> Found:
    """Ids that another source spells otherwise, so that they do not meet."""
    examples = []
    for source, ids, other, known in _meetings(subject):
        spellings = _grouped(known, same_id_or_number)
        for name in ids:
            theirs = [] if name in known else [one for one in spellings.get(same_id_or_number(name), ()) if one not in ids]
            if theirs:
                examples.append(f"{name!r} ({source}) and {theirs[0]!r} ({other})")
    said = (
        f"{counted(len(examples), 'id meets', 'ids meet')} nothing, and would if case, blanks, leading zeros and "
        "Unicode form did not count"
    )
    return found(examples, None, said)


def _sources(subject: Subject) -> Iterator[tuple[str, Collection[str]]]:
    yield "documents", subject.corpus
    yield "queries", subject.queries
    yield "judged queries", subject.qrels
    yield "judged documents", _judged_docs(subject)
    for name, run in subject.runs.items():
        yield f"queries of {name}", run.queries
        yield f"documents of {name}", set(run.docs)


def _meetings(subject: Subject) -> Iterator[tuple[str, Collection[str], str, Collection[str]]]:
    """Sources of ids, each with the one that it should meet."""
    has_corpus = "documents" in subject.parts
    judged = _judged_docs(subject)
    if has_corpus:
        yield "judged documents", judged, "documents", subject.corpus
    if "queries" in subject.parts:
        yield "judged queries", subject.qrels, "queries", subject.queries
    for name, run in subject.runs.items():
        yield f"queries of {name}", set(run.queries), "judged queries", subject.qrels
        other, known = ("documents", subject.corpus) if has_corpus else ("judged documents", judged)
        yield f"documents of {name}", set(run.docs), other, known


def _judged_docs(subject: Subject) -> set[str]:
    return {doc for docs in subject.qrels.values() for doc in docs}


def _grouped(ids: Collection[str], plain: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(ids):
        groups.setdefault(plain(name), []).append(name)
    return groups
