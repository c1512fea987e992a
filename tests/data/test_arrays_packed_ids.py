"""Packed ids behave as a tuple of ids, also in runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import fuse
from rankproof._align import engine, reference
from rankproof._data.arrays import PackedIds
from rankproof._data.ordering import resolve_duplicate_columns
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import ReadOptions
from rankproof._formats.write import run_blocks
from support.examples import examples
from support.native_cases import assert_same_hits, judged_at_random, outcome, readings, rows_at_random

IDS = st.lists(st.text(st.characters(codec="utf-8"), max_size=12), max_size=12)
PLACES = st.none() | st.integers(-15, 15)


def packed(ids: list[str] | tuple[str, ...]) -> PackedIds:
    """The ids in one text."""
    parts = [one.encode() for one in ids]
    return PackedIds(b"".join(parts), np.cumsum([0, *map(len, parts)], dtype=np.int64))


def run_at_random(seed: int) -> Run:
    """A run of a few queries, some of them without rows."""
    rows = [RunRow(query, doc, score, rank, line) for line, (query, doc, rank, score) in enumerate(rows_at_random(seed), start=1)]
    return Run.from_rows(rows, source="run.txt", queries=["absent"])


def values_of(run: Run) -> list[Any]:
    """Everything that a run holds."""
    columns = [None if column is None else column.tolist() for column in (run.offsets, run.scores, run.ranks, run.lines)]
    return [run.name, run.source, run.queries, run.tags, tuple(run.docs), *columns]


@given(ids=IDS, start=PLACES, end=PLACES, step=st.sampled_from([None, 1, 2, -1, -3]))
def test_slices_and_indexes_are_those_of_a_tuple(ids: list[str], start: int | None, end: int | None, step: int | None) -> None:
    found, wanted = packed(ids), tuple(ids)
    assert found[start:end:step] == wanted[start:end:step]
    assert [found[at] for at in range(-len(ids), len(ids))] == [wanted[at] for at in range(-len(ids), len(ids))]
    with pytest.raises(IndexError):
        found[len(ids)]


@given(ids=IDS, other=IDS)
def test_they_compare_and_iterate_as_a_tuple_does(ids: list[str], other: list[str]) -> None:
    found = packed(ids)
    assert found == tuple(ids) == tuple(found)
    assert (found == packed(other)) == (ids == other) == (found == tuple(other))
    assert (len(found), hash(found), repr(found)) == (len(ids), hash(tuple(ids)), f"<PackedIds: {len(ids)} ids>")
    assert all((one in found) == (one in ids) for one in other)


def test_more_ids_than_one_block_are_iterated_completely() -> None:
    ids = [f"é{at}" for at in range(10_000)]
    assert [*packed(ids)] == ids


@examples(100)
@given(
    seed=st.integers(0, 1 << 32),
    chosen=st.lists(st.sampled_from(["absent", "unknown", "1", "2", "é", "long-query-number-five"]), unique=True),
)
def test_queries_are_selected_and_moved_first_as_in_a_run_of_rows(seed: int, chosen: list[str]) -> None:
    run = run_at_random(seed)
    for one in (run, run.changed(docs=packed(tuple(run.docs)))):
        kept = [query for query in one.queries if query in chosen]
        rows = [row for row in one.rows() if row.query in chosen]
        assert values_of(one.restricted_to(chosen)) == values_of(Run.from_rows(rows, source=one.source, queries=kept))
        assert values_of(one.beginning_with(chosen)) == values_of(
            Run.from_rows(one.rows(), source=one.source, queries=[*chosen, *one.queries])
        )


def test_the_rows_of_a_repeated_query_are_grouped() -> None:
    run = Run.from_rows([RunRow("1", "a", 1.0), RunRow("1", "b", 2.0)]).changed(queries=("1", "1"), offsets=np.array([0, 1, 2]))
    assert values_of(run.beginning_with(["2"])) == values_of(Run.from_rows(run.rows(), queries=["2"]))


@examples(100)
@given(seed=st.integers(0, 1 << 32), read_options=readings())
def test_a_packed_run_is_aligned_and_written_as_the_same_run_of_text(seed: int, read_options: ReadOptions) -> None:
    run, qrels = run_at_random(seed), Qrels.from_dict(judged_at_random(seed))
    other = run.changed(docs=packed(tuple(run.docs)))
    for judged, align in ((engine.judge_qrels(qrels), engine.align_run), (reference.judge_qrels(qrels), reference.align_run)):
        assert_same_hits(*(outcome(partial(align, judged, one, read_options)) for one in (other, run)))
    found, wanted = (outcome(partial(resolve_duplicate_columns, one, read_options)) for one in (other, run))
    assert repr(found) == repr(wanted)
    assert outcome(lambda: [*run_blocks(other, "trec")]) == outcome(lambda: [*run_blocks(run, "trec")])


def test_packed_runs_are_fused_as_the_same_runs_of_text() -> None:
    one = Run.from_dict({"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"a": 1.0}})
    other = Run.from_dict({"1": {"c": 1.0, "d": 2.0, "a": 3.0}})
    wanted = fuse([one, other])
    found = fuse([run.changed(docs=packed(tuple(run.docs))) for run in (one, other)])
    assert values_of(found) == values_of(wanted)


@pytest.mark.parametrize("bounds", [[0, 1], [0, 2, 1, 3], [0, 1, 2, 9], [-1, 1, 2, 3], []])
def test_bounds_that_do_not_fit_the_text_are_rejected(bounds: list[int]) -> None:
    native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)
    run = Run.from_dict({"1": {"a": 3.0, "b": 2.0, "c": 1.0}})
    wrong = run.changed(docs=PackedIds(b"abc", np.array(bounds, dtype=np.int64)))
    with pytest.raises(ValueError, match="same number of rows"):
        native.align_run(native.judge_dict({"1": {"a": 1}}, "qrels"), wrong, ReadOptions())
