"""Every figure that the seeds work out by hand, as a row with its source."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from rankproof._align.hits import Hits
from rankproof.measures import parse_measure
from support.qrels_and_runs import aligned, ranked

ABSENT = 0


@dataclass(frozen=True)
class Row:
    """One figure: the measure of rankings against grades, to as many decimals as the source gives."""

    source: str
    measure: str
    value: float
    decimals: int
    grades: dict[str, dict[str, int]]
    rankings: dict[str, list[str]] = field(default_factory=dict)

    def hits(self) -> Hits:
        return aligned(self.grades, {query: ranked(docs) for query, docs in self.rankings.items()})


def target_at(source: str, measure: str, value: float, decimals: int, *ranks: int) -> Row:
    """One relevant document a query, at this rank of its ranking, ABSENT where it was not found."""
    queries = {f"q{number}": rank for number, rank in enumerate(ranks)}
    lists = {query: [f"other{place}" for place in range(1, max(rank, 10))] for query, rank in queries.items()}
    for query, rank in queries.items():
        if rank != ABSENT:
            lists[query].insert(rank - 1, "target")
    return Row(source, measure, value, decimals, {query: {"target": 1} for query in queries}, lists)


def one(source: str, measure: str, value: float, decimals: int, grades: dict[str, int], docs: list[str]) -> Row:
    return Row(source, measure, value, decimals, {"q": grades}, {"q": docs})


TWO_RELEVANT = ({"doc0": 1, "doc1": 1}, ["doc0", "doc5", "doc99", "doc1", "doc42"])
THREE_GRADES = ({"doc1": 3, "doc2": 1, "doc3": 0}, ["doc1", "doc2", "doc3"])
TWO_BINARY = ({"doc1": 1, "doc2": 1, "doc3": 0}, ["doc1", "doc2", "doc3"])
HEADPHONES = ({"first": 3, "second": 2, "third": 1, "missed": 3}, ["first", "second", "third"])
SIX_OF_EIGHT = ({f"d{number}": 1 for number in range(8)}, [f"d{number}" for number in range(6)])
SYSTEM_A, SYSTEM_B = [1] * 80 + [10] * 20, [5] * 80 + [10] * 20

ROWS = [
    one("seed 000, Recall@K", "R@5", 1.0, 1, *TWO_RELEVANT),
    one("seed 000, Precision@K", "P@5", 0.4, 1, *TWO_RELEVANT),
    target_at("seed 000, MRR", "RR", 0.444, 3, 1, 3, ABSENT),
    one("seed 001, example comparison", "P@3", 0.67, 2, *THREE_GRADES),
    one("seed 001, example comparison", "nDCG(gain='exp')@3", 1.0, 1, *THREE_GRADES),
    one("seed 001, example comparison", "nDCG@3", 1.0, 1, *THREE_GRADES),
    one("seed 001, example comparison", "RR", 1.0, 1, *THREE_GRADES),
    one("seed 001, binary grades", "nDCG(gain='exp')@3", 1.0, 12, *TWO_BINARY),
    one("seed 001, binary grades", "nDCG@3", 1.0, 12, *TWO_BINARY),
    *(
        one("seed 001, exponential gains", "DCG(gain='exp')@1", gain, 9, {"d": grade}, ["d"])
        for grade, gain in enumerate((0.0, 1.0, 3.0, 7.0))
    ),
    *(one("seed 001, linear gains", "DCG@1", float(grade), 9, {"d": grade}, ["d"]) for grade in range(4)),
    *(
        target_at("seed 001, position discounts", "DCG", discount, 2, rank)
        for rank, discount in enumerate((1.0, 0.63, 0.5, 0.43, 0.39), start=1)
    ),
    one("seed 001, grade 3 at rank 2", "DCG", 1.89, 2, {"d": 3}, ["x", "d"]),
    one("seed 001, grade 3 at rank 2", "DCG(gain='exp')", 4.42, 2, {"d": 3}, ["x", "d"]),
    *(
        target_at("seed 002, ranks 1, 3 and 23", f"Success@{cutoff}", value, 9, rank)
        for rank, values in ((1, (1, 1, 1)), (3, (0, 1, 1)), (23, (0, 0, 0)))
        for cutoff, value in zip((1, 3, 5), values, strict=True)
    ),
    target_at("seed 002, MRR (it sums rounded terms: .355)", "RR@10", 0.3556, 4, 1, 2, 3, 5, 10, ABSENT),
    target_at("seed 002, MRR is not 1 / mean rank", "RR", 0.427, 3, 1, 2, 3, 5, 10),
    target_at("seed 002, System A", "RR", 0.82, 9, *SYSTEM_A),
    target_at("seed 002, System A", "Success@5", 0.8, 9, *SYSTEM_A),
    target_at("seed 002, System B", "RR", 0.18, 9, *SYSTEM_B),
    target_at("seed 002, System B", "Success@5", 0.8, 9, *SYSTEM_B),
    target_at("seed 003, MRR", "RR", 0.458, 3, 1, 3, 2, ABSENT),
    one("seed 003, Recall@10", "R@10", 0.5, 9, {"url_A": 1, "url_B": 1}, ["url_A", "url_C", "url_D", "url_E"]),
    one("seed 004, DCG@3", "DCG(gain='exp')@3", 9.393, 3, *HEADPHONES),
    one("seed 004, NDCG@3", "nDCG(gain='exp')@3", 0.727, 3, *HEADPHONES),
    one("seed 004, NDCG@3 as its tool computes it", "nDCG@3", 0.808, 3, *HEADPHONES),
    target_at("seed 004, MRR@10", "RR@10", 0.778, 3, 1, 3, 1),
    one(
        "seed 004, Recall@100", "R@100", 0.75, 9, {f"d{number}": 1 for number in range(8)}, [f"d{number}" for number in range(6)]
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.source}: {row.measure}")
def test_the_seeds_figure_comes_out(row: Row) -> None:
    measure = parse_measure(row.measure)
    value = measure.summarise(measure.values(row.hits()))
    assert value == pytest.approx(row.value, abs=0.5001 * 10**-row.decimals)


def test_seed_002s_shortcut_of_mrr_as_one_over_the_mean_rank_does_not_hold() -> None:
    hits = target_at("", "RR", 0, 0, 1, 2, 3, 5, 10).hits()
    mean_rank = sum((1, 2, 3, 5, 10)) / 5
    assert parse_measure("RR").summarise(parse_measure("RR").values(hits)) == pytest.approx(0.42667, abs=1e-5)
    assert 1 / mean_rank == pytest.approx(0.238, abs=1e-3)
