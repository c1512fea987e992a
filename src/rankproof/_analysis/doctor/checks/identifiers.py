"""Checks of ids: ids that are missing elsewhere, and ids that differ in spelling only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from rankproof._analysis.doctor.check import (
    CheckResult,
    DoctorInput,
    SystemFault,
    check,
    check_result,
    count_with_verb,
    result_of_systems,
)
from rankproof._analysis.doctor.normalised_text import normalised_id, normalised_id_or_number
from rankproof.errors import for_message


@check(
    "dangling-documents",
    "severe",
    "judged documents that the corpus lacks",
    advice="add the documents, or remove their judgements: as it is, no system can reach 1",
    needs=("documents", "judgements"),
    broken=lambda example: example.with_grades(lambda grades: {**grades, "ghost": 2}, "q01"),
)
def dangling(subject: DoctorInput) -> CheckResult:
    """Judged documents that the corpus lacks."""
    judged = {doc for docs in subject.qrels.values() for doc in docs}
    missing = sorted(doc for doc in judged if doc not in subject.corpus)
    wanted = {doc for docs in subject.qrels.values() for doc, grade in docs.items() if grade >= subject.rel}
    lost = sum(doc in wanted for doc in missing)
    said = (
        f"{len(missing)} of {len(judged)} judged documents are not in the corpus, {lost} of them relevant: nothing can find them"
    )
    return check_result(missing, len(judged), said)


@check(
    "unknown-documents",
    "severe",
    "retrieved documents that the corpus lacks",
    advice="search the corpus that was judged, and check that the ids are its own",
    needs=("documents", "rankings"),
    broken=lambda example: example.with_scores(lambda scores: {**scores, "ghost": -1.0}),
)
def unknown(subject: DoctorInput) -> CheckResult:
    """Retrieved documents that the corpus lacks, by system."""
    retrieved = {name: set(run.docs) for name, run in subject.runs.items()}
    strangers = {name: sorted(docs.difference(subject.corpus)) for name, docs in retrieved.items()}
    return result_of_systems(
        "retrieved documents are not in the corpus",
        (
            SystemFault(
                name, len(docs), len(retrieved[name]), f"{len(docs)} of {len(retrieved[name])}, such as {for_message(docs[0])}"
            )
            for name, docs in strangers.items()
            if docs
        ),
    )


@check(
    "mismatched-ids",
    "severe",
    "ids that meet nothing because another file spells them otherwise",
    advice="write each id in one spelling everywhere; ids are compared byte by byte",
    needs=("judgements",),
    broken=lambda example: example.with_renamed_query("q01", "Q 001"),
    also=("missing-queries",),
)
def mismatched(subject: DoctorInput) -> CheckResult:
    """Ids that another source spells otherwise, so that they do not meet."""
    examples = []
    for source, ids, other, known in _meetings(subject):
        spellings = _grouped(known, normalised_id_or_number)
        for name in ids:
            theirs = [] if name in known else [one for one in spellings.get(normalised_id_or_number(name), ()) if one not in ids]
            if theirs:
                examples.append(f"{name!r} ({source}) and {theirs[0]!r} ({other})")
    said = (
        f"{count_with_verb(len(examples), 'id meets', 'ids meet')} nothing, and would if case, blanks, leading zeros and "
        "Unicode form did not count"
    )
    return check_result(examples, None, said)


@check(
    "alike-ids",
    "warning",
    "ids of one file that differ by case, blanks or Unicode form only",
    advice="check that they are different things; if not, merge them",
    needs=("judgements",),
    broken=lambda example: example.with_documents(D01=("another", "a document of its own with enough words")),
)
def alike(subject: DoctorInput) -> CheckResult:
    """Ids of one source that differ by case, blanks or Unicode form only."""
    groups: dict[tuple[str, ...], str] = {}
    for source, ids in _sources(subject):
        for spellings in _grouped(ids, normalised_id).values():
            if len(spellings) > 1:
                groups.setdefault(tuple(sorted(spellings)), source)
    examples = [" and ".join(map(repr, spellings)) + f" ({source})" for spellings, source in groups.items()]
    said = f"{count_with_verb(len(groups), 'group of ids differs', 'groups of ids differ')} by case, blanks or Unicode form only"
    return check_result(examples, None, said)


def _sources(subject: DoctorInput) -> Iterator[tuple[str, Collection[str]]]:
    yield "documents", subject.corpus
    yield "queries", subject.queries
    yield "judged queries", subject.qrels
    yield "judged documents", _judged_docs(subject)
    for name, run in subject.runs.items():
        yield f"queries of {name}", run.queries
        yield f"documents of {name}", set(run.docs)


def _meetings(subject: DoctorInput) -> Iterator[tuple[str, Collection[str], str, Collection[str]]]:
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


def _judged_docs(subject: DoctorInput) -> set[str]:
    return {doc for docs in subject.qrels.values() for doc in docs}


def _grouped(ids: Collection[str], plain: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(ids):
        groups.setdefault(plain(name), []).append(name)
    return groups
