"""Checks of ids that are missing in another file or differ only in spelling, and of the documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from rankproof._analysis.doctor.check import (
    CheckResult,
    DoctorInput,
    SystemFault,
    check_result,
    count_with_verb,
    doctor_check,
    normalised_id,
    normalised_id_or_number,
    normalised_text,
    repeated_positions,
    result_of_systems,
    words_of,
)
from rankproof._data.corpus import Document
from rankproof.errors import for_message


@doctor_check(
    "dangling-documents",
    "severe",
    "judged documents that are not in the corpus",
    advice="add the documents, or remove their judgements: no system can retrieve them",
    needs=("documents", "judgements"),
    broken=lambda example: example.with_grades(lambda grades: {**grades, "ghost": 2}, "q01"),
)
def dangling(inputs: DoctorInput) -> CheckResult:
    """Judged documents that are not in the corpus."""
    judged = {doc for docs in inputs.qrels.values() for doc in docs}
    missing = sorted(doc for doc in judged if doc not in inputs.corpus)
    relevant = {doc for docs in inputs.qrels.values() for doc, grade in docs.items() if grade >= inputs.rel}
    count = sum(doc in relevant for doc in missing)
    sentence = f"{len(missing)} of {len(judged)} judged documents are not in the corpus, {count} of them relevant"
    return check_result(missing, len(judged), sentence)


@doctor_check(
    "unknown-documents",
    "severe",
    "retrieved documents that are not in the corpus",
    advice="check that the run searched the judged corpus and uses its ids",
    needs=("documents", "rankings"),
    broken=lambda example: example.with_scores(lambda scores: {**scores, "ghost": -1.0}),
)
def unknown(inputs: DoctorInput) -> CheckResult:
    """Retrieved documents that are not in the corpus, by system."""
    retrieved = {name: set(run.docs) for name, run in inputs.runs.items()}
    unknown_docs = {name: sorted(inputs.corpus.missing(docs)) for name, docs in retrieved.items()}
    return result_of_systems(
        "retrieved documents are not in the corpus",
        (
            SystemFault(
                name, len(docs), len(retrieved[name]), f"{len(docs)} of {len(retrieved[name])}, such as {for_message(docs[0])}"
            )
            for name, docs in unknown_docs.items()
            if docs
        ),
    )


@doctor_check(
    "mismatched-ids",
    "severe",
    "ids that do not match because they are spelled differently",
    advice="spell each id the same in every file; ids are compared byte by byte",
    needs=("judgements",),
    broken=lambda example: example.with_renamed_query("q01", "Q 001"),
    also=("missing-queries",),
)
def mismatched(inputs: DoctorInput) -> CheckResult:
    """Ids that match an id of another file only after normalisation."""
    examples = []
    for source, ids, other, known in _expected_matches(inputs):
        unknown_ids = {name: normalised_id_or_number(name) for name in ids if name not in known}
        wanted = set(unknown_ids.values())
        spellings = _grouped(
            (spelling for spelling in known if normalised_id_or_number(spelling) in wanted), normalised_id_or_number
        )
        for name, plain in unknown_ids.items():
            theirs = [spelling for spelling in spellings.get(plain, ()) if spelling not in ids]
            if theirs:
                examples.append(f"{name!r} ({source}) and {theirs[0]!r} ({other})")
    sentence = (
        f"{count_with_verb(len(examples), 'id matches', 'ids match')} another file only if case, white space, leading zeros"
        " and Unicode form are ignored"
    )
    return check_result(examples, None, sentence)


@doctor_check(
    "alike-ids",
    "warning",
    "ids of one file that differ only by case, white space or Unicode form",
    advice="check whether they are different items; if not, merge them",
    needs=("judgements",),
    broken=lambda example: example.with_documents(D01=("another", "a document of its own with enough words")),
)
def alike(inputs: DoctorInput) -> CheckResult:
    """Ids of one file that differ only by case, white space or Unicode form."""
    groups: dict[tuple[str, ...], str] = {}
    for source, ids in _sources(inputs):
        repeated = set(repeated_positions(map(normalised_id, ids), len(ids)))
        for spellings in _grouped((name for at, name in enumerate(ids) if at in repeated), normalised_id).values():
            if len(spellings) > 1:
                groups.setdefault(tuple(sorted(spellings)), source)
    examples = [" and ".join(map(repr, spellings)) + f" ({source})" for spellings, source in groups.items()]
    groups_text = count_with_verb(len(groups), "group of ids differs", "groups of ids differ")
    return check_result(examples, None, f"{groups_text} only by case, white space or Unicode form")


def _sources(inputs: DoctorInput) -> Iterator[tuple[str, Collection[str]]]:
    yield "documents", inputs.corpus
    yield "queries", inputs.queries
    yield "judged queries", inputs.qrels
    yield "judged documents", _judged_docs(inputs)
    for name, run in inputs.runs.items():
        yield f"queries of {name}", run.queries
        yield f"documents of {name}", set(run.docs)


def _expected_matches(inputs: DoctorInput) -> Iterator[tuple[str, Collection[str], str, Collection[str]]]:
    """Sets of ids, each with the set that it should match."""
    has_corpus = "documents" in inputs.parts
    judged = _judged_docs(inputs)
    if has_corpus:
        yield "judged documents", judged, "documents", inputs.corpus
    if "queries" in inputs.parts:
        yield "judged queries", inputs.qrels, "queries", inputs.queries
    for name, run in inputs.runs.items():
        yield f"queries of {name}", set(run.queries), "judged queries", inputs.qrels
        other, known = ("documents", inputs.corpus) if has_corpus else ("judged documents", judged)
        yield f"documents of {name}", set(run.docs), other, known


def _judged_docs(inputs: DoctorInput) -> set[str]:
    return {doc for docs in inputs.qrels.values() for doc in docs}


def _grouped(ids: Iterable[str], plain: Callable[[str], str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(ids):
        groups.setdefault(plain(name), []).append(name)
    return groups


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
