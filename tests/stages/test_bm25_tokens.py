"""BM25 over other tokens than words: the formula, batches, hostile texts, explanations."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof._cli.main import main
from rankproof._data.dataset import Query
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._formats.read import write_folder
from rankproof._results.folder import save_results
from rankproof.stages import BM25, Chunked
from rankproof.stages._analyzer import words_with_blanks
from rankproof.stages._base import QueryTimer
from support.bm25_tokens import KINDS
from support.examples import examples
from support.small_datasets import small_dataset
from support.stage_building import context_of, corpus_of, ranking_of

HOSTILE = (
    *(
        "",
        " ",
        "a",
        "abc",
        "\x00",
        "a\x00b",
        "\ud800",
        "x\udfffy",
        "😀",
        "👩‍👩‍👧",
        "e\u0301",
        "\u0301",
        "ﬁ",
        "İstanbul",
        "ΟΔΟΣ",
        "ß",
    ),
    *("ภาษาไทย", "汉字", "\u202eabc", "\r\n\t", "a" * 5000, "!!!", "Ġ", "[PAD]", "␣"),
)


def by_formula(bags: dict[str, Counter[str]], query: list[str], k1: float, b: float) -> dict[str, float]:
    """The formula as it stands in textbooks, in doubles."""
    mean = sum(bag.total() for bag in bags.values()) / len(bags)
    found: dict[str, float] = {}
    for doc, bag in bags.items():
        for token in query:
            df = sum(token in other for other in bags.values())
            if bag[token]:
                idf = math.log(1 + (len(bags) - df + 0.5) / (df + 0.5))
                part = idf * bag[token] * (k1 + 1) / (bag[token] + k1 * (1 - b + b * bag.total() / mean))
                found[doc] = found.get(doc, 0.0) + part
    return found


def test_scores_over_n_grams_by_hand() -> None:
    """d1 "abab" has " a", "ab" twice, "ba", "b "; d2 "ab" has " a", "ab", "b "; the query "ba" has " b", "ba" and "a ".

    "ba" stands in d1 alone: idf = ln(1 + 1.5 / 1.5) = ln 2; d1 has 5 bigrams, the mean is 4, so the norm is
    1.5 (0.25 + 0.75 x 5 / 4) = 1.78125 and the score ln 2 x 2.5 / 2.78125 = 0.62304.
    """
    docs, scores = ranking_of(BM25(tokens="characters-2"), context_of(corpus_of({"d1": "abab", "d2": "ab"})), "ba")
    assert docs == ["d1"]
    assert scores.tolist() == pytest.approx([math.log(2) * 2.5 / 2.78125], rel=1e-6)


texts = st.dictionaries(st.sampled_from(["d1", "d2", "d10", "é", "𝔸", "z"]), st.text("abé字 .", max_size=12), min_size=1)


@pytest.mark.parametrize("kind", KINDS)
@examples(15)
@given(docs=texts, query=st.text("abé字 .", max_size=12))
def test_scores_follow_the_formula(kind: str, docs: dict[str, str], query: str) -> None:
    searcher = BM25(tokens=kind).build(context_of(corpus_of(docs)))
    bags = {doc: Counter(searcher.terms.tokenize(text)) for doc, text in docs.items()}
    found, scores = searcher.search(Query("q", query), (), QueryTimer())
    expected = by_formula(bags, searcher.terms.tokenize(query), 1.5, 0.75) if any(bags.values()) else {}
    assert dict(zip(found, scores.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@examples(15)
@given(docs=texts, queries=st.lists(st.text("abé字 .", max_size=12), max_size=4), depth=st.integers(1, 7))
def test_a_batch_gives_the_same_bits_as_one_by_one(kind: str, docs: dict[str, str], queries: list[str], depth: int) -> None:
    searcher = BM25(tokens=kind, depth=depth).build(context_of(corpus_of(docs)))
    each = [Query(f"q{at}", text) for at, text in enumerate(queries)]
    single = [searcher.search(query, (), QueryTimer()) for query in each]
    batch = searcher.search_all(each)
    assert [(docs, scores.tolist()) for docs, scores in batch] == [(docs, scores.tolist()) for docs, scores in single]


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_breaks_an_index_or_a_search(kind: str) -> None:
    docs = {f"d{at}": text for at, text in enumerate(HOSTILE)}
    searcher = BM25(tokens=kind, depth=100).build(context_of(corpus_of(docs)))
    for at, text in enumerate(HOSTILE):
        found, scores = searcher.search(Query("q", text), (), QueryTimer())
        assert np.isfinite(scores).all()
        assert (f"d{at}" in found) == bool(words_with_blanks(text))
        for part in searcher.parts(text, f"d{at}"):
            assert part.term.isprintable()
            assert " " not in part.term
            part.term.encode()
    assert searcher.facts()["tokens"] == kind
    assert "cannot be found" in searcher.notes()[0]


@pytest.mark.parametrize("kind", KINDS)
@examples(25)
@given(before=st.text(max_size=8), query=st.text(min_size=1, max_size=12), after=st.text(max_size=8))
@example(before="ฉันชอบ", query="ภาษาไทย", after="มาก")
def test_a_document_that_contains_the_query_scores_above_zero(kind: str, before: str, query: str, after: str) -> None:
    searcher = BM25(tokens=kind).build(context_of(corpus_of({"d": f"{before} {query} {after}", "other": "0"})))
    size = int(kind.partition("-")[2])
    enough = words_with_blanks(query) if kind.startswith("bpe") or len(words_with_blanks(query)) >= size else ""
    assert "d" in searcher.search(Query("q", query), (), QueryTimer())[0] or not enough


@examples(50)
@given(before=st.text("ab字é", max_size=8), query=st.text("ab字é", min_size=4, max_size=12), after=st.text("ab字é", max_size=8))
def test_a_query_of_n_characters_is_found_inside_a_word(before: str, query: str, after: str) -> None:
    for kind in ("characters-4", "bytes-4"):
        assert ranking_of(BM25(tokens=kind), context_of(corpus_of({"d": before + query + after})), query)[0] == ["d"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_parts_of_a_score_add_up_to_it(kind: str) -> None:
    docs = {"d1": "naïve bayes, naïve", "d2": "bays and bayous", "d3": "汉字书写"}
    searcher = BM25(tokens=kind).build(context_of(corpus_of(docs)))
    for text in ("Naïve Bayes, naïve", "汉字书写 and bays and"):
        found, scores = searcher.search(Query("q", text), (), QueryTimer())
        assert found
        for doc, score in zip(found, scores.tolist(), strict=True):
            total = np.float32(0)
            for part in searcher.parts(text, doc):
                total += np.float32(part.weight)
            assert float(total) == score


@pytest.mark.parametrize("kind", ["characters-4", "bytes-4", "bpe-300"])
def test_explain_lists_the_tokens_of_a_score(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset, results = small_dataset(), tmp_path / "results"
    found = run_experiment(Experiment({"lexical": BM25(tokens=kind)}, dataset), RunOptions(cache=None))
    save_results(found, results)
    write_folder(dataset, str(tmp_path / "small"))
    run = found.system_run("lexical").run
    asked = ["explain", str(results), "--system", "lexical", "--query", run.queries[0], "--doc", run.docs[0]]
    assert main([*asked, "--dataset", str(tmp_path / "small"), "--format", "json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["facts"]["sum"] == table["facts"]["score"]
    assert any("␣" in row["term"] for row in table["rows"])


@pytest.mark.parametrize("kind", ["characters-4", "bpe-300"])
def test_chunks_are_searched_by_other_tokens_too(kind: str) -> None:
    stage = Chunked(BM25(tokens=kind), size=6, overlap=0)
    found = run_experiment(Experiment({"chunks": stage}, small_dataset()), RunOptions(cache=None))
    assert len(found.system_run("chunks").run.docs)


def test_an_index_without_any_token_retrieves_nothing_and_says_so() -> None:
    for kind in KINDS:
        searcher = replace(BM25(fields=("title",)), tokens=kind).build(context_of(corpus_of({"d1": "apple"})))
        assert searcher.search(Query("q", "apple"), (), QueryTimer())[0] == []
        assert searcher.notes() == ["no document has a word in title: nothing is retrieved"]
