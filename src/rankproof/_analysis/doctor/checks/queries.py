"""Checks of the query texts, and of training data in the test queries and judgements."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from rankproof._analysis.doctor.check import (
    CheckResult,
    DoctorInput,
    check_result,
    count_with_verb,
    doctor_check,
    normalised_text,
    words_of,
)


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


@doctor_check(
    "traffic-moved",
    "warning",
    "a query sample that no longer stands for the traffic of a log",
    advice="draw a new one with rankproof sample LOG",
    needs=("queries", "log"),
    broken=lambda example: replace(example, traffic_stands=False),
)
def moved_traffic(inputs: DoctorInput) -> CheckResult:
    """Traffic that moved to queries which were not asked before."""
    if inputs.traffic is None or inputs.traffic.stands:
        return check_result([], None, "")
    return check_result([inputs.name], 1, inputs.traffic.answer[0].rstrip("."), count=1)


MIN_JACCARD = Fraction(4, 5)
"""The Jaccard similarity of words from which two queries count as nearly the same."""

Bag = frozenset[str]


@doctor_check(
    "trained-on-test-queries",
    "severe",
    "judged queries whose text is in the training data",
    advice="remove these queries from the test or from the training data",
    needs=("queries", "judgements", "training queries"),
    broken=lambda example: replace(example, training_queries={"t1": "How Q01a relates  to q01b, and q01c in practice"}),
)
def queries(inputs: DoctorInput) -> CheckResult:
    """Test queries with the same or nearly the same text as a training query."""
    trained = {normalised_text(query.text): query.id for query in inputs.training.values()}
    tested = {name: query for name, query in inputs.queries.items() if name in inputs.qrels}
    same = {name: trained[text] for name, query in tested.items() if (text := normalised_text(query.text)) and text in trained}
    rest = {name: frozenset(words_of(query.text)) for name, query in tested.items() if name not in same}
    near = dict(near_pairs(rest, {name: frozenset(words_of(query.text)) for name, query in inputs.training.items()}))
    sentence = (
        f"of {len(tested)} judged queries {len(same)} have the text of a training query, and {len(near)} have nearly "
        f"the same words (Jaccard {float(MIN_JACCARD)} or higher)"
    )
    examples = [f"{mine} = {theirs}" for mine, theirs in same.items()] + [f"{mine} ~ {theirs}" for mine, theirs in near.items()]
    return check_result(examples, len(tested), sentence)


@doctor_check(
    "trained-on-test-pairs",
    "severe",
    "judged pairs that are in the training judgements",
    advice="split the judgements by query before training",
    needs=("judgements", "training judgements"),
    broken=lambda example: replace(example, training_judgements={"q01": {"d01": 2}}),
)
def judgements(inputs: DoctorInput) -> CheckResult:
    """Pairs of query and document in both the training and the test judgements."""
    pairs = [(query, doc) for query, docs in inputs.qrels.items() for doc in docs if doc in inputs.trained_on.get(query, ())]
    total = sum(map(len, inputs.qrels.values()))
    count = len({query for query, _ in pairs})
    sentence = f"{len(pairs)} of {total} judged pairs, of {count} queries, are in the training judgements"
    return check_result([f"{query} and {doc}" for query, doc in pairs], total, sentence)


def near_pairs(mine: Mapping[str, Bag], theirs: Mapping[str, Bag]) -> Iterator[tuple[str, str]]:
    """Each of mine with one of theirs that is nearly the same; exact, by prefix filtering on the rarest words."""
    # Two sets of Jaccard similarity s share one of their rarest words, if each lists its |set| - ceil(s |set|) + 1 rarest.
    counts = Counter(word for bags in (mine, theirs) for bag in bags.values() for word in bag)
    having: dict[str, list[str]] = {}
    for name, bag in theirs.items():
        for word in _rarest(bag, counts):
            having.setdefault(word, []).append(name)
    for name, bag in mine.items():
        others = dict.fromkeys(other for word in _rarest(bag, counts) for other in having.get(word, ()))
        close = next((other for other in others if len(bag & theirs[other]) >= MIN_JACCARD * len(bag | theirs[other])), None)
        if close is not None:
            yield name, close


def _rarest(bag: Bag, counts: Counter[str]) -> list[str]:
    """The rarest words, as many as any nearly equal set must share one of (prefix filtering)."""
    return sorted(bag, key=lambda word: (counts[word], word))[: len(bag) - math.ceil(MIN_JACCARD * len(bag)) + 1]
