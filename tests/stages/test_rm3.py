"""RM3: a worked example, the law of weight 1, an independent computation as oracle, and facts."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.dataset import Query
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof.errors import UsageError
from rankproof.stages import BM25, RM3, Dense
from rankproof.stages._base import QueryTimer
from rankproof.stages._rewrite import RM3Searcher, feedback_terms, interpolate, relevance_model, top_weighted
from support.examples import examples
from support.small_datasets import small_dataset
from support.small_models import HashedWords
from support.stage_building import context_of, corpus_of, ranking_of, search_with

PLAIN = BM25(stemming=False, stop_words=False)
OPEN = RM3(PLAIN, common=1.0)
letters = st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "éé", "x"]), max_size=8).map(" ".join)
texts = st.dictionaries(st.sampled_from(["d1", "d2", "d10", "é", "𝔸", "z"]), letters, min_size=1)


def test_the_relevance_model_of_two_documents_worked_by_hand() -> None:
    """d1 is "oven oven rack" with score 3, d2 is "oven stone" with score 1; the query is "pizza oven", weight 0.6.

    P(oven|R) = (3 x 2/3 + 1 x 1/2) / 4 = 0.625, P(rack|R) = (3 x 1/3) / 4 = 0.25, P(stone|R) = (1 x 1/2) / 4 = 0.125.
    Weights, times the query's 2 terms: oven 0.6 x 1 + 0.4 x 2 x 0.625 = 1.1, pizza 0.6, rack 0.2, stone 0.1.
    """
    documents = [feedback_terms(text.split(), lambda term: False, 10) for text in ("oven oven rack", "oven stone")]
    model = relevance_model(documents, [3.0, 1.0], 10)
    assert model == pytest.approx({"oven": 0.625, "rack": 0.25, "stone": 0.125})
    wide = interpolate(["pizza", "oven"], model, 0.6)
    assert wide == pytest.approx({"pizza": 0.6, "oven": 1.1, "rack": 0.2, "stone": 0.1})


def test_terms_that_are_cut_off_leave_shares_that_add_up_to_one() -> None:
    model = relevance_model([{"oven": 0.5, "rack": 0.3, "stone": 0.2}], [2.0], 2)
    assert model == pytest.approx({"oven": 0.625, "rack": 0.375})


def test_feedback_leaves_out_common_short_and_long_terms_and_those_with_other_than_letters_and_digits() -> None:
    terms = ["pie", "pie", "x", "a" * 21, "snake_case", "the", "été", "b12"]
    found = feedback_terms(terms, lambda term: term == "the", 10)
    assert found == pytest.approx({"pie": 0.5, "b12": 0.25, "été": 0.25})


def test_of_equal_weights_the_first_by_its_letters_stays() -> None:
    assert list(top_weighted({"b": 1.0, "a": 1.0, "c": 2.0}, 2)) == ["c", "a"]


@examples(60)
@given(docs=texts, query=letters, count=st.integers(1, 4), terms=st.integers(1, 4))
def test_weight_one_is_the_input_ranking_to_the_last_bit(docs: dict[str, str], query: str, count: int, terms: int) -> None:
    context = context_of(corpus_of(docs))
    below, above = (
        ranking_of(PLAIN, context, query),
        ranking_of(RM3(PLAIN, docs=count, terms=terms, weight=1, common=1), context, query),
    )
    assert (above[0], above[1].tolist()) == (below[0], below[1].tolist())


@examples(60)
@given(docs=texts, query=letters, weight=st.floats(0, 0.99, allow_subnormal=False), count=st.integers(1, 3))
def test_scores_are_the_weighted_sums_of_bm25_weights(docs: dict[str, str], query: str, weight: float, count: int) -> None:
    """The oracle asks BM25 for each term alone, and reckons the model anew from the texts."""
    context = context_of(corpus_of(docs))
    below = ranking_of(PLAIN, context, query)
    first = list(zip(below[0], below[1].tolist(), strict=True))[:count]
    model: defaultdict[str, float] = defaultdict(float)
    for doc, score in first:
        bag = Counter(term for term in docs[doc].split() if len(term) > 1)
        for term in bag:
            model[term] += score * bag[term] / bag.total()
    total, terms = sum(model.values()), query.split()
    wide = {
        term: weight * terms.count(term) + (1 - weight) * len(terms) * (model.get(term, 0.0) / total if total else 0)
        for term in {*terms, *model}
    }
    if not total:
        wide = {term: float(terms.count(term)) for term in terms}
    expected: defaultdict[str, float] = defaultdict(float)
    for term, times in wide.items():
        found, scores = ranking_of(PLAIN, context, term)
        for doc, score in zip(found, scores.tolist(), strict=True):
            expected[doc] += times * score
    docs_found, scores = ranking_of(RM3(PLAIN, docs=count, weight=weight, common=1), context, query)
    got = dict(zip(docs_found, scores.tolist(), strict=True))
    assert got == pytest.approx({doc: score for doc, score in expected.items() if score and first}, rel=1e-5, abs=1e-12)


def test_feedback_finds_a_document_that_shares_no_word_with_the_query() -> None:
    corpus = corpus_of({"d1": "hob induction coil", "d2": "induction coil", "d3": "bread"})
    assert ranking_of(PLAIN, context_of(corpus), "hob")[0] == ["d1"]
    assert ranking_of(OPEN, context_of(corpus), "hob")[0] == ["d1", "d2"]


def test_common_terms_are_counted_over_all_documents() -> None:
    corpus = corpus_of({f"d{at:02d}": f"kitchen word{at} {'hob' if at < 2 else 'pan'}" for at in range(20)})
    wide = _searcher(RM3(PLAIN, common=0.1), corpus).expanded_terms(
        Query("q", "word1"), ranking_of(PLAIN, context_of(corpus), "word1")
    )
    assert set(wide) == {"word1", "hob"}


def test_a_batch_gives_the_same_bits_and_the_first_queries_are_shown() -> None:
    corpus = corpus_of({"d1": "hob induction coil", "d2": "induction coil", "d3": "bread"})
    searcher, context = _searcher(OPEN, corpus), context_of(corpus)
    queries = [Query(f"q{at}", text) for at, text in enumerate(["hob", "coil", "", "bread", "coil bread", "hob coil", "tin"])]
    single = [search_with(OPEN, searcher, context, query.text) for query in queries]
    batch = searcher.search_all(queries)
    assert [(docs, scores.tolist()) for docs, scores in batch] == [(docs, scores.tolist()) for docs, scores in single]
    shown = searcher.facts()["examples"]
    assert list(shown) == ["q0", "q1", "q3", "q4", "q5"]
    assert shown["q0"] == {"hob": 0.6667, "coil": 0.1667, "induction": 0.1667}
    assert json.loads(json.dumps(searcher.facts())) == searcher.facts()


def test_queries_without_feedback_are_unchanged_and_counted() -> None:
    corpus = corpus_of({"d1": "a b", "d2": "b"})
    searcher = _searcher(OPEN, corpus)
    below = ranking_of(PLAIN, context_of(corpus), "b")
    docs, scores = searcher.search(Query("q", "b"), (below,), QueryTimer())
    assert (docs, scores.tolist()) == (below[0], below[1].tolist())
    assert searcher.notes() == ["1 query has no feedback terms and was not expanded"]


def test_the_index_is_counted_once_and_the_system_is_a_rewrite_of_bm25() -> None:
    system_runs = run_experiment(
        Experiment({"bm25": BM25(), "rm3": RM3(BM25())}, dataset=small_dataset()), RunOptions(cache=None)
    ).system_runs
    assert [(system_run.kind, system_run.builds_on) for system_run in system_runs] == [("retrieval", None), ("rewrite", "bm25")]
    assert system_runs[1].index_bytes == system_runs[0].index_bytes
    assert system_runs[1].throughput


def test_an_experiment_file_can_name_it(tmp_path: Any) -> None:
    path = tmp_path / "e.toml"
    path.write_text(
        '[systems.b]\nstage = "bm25"\n[systems.r]\nstage = "rm3"\nof = "b"\ndocs = 3\nterms = 4\nweight = 0.7\ncommon = 0.2\n'
    )
    assert read_experiment(path).systems["r"] == RM3(BM25(), docs=3, terms=4, weight=0.7, common=0.2)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"stage": Dense(HashedWords())}, "stage is a Dense; pass a BM25 stage"),
    ({"stage": "bm25"}, "stage is the text 'bm25'"),
    ({"docs": 0}, "docs is 0"),
    ({"terms": 0}, "terms is 0"),
    ({"weight": 1.5}, "weight is 1.5"),
    ({"common": -1}, "common is -1"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RM3(**{"stage": BM25(), **options})


def _searcher(stage: RM3, corpus: Any) -> RM3Searcher:
    return stage.build(context_of(corpus))
