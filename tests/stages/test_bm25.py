"""BM25: a worked example, the plain formula as oracle, ties, batches and facts."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof.errors import UsageError
from rankproof.stages import BM25
from rankproof.stages._base import QueryTimer
from rankproof.stages._fields import passage_text
from support.examples import examples
from support.stage_building import context_of, corpus_of, ranking_of

PLAIN = BM25(stemming=False, stop_words=False)
letters = st.text(alphabet="abcdé ", max_size=12)
texts = st.dictionaries(st.sampled_from(["d1", "d2", "d10", "é", "𝔸", "z"]), letters, min_size=1)


def by_formula(docs: dict[str, str], query: str, k1: float, b: float) -> dict[str, float]:
    """The formula as it stands in textbooks, in doubles, for texts of single words."""
    bags = {doc: Counter(text.split()) for doc, text in docs.items()}
    mean = sum(bag.total() for bag in bags.values()) / len(bags)
    found = {}
    for doc, bag in bags.items():
        total = 0.0
        for word in query.split():
            df = sum(word in other for other in bags.values())
            if bag[word]:
                idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
                total += idf * bag[word] * (k1 + 1) / (bag[word] + k1 * (1 - b + b * bag.total() / mean))
        if total:
            found[doc] = total
    return found


def test_the_worked_example_of_two_documents() -> None:
    docs, scores = ranking_of(PLAIN, context_of(corpus_of({"d1": "a a b", "d2": "b c"})), "a b")
    assert docs == ["d1", "d2"]
    assert [round(score, 4) for score in scores.tolist()] == [1.0977, 0.2004]


@examples(60)
@given(docs=texts, query=letters, k1=st.floats(0, 5), b=st.floats(0, 1))
def test_scores_follow_the_formula(docs: dict[str, str], query: str, k1: float, b: float) -> None:
    stage = BM25(k1=k1, b=b, stemming=False, stop_words=False)
    found, scores = ranking_of(stage, context_of(corpus_of(docs)), query)
    expected = by_formula(docs, query, k1, b)
    assert dict(zip(found, scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5)


@examples(60)
@given(docs=texts, queries=st.lists(letters, max_size=4), depth=st.integers(1, 7))
def test_a_batch_gives_the_same_bits_as_one_by_one(docs: dict[str, str], queries: list[str], depth: int) -> None:
    searcher = BM25(stemming=False, stop_words=False, depth=depth).build(context_of(corpus_of(docs)))
    each = [Query(f"q{at}", text) for at, text in enumerate(queries)]
    single = [searcher.search(query, (), QueryTimer()) for query in each]
    batch = searcher.search_all(each)
    assert [(docs, scores.tolist()) for docs, scores in batch] == [(docs, scores.tolist()) for docs, scores in single]


def test_ties_are_broken_by_id_descending_also_where_the_depth_cuts() -> None:
    corpus = corpus_of(dict.fromkeys(("a", "𝔸", "\ufffd", "b"), "same words"))
    assert ranking_of(PLAIN, context_of(corpus), "same")[0] == ["𝔸", "\ufffd", "b", "a"]
    assert ranking_of(BM25(depth=2), context_of(corpus), "same")[0] == ["𝔸", "\ufffd"]


def test_documents_without_a_word_of_the_query_are_not_retrieved() -> None:
    context = context_of(corpus_of({"d1": "apple pie", "d2": "pear"}))
    assert ranking_of(BM25(), context, "apples")[0] == ["d1"]
    assert ranking_of(BM25(), context, "unheard-of")[0] == []
    assert ranking_of(BM25(), context, "")[0] == []
    assert ranking_of(BM25(), context, "the of")[0] == []


def test_a_word_counts_as_often_as_it_stands_in_the_query() -> None:
    context = context_of(corpus_of({"d1": "a b", "d2": "c"}))
    once, twice = (ranking_of(PLAIN, context, query)[1][0] for query in ("a", "a a"))
    assert twice == pytest.approx(2 * once)


def test_titles_alone_can_be_searched() -> None:
    context = context_of(corpus_of({"d1": "pear", "d2": "apple"}, {"d1": "apple", "d2": "pear"}))
    assert ranking_of(BM25(fields=("title",)), context, "apple")[0] == ["d1"]


def test_an_index_without_any_word_retrieves_nothing_and_says_so() -> None:
    context = context_of(corpus_of({"d1": "apple", "d2": "pear"}))
    searcher = BM25(fields=("title",)).build(context)
    assert searcher.search(Query("q", "apple"), (), QueryTimer())[0] == []
    assert [docs for docs, _ in searcher.search_all([Query("q", "apple")])] == [[]]
    assert searcher.notes() == ["no document has a word in title: nothing is retrieved"]
    assert searcher.parts("apple", "d1")[0].weight == 0


def test_no_documents_at_all_give_nothing() -> None:
    assert ranking_of(BM25(), context_of(corpus_of({})), "apple")[0] == []


def test_documents_that_cannot_be_found_are_counted() -> None:
    searcher = BM25().build(context_of(corpus_of({"d1": "apple", "d2": "", "d3": "the"})))
    assert searcher.notes() == ["2 documents have no words in title and text and cannot be found"]
    assert searcher.facts()["documents_without_words"] == 2
    assert searcher.cost().bytes > 0


def test_the_parts_of_a_score_add_up_to_it() -> None:
    context = context_of(corpus_of({"d1": "a a b", "d2": "b c", "d3": "c"}))
    searcher = PLAIN.build(context)
    docs, scores = searcher.search(Query("q", "a b b x"), (), QueryTimer())
    for doc, score in zip(docs, scores.tolist(), strict=True):
        parts = searcher.parts("a b b x", doc)
        total = np.float32(0)
        for part in parts:
            total += np.float32(part.weight)
            assert part.weight == pytest.approx(part.idf * part.tf * 2.5 / (part.tf + part.norm))
        assert float(total) == score
    assert [(part.term, part.tf, part.df) for part in searcher.parts("a b b x", "d1")] == [
        *[("a", 2, 1), ("b", 1, 2), ("b", 1, 2), ("x", 0, 0)]
    ]


def test_passages_are_the_fields_that_are_not_empty() -> None:
    document = Document("d", " text ", "", {"brand": "Acme", "price": 3, "blank": " "})
    assert passage_text(document, ("title", "brand", "blank", "text", "price")) == "Acme text"


def test_a_field_that_no_document_has_as_text_is_refused() -> None:
    context = context_of(Corpus([Document("d", "text", "", {"brand": "Acme", "price": 3})]))
    for field in ("colour", "price"):
        with pytest.raises(UsageError, match=f"no document has a text field called {field}; choose from title, text, brand"):
            BM25(fields=("title", field)).build(context)
    assert ranking_of(BM25(fields=("brand",)), context, "acme")[0] == ["d"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"k1": -1}, "k1 is -1; choose a number from 0 to 1000"),
    ({"k1": math.nan}, "k1 is nan"),
    ({"b": 1.5}, "b is 1.5; choose a number from 0 to 1"),
    ({"b": True}, "b is True"),
    ({"depth": 0}, "depth is 0; choose a whole number"),
    ({"fields": "title"}, "fields is title; pass a list"),
    ({"fields": ()}, "specify at least one field"),
    ({"fields": ("text", "text")}, "each only once"),
    ({"stemming": "yes"}, "stemming is yes; choose true or false"),
    ({"stop_words": "english"}, "stop_words is english; pass a list"),
    ({"language": 3}, "language is an int"),
    ({"language": "klingon"}, "no stemmer for klingon"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BM25(**options)
