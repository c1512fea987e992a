"""Checks of the queries' texts."""

from __future__ import annotations

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, check, check_result, count_with_verb
from rankproof._analysis.doctor.normalised_text import normalised_text


@check(
    "queries-without-text",
    "severe",
    "judged queries whose text is missing or empty",
    advice="add the texts, or leave the queries out of the judgements: they count 0",
    needs=("queries", "judgements"),
    broken=lambda example: example.with_queries(q01="  "),
)
def without_text(subject: DoctorInput) -> CheckResult:
    """Judged queries whose text is missing or empty."""
    mute = [query for query in subject.qrels if query not in subject.queries or not subject.queries[query].text.strip()]
    return check_result(mute, len(subject.qrels), f"{len(mute)} of {len(subject.qrels)} judged queries have no text")


@check(
    "queries-without-judgements",
    "hint",
    "queries that nobody judged",
    advice="judge them, or leave them out",
    needs=("queries", "judgements"),
    broken=lambda example: example.with_queries(q99="an additional question that nobody has judged"),
)
def without_judgements(subject: DoctorInput) -> CheckResult:
    """Queries that nobody judged."""
    unjudged = [query for query in subject.queries if query not in subject.qrels]
    said = f"{len(unjudged)} of {len(subject.queries)} queries have no judgement and are left out of every mean"
    return check_result(unjudged, len(subject.queries), said)


@check(
    "query-is-document",
    "warning",
    "queries that are the text or title of a document",
    advice="ask whether users write so; if the queries were made from the documents, rewrite them",
    needs=("documents", "queries"),
    broken=lambda example: example.with_documents(e1=("How q01a relates to q01b and Q01C in practice", "many words on it")),
)
def equals_document(subject: DoctorInput) -> CheckResult:
    """Queries whose text is a document's text or title."""
    asked = {normalised_text(query.text): query.id for query in subject.queries.values()}
    asked.pop("", None)
    met: dict[str, str] = {}
    for doc in subject.corpus.values():
        for part, text in (("text", doc.text), ("title", doc.title)):
            if query := asked.get(normalised_text(text)):
                met.setdefault(query, f"{query} is the {part} of {doc.id}")
    said = f"{count_with_verb(len(met), 'query is', 'queries are')} the very text or title of a document, which any system finds"
    return check_result(list(met.values()), len(subject.queries), said)


@check(
    "repeated-queries",
    "warning",
    "queries with the same text",
    advice="keep one of each: a query that counts twice makes every interval too narrow",
    needs=("queries",),
    broken=lambda example: example.with_queries(q02=example.queries["q01"].upper()),
)
def repeated(subject: DoctorInput) -> CheckResult:
    """Queries with the same text; an example lists all that are the same."""
    groups: dict[str, list[str]] = {}
    for query in subject.queries.values():
        if text := normalised_text(query.text):
            groups.setdefault(text, []).append(query.id)
    same = [ids for ids in groups.values() if len(ids) > 1]
    extra = sum(len(ids) - 1 for ids in same)
    torn = sum(len({tuple(sorted(subject.qrels.get(query, {}).items())) for query in ids}) > 1 for ids in same)
    said = (
        f"{count_with_verb(extra, 'query has', 'queries have')} the text of another one; groups of such queries: {len(same)}, "
        f"judged differently: {torn}"
    )
    return check_result([" = ".join(ids) for ids in same], len(subject.queries), said, count=extra)
