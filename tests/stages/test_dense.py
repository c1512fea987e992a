"""Dense retrieval: shared vectors, prompts, empty passages, facts and notes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankproof._data.dataset import Query
from rankproof._data.identity import identity_key
from rankproof._results.experiment_result import COLLAPSE_KEY
from rankproof.errors import UsageError
from rankproof.models._bert import MiniLM
from rankproof.models._wordllama import WordLlama
from rankproof.stages import BiEncoderScorer, Dense, MaxSim
from rankproof.stages._base import QueryTimer
from rankproof.stages._vectors import PassageVectors
from rankproof.stores import Chroma, Memory, PgVector
from support.small_models import HashedWords, OneByOne
from support.stage_building import PlainBlockCache, context_of, corpus_of, ranking_of, search_with

TEXTS = {"d1": "red apple pie", "d2": "green pear", "d3": "", "d4": "apple"}
MODEL = HashedWords()


def test_the_nearest_passage_comes_first_and_an_empty_one_scores_zero() -> None:
    docs, scores = ranking_of(Dense(MODEL), context_of(corpus_of(TEXTS)), "apple")
    assert docs[0] == "d4"
    assert scores[0] == pytest.approx(1)
    assert scores[docs.index("d3")] == 0


def test_stages_that_differ_in_store_query_prompt_or_depth_share_the_vectors() -> None:
    keep = PlainBlockCache()
    context = context_of(corpus_of(TEXTS), keep)
    for stage in (Dense(MODEL), Dense(MODEL, store=OneByOne()), Dense(MODEL, query_prompt="query: "), Dense(MODEL, depth=1)):
        stage.build(context)
    BiEncoderScorer(MODEL, query_prompt="other: ").build(context)
    assert len(keep.partition_files("vectors.arrays")) == 1
    for stage in (Dense(MODEL, passage_prompt="passage: "), Dense(MODEL, fields=("text",)), Dense(HashedWords(16))):
        stage.build(context)
    assert len(keep.partition_files("vectors.arrays")) == 4


@pytest.mark.parametrize(
    ("scorer", "name"), [(BiEncoderScorer(MODEL), "vectors.arrays"), (MaxSim(MODEL), "tokens.arrays")], ids=["passages", "tokens"]
)
def test_cached_vectors_of_another_version_are_not_used(
    scorer: BiEncoderScorer | MaxSim, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = PlainBlockCache()
    scorer.build(context_of(corpus_of(TEXTS), keep))
    monkeypatch.setattr("rankproof.stages._vectors.__version__", "1")
    scorer.build(context_of(corpus_of(TEXTS), keep))
    assert len(keep.partition_files(name)) == 2


def test_a_folder_is_created_only_for_stores_that_need_one() -> None:
    keep = PlainBlockCache()
    Dense(MODEL, store=Memory()).build(context_of(corpus_of(TEXTS), keep))
    assert keep.folders == 0
    assert not PgVector(dsn="postgresql://u@h/d").needs_folder
    assert not Chroma(folder="mine").needs_folder
    assert PgVector().needs_folder
    assert Chroma().needs_folder


def test_the_same_stage_with_and_without_prompts_is_another_stage_with_other_vectors() -> None:
    plain, prompted = Dense(WordLlama()), Dense(WordLlama(), query_prompt="question: ", passage_prompt="answer: ")
    assert identity_key(plain) != identity_key(prompted)
    context = context_of(corpus_of(TEXTS))
    one, other = (PassageVectors(context, WordLlama(), stage.passage_prompt, stage.fields) for stage in (plain, prompted))
    (ids, vectors), (other_ids, other_vectors) = next(one.batches(9)), next(other.batches(9))
    assert ids == other_ids == ["d4", "d3", "d2", "d1"]
    assert np.any(vectors != other_vectors, axis=1).tolist() == [doc != "d3" for doc in ids]
    assert ranking_of(plain, context, "apple")[1].tolist() != ranking_of(prompted, context, "apple")[1].tolist()


def test_truncated_and_empty_passages_are_noted_also_for_cached_vectors() -> None:
    stage = Dense(HashedWords(max_words=2))
    context = context_of(corpus_of(TEXTS))
    for _ in range(2):
        searcher = stage.build(context)
        assert searcher.facts()["truncated_passages"] == 1
        assert list(searcher.notes()) == [
            "1 of 4 passages (25%) is longer than the model's limit and was truncated",
            "1 passages are empty; their score is 0 for every query",
        ]


def test_a_model_that_maps_everything_to_one_point_is_noted() -> None:
    searcher = Dense(HashedWords(max_words=1)).build(context_of(corpus_of({f"d{at}": f"same {at}" for at in range(5)})))
    assert searcher.facts()["mean_cosine"] == pytest.approx(1)
    assert COLLAPSE_KEY not in searcher.facts()  # which says that chunks were collapsed to documents
    assert "nearly the same vector" in searcher.notes()[0]


def test_the_recall_of_an_approximate_store_is_a_fact() -> None:
    corpus = corpus_of({f"d{at}": f"w{at} common" for at in range(20)})
    for forgets, expected in ((2, 0.5), (4, 0.75)):
        stage = Dense(MODEL, store=OneByOne(forgets=forgets), depth=20)
        searcher = stage.build(context_of(corpus))
        searcher.search_all([Query("q1", "w1 common"), Query("q2", "w2"), Query("q3", "")])
        searcher.search(Query("q1", "w1 common"), (), QueryTimer())
        facts = searcher.facts()
        assert (facts["recall_of_exact"], facts["recall_depth"], facts["recall_queries"]) == (expected, 20, 2)
    assert "recall_of_exact" not in Dense(MODEL).build(context_of(corpus)).facts()


def test_the_timer_separates_embedding_from_searching() -> None:
    clock = QueryTimer()
    Dense(MODEL).build(context_of(corpus_of(TEXTS))).search(Query("q", "apple"), (), clock)
    assert clock.milliseconds["embed"] > 0
    assert clock.milliseconds["search"] > 0
    assert clock.milliseconds["rerank"] == 0


def test_costs_are_encoding_and_the_bytes_of_the_store() -> None:
    context = context_of(corpus_of(TEXTS))
    first, second = (Dense(MODEL).build(context).cost() for _ in range(2))
    encoding = next(iter(first.shared.values()))[0]
    assert second.shared == first.shared
    assert min(first.seconds, second.seconds) >= encoding > 0
    assert first.bytes == second.bytes == 4 * 32 * 4


def test_a_query_without_a_word_finds_nothing_with_and_without_a_prompt() -> None:
    context = context_of(corpus_of(TEXTS))
    for stage in (Dense(MODEL), Dense(MODEL, query_prompt="query: ")):
        searcher = stage.build(context)
        assert search_with(stage, searcher, context, "")[0] == []
        empty, filled = searcher.search_all([Query("q1", ""), Query("q2", "pear")])
        assert (empty[0], len(filled[0])) == ([], 4)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_query_finds_nothing_and_a_blank_passage_scores_zero_even_with_special_tokens(
    blank: str,
) -> None:
    stage = Dense(HashedWords(always_marks=True), query_prompt="query: ")
    context = context_of(corpus_of({"d1": "red apple", "d2": blank}))
    searcher = stage.build(context)
    assert searcher.facts()["empty_passages"] == 1
    assert search_with(stage, searcher, context, blank)[0] == []
    docs, scores = search_with(stage, searcher, context, "apple")
    assert scores[docs.index("d2")] == 0
    assert searcher.search_all([Query("q", blank)])[0][0] == []


def test_an_empty_text_has_a_vector_of_zeros_under_minilm_too(minilm_cache: Path) -> None:
    stage = Dense(MiniLM())
    context = context_of(corpus_of({"d1": "red apple", "d2": ""}))
    searcher = stage.build(context)
    docs, scores = search_with(stage, searcher, context, "apple")
    assert (docs, scores[1]) == (["d1", "d2"], 0)
    assert search_with(stage, searcher, context, "")[0] == []


@pytest.mark.parametrize(("text", "cut"), [("apple pie", 0), ("red apple pie", 1)])
def test_a_query_that_is_too_long_with_its_prompt_is_counted_as_truncated(text: str, cut: int) -> None:
    searcher = Dense(HashedWords(max_words=3), query_prompt="query: ").build(context_of(corpus_of(TEXTS)))
    searcher.search_all([Query("q", text), Query("short", "pie")])
    notes = [note for note in searcher.notes() if "queries" in note]
    assert notes == ["1 of 2 queries (50%) is longer than the model's limit and was truncated"] * cut


@pytest.mark.parametrize("made", [BiEncoderScorer(MODEL), MaxSim(MODEL)])
def test_progress_is_reported_in_passages(made: BiEncoderScorer | MaxSim) -> None:
    told: list[tuple[str, int, int]] = []
    corpus = corpus_of({f"d{at}": f"w{at}" for at in range(300)})
    context = replace(context_of(corpus), progress=lambda label, done, total: told.append((label, done, total)))
    made.build(context)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1:] == (300, 300)


def test_no_documents_at_all_give_nothing() -> None:
    stage = Dense(MODEL)
    context = context_of(corpus_of({}))
    searcher = stage.build(context)
    assert search_with(stage, searcher, context, "apple")[0] == []
    assert searcher.search_all([Query("q", "apple")])[0][0] == []
    assert searcher.facts()["mean_cosine"] == 0
    searcher.close()


def test_a_prompt_must_be_text() -> None:
    with pytest.raises(UsageError, match="query_prompt is a NoneType; pass text"):
        Dense(MODEL, query_prompt=None)  # type: ignore[arg-type]
