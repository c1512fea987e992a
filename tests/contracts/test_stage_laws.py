"""Laws that every stage on the shelf keeps."""

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
from rankproof._registry import Registry, settings_of
from rankproof.errors import UsageError
from rankproof.models._wordllama import WordLlama
from rankproof.stages import (
    BM25,
    RM3,
    RRF,
    SQL,
    BiEncoderScorer,
    Chunked,
    CrossEncoderScorer,
    Dense,
    ExtractAnswer,
    Function,
    Fuse,
    GenerateAnswer,
    Http,
    KeywordScorer,
    LanceDBFTS,
    Listwise,
    MaxSim,
    Pairwise,
    Pointwise,
    Rerank,
    Rewrite,
    RunFile,
    SQLiteFTS5,
    Tantivy,
)
from rankproof.stages._base import BatchSearcher, Scorer, Stage
from rankproof.stages._engines.base import EngineStage
from rankproof.stages._registry import SCORERS as REGISTERED_SCORERS
from rankproof.stages._registry import STAGES as REGISTERED_STAGES
from support.examples import examples
from support.run_files import run_of_another_query
from support.scripted_chat import ScriptedChat
from support.search_functions import nothing
from support.small_models import HashedWords, OneByOne, SharedWords
from support.stage_building import context_of, corpus_of, ranking_of, search_with

LEXICAL = BM25(stemming=False, stop_words=False, depth=4)
DENSE = Dense(HashedWords(), depth=5)
HYBRID = Fuse((LEXICAL, DENSE), "combsum", norm="z-score", depth=6)


def defaults(registry: Registry[Any], tested: list[Any]) -> list[Any]:
    """The registered parts that are not tested yet and need no setting."""
    parts = [component.load() for component in registry.components]
    types = {type(one) for one in tested}
    return [part() for part in parts if part not in types and not any(setting.required for setting in settings_of(part))]


SCORERS: list[Scorer] = [
    KeywordScorer(),
    CrossEncoderScorer(SharedWords()),
    BiEncoderScorer(HashedWords()),
    MaxSim(HashedWords()),
    Listwise(ScriptedChat(lambda request: "[2] > [1]"), window=2, step=1),
    Pointwise(ScriptedChat(lambda request: "Yes")),
    Pairwise(ScriptedChat(lambda request: "A")),
]
SCORERS += defaults(REGISTERED_SCORERS, SCORERS)
SHELF: list[Stage] = [
    LEXICAL,
    BM25(tokens="characters-3", depth=4),
    Tantivy(depth=4),
    Tantivy(stemming=False, stop_words=True, syntax="tantivy", depth=2),
    SQLiteFTS5(depth=4),
    SQLiteFTS5(stemming=False, depth=2),
    LanceDBFTS(depth=4),
    LanceDBFTS(stemming=False, stop_words=False, depth=2),
    DENSE,
    Dense(HashedWords(), query_prompt="query: ", passage_prompt="passage: ", store=OneByOne(), depth=3),
    RRF((LEXICAL, DENSE), depth=7),
    HYBRID,
    Fuse((LEXICAL, DENSE, LEXICAL), "combmnz", weights=(1.0, 2.0, 0.5), depth=2),
    Chunked(HYBRID, size=2, overlap=1, depth=3),
    Chunked(Rerank(LEXICAL, KeywordScorer()), size=1, overlap=0, unit="tokens", pool=2),
    RM3(LEXICAL, docs=2, terms=2, weight=0.4, common=1.0),
    Rewrite(LEXICAL, ScriptedChat(lambda request: '{"query": "b c"}')),
    GenerateAnswer(HYBRID, ScriptedChat(lambda request: "b")),
    ExtractAnswer(LEXICAL, HashedWords()),
    Function(nothing),
    RunFile(run_of_another_query()),
    SQL(dsn="host=/nowhere user=nobody", sql="SELECT id FROM doc WHERE body = %(query)s", retries=0),
    Http(url="http://127.0.0.1:9/?q={query}", ids="hits[].id", retries=0),
    *(Rerank(HYBRID, by, top=3, weight=weight) for by in SCORERS for weight in (1.0, 0.3, 0.0)),
    Rerank(Rerank(DENSE, KeywordScorer(), top=9), BiEncoderScorer(HashedWords()), top=1, norm="min-max", weight=0.5),
]
SHELF += defaults(REGISTERED_STAGES, SHELF)
NAMES = [f"{at}-{type(stage).__name__}" for at, stage in enumerate(SHELF)]
words = st.text(alphabet="abcdé ", max_size=10)
corpora = st.dictionaries(st.sampled_from(["d1", "d2", "d10", "é", "𝔸", "z", "y", "x"]), words, min_size=1)


def test_every_stage_and_scorer_is_on_the_shelf() -> None:
    there = {type(stage).__name__ for stage in SHELF} | {type(scorer).__name__ for scorer in SCORERS} | {"RRF"}
    parts = {name for name in dir(stages) if name not in ("fusion_method", "normalisation")}
    missing = sorted(parts - there)
    assert missing == [], "add an example of each stage to SHELF, of each scorer to SCORERS"


@pytest.mark.parametrize("stage", SHELF, ids=NAMES)
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
    "stage", [stage for stage in SHELF if not stage.inputs() and not isinstance(stage, EngineStage | RunFile)]
)
@examples(10)
@given(texts=corpora, queries=st.lists(words, max_size=3))
def test_a_batch_finds_what_single_queries_find(stage: Stage, texts: dict[str, str], queries: list[str]) -> None:
    context = context_of(corpus_of(texts))
    with closing(stage.build(context)) as searcher:
        assert isinstance(searcher, BatchSearcher)
        batch = searcher.search_all([Query(f"q{at}", text) for at, text in enumerate(queries)])
        single = [search_with(stage, searcher, context, text) for text in queries]
    assert [docs for docs, _ in batch] == [docs for docs, _ in single]
    for (_, one), (_, other) in zip(batch, single, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


RERANKERS = [stage for stage in SHELF if isinstance(stage, Rerank)]


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


@pytest.mark.parametrize("stage", SHELF, ids=NAMES)
def test_equal_stages_are_one_and_their_identity_is_json(stage: Stage) -> None:
    twin: Any = replace(stage)  # type: ignore[type-var]
    assert twin == stage
    assert hash(twin) == hash(stage)
    assert json.loads(json.dumps(identity(stage), allow_nan=False)) == identity(stage)
    assert identity_key(twin) == identity_key(stage)


def test_all_stages_of_the_shelf_have_keys_of_their_own() -> None:
    assert len({identity_key(stage) for stage in SHELF}) == len(SHELF)


@pytest.mark.parametrize("stage", SHELF, ids=NAMES)
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
    heavy = ["bm25s", "Stemmer", "numba", "onnxruntime", "onnx", "tokenizers", "torch", "psycopg", "chromadb", "scipy"]
    heavy += ["tantivy", "sqlite3", "lancedb", "pyarrow"]
    code = f"import sys, rankproof.stages; print(sorted(set({heavy}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.strip() == "[]"
