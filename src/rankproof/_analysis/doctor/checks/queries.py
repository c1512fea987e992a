"""Checks of the query texts."""

from __future__ import annotations

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, check_result, count_with_verb, doctor_check
from rankproof._analysis.doctor.normalised_text import normalised_text


@doctor_check(
    "queries-without-text",
    "severe",
    "judged queries whose text is missing or empty",
    advice="add the texts, or remove the queries from the judgements: they score 0",
    needs=("queries", "judgements"),
    broken=lambda example: example.with_queries(q01="  "),
)
def without_text(inputs: DoctorInput) -> CheckResult:
    """Judged queries whose text is missing or empty."""
    empty = [query for query in inputs.qrels if query not in inputs.queries or not inputs.queries[query].text.strip()]
    return check_result(empty, len(inputs.qrels), f"{len(empty)} of {len(inputs.qrels)} judged queries have no text")


@doctor_check(
    "queries-without-judgements",
    "hint",
    "queries without judgements",
    advice="judge them, or remove them",
    needs=("queries", "judgements"),
    broken=lambda example: example.with_queries(q99="an additional question without judgements"),
)
def without_judgements(inputs: DoctorInput) -> CheckResult:
    """Queries without judgements."""
    unjudged = [query for query in inputs.queries if query not in inputs.qrels]
    sentence = f"{len(unjudged)} of {len(inputs.queries)} queries have no judgement and are left out of every mean"
    return check_result(unjudged, len(inputs.queries), sentence)


@doctor_check(
    "query-is-document",
    "warning",
    "queries that are the text or title of a document",
    advice="check whether real queries look like this; if they were copied from documents, rewrite them",
    needs=("documents", "queries"),
    broken=lambda example: example.with_documents(e1=("How q01a relates to q01b and Q01C in practice", "many words on it")),
)
def equals_document(inputs: DoctorInput) -> CheckResult:
    """Queries whose text is a document's text or title."""
    by_text = {normalised_text(query.text): query.id for query in inputs.queries.values()}
    by_text.pop("", None)
    matches: dict[str, str] = {}
    for doc in inputs.corpus.values():
        for part, text in (("text", doc.text), ("title", doc.title)):
            if query := by_text.get(normalised_text(text)):
                matches.setdefault(query, f"{query} is the {part} of {doc.id}")
    count = count_with_verb(len(matches), "query is", "queries are")
    sentence = f"{count} the exact text or title of a document, which any system finds"
    return check_result(list(matches.values()), len(inputs.queries), sentence)


@doctor_check(
    "repeated-queries",
    "warning",
    "queries with the same text",
    advice="keep one query per text: duplicates make every interval too narrow",
    needs=("queries",),
    broken=lambda example: example.with_queries(q02=example.queries["q01"].title()),
)
def repeated(inputs: DoctorInput) -> CheckResult:
    """Queries with the same text; an example lists all of them."""
    groups: dict[str, list[str]] = {}
    for query in inputs.queries.values():
        if text := normalised_text(query.text):
            groups.setdefault(text, []).append(query.id)
    same = [ids for ids in groups.values() if len(ids) > 1]
    extra = sum(len(ids) - 1 for ids in same)
    inconsistent = sum(len({tuple(sorted(inputs.qrels.get(query, {}).items())) for query in ids}) > 1 for ids in same)
    sentence = (
        f"{count_with_verb(extra, 'query has', 'queries have')} the text of another one; groups of duplicates: {len(same)}, "
        f"with different judgements: {inconsistent}"
    )
    return check_result([" = ".join(ids) for ids in same], len(inputs.queries), sentence, count=extra)
