"""Vectors in array files a partition: the same bits for any partitions, continued after a kill, and never copied into memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from rankproof._data.arrays import Matrix
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._executors.processes import ProcessExecutor
from rankproof.errors import ExternalError, InputError
from rankproof.stages import BiEncoderScorer, Dense, MaxSim
from rankproof.stages import _vectors as module
from rankproof.stages._base import QueryTimer
from rankproof.stages._fields import passage_text, passages_of
from rankproof.stages._text_vectors import text_vectors
from rankproof.stages._vectors import PassageVectors, VectorRetriever
from rankproof.stores._base import Store
from rankproof.stores._memory import Memory
from support.examples import sampled
from support.small_models import HashedWords, LoadedHashedWords, OneByOne
from support.stage_building import PlainBlockCache, context_of, corpus_of
from support.torch_oracle import oracle

WORDS = ("red", "green", "apple", "pear", "pie", "the", "a", "of")
TEXTS = {f"d{at:03}": " ".join(WORDS[(at * step) % 8] for step in range(at % 9)) for at in range(150)} | {"ü": "pie", "é": "pie"}
QUERIES = [Query("q1", "apple pie"), Query("q2", "green"), Query("q3", ""), Query("q4", "the red pear of a pie")]
SIZES = [1, 7, 100]


def _found(corpus: Corpus, store: Store) -> tuple[Any, ...]:
    searcher = Dense(HashedWords(max_words=6), store=store, depth=20).build(context_of(corpus))
    together = searcher.search_all(QUERIES)
    alone = [searcher.search(query, (), QueryTimer()) for query in QUERIES]
    facts = {name: value for name, value in searcher.facts().items() if name != "encoding_seconds"}
    return [(docs, scores.tolist()) for docs, scores in (*together, *alone)], facts, list(searcher.notes())


STORES: dict[str, Store] = {"memory": Memory(), "exact": OneByOne(), "approximate": OneByOne(forgets=3)}


@cache
def _found_whole(store: str) -> tuple[Any, ...]:
    return _found(corpus_of(TEXTS), STORES[store])


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("size", sampled(SIZES, len(SIZES)))
def test_rankings_facts_and_notes_have_the_same_bits_for_any_partitions(size: int, store: str) -> None:
    whole = _found_whole(store)
    assert whole[0][:4] == whole[0][4:]
    assert _found(corpus_of(TEXTS).repartitioned(size), STORES[store]) == whole


@pytest.mark.parametrize(
    "scorer", [BiEncoderScorer(HashedWords()), MaxSim(HashedWords())], ids=["bi-encoder", "late interaction"]
)
@pytest.mark.parametrize("size", sampled(SIZES, len(SIZES)))
def test_scores_and_facts_of_scorers_have_the_same_bits_for_any_partitions(size: int, scorer: BiEncoderScorer | MaxSim) -> None:
    corpus = corpus_of(TEXTS)
    whole, split = (scorer.build(context_of(one)) for one in (corpus, corpus.repartitioned(size)))
    for query in QUERIES:
        np.testing.assert_array_equal(whole.scores(query, list(TEXTS)), split.scores(query, list(TEXTS)))
    assert whole.facts() == split.facts()
    assert whole.cost().bytes == split.cost().bytes


@pytest.mark.slow
def test_worker_processes_give_the_bits_of_one_process() -> None:
    corpus = corpus_of(TEXTS).repartitioned(40)
    here = Dense(HashedWords()).build(context_of(corpus))
    with ProcessExecutor(2) as executor:
        there = Dense(HashedWords()).build(replace(context_of(corpus), executor=executor))
        for mine, theirs in zip(here.search_all(QUERIES), there.search_all(QUERIES), strict=True):
            assert mine[0] == theirs[0]
            np.testing.assert_array_equal(mine[1], theirs[1])
    assert here.facts()["mean_cosine"] == there.facts()["mean_cosine"]


def test_vectors_for_a_store_come_by_id_in_batches_that_do_not_depend_on_the_partitions() -> None:
    corpus = corpus_of(TEXTS)
    for size in (*SIZES, 1000):
        vectors = PassageVectors(context_of(corpus.repartitioned(size)), HashedWords(), "", ("text",))
        batches = list(vectors.batches(60))
        assert [len(ids) for ids, _ in batches] == [60, 60, 32]
        assert [doc for ids, _ in batches for doc in ids] == sorted(TEXTS, key=str.encode, reverse=True)
        encoder = HashedWords().load()
        for ids, matrix in batches:
            np.testing.assert_array_equal(matrix, text_vectors(encoder, [TEXTS[doc] for doc in ids]))


def test_a_search_reads_the_file_and_copies_no_vectors() -> None:
    context = context_of(corpus_of(TEXTS))
    retriever = VectorRetriever(HashedWords(), "", ("text",), 1, "cpu")
    folder = context.block_cache.partition_folder("x")
    partition = context.corpus.partitions[0]
    totals = retriever.combine([retriever.prepare(partition, folder, lambda done: None)], folder)
    vectors = retriever.open(partition, folder, totals).rows().vectors
    assert vectors.base is not None
    assert not vectors.flags.writeable
    assert [path.name for path in folder.iterdir()] == ["vectors.arrays"]


@dataclass(frozen=True)
class Interrupted:
    """A model that fails once it has encoded so many texts."""

    texts: int = field(default=10**6, metadata=NOT_IN_IDENTITY)
    encoded: list[str] = field(default_factory=list, metadata=NOT_IN_IDENTITY)

    def load(self, *, threads: int = 1) -> LoadedInterrupted:
        return LoadedInterrupted(self)

    def revision(self) -> str:
        return "1"


class LoadedInterrupted(LoadedHashedWords):
    def __init__(self, model: Interrupted) -> None:
        super().__init__(HashedWords())
        self._model = model

    def encode(self, texts: Sequence[str]) -> Matrix:
        self._count(texts)
        return super().encode(texts)

    def tokens(self, texts: Sequence[str]) -> list[Matrix]:
        self._count(texts)
        return super().tokens(texts)

    def _count(self, texts: Sequence[str]) -> None:
        if len(self._model.encoded) + len(texts) > self._model.texts:
            raise KeyboardInterrupt
        self._model.encoded.extend(texts)


def _few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_BLOCK", 16)
    monkeypatch.setattr(module, "BLOCK_SECONDS", 0.0)
    monkeypatch.setattr(module, "SAVE_SECONDS", 0.0)


@pytest.mark.parametrize("kind", [BiEncoderScorer, MaxSim])
@pytest.mark.parametrize(("size", "texts", "done"), [(1000, 50, 48), (20, 50, 40), (20, 39, 36), (1000, 5, 0)])
def test_a_killed_run_continues_with_the_block_in_hand(
    kind: type[BiEncoderScorer | MaxSim], size: int, texts: int, done: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _few_at_a_time(monkeypatch)
    keep, corpus, later = PlainBlockCache(), corpus_of(TEXTS).repartitioned(size), Interrupted()
    with pytest.raises(KeyboardInterrupt):
        kind(Interrupted(texts)).build(context_of(corpus, keep))
    scorer = kind(later).build(context_of(corpus, keep))
    assert len(later.encoded) == len(TEXTS) - done
    never_killed = kind(Interrupted()).build(context_of(corpus))
    for query in QUERIES:
        np.testing.assert_array_equal(scorer.scores(query, list(TEXTS)), never_killed.scores(query, list(TEXTS)))
    assert scorer.facts() == never_killed.facts()


def test_token_vectors_that_lost_a_block_are_encoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _few_at_a_time(monkeypatch)
    keep, corpus, model = PlainBlockCache(), corpus_of(TEXTS), Interrupted()
    whole = MaxSim(model).build(context_of(corpus, keep)).scores(QUERIES[0], list(TEXTS))
    [journal] = keep.partition_files("tokens.journal")
    with journal.open("r+b") as file:
        file.truncate(journal.stat().st_size - 1)
    with pytest.raises(ExternalError, match=r"9 blocks instead of 10.*encoded again; run again to continue"):
        MaxSim(model).build(context_of(corpus, keep))
    model.encoded.clear()
    again = MaxSim(model).build(context_of(corpus, keep))
    assert len(model.encoded) == len(TEXTS) - 9 * 16
    np.testing.assert_array_equal(again.scores(QUERIES[0], list(TEXTS)), whole)


def test_blocks_grow_while_they_are_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_BLOCK", 8)
    done: list[int] = []
    retriever = VectorRetriever(HashedWords(), "", ("text",), 1, "cpu")
    context = context_of(corpus_of(TEXTS))
    retriever.prepare(context.corpus.partitions[0], context.block_cache.partition_folder("x"), done.append)
    assert [count for count in done if count] == [8, 16, 32, 64, 32]


@pytest.mark.torch
def test_a_batch_on_a_device_of_torch_has_the_bits_of_the_cpu() -> None:
    oracle("torch")
    partition = corpus_of(TEXTS).partitions[0]
    context, queries = context_of(corpus_of(TEXTS)), text_vectors(HashedWords().load(), [query.text for query in QUERIES])
    found = []
    for device in ("cpu", "cpu:0"):
        retriever, folder = VectorRetriever(HashedWords(), "", ("text",), 1, device), context.block_cache.partition_folder(device)
        totals = retriever.prepare(partition, folder, lambda done: None)
        found.append(retriever.open(partition, folder, totals).search(queries, 20))
    for name in ("rows", "scores", "counts"):
        np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
    assert found[0].counts.tolist() == [20, 20, 0, 20]


@dataclass(frozen=True)
class NotFinite:
    """A model that gives a vector that is not finite for the text `pie`, or for that of a query."""

    def load(self, *, threads: int = 1) -> LoadedNotFinite:
        return LoadedNotFinite(HashedWords())

    def revision(self) -> str:
        return "1"


class LoadedNotFinite(LoadedHashedWords):
    def encode(self, texts: Sequence[str]) -> Matrix:
        found = super().encode(texts)
        found[[text == "pie" for text in texts]] = np.nan
        return found


def test_a_vector_that_is_not_finite_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"vector ü is not finite, or longer than 1e\+09; fix the model"):
        Dense(NotFinite()).build(context_of(corpus_of({"a": "apple", "ü": "pie", "z": "pear"})))
    searcher = Dense(NotFinite()).build(context_of(corpus_of({"a": "apple"})))
    with pytest.raises(InputError, match="vector number 2 is not finite"):
        searcher.search_all([Query("q1", "apple"), Query("q2", "pie")])


@pytest.mark.parametrize("fields", [("title", "text"), ("text", "title"), ("text",), ("title", "brand", "text")])
def test_passages_of_rows_are_those_of_the_documents(fields: tuple[str, ...]) -> None:
    named: list[tuple[str, str, str, dict[str, object]]] = [
        ("a", " one ", "T", {"brand": "x"}),
        ("b", "", "only", {}),
        ("c", "\u2003two\n", "", {"brand": 3}),
        ("d", "", "", {}),
    ]
    corpus = Corpus(Document(doc, text, title, more) for doc, text, title, more in named)
    found = passages_of(corpus.partitions[0], [3, 0, 2, 1], fields)
    assert found == [passage_text(corpus[doc], fields) for doc in "dacb"]
