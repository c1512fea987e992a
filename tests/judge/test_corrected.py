"""The table of means that are bias-corrected by human judgements."""

from __future__ import annotations

from rankproof._judge.agreement import Thresholds, corrected_table
from rankproof._judge.pairs import QueryDocPair


def test_few_pairs_and_pairs_that_the_judge_failed_on_are_noted() -> None:
    pairs = [QueryDocPair(f"q{query}", f"d{doc}") for query in range(30) for doc in range(4)]
    human = {pair: at % 2 for at, pair in enumerate(pairs[:80])}
    judge = {pair: at % 3 for at, pair in enumerate(pairs) if at not in (5, 7)}
    many = corrected_table(judge, human, {"all": pairs}, Thresholds())
    assert many.notes == ("2 pairs with a human judgement left out of all means here: the judge failed on them",)
    few = corrected_table(judge, {pair: human[pair] for pair in pairs[8:40]}, {"all": pairs, "one": pairs[:20]}, Thresholds())
    assert few.notes == (
        "only 12 pairs of 3 queries have human judgements: with fewer than 50 pairs or 20 queries "
        "the intervals of the means may be too narrow",
    )


def test_intervals_lie_in_the_range_of_the_mean() -> None:
    pairs = [QueryDocPair(f"q{at}", f"d{at}") for at in range(40)]
    judge = {pair: int(at in (0, 20)) for at, pair in enumerate(pairs)}
    human = {pair: int(at == 0) for at, pair in enumerate(pairs[:5])}
    table = corrected_table(judge, human, {"all": pairs}, Thresholds())
    assert len(table.rows) == 2
    for row in table.rows:
        for low, high in (cell for cell in row if isinstance(cell, tuple)):
            assert low >= 0.0
            assert high <= (1.0 if row[1] == "share relevant" else 3.0)
