"""Evaluation in blocks of queries, which bounds its memory, does not change a value or a note."""

from __future__ import annotations

import random

import pytest

import rankproof as rp
from rankproof._align import hits as hits_module
from rankproof.measures._registry import MEASURES

WITH_CUTOFF = ("nDCG", "RR", "P", "R", "Success", "AP", "F1", "Judged", "Unjudged")
NEEDS_CUTOFF = ("P", "R", "F1", "Success", "IPrec", "Judged", "Unjudged", "ERR")


def random_case(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    chance = random.Random(seed)
    docs = [f"d{number}" for number in range(30)]
    qrels = {f"q{number}": {doc: chance.choice([-1, 0, 1, 2, 3]) for doc in chance.sample(docs, 8)} for number in range(23)}
    scores = {query: {doc: float(chance.randrange(12)) for doc in chance.sample(docs, chance.randrange(20))} for query in qrels}
    return qrels, {query: found for query, found in scores.items() if found}


@pytest.mark.parametrize("size", [1, 5, 22, 23])
@pytest.mark.parametrize("skip_missing", [False, True])
def test_every_measure_has_the_same_values_and_notes_in_blocks(
    monkeypatch: pytest.MonkeyPatch, size: int, skip_missing: bool
) -> None:
    qrels, run = random_case(size)
    others = {name: one for name, one in MEASURES.items() if name not in NEEDS_CUTOFF and not one.needs_subtopics}
    measures = [*(f"{name}@5" for name in WITH_CUTOFF), *(one.needs or name for name, one in others.items())]
    whole = rp.evaluate(qrels, run, measures, skip_missing=skip_missing)
    monkeypatch.setattr(hits_module, "QUERIES_PER_BLOCK", size)
    parts = rp.evaluate(qrels, run, measures, skip_missing=skip_missing)
    assert parts.per_query() == whole.per_query()
    assert parts.means == whole.means
    assert parts.notes == whole.notes
