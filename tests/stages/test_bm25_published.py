"""BM25 on a published collection: the values that others report."""

from __future__ import annotations

import pytest

import rankproof
from rankproof._data.dataset import Dataset
from rankproof.stages import BM25
from support.shared_data import collection
from support.stage_building import context_of


@pytest.fixture(scope="module")
def scifact() -> Dataset:
    return rankproof.read_dataset(collection("scifact"))


def ndcg(stage: BM25, dataset: Dataset) -> float:
    queries = [dataset.queries[query] for query in dataset.qrels]
    found = stage.build(context_of(dataset.corpus)).search_all(queries)
    run = {query.id: dict(zip(docs, scores.tolist(), strict=True)) for query, (docs, scores) in zip(queries, found, strict=True)}
    return rankproof.evaluate(dataset.qrels, run, ["nDCG@10"]).means["run"]["nDCG@10"]


def test_bm25_on_scifact_lies_where_published_values_lie(scifact: Dataset) -> None:
    assert 0.665 <= ndcg(BM25(), scifact) <= 0.69


def test_titles_alone_give_much_lower_values(scifact: Dataset) -> None:
    assert ndcg(BM25(fields=("title",)), scifact) == pytest.approx(0.46, abs=0.01)
