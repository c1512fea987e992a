"""Laws that every stage keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import stages
from rankproof._data.dataset import Query
from rankproof._data.identity import identity, identity_key
from rankproof.errors import UsageError
from rankproof.models._wordllama import WordLlama
from rankproof.stages import (
    BM25,
    RRF,
    BiEncoderScorer,
    CrossEncoderScorer,
    Dense,
    Fuse,
    KeywordScorer,
    MaxSim,
    Rerank,
    RunFile,
)
from rankproof.stages._base import BatchSearcher, Stage
from rankproof.stages._engines.base import EngineStage
from support.examples import examples
from support.stage_building import context_of, corpus_of, ranking_of, search_with
from support.stage_examples import DENSE, EXAMPLES, LEXICAL, NAMES, SCORERS

words = st.text(alphabet="abcdé ", max_size=10)
corpora = st.dictionaries(st.sampled_from(["d1", "d2", "d10", "é", "𝔸", "z", "y", "x"]), words, min_size=1)


def test_every_stage_and_scorer_is_among_the_examples() -> None:
    there = {type(stage).__name__ for stage in EXAMPLES} | {type(scorer).__name__ for scorer in SCORERS} | {"RRF"}
    parts = {name for name in dir(stages) if name not in ("fusion_method", "normalisation")}
    missing = sorted(parts - there)
    assert missing == [], "add an example of each stage to EXAMPLES, of each scorer to SCORERS"


@pytest.mark.parametrize("stage", EXAMPLES, ids=NAMES)
@examples(15)
@given(texts=corpora, query=words)
def test_a_ranking_is_sound_and_the_same_again(stage: Stage, texts: dict[str, str], query: str) -> None:
    context = context_of(corpus_of(texts))
    docs, scores = ranking_of(stage, context, query)
    assert len(set(docs)) == len(docs) == len(scores) <= stage.depth
    assert set(docs) <= set(texts)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    rows = list(zip(scores.tolist(), docs, strict=True))
    assert rows == sorted(rows, reverse=True)
    again, same = ranking_of(stage, context, query)
    assert (again, same.tolist()) == (docs, scores.tolist())


@pytest.mark.parametrize(
    "stage", [stage for stage in EXAMPLES if not stage.inputs() and not isinstance(stage, EngineStage | RunFile)]
)
@examples(10)
@given(texts=corpora, queries=st.lists(words, max_size=3))
def test_a_batch_finds_what_single_queries_find(stage: Stage, texts: dict[str, str], queries: list[str]) -> None:
    context = context_of(corpus_of(texts))
    with closing(stage.build(context)) as searcher:
        assert isinstance(searcher, BatchSearcher)
        batch = searcher.search_all([Query(f"q{at}", text) for at, text in enumerate(queries)])
        single = [search_with(stage, searcher, context, text) for text in queries]
    assert [(docs, scores.tolist()) for docs, scores in batch] == [(docs, scores.tolist()) for docs, scores in single]


RERANKERS = [stage for stage in EXAMPLES if isinstance(stage, Rerank)]


@pytest.mark.parametrize("stage", RERANKERS)
@examples(15)
@given(texts=corpora, query=words)
def test_a_reranker_keeps_exactly_the_documents_below_so_that_recall_at_its_depth_is_equal(
    stage: Rerank, texts: dict[str, str], query: str
) -> None:
    context = context_of(corpus_of(texts))
    below, above = ranking_of(stage.stage, context, query), ranking_of(stage, context, query)
    assert sorted(above[0]) == sorted(below[0])
    assert set(above[0][: stage.top]) == set(below[0][: stage.top])
    assert above[0][stage.top :] == below[0][stage.top :]


@pytest.mark.parametrize("stage", EXAMPLES, ids=NAMES)
def test_equal_stages_are_one_and_their_identity_is_json(stage: Stage) -> None:
    twin: Any = replace(stage)  # type: ignore[type-var]
    assert twin == stage
    assert hash(twin) == hash(stage)
    assert json.loads(json.dumps(identity(stage), allow_nan=False)) == identity(stage)
    assert identity_key(twin) == identity_key(stage)


def test_all_stages_of_the_examples_have_keys_of_their_own() -> None:
    assert len({identity_key(stage) for stage in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("stage", EXAMPLES, ids=NAMES)
def test_what_a_stage_says_of_itself_is_json(stage: Stage) -> None:
    context = context_of(corpus_of({"d1": "a b", "d2": ""}))
    searcher = stage.build(context)
    search_with(stage, searcher, context, "a")
    json.dumps(searcher.facts(), allow_nan=False)
    assert all(isinstance(note, str) for note in searcher.notes())
    assert searcher.cost().seconds >= 0
    searcher.close()


def test_numbers_written_otherwise_make_the_same_stage() -> None:
    assert identity_key(BM25(k1=2, b=1)) == identity_key(BM25(k1=2.0, b=1.0))
    assert identity_key(RRF((LEXICAL,), k=60)) == identity_key(RRF([LEXICAL], k=60.0))
    assert identity_key(Rerank(LEXICAL, KeywordScorer(), weight=1)) == identity_key(Rerank(LEXICAL, KeywordScorer(), weight=1.0))


def test_what_does_not_count_makes_no_other_stage() -> None:
    both = (LEXICAL, DENSE)
    same: list[tuple[Stage, Stage]] = [
        (Fuse(both, "combsum", k=5), Fuse(both, "combsum")),
        (Fuse(both, "rrf", norm="z-score"), Fuse(both)),
        (Fuse(both, weights=(1, 1)), Fuse(both)),
        (Rerank(LEXICAL, KeywordScorer(), norm="min-max"), Rerank(LEXICAL, KeywordScorer())),
        (Rerank(LEXICAL, KeywordScorer(), weight=0, norm="min-max"), Rerank(LEXICAL, KeywordScorer(), weight=0)),
    ]
    for one, other in same:
        assert one == other
        assert identity_key(one) == identity_key(other)
    assert Rerank(LEXICAL, KeywordScorer(), weight=0.5, norm="min-max") != Rerank(LEXICAL, KeywordScorer(), weight=0.5)
    assert Fuse(both, "combsum", norm="z-score") != Fuse(both, "combsum")


def _dense_in(store: Any) -> Dense:
    return Dense(WordLlama(), store=store)


NOT_THEM: list[tuple[Callable[..., object], tuple[object, ...], str]] = [
    (Dense, ("minilm",), r"model is the text 'minilm'; pass a model, such as MiniLM\(\)"),
    (Dense, (WordLlama,), "model is the class WordLlama; pass a model"),
    (_dense_in, ("memory",), r"store is the text 'memory'; pass a store, such as Memory\(\)"),
    (BiEncoderScorer, (None,), "model is a NoneType; pass a model"),
    (MaxSim, ("minilm",), "model is the text 'minilm'; pass a model"),
    (MaxSim, (WordLlama(),), "model WordLlama gives no token vectors; choose an encoder that does, such as minilm"),
    (CrossEncoderScorer, ("acme/cross",), "model is the text 'acme/cross'; pass a cross-encoder"),
    (Rerank, ("bm25", KeywordScorer()), r"stage is the text 'bm25'; pass a stage, such as BM25\(\)"),
    (Rerank, (LEXICAL, "keywords"), r"by is the text 'keywords'; pass a scorer, such as KeywordScorer\(\)"),
    (Rerank, (LEXICAL, LEXICAL), r"by is a stage \(BM25\); pass a scorer"),
    (Rerank, (KeywordScorer(), LEXICAL), "stage is a KeywordScorer; pass a stage"),
    (Fuse, (("a", "b"),), "a stage to fuse is the text 'a'; pass a stage"),
    (RRF, ([LEXICAL, None],), "a stage to fuse is a NoneType; pass a stage"),
]


@pytest.mark.parametrize(("make", "parts", "words"), NOT_THEM)
def test_what_is_no_model_store_scorer_or_stage_is_refused_when_the_value_is_made(
    make: Callable[..., object], parts: tuple[object, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        make(*parts)


def test_importing_the_stages_loads_no_library_behind_them() -> None:
    heavy = ["Stemmer", "onnxruntime", "onnx", "tokenizers", "torch", "psycopg", "chromadb", "scipy"]
    heavy += ["tantivy", "sqlite3", "lancedb", "pyarrow", "qdrant_edge", "milvus_lite", "pymilvus"]
    code = f"import sys, rankproof.stages; print(sorted(set({heavy}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "[]"
