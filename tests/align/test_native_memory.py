"""The native engine gives the results of the reference for runs and judgements in memory."""

from __future__ import annotations

from collections import Counter, OrderedDict, UserDict, defaultdict
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._align import reference
from rankproof._data.arrays import PackedIds
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run, RunRow
from rankproof._data.validation import ReadOptions
from support.examples import examples
from support.native_cases import assert_same_hits, assert_same_judged, judged_at_random, outcome, readings, rows_at_random

native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)

JUDGED = {"1": {"a": 1, "b": 0, "c": 2, "é": 1}, "2": {"a": 1}, "é": {"d": 3}}
IDS: list[Any] = ["1", "2", "a", "b", "c", "é", "e\u0301", 1, 2, "", None, True, 1.5, b"a", "\ud800", np.str_("a")]
VALUES: list[Any] = [
    1,
    2.5,
    -0.0,
    0,
    float("nan"),
    float("inf"),
    None,
    "1",
    True,
    10**400,
    2**53 + 1,
    np.float64(1),
    np.float32(0.1),
]
MORE_VALUES: list[Any] = [np.int64(3), np.bool_(True), 1j, {}, [], np.float16(2)]


class Subclass(dict[Any, Any]):
    """A dict whose items are not those of dict."""

    def items(self) -> Any:
        return [("a", 7.0)]


def nested(rows: list[tuple[str, str, int, float]]) -> dict[str, dict[str, float]]:
    scores: dict[str, dict[str, float]] = {}
    for query, doc, _, score in rows:
        scores.setdefault(query, {})[doc] = score
    return scores


@examples(200)
@given(
    seed=st.integers(0, 1 << 32),
    read_options=readings(),
    only=st.none() | st.sets(st.sampled_from(["1", "2", "é", "absent", "x"])),
)
def test_a_dict_gives_what_the_reference_gives(seed: int, read_options: ReadOptions, only: set[str] | None) -> None:
    judged, scores = judged_at_random(seed), nested(rows_at_random(seed))
    ours, theirs = native.judge_dict(judged, "qrels", only), reference.judge_dict(judged, "qrels", only)
    assert_same_judged(ours, theirs)
    found = outcome(lambda: native.align_dict(ours, scores, "run", read_options))
    assert_same_hits(found, outcome(lambda: reference.align_dict(theirs, scores, "run", read_options)))


@examples(300)
@given(
    scores=st.dictionaries(
        st.sampled_from(IDS),
        st.dictionaries(st.sampled_from(IDS), st.sampled_from(VALUES * 2 + MORE_VALUES), max_size=4),
        max_size=3,
    )
)
def test_odd_values_in_a_dict_are_accepted_or_rejected_as_by_the_reference(scores: dict[Any, dict[Any, Any]]) -> None:
    ours, theirs = native.judge_dict(JUDGED, "qrels"), reference.judge_dict(JUDGED, "qrels")
    found = outcome(lambda: native.align_dict(ours, scores, "run", ReadOptions()))
    assert_same_hits(found, outcome(lambda: reference.align_dict(theirs, scores, "run", ReadOptions())))


@examples(300)
@given(
    grades=st.dictionaries(
        st.sampled_from(IDS),
        st.dictionaries(
            st.sampled_from(IDS), st.sampled_from([*VALUES, 1, 2, 1000, 1001, -(1 << 63), 1 << 63, 2.0, *MORE_VALUES]), max_size=4
        ),
        max_size=3,
    )
)
def test_odd_grades_in_a_dict_are_accepted_or_rejected_as_by_the_reference(grades: dict[Any, dict[Any, Any]]) -> None:
    found = outcome(lambda: native.judge_dict(grades, "qrels"))
    assert_same_judged(found, outcome(lambda: reference.judge_dict(grades, "qrels")))


@pytest.mark.parametrize("kind", [dict, OrderedDict, defaultdict, Counter, UserDict, MappingProxyType, Subclass])
def test_any_mapping_is_read_through_its_items(kind: Any) -> None:
    def made(mapping: Mapping[str, Any]) -> Any:
        return defaultdict(dict, mapping) if kind is defaultdict else kind(dict(mapping))

    ours, theirs = native.judge_dict(JUDGED, "qrels"), reference.judge_dict(JUDGED, "qrels")
    inner = {"1": made({"b": 2.0, "a": 1.0})}
    found = native.align_dict(ours, inner, "run", ReadOptions())
    assert_same_hits(found, reference.align_dict(theirs, inner, "run", ReadOptions()))
    if kind is not Subclass:
        whole = made({"1": {"b": 2.0, "a": 1.0}})
        assert_same_hits(
            native.align_dict(ours, whole, "run", ReadOptions()), reference.align_dict(theirs, whole, "run", ReadOptions())
        )


@pytest.mark.parametrize("scores", [[], "text", 3, {"1": [("a", 1.0)]}, {"1": None}, {"1": "a"}])
def test_both_engines_reject_anything_but_a_mapping_of_mappings(scores: Any) -> None:
    errors = []
    for engine in (native, reference):
        with pytest.raises(Exception) as caught:
            engine.align_dict(engine.judge_dict(JUDGED, "qrels"), scores, "run", ReadOptions())
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


@examples(200)
@given(
    seed=st.integers(0, 1 << 32), read_options=readings(), ranked=st.sampled_from(["all", "some", "none"]), lined=st.booleans()
)
def test_a_run_gives_what_the_reference_gives(seed: int, read_options: ReadOptions, ranked: str, lined: bool) -> None:
    rows = [
        RunRow(
            query,
            doc,
            score,
            None if ranked == "none" or (ranked == "some" and at % 5 == 0) else rank,
            at + 1 if lined else None,
            "t",
        )
        for at, (query, doc, rank, score) in enumerate(rows_at_random(seed))
    ]
    run = Run.from_rows(rows, source="run.txt", queries=["absent", "nobody"])
    qrels = Qrels.from_dict(judged_at_random(seed))
    ours, theirs = native.judge_qrels(qrels), reference.judge_qrels(qrels)
    assert_same_judged(ours, theirs)
    found = outcome(lambda: native.align_run(ours, run, read_options))
    assert_same_hits(found, outcome(lambda: reference.align_run(theirs, run, read_options)))


def test_a_run_with_a_repeated_query_is_grouped() -> None:
    rows = [RunRow("1", "a", 1.0), RunRow("1", "b", 2.0)]
    run = Run.from_rows(rows).changed(queries=("1", "1"), offsets=np.array([0, 1, 2], dtype=np.int64), tags=("x",))
    found = native.align_run(native.judge_dict(JUDGED, "qrels"), run, ReadOptions())
    assert_same_hits(found, reference.align_run(reference.judge_dict(JUDGED, "qrels"), run, ReadOptions()))


def test_columns_of_different_length_are_rejected() -> None:
    run = Run.from_rows([RunRow("1", "a", 1.0)]).changed(scores=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="same number of rows"):
        native.align_run(native.judge_dict(JUDGED, "qrels"), run, ReadOptions())


@pytest.mark.parametrize("bounds", [[-1, 1, 2], [0, 1, 3], [0, 2, 1]])
def test_bounds_of_ids_outside_their_text_are_rejected(bounds: list[int]) -> None:
    handle = native.judge_dict({"q": {"a": 1}}, "qrels").handle
    options = native.native_options(ReadOptions())
    offsets, scores = np.array([0, 2], dtype=np.int64), np.array([2.0, 1.0])
    with pytest.raises(ValueError, match="same number of rows"):
        native.align.align_run(handle, options, ("q",), offsets, b"ab", np.array(bounds, dtype=np.int64), scores, None)


def test_an_id_without_bytes_fits_into_its_text() -> None:
    handle = native.judge_dict({"q": {"a": 1}}, "qrels").handle
    options, offsets = native.native_options(ReadOptions()), np.array([0, 2], dtype=np.int64)
    bounds, scores = np.array([0, 1, 1], dtype=np.int64), np.array([2.0, 1.0])
    present, *_ = native.align.align_run(handle, options, ("q",), offsets, b"a", bounds, scores, None)[0]
    assert present == b"\x01"


def test_a_dict_is_not_changed_by_being_read() -> None:
    scores = {"1": {"a": 1.0, "é": 2.0}}
    native.align_dict(native.judge_dict(JUDGED, "qrels"), scores, "run", ReadOptions())
    assert scores == {"1": {"a": 1.0, "é": 2.0}}


def test_a_run_with_packed_ids_gives_what_the_reference_gives() -> None:
    rows = [RunRow("1", "b", 1.0, 1), RunRow("1", "é", 2.0, 2), RunRow("1", "x", 2.0, 3), RunRow("2", "a", 1.0, 1)]
    plain = Run.from_rows(rows, source="run.txt")
    packed = plain.changed(docs=PackedIds("béxa".encode(), np.array([0, 1, 3, 4, 5], dtype=np.int64)))
    judged = native.judge_dict(JUDGED, "qrels")
    wanted = reference.align_run(reference.judge_dict(JUDGED, "qrels"), plain, ReadOptions())
    for run in (plain, packed):
        assert_same_hits(native.align_run(judged, run, ReadOptions()), wanted)


def test_a_dict_with_as_many_documents_as_a_buffer_holds_is_read() -> None:
    for count in (1, 15, 16, 17, 32, 33):
        grades = {"q": {f"d{at}": at % 3 for at in range(count)}}
        scores = {"q": {f"d{at}": float(at * 7 % count // 2) for at in range(count)}}
        ours, theirs = native.judge_dict(grades, "qrels"), reference.judge_dict(grades, "qrels")
        found = native.align_dict(ours, scores, "run", ReadOptions())
        assert_same_hits(found, reference.align_dict(theirs, scores, "run", ReadOptions()))


def is_read_as_run(scores: Any) -> bool:
    """Whether the extension takes the dict as it is, without a Run."""
    handle = native.judge_dict(JUDGED, "qrels").handle
    options = native.native_options(ReadOptions())
    return native.align.align_dict(handle, scores, options, native._PLAIN_DICTS, native._FLOATS) is not None


def is_read_as_judgements(grades: Any) -> bool:
    """Whether the extension takes the dict as it is, without Qrels."""
    return native.align.judge_dict(grades, None, native._PLAIN_DICTS, native._FLOATS) is not None


@pytest.mark.parametrize("score", [1.5, -1.0, 0, 3, -1, np.float64(2), np.float64(-1)])
def test_plain_scores_are_read_from_a_dict_as_it_is(score: Any) -> None:
    assert is_read_as_run({"1": {"a": score}})
    assert is_read_as_run({"x": {"a": score}})


@pytest.mark.parametrize(
    "score", [True, "1", None, 10**400, -(10**400), float("nan"), float("inf"), np.float32(1), np.int64(1), Decimal(1)]
)
def test_other_scores_are_left_to_a_run_which_checks_them(score: Any) -> None:
    assert not is_read_as_run({"1": {"b": 1.0, "a": score}})
    assert not is_read_as_run({"x": {"a": score}})


@pytest.mark.parametrize(("grade", "is_read"), [(0, True), (-1, True), (1_000, True), (-(1 << 63), True), (1_001, False)])
def test_whole_grades_up_to_the_highest_are_read_from_a_dict_as_it_is(grade: int, is_read: bool) -> None:
    assert is_read_as_judgements({"1": {"a": grade}}) is is_read


@pytest.mark.parametrize("grade", [1 << 63, -(1 << 63) - 1, 2.0, 1.5, True, "1", None, np.float64(2), np.int64(1), float("nan")])
def test_other_grades_are_left_to_qrels_which_check_them(grade: Any) -> None:
    assert not is_read_as_judgements({"1": {"b": 1, "a": grade}})


@pytest.mark.parametrize(
    ("id", "is_read"), [("é", True), ("", False), ("a\0b", False), ("\ud800", False), (1, False), (np.str_("a"), False)]
)
def test_only_ids_that_are_plain_texts_are_read_from_a_dict_as_it_is(id: Any, is_read: bool) -> None:
    for scores in ({id: {"a": 1.0}}, {"1": {id: 1.0}}, {"x": {id: 1.0}}):
        assert is_read_as_run(scores) is is_read
    for grades in ({id: {"a": 1}}, {"1": {id: 1}}):
        assert is_read_as_judgements(grades) is is_read


@pytest.mark.parametrize(
    ("kind", "is_read"), [(dict, True), (defaultdict, True), (Counter, True), (OrderedDict, False), (UserDict, False)]
)
def test_only_dicts_that_iterate_like_dict_are_read_as_they_are(kind: Any, is_read: bool) -> None:
    def made(mapping: Mapping[str, Any]) -> Any:
        return defaultdict(dict, mapping) if kind is defaultdict else kind(mapping)

    assert is_read_as_run(made({"1": {"a": 1.0}})) is is_read_as_run({"1": made({"a": 1.0})}) is is_read
    assert is_read_as_judgements(made({"1": {"a": 1}})) is is_read_as_judgements({"1": made({"a": 1})}) is is_read
