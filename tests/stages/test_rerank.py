"""Reranking: order, blending, documents below the top, and the formula of each scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Query
from rankproof._fusion.normalisations import ScoreLists, z_score
from rankproof._registry import Option
from rankproof.errors import ExternalError, UsageError
from rankproof.stages import BM25, BiEncoderScorer, CrossEncoderScorer, Dense, KeywordScorer, MaxSim, Rerank
from rankproof.stages._base import BuildContext, QueryTimer, Searcher, Stage
from rankproof.stages._rerank import rerank_top
from rankproof.stages._scorers import LoadedPassageScorer, PassageScorer, ScoresOfPassages, shared_words
from support.small_models import HashedWords, SentencesOnly, SharedWords
from support.stage_building import PlainBlockCache, context_of, corpus_of, ranking_of

TEXTS = {"d1": "apple apple apple", "d2": "apple pie recipe", "d3": "pie crust", "d4": "pear pie", "d5": "apple tart"}
GROUND = context_of(corpus_of(TEXTS))
FIRST = BM25()
QUERY = "apple pie"
finite = st.floats(-1e300, 1e300)


class Listening(LoadedPassageScorer):
    """A scorer, and the value that stands for it, that remembers which documents it was asked for."""

    def __init__(self) -> None:
        super().__init__(GROUND.corpus, ("text",), shared_words)
        self.asked: list[str] = []

    def build(self, context: BuildContext) -> Listening:
        return self

    def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
        self.asked.extend(docs)
        return super().scores(query, docs)


@dataclass(frozen=True)
class ShortFirst(PassageScorer):
    """Scores short passages higher."""

    fields: tuple[str, ...] = ("text",)

    def load(self, context: BuildContext) -> ScoresOfPassages:
        return lambda query, passages: [-len(passage) for passage in passages]


def test_a_scorer_of_passages_needs_only_load() -> None:
    docs, scores = ranking_of(Rerank(FIRST, ShortFirst()), GROUND, QUERY)
    assert scores == pytest.approx(sorted((-len(TEXTS[doc]) for doc in docs), reverse=True))
    loaded = ShortFirst().build(GROUND)
    assert loaded.facts()["fields"] == ["text"]
    assert loaded.cost().seconds >= 0
    assert loaded.notes() == ()
    with pytest.raises(UsageError, match="no document has a text field called abstract"):
        ShortFirst(("abstract",)).build(GROUND)


def test_weight_zero_keeps_the_input_ranking() -> None:
    below, above = ranking_of(FIRST, GROUND, QUERY), ranking_of(Rerank(FIRST, KeywordScorer(), weight=0), GROUND, QUERY)
    assert (above[0], above[1].tolist()) == (below[0], below[1].tolist())


def test_weight_one_is_the_scorers_order_and_scores() -> None:
    stage = Rerank(FIRST, CrossEncoderScorer(SharedWords()))
    docs, scores = ranking_of(stage, GROUND, QUERY)
    own = SharedWords().load().scores(QUERY, [TEXTS[doc] for doc in docs])
    assert scores == pytest.approx(own)
    assert own.tolist() == sorted(own, reverse=True)


def test_between_them_normalised_scores_are_blended() -> None:
    below = dict(zip(*ranking_of(FIRST, GROUND, QUERY), strict=True))
    docs, scores = ranking_of(Rerank(FIRST, CrossEncoderScorer(SharedWords()), weight=0.25), GROUND, QUERY)
    own = SharedWords().load().scores(QUERY, [TEXTS[doc] for doc in docs])
    expected = 0.75 * z_score(ScoreLists.of_ranking(np.array([below[doc] for doc in docs]))) + 0.25 * z_score(
        ScoreLists.of_ranking(own)
    )
    assert scores == pytest.approx(expected)


def test_documents_that_score_alike_keep_the_order_they_had() -> None:
    docs, scores = ranking_of(Rerank(FIRST, KeywordScorer()), GROUND, QUERY)
    below = ranking_of(FIRST, GROUND, QUERY)[0]
    assert docs[0] == "d2"
    assert docs[1:] == [doc for doc in below if doc != "d2"]
    assert scores == pytest.approx([2, 1, 1, 1, 1])


@given(scores=st.lists(finite, min_size=1, max_size=8), more=st.integers(0, 5))
def test_a_resorted_ranking_falls_strictly_and_stays_finite(scores: list[float], more: int) -> None:
    docs = [f"d{at}" for at in range(len(scores) + more)]
    found, values = rerank_top(docs, np.array(scores), len(scores))
    assert found[len(scores) :] == docs[len(scores) :]
    assert np.isfinite(values).all()
    assert (values[1:] < values[:-1]).all()
    places = [docs.index(doc) for doc in found[: len(scores)]]
    assert places == sorted(range(len(scores)), key=lambda at: (-scores[at], at))


def test_what_is_below_the_top_is_not_scored() -> None:
    listening = Listening()
    below = ranking_of(FIRST, GROUND, QUERY)
    ranking_of(Rerank(FIRST, listening, top=2), GROUND, QUERY)
    assert listening.asked == below[0][:2]


def test_the_bi_encoder_score_is_that_of_the_dense_stage() -> None:
    dense = dict(zip(*ranking_of(Dense(HashedWords()), GROUND, QUERY), strict=True))
    docs, scores = ranking_of(Rerank(FIRST, BiEncoderScorer(HashedWords())), GROUND, QUERY)
    assert scores == pytest.approx([dense[doc] for doc in docs], rel=1e-6)


def test_late_interaction_is_the_mean_of_the_best_matches_of_the_querys_tokens() -> None:
    encoder = HashedWords().load()
    docs, scores = ranking_of(Rerank(FIRST, MaxSim(HashedWords())), GROUND, QUERY)
    query = encoder.tokens([QUERY])[0]
    for doc, score in zip(docs, scores.tolist(), strict=True):
        there = encoder.tokens([TEXTS[doc]])[0]
        assert score == pytest.approx(float(np.mean([max(token @ word for word in there) for token in query])), abs=5e-3)
    assert docs[0] == "d2"


def test_late_interaction_stores_int8_vectors_and_needs_token_vectors() -> None:
    keep = PlainBlockCache()
    context = context_of(corpus_of({**TEXTS, "d6": ""}), keep)
    for _ in range(2):
        scorer = MaxSim(HashedWords(max_words=2)).build(context)
        assert scorer.cost().bytes == scorer.facts()["token_vectors"] * (32 + 4)
        assert list(scorer.notes()) == ["2 of 6 passages (33%) are longer than the model's limit and were truncated"]
        assert scorer.scores(Query("q", "apple"), ["d6"]).tolist() == [0.0]
        assert scorer.scores(Query("q", ""), ["d1"]).tolist() == [0.0]
    assert len(keep.partition_files("tokens.journal")) == 1
    with pytest.raises(UsageError, match="SentencesOnly gives no token vectors"):
        MaxSim(SentencesOnly())
    silent = MaxSim(SentencesOnly(gives_tokens=True))
    with pytest.raises(UsageError, match="SentencesOnly gives no token vectors"):
        silent.build(context)


def test_the_keyword_scorer_counts_the_distinct_query_words_in_the_passage() -> None:
    scorer = KeywordScorer().build(GROUND)
    assert scorer.scores(Query("q", "Apple apple, a PIE"), ["d1", "d2", "d3"]).tolist() == [1.0, 2.0, 1.0]


def test_a_model_that_gives_no_number_is_an_external_error() -> None:
    with pytest.raises(ExternalError, match="not a finite number"):
        ranking_of(Rerank(FIRST, CrossEncoderScorer(SharedWords(broken=True))), GROUND, QUERY)


@pytest.mark.parametrize(("reads", "top", "cut"), [(50, 50, 0), (2, 50, 2), (2, 1, 1), (1, 50, 5)])
def test_truncated_pairs_are_counted_query_by_query(reads: int, top: int, cut: int) -> None:
    searcher = Rerank(FIRST, CrossEncoderScorer(SharedWords(max_words=reads)), top=top).build(GROUND)
    for _ in range(2):
        clock = QueryTimer()
        searcher.search(Query("q", QUERY), [ranking_of(FIRST, GROUND, QUERY)], clock)
        assert clock.cut == cut


@pytest.mark.parametrize("scorer", [MaxSim, BiEncoderScorer])
@pytest.mark.parametrize(("reads", "cut"), [(2, 0), (1, 1)])
def test_a_query_that_a_scorer_truncates_is_counted(scorer: Any, reads: int, cut: int) -> None:
    clock = QueryTimer()
    searcher = Rerank(FIRST, scorer(HashedWords(max_words=reads))).build(GROUND)
    searcher.search(Query("q", QUERY), [ranking_of(FIRST, GROUND, QUERY)], clock)
    assert (clock.cut_queries, clock.cut) == (cut, 0)


def test_the_prompt_counts_towards_what_a_scorer_reads_of_a_query() -> None:
    clock = QueryTimer()
    searcher = Rerank(FIRST, BiEncoderScorer(HashedWords(max_words=2), query_prompt="query: ")).build(GROUND)
    searcher.search(Query("q", QUERY), [ranking_of(FIRST, GROUND, QUERY)], clock)
    assert clock.cut_queries == 1


@pytest.mark.parametrize("scorer", [MaxSim, BiEncoderScorer])
def test_a_blank_query_or_passage_scores_zero_even_with_special_tokens(scorer: Any) -> None:
    context = context_of(corpus_of({"d1": "apple", "d2": "", "d3": " \n"}))
    ready = scorer(HashedWords(always_marks=True)).build(context)
    assert ready.scores(Query("q", "apple"), ["d1", "d2", "d3"]) == pytest.approx([1, 0, 0], abs=0.01)
    assert ready.scores(Query("q", " "), ["d1", "d2"]).tolist() == [0, 0]


def test_a_scorer_that_gives_too_few_scores_is_an_external_error() -> None:
    class Short(Listening):
        def scores(self, query: Query, docs: Sequence[str]) -> FloatArray:
            return super().scores(query, docs)[1:]

    with pytest.raises(ExternalError, match="returned 4 scores for 5 documents"):
        ranking_of(Rerank(FIRST, Short()), GROUND, QUERY)


def test_a_lost_document_is_an_error_even_without_asserts(monkeypatch: pytest.MonkeyPatch) -> None:
    def losing(docs: list[str], scores: FloatArray, top: int) -> Any:
        return docs[1:], scores[1:]

    monkeypatch.setattr("rankproof.stages._rerank.rerank_top", losing)
    with pytest.raises(RuntimeError, match="must not add or lose documents"):
        ranking_of(Rerank(FIRST, KeywordScorer()), GROUND, QUERY)


def test_time_goes_to_reranking() -> None:
    clock = QueryTimer()
    searcher = Rerank(FIRST, KeywordScorer()).build(GROUND)
    searcher.search(Query("q", QUERY), [ranking_of(FIRST, GROUND, QUERY)], clock)
    assert clock.milliseconds["rerank"] > 0
    assert clock.milliseconds["embed"] == clock.milliseconds["search"] == 0


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"top": 0}, "top is 0"),
    ({"weight": 1.5}, "weight is 1.5; choose a number from 0 to 1"),
    ({"norm": "most"}, "norm is most; choose one of min-max, max, sum, "),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_settings_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Rerank(FIRST, KeywordScorer(), **options)


@pytest.mark.parametrize("scorer", [KeywordScorer, lambda **more: CrossEncoderScorer(SharedWords(), **more)])
def test_scorers_refuse_unknown_fields(scorer: Any) -> None:
    with pytest.raises(UsageError, match="no document has a text field called colour"):
        scorer(fields=("colour",)).build(GROUND)


def test_a_scorer_of_ones_own_is_checked_by_its_options() -> None:
    @dataclass(frozen=True)
    class Near(PassageScorer):
        target: Annotated[int, Option("the best length", least=1)] = 300

        def load(self, context: BuildContext) -> ScoresOfPassages:
            return lambda query, passages: [-abs(len(passage) - self.target) for passage in passages]

    assert Near().target == 300
    with pytest.raises(UsageError, match="target is 0"):
        Near(target=0)


def test_a_stage_of_ones_own_is_checked_by_its_options() -> None:
    @dataclass(frozen=True)
    class Deep(Stage):
        size: Annotated[int, Option("the size", least=1)] = 2
        depth: int = 100

        def build(self, context: BuildContext) -> Searcher:
            raise AssertionError

    assert Deep().depth == 100
    with pytest.raises(UsageError, match="size is 0"):
        Deep(size=0)
