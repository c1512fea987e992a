"""Checks of what was trained on against what is tested on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, check, check_result
from rankproof._analysis.doctor.normalised_text import normalised_text, words_of

ALIKE = Fraction(4, 5)
"""Two queries are nearly the same from this share of common words: words of both over words of either (Jaccard)."""

Bag = frozenset[str]


@check(
    "trained-on-test-queries",
    "severe",
    "judged queries whose text was trained on",
    advice="leave these queries out of the test, or out of the training",
    needs=("queries", "judgements", "training queries"),
    broken=lambda example: replace(example, training_queries={"t1": "How Q01a relates  to q01b, and q01c in practice"}),
)
def queries(subject: DoctorInput) -> CheckResult:
    """Test queries whose text, or nearly, was trained on."""
    seen = {normalised_text(query.text): query.id for query in subject.training.values()}
    tested = {name: query for name, query in subject.queries.items() if name in subject.qrels}
    same = {name: seen[text] for name, query in tested.items() if (text := normalised_text(query.text)) and text in seen}
    rest = {name: frozenset(words_of(query.text)) for name, query in tested.items() if name not in same}
    near = dict(near_pairs(rest, {name: frozenset(words_of(query.text)) for name, query in subject.training.items()}))
    said = (
        f"of {len(tested)} judged queries {len(same)} have the text of a training query, and {len(near)} have nearly "
        f"the same words (Jaccard {float(ALIKE)} or more)"
    )
    examples = [f"{mine} = {theirs}" for mine, theirs in same.items()] + [f"{mine} ~ {theirs}" for mine, theirs in near.items()]
    return check_result(examples, len(tested), said)


@check(
    "trained-on-test-pairs",
    "severe",
    "judged pairs that are among the training judgements",
    advice="split the judgements by query before training",
    needs=("judgements", "training judgements"),
    broken=lambda example: replace(example, training_judgements={"q01": {"d01": 2}}),
)
def judgements(subject: DoctorInput) -> CheckResult:
    """Pairs of query and document that were judged for training and for the test."""
    pairs = [(query, doc) for query, docs in subject.qrels.items() for doc in docs if doc in subject.trained_on.get(query, ())]
    total = sum(map(len, subject.qrels.values()))
    count = len({query for query, _ in pairs})
    said = f"{len(pairs)} of {total} judged pairs, of {count} queries, are among the training judgements"
    return check_result([f"{query} and {doc}" for query, doc in pairs], total, said)


def near_pairs(mine: Mapping[str, Bag], theirs: Mapping[str, Bag]) -> Iterator[tuple[str, str]]:
    """For each of mine one of theirs that is nearly the same; exact, as two such sets share one of their rarest words."""
    counts = Counter(word for bags in (mine, theirs) for bag in bags.values() for word in bag)
    having: dict[str, list[str]] = {}
    for name, bag in theirs.items():
        for word in _rarest(bag, counts):
            having.setdefault(word, []).append(name)
    for name, bag in mine.items():
        others = dict.fromkeys(other for word in _rarest(bag, counts) for other in having.get(word, ()))
        close = next((other for other in others if len(bag & theirs[other]) >= ALIKE * len(bag | theirs[other])), None)
        if close is not None:
            yield name, close


def _rarest(bag: Bag, counts: Counter[str]) -> list[str]:
    """As many of the rarest words as it takes to share one with every set that is nearly the same (prefix filtering)."""
    return sorted(bag, key=lambda word: (counts[word], word))[: len(bag) - math.ceil(ALIKE * len(bag)) + 1]
