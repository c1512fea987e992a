"""Chunks: laws for every unit, and the collapse of rankings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query, chunk_separator, document_of_chunk
from rankproof._data.ordering import rank_documents
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof.errors import UsageError
from rankproof.models import WordLlama
from rankproof.stages import BM25, Chunked, Dense
from rankproof.stages._base import QueryTimer
from rankproof.stages._chunked import UNITS, Chunking, Unit, collapse_ranking, document_chunks, unit_starts
from support.examples import examples
from support.stage_building import PlainBlockCache, context_of, corpus_of

PIECES = st.sampled_from(
    ["word", "Über", "日本。", "Is it?", "e.g. ", "3.5", "U.S.", "😀", " ", "\n\n", "\t", ". ", "!", '"', "а́", "\ud800"]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
SIZES = st.integers(1, 6).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def _chunks(text: str, unit: str, size: int, overlap: int) -> list[Document]:
    chunking = Chunking(size, overlap, unit, "wordllama")  # type: ignore[arg-type]
    return list(document_chunks(Document("d", text, fields={"url": "u"}), chunking, "#c"))


def _chunk_corpus(corpus: Corpus, size: int, unit: Unit = "words") -> Corpus:
    """The chunks of all documents, without overlap."""
    return Chunked(BM25(), size=size, overlap=0, unit=unit).input_context(context_of(corpus)).corpus


@pytest.mark.parametrize("unit", UNITS)
@examples(60)
@given(text=TEXTS, sizes=SIZES)
def test_chunks_give_the_text_back_in_order_without_a_gap(unit: str, text: str, sizes: tuple[int, int]) -> None:
    chunks = _chunks(text, unit, *sizes)
    reached = 0
    joined = ""
    for chunk in chunks:
        start, end = chunk.fields["start"], chunk.fields["end"]
        assert chunk.text == text[start:end]
        assert start <= reached < end
        joined += text[reached:end]
        reached = end
    assert joined == (text if text.strip() else "")
    assert [chunk.fields["chunk"] for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert chunks == _chunks(text, unit, *sizes)


@pytest.mark.parametrize("unit", UNITS)
@examples(60)
@given(text=TEXTS, sizes=SIZES)
def test_neighbours_share_exactly_the_overlap_and_none_is_too_long(unit: str, text: str, sizes: tuple[int, int]) -> None:
    size, overlap = sizes
    starts = unit_starts(text, unit, "wordllama")  # type: ignore[arg-type]
    places = [0, *starts[1:], len(text)]
    counted = [
        (places.index(chunk.fields["start"]), places.index(chunk.fields["end"])) for chunk in _chunks(text, unit, size, overlap)
    ]
    for (_, end), (start, _) in pairwise(counted):
        assert end - start == overlap
    assert all(end - start == size for start, end in counted[:-1])
    assert all(0 < end - start <= size for start, end in counted)
    assert not counted or (counted[0][0], counted[-1][1]) == (0, len(starts))


def test_a_chunk_has_the_title_and_the_fields_of_its_document() -> None:
    corpus = Corpus([Document("d", "one two three", "A title", {"url": "u"}, 7)])
    first, second = _chunk_corpus(corpus, 2).values()
    assert (first.id, first.title, first.text, first.line) == ("d#c1", "A title", "one two ", 7)
    assert dict(second.fields) == {"url": "u", "document": "d", "chunk": 2, "start": 8, "end": 13}


def test_a_document_with_a_title_alone_has_one_chunk_and_an_empty_one_has_none() -> None:
    corpus = corpus_of({"empty": " \n", "titled": "", "full": "some words"}, {"titled": "Only a title"})
    assert list(_chunk_corpus(corpus, 1, "sentences")) == ["titled#c1", "full#c1"]
    searcher = Chunked(BM25()).build(context_of(corpus))
    assert searcher.notes() == ["1 document has neither title nor text and cannot be found"]


def test_chunks_are_files_that_are_written_once_and_do_not_depend_on_the_partitions() -> None:
    corpus = corpus_of({"a": "one two three", "b": "", "c": "four five", "d": "six"})
    cache = PlainBlockCache()
    stage = Chunked(BM25(), size=1, overlap=0)
    whole = stage.input_context(context_of(corpus, cache)).corpus
    (file,) = cache.partition_files("*.chunks.arrays")
    written = file.stat().st_mtime_ns
    again = stage.input_context(context_of(corpus, cache)).corpus
    assert file.stat().st_mtime_ns == written
    # The files of a corpus live as long as their cache.
    split_cache = PlainBlockCache()
    split = stage.input_context(context_of(corpus.repartitioned(1), split_cache)).corpus
    assert [len(one) for one in split.partitions] == [3, 2, 1]
    assert list(whole.values()) == list(again.values()) == list(split.values())
    assert whole.fingerprint() == split.fingerprint()
    assert split["c#c2"].text == "five"


@given(st.lists(st.sampled_from(["a", "a#", "a#c1", "a#c1#c2", "a##c1", "a##c12", "b#cx", "c1"]), unique=True, min_size=1))
def test_no_chunk_has_the_id_of_a_document_and_each_names_its_own(ids: list[str]) -> None:
    corpus = corpus_of(dict.fromkeys(ids, "one two three"))
    chunks = _chunk_corpus(corpus, 1)
    mark = chunk_separator(corpus)
    assert len(chunks) == 3 * len(ids)
    assert not set(chunks) & set(ids)
    assert all(document_of_chunk(chunk, mark) == record.fields["document"] for chunk, record in chunks.items())


@given(
    st.dictionaries(st.sampled_from([f"{doc}#c{number}" for doc in "abcd" for number in range(1, 5)]), st.integers(0, 3)),
    st.integers(1, 12) | st.none(),
)
def test_a_document_has_the_score_of_its_best_chunk_in_the_pool(scores: dict[str, int], pool: int | None) -> None:
    docs, values = rank_documents(list(scores), np.array(list(scores.values()), dtype=np.float64))
    found, best = collapse_ranking((docs, values), lambda chunk: chunk[0], pool=pool)
    seen = [(doc[0], value) for doc, value in zip(docs, values.tolist(), strict=True)][:pool]
    assert dict(zip(found, best.tolist(), strict=True)) == {doc: max(v for d, v in seen if d == doc) for doc, _ in seen}
    assert (found, best.tolist()) == (rank_documents(found, best)[0], sorted(best.tolist(), reverse=True))


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0},
        {"overlap": 200},
        {"overlap": -1},
        {"unit": "letters"},
        {"tokenizer": "gpt"},
        {"pool": 0},
        {"rule": "sum"},
        {"depth": 0},
        {"stage": "bm25"},
    ],
)
def test_settings_without_valid_chunks_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Chunked(**{"stage": BM25(), **wrong})  # type: ignore[arg-type]


def test_the_default_overlap_follows_the_size() -> None:
    assert [Chunked(BM25(), size=size).overlap for size in (1, 2, 10, 200)] == [0, 0, 2, 40]
    assert Chunked(BM25(), size=10) == Chunked(BM25(), size=10, overlap=2)


def test_a_pool_that_keeps_every_chunk_is_none() -> None:
    assert Chunked(BM25(depth=50), pool=50) == Chunked(BM25(depth=50))
    assert Chunked(BM25(depth=50), pool=49) != Chunked(BM25(depth=50))


def test_the_key_of_the_chunks_depends_on_the_chunking_only() -> None:
    context = context_of(corpus_of({"d": "one two"}))
    key = Chunked(BM25(), size=9, overlap=1).input_context(context).corpus_key
    assert key == Chunked(Dense(WordLlama()), size=9, overlap=1, pool=3, depth=7).input_context(context).corpus_key
    others: list[dict[str, Any]] = [{"size": 8}, {"overlap": 2}, {"unit": "tokens"}, {"unit": "sentences"}]
    keys = {Chunked(BM25(), **{"size": 9, "overlap": 1, **one}).input_context(context).corpus_key for one in others}
    assert len(keys | {key, context.corpus_key}) == 6


def test_the_input_stage_searches_chunks_and_the_pool_counts_them() -> None:
    corpus = corpus_of({"long": "Cat cat. Cat. Cat sat.", "short": "Cat sat down here and there and everywhere."})
    context = context_of(corpus)
    for pool, wanted in ((None, {"long", "short"}), (3, {"long"})):
        stage = Chunked(BM25(stemming=False), size=1, overlap=0, unit="sentences", pool=pool)
        below = stage.stage.build(stage.input_context(context)).search(Query("q", "cat"), (), QueryTimer())
        found, _ = stage.build(context).search(Query("q", "cat"), [below], QueryTimer())
        assert set(found) == wanted


def test_a_chunked_system_is_written_to_toml_and_read_back(tmp_path: Path) -> None:
    systems: dict[str, Any] = {"bm25": BM25(), "chunks": Chunked(BM25(), size=3, overlap=1, unit="sentences", pool=20)}
    experiment = Experiment(systems, name="x", collapse="url", pool=7)
    path = tmp_path / "x.toml"
    path.write_text(experiment_toml(experiment), encoding="utf-8")
    assert read_experiment(path) == experiment


def test_systems_on_the_same_chunks_share_the_cache() -> None:
    labels: list[str] = []
    systems = {
        "one": Chunked(BM25(), size=20, overlap=5),
        "two": Chunked(BM25(), size=20, overlap=5, pool=10),
    }
    settings = RunOptions(cache=None, progress=lambda label, done, total: labels.append(label) if done else None)
    run_experiment(Experiment(systems, limit=5), settings)
    assert labels.count("one: building") == 2
    assert labels.count("two: building") == 1
