"""The merge of hits in C refuses what does not fit, and gives the bits of the merge in Python."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document
from rankproof.stages._partitions import NativeMerge, PartitionHits, ReferenceMerge, merge_rankings

_merge = pytest.importorskip("rankproof._native.merge", exc_type=ImportError)

IDS = [
    (np.array([0, 1, 3], np.int64), np.frombuffer(b"abb", np.uint8)),
    (np.array([0, 1], np.int64), np.frombuffer(b"c", np.uint8)),
]
SECOND = 1 << 32


def hits(*places: int, scores: float = 1.0, count: int | None = None) -> tuple[Any, Any, Any]:
    number = len(places) if count is None else count
    return np.array([places], np.int64), np.full((1, len(places)), scores), np.array([number], np.int64)


def merge_of(parts: Any, *, ids: Any = IDS, queries: int = 1, width: int = 2) -> list[int]:
    result = hits(*[0] * width)
    _merge.merge_hits(ids, parts, queries, result)
    found: list[int] = result[0][0, : result[2][0]].tolist()
    return found


def test_equal_scores_are_merged_by_id_larger_first() -> None:
    assert merge_of([hits(1, 0), hits(SECOND)]) == [SECOND, 1]
    assert merge_of([hits(1, 0), hits(SECOND)], width=4) == [SECOND, 1, 0]
    assert merge_of([hits(1, 0, scores=2.0), hits(SECOND)], width=4) == [1, 0, SECOND]
    assert merge_of([]) == []


@pytest.mark.parametrize("place", [2, SECOND + 1, 2 * SECOND, -1])
def test_a_place_outside_the_partitions_is_refused(place: int) -> None:
    with pytest.raises(ValueError, match="no row of its partition"):
        merge_of([hits(0), hits(place)])
    with pytest.raises(ValueError, match="no row of its partition"):
        _merge.hit_ids(IDS, hits(place), 1, False)


@pytest.mark.parametrize("offsets", [[0, 4, 3], [0, -1, 3], [2, 1, 3], [0]])
def test_wrong_offsets_of_ids_are_refused(offsets: list[int]) -> None:
    wrong = [(np.array(offsets, np.int64), IDS[0][1]), IDS[1]]
    with pytest.raises(ValueError, match="no row of its partition"):
        merge_of([hits(0), hits(SECOND)], ids=wrong)
    with pytest.raises(ValueError, match="no row of its partition"):
        _merge.hit_ids(wrong, hits(0), 1, True)


@pytest.mark.parametrize(
    ("part", "queries"),
    [
        (hits(0, count=2), 1),
        (hits(0, count=-1), 1),
        ((*hits()[:2], hits()[0]), sys.maxsize // 4 + 1),
        (hits(0), 2),
        (hits(0), 0),
        ((*hits(0)[:2], hits()[1]), 1),
    ],
)
def test_hits_of_the_wrong_size_are_refused(part: Any, queries: int) -> None:
    with pytest.raises(ValueError, match="wrong sizes"):
        merge_of([part], queries=queries)
    with pytest.raises(ValueError, match="wrong sizes"):
        _merge.hit_ids(IDS, part, queries, False)


def test_arrays_that_are_not_aligned_are_refused() -> None:
    shifted = np.zeros(33, np.uint8)[1:]
    with pytest.raises(ValueError, match="64-bit"):
        merge_of([hits(0)], ids=[(shifted, IDS[0][1])])
    with pytest.raises(ValueError, match="wrong sizes"):
        merge_of([(shifted[:8], shifted[:8], np.ones(1, np.int64))])


def test_anything_but_arrays_of_hits_is_refused() -> None:
    for ids, parts in [([3], [hits(0)]), (IDS, [3]), (IDS, [()]), ([("a", "b")], [hits(0)]), (3, 3)]:
        with pytest.raises(TypeError):
            merge_of(parts, ids=ids)
    with pytest.raises(ValueError, match="negative"):
        merge_of([], queries=-1)
    with pytest.raises(ValueError, match="negative"):
        _merge.hit_ids(IDS, hits(0), -1, False)


@pytest.mark.parametrize("is_shared", [True, False])
def test_ids_of_hits_are_those_of_their_rows(is_shared: bool) -> None:
    lone = [(np.array([0, 3], np.int64), np.frombuffer("\ud800".encode(errors="surrogatepass"), np.uint8))]
    assert _merge.hit_ids(IDS, hits(SECOND, 1, 1, 0, count=3), 1, is_shared) == [["c", "bb", "bb"]]
    assert _merge.hit_ids(lone, hits(0), 1, is_shared) == [["\ud800"]]
    assert _merge.hit_ids(IDS, (np.empty((0, 3), np.int64), np.empty((0, 3)), np.empty(0, np.int64)), 0, is_shared) == []


PARTS = st.lists(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]), max_size=5), min_size=1, max_size=5)


@given(PARTS, st.permutations([f"{'ä' * (at % 2)}{at}" for at in range(25)]), st.integers(1, 8))
def test_the_merge_in_python_gives_the_same_bits(scores: list[list[float]], names: list[str], k: int) -> None:
    corpus = Corpus((Document(name, "") for name in names), partition_size=5)
    found = []
    for number, values in enumerate(scores):
        best = sorted(
            ((score, corpus.partitions[number].ids.bytes_at(row), row) for row, score in enumerate(values)), reverse=True
        )
        rows, kept = [row for _, _, row in best[:k]], [score for score, _, _ in best[:k]]
        found.append(PartitionHits(np.array([rows], np.int32), np.array([kept]), np.array([len(rows)])))
    native, reference = (merge_rankings(corpus, found, 1, k, merge=one) for one in (NativeMerge(corpus), ReferenceMerge(corpus)))
    assert native[0][0] == reference[0][0]
    assert native[0][1].tobytes() == reference[0][1].tobytes()
