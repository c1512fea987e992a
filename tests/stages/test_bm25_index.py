"""The index of BM25: the C extension gives the arrays, rows and bits of the reference, and the reference those of bm25s."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document, Partition, TextColumn
from rankproof.stages import BM25
from rankproof.stages._analyzer import Analyzer, ByteNgrams, CharNgrams, split_words
from rankproof.stages._bm25 import TermAnalysis, passage_columns
from rankproof.stages._bm25_index import (
    Kernel,
    PostingArrays,
    TermBatch,
    best_kernel,
    build_postings,
    count_distinct,
    open_postings,
    pair_factors,
)
from support.examples import examples
from support.shared_data import collection

KERNELS: tuple[Kernel, ...] = ("native", "plain")
native = pytest.mark.skipif(best_kernel() != "native", reason="the C extension was not built")
WORDS = TermAnalysis(stemming=False, stop_words=False)
ODD_TEXTS = (
    *(
        "",
        " ",
        "a",
        "A_b c1",
        "don't stop",
        "x\x00y",
        "tab\tline\nfeed\x0bvt\x0cff\rcr",
        "\x1cfs\x1fus",
        "e\u0301 x",
        "\u0301a b",
    ),
    *(
        "a \u0301b",
        "<\u0338 =\u0338 a",
        "ΟΔΟΣ Σ ΑΣ.",
        "Σ'Σ ΑΣ\u00a0Β",
        "İstanbul Iı",
        "ﬁne ½ x²",
        "\u00a8a",
        "汉字 kana ｶﾅ",
        "\ud800",
        "a\udfffb",
    ),
    *("\u2003em\u2003space", "ﷺ", "l’été naïve", "ß ẞ", "K Å", "a" * 300, "word " * 70, "\u1e9b\u0323 q\u0307\u0323"),
)


def column(texts: Sequence[str]) -> TextColumn:
    return TextColumn.of([text.encode(errors="surrogatepass") for text in texts])


def index_of(
    texts: Sequence[str], analyzer: Analyzer, kernel: Kernel, block: tuple[int, int] = (65_536, 65_536)
) -> PostingArrays:
    made = column(texts)
    return build_postings(
        lambda first, last: ((made.data, made.offsets[first : last + 1]),), len(texts), analyzer, kernel=kernel, block=block
    )


def assert_same_arrays(one: PostingArrays, other: PostingArrays) -> None:
    for name in PostingArrays._fields:
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype, name
        assert left.tolist() == right.tolist(), name


def documents_of(arrays: PostingArrays) -> list[dict[str, int]]:
    """The terms of each document with their counts, read back from the postings."""
    found: list[dict[str, int]] = [{} for _ in arrays.lengths]
    text = arrays.term_bytes.tobytes()
    for term in range(arrays.terms):
        word = text[arrays.term_offsets[term] : arrays.term_offsets[term + 1]].decode()
        for segment in range(arrays.term_segments[term], arrays.term_segments[term + 1]):
            block = arrays.segment_blocks[segment]
            for posting in arrays.postings[arrays.segment_starts[segment] : arrays.segment_starts[segment + 1]].tolist():
                pair = int(arrays.block_pairs[block]) + (posting >> 16)
                row = int(arrays.block_rows[block]) + (posting & 0xFFFF)
                assert arrays.pair_lengths[pair] == arrays.lengths[row]
                found[row][word] = int(arrays.pair_frequencies[pair])
    return found


texts = st.lists(
    st.one_of(st.text(max_size=25), st.text("aB é\u0301Σ'\t 字_1", max_size=25), st.sampled_from(ODD_TEXTS)), max_size=8
)


@native
@examples(150)
@given(texts=texts, stemming=st.booleans())
@example(texts=list(ODD_TEXTS), stemming=True)
@example(texts=[f"{one} {other}" for one in ODD_TEXTS for other in ODD_TEXTS], stemming=False)
def test_the_native_index_has_the_arrays_of_the_reference(texts: list[str], stemming: bool) -> None:
    analysis = TermAnalysis(stemming=stemming, stop_words=("a", "x"))
    assert_same_arrays(*(index_of(texts, analysis.analyzer(), kernel) for kernel in KERNELS))


@native
@examples(60)
@given(
    texts=st.lists(st.lists(st.sampled_from("abcdefé"), max_size=12).map(" ".join), max_size=12),
    rows=st.integers(1, 5),
    pairs=st.integers(5, 9),
)
def test_small_blocks_give_the_same_postings(texts: list[str], rows: int, pairs: int) -> None:
    one, other = (index_of(texts, WORDS.analyzer(), kernel, (rows, pairs)) for kernel in KERNELS)
    assert_same_arrays(one, other)
    assert documents_of(one) == documents_of(index_of(texts, WORDS.analyzer(), "plain"))
    assert (np.diff(one.block_rows) <= rows).all()
    assert (np.diff(one.block_pairs) <= pairs).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_index_holds_the_tokens_of_the_analyzer(kernel: Kernel) -> None:
    if kernel == "native" and best_kernel() != "native":
        pytest.skip("the C extension was not built")
    for analyzer in (WORDS.analyzer(), TermAnalysis().analyzer(), CharNgrams(3), ByteNgrams(2)):
        arrays = index_of(ODD_TEXTS, analyzer, kernel)
        tokens = [analyzer.tokenize(text) for text in ODD_TEXTS]
        assert arrays.lengths.tolist() == list(map(len, tokens))
        assert documents_of(arrays) == [{token: each.count(token) for token in each} for each in tokens]


@examples(300)
@given(one=st.text(max_size=12), other=st.text(max_size=12), blank=st.sampled_from(" \t\n\x0b\x0c\r"))
@example(one="ΑΣ", other="Β", blank=" ")
@example(one="<", other="\u0338", blank=" ")
def test_the_words_of_a_text_are_those_of_its_parts_between_blanks(one: str, other: str, blank: str) -> None:
    """What the native tokenizer rests on."""
    assert split_words(f"{one}{blank}{other}") == [*split_words(one), *split_words(other)]


def batch_of(arrays: PostingArrays, queries: Sequence[str], kernel: Kernel, times: Sequence[float] = ()) -> TermBatch:
    found = open_postings(arrays, places_of(arrays), pair_factors(arrays, 1.5, 0.75, mean_of(arrays)), kernel=kernel)
    numbers = found.find([term for query in queries for term in query.split()])
    size = len(arrays.lengths)
    idfs = [float(np.float32(math.log(1 + (size - df + 0.5) / (df + 0.5)))) for _, df in numbers]
    bounds = np.cumsum([0, *(len(query.split()) for query in queries)], dtype=np.int64)
    factors = np.resize(np.array(times, np.float64), len(numbers)) if times else np.zeros(0)
    return TermBatch(np.array([number for number, _ in numbers], np.int64), bounds, np.array(idfs, np.float64), factors)


def mean_of(arrays: PostingArrays) -> float:
    return float(arrays.lengths.mean()) if len(arrays.lengths) else 0.0


def places_of(arrays: PostingArrays) -> Any:
    """Neither ascending nor descending."""
    return np.random.default_rng(1).permutation(len(arrays.lengths)).astype(np.int32)


bags = st.lists(st.lists(st.sampled_from("abcde"), max_size=6).map(" ".join), max_size=40)


@native
@examples(150)
@given(
    documents=bags,
    queries=st.lists(st.lists(st.sampled_from("abcdex"), max_size=6).map(" ".join), max_size=4),
    k=st.integers(1, 45),
    rows=st.integers(1, 50),
    times=st.sampled_from([(), (0.5, 1.25, 0.0, 3.0)]),
)
def test_the_native_search_gives_the_rows_and_bits_of_the_reference(
    documents: list[str], queries: list[str], k: int, rows: int, times: tuple[float, ...]
) -> None:
    arrays = index_of(documents, WORDS.analyzer(), "plain", (rows, 65_536))
    factors, mean = pair_factors(arrays, 1.5, 0.75, mean_of(arrays)), places_of(arrays)
    found = []
    for kernel in KERNELS:
        batch = batch_of(arrays, queries, kernel, times)
        rows_, scores, counts = open_postings(arrays, mean, factors, kernel=kernel).search(batch, k)
        found.append(
            [list(zip(r[:n].tolist(), s[:n].tolist(), strict=True)) for r, s, n in zip(rows_, scores, counts, strict=True)]
        )
    assert found[0] == found[1]


@native
def test_many_documents_in_several_blocks_are_searched_like_the_reference() -> None:
    random = np.random.default_rng(3)
    documents = [" ".join(f"w{int(at)}" for at in random.zipf(1.3, 12) if at < 5000) for _ in range(3000)]
    queries = [" ".join(f"w{int(at)}" for at in random.zipf(1.3, 4) if at < 6000) for _ in range(50)]
    arrays = index_of(documents, WORDS.analyzer(), "native", (512, 65_536))
    factors, places = pair_factors(arrays, 0.9, 0.4, mean_of(arrays)), places_of(arrays)
    for k in (1, 10, 1000):
        for times in ((), (0.3, 0.7, 1.1)):
            batch = batch_of(arrays, queries, "native", times)
            one, other = (open_postings(arrays, places, factors, kernel=kernel).search(batch, k) for kernel in KERNELS)
            assert [part.tolist() for part in (one.rows, one.scores)] == [part.tolist() for part in (other.rows, other.scores)]
            assert one.counts.tolist() == other.counts.tolist()


@native
@pytest.mark.parametrize("where", ["first", "last", "spread", "in every block"])
def test_documents_sorted_by_subject_are_searched_like_the_reference(where: str) -> None:
    """The search guesses from its first rows which scores are among the best."""
    random = np.random.default_rng(5)
    others = [" ".join(random.choice(list("abcdefgh"), 6)) for _ in range(11_000)]
    about = [" ".join(["cat"] * int(count) + ["a"]) for count in random.integers(1, 9, 1_000)]
    documents = {
        "first": [*about, *others],
        "last": [*others, *about],
        "spread": random.permutation([*about, *others]).tolist(),
        "in every block": [*about[:300], *others[:4_000], *about[300:600], *others[4_000:], *about[600:]],
    }[where]
    arrays = index_of(documents, WORDS.analyzer(), "native", (4096, 65_536))
    factors, places = pair_factors(arrays, 0.9, 0.4, mean_of(arrays)), places_of(arrays)
    for k in (1, 30, 400, 1_200):
        batch = batch_of(arrays, ["cat a", "cat", "b cat a", "h", "a b", "cat x"] * 5, "native")
        one, other = (open_postings(arrays, places, factors, kernel=kernel).search(batch, k) for kernel in KERNELS)
        assert one.counts.tolist() == other.counts.tolist()
        assert [part.tolist() for part in (one.rows, one.scores)] == [part.tolist() for part in (other.rows, other.scores)]


@examples(60)
@given(documents=bags, query=st.lists(st.sampled_from("abcdex"), max_size=6), k1=st.floats(0, 5), b=st.floats(0, 1))
def test_scores_have_the_bits_of_bm25s(documents: list[str], query: list[str], k1: float, b: float) -> None:
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    tokens = [document.split() for document in documents]
    if not any(tokens):
        return
    oracle = bm25s.BM25(k1=k1, b=b, method="atire", idf_method="lucene")
    oracle.index(tokens, create_empty_token=False, show_progress=False)
    known = [term for term in query if term in oracle.vocab_dict]
    expected = oracle.get_scores(known) if known else np.zeros(len(documents), np.float32)
    stage = BM25(k1=k1, b=b, stemming=False, stop_words=False, depth=100)
    searcher = stage.index(Corpus(Document(str(at), text) for at, text in enumerate(documents)))
    found = np.zeros(len(documents), np.float32)
    docs, scores = searcher.search_terms([query])[0]
    found[[int(doc) for doc in docs]] = scores
    assert found.tolist() == expected.tolist()


@native
@examples(60)
@given(lists=st.lists(st.sets(st.text("abé", max_size=3)), max_size=6))
def test_terms_of_several_vocabularies_are_counted_once(lists: list[set[str]]) -> None:
    vocabularies = [column(sorted(terms, key=str.encode)) for terms in lists]
    pairs = [(one.data, one.offsets) for one in vocabularies]
    assert [count_distinct(pairs, kernel=kernel) for kernel in KERNELS] == [len(set().union(*lists))] * 2


@native
@pytest.mark.slow
@pytest.mark.parametrize("name", ["cosqa", "cranfield", "scifact", "xquad-en"])
def test_the_tokens_of_a_collection_are_those_of_the_analyzer(name: str) -> None:
    paths = list(collection(name).rglob("corpus*.jsonl"))
    assert paths
    for path in paths:
        records = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
        corpus = Corpus(Document(one["_id"], one["text"], one.get("title", "")) for one in records)
        for partition in corpus.partitions:
            _compare_partition(partition, WORDS if path.stem != "corpus" else TermAnalysis())


def _compare_partition(partition: Partition, analysis: TermAnalysis) -> None:
    columns, rows = passage_columns(partition, ("title", "text")), min(len(partition), 20_000)
    arrays = build_postings(columns, rows, analysis.analyzer(), kernel="native")
    analyzer, text = analysis.analyzer(), arrays.term_bytes.tobytes()
    counts = np.zeros(arrays.terms, np.int64)
    for row, document in enumerate(islice(partition.documents(), rows)):
        tokens = analyzer.tokenize(f"{document.title} {document.text}")
        assert arrays.lengths[row] == len(tokens)
    for term, pairs in enumerate(_pairs_of_terms(arrays)):
        counts[term] = arrays.pair_frequencies[pairs].sum()
    terms = [text[start:end].decode() for start, end in zip(arrays.term_offsets[:-1], arrays.term_offsets[1:], strict=True)]
    expected: dict[str, int] = {}
    for document in islice(partition.documents(), rows):
        for token in analyzer.tokenize(f"{document.title} {document.text}"):
            expected[token] = expected.get(token, 0) + 1
    assert dict(zip(terms, counts.tolist(), strict=True)) == expected


def _pairs_of_terms(arrays: PostingArrays) -> Iterator[Any]:
    codes = (arrays.postings >> 16).astype(np.int64)
    sizes = np.diff(arrays.segment_starts)
    pairs = codes + np.repeat(arrays.block_pairs[arrays.segment_blocks], sizes)
    bounds = arrays.segment_starts[arrays.term_segments]
    return (pairs[start:end] for start, end in pairwise(bounds.tolist()))
