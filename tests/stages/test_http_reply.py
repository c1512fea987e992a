"""The reply of an HTTP engine: paths into JSON, and errors that a success hides."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankproof.errors import UsageError
from rankproof.stages._engines.reply import (
    ReplyError,
    ReplyPaths,
    check_expected,
    column_at,
    parse_column,
    parse_path,
    path_text,
    read_hits,
    reason_of,
    server_milliseconds,
    value_at,
)


def paths(ids: str = "hits[].id", scores: str = "", texts: str = "", total: str = "") -> ReplyPaths:
    return ReplyPaths(
        parse_column("ids", ids),
        parse_column("scores", scores) if scores else None,
        parse_column("texts", texts) if texts else None,
        parse_path("total", total) if total else None,
        None,
        {},
    )


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("hits.hits[]._id", ("hits", "hits", "[]", "_id")),
        ("body.records[][0]", ("body", "records", "[]", 0)),
        ("ids[0][]", ("ids", 0, "[]")),
        ("[].id", ("[]", "id")),
        ('value[]."@search.score"', ("value", "[]", "@search.score")),
        ('"@odata.count"', ("@odata.count",)),
        ("data.Get.Product[]._additional.score", ("data", "Get", "Product", "[]", "_additional", "score")),
    ],
)
def test_a_path_is_read_and_written_alike(text: str, steps: tuple[Any, ...]) -> None:
    assert parse_path("ids", text) == steps
    assert path_text(steps) == text


@pytest.mark.parametrize("text", ["", ".", "a..b", ".a", "a.", "a[", "a[x]", "a]b", 'a."', "a[-1]", "a[0]b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a path into JSON"):
        parse_path("ids", text)


@pytest.mark.parametrize("text", ["hits.id", "hits[].ids[]"])
def test_a_path_to_documents_has_one_list(text: str) -> None:
    with pytest.raises(UsageError, match="where one is needed"):
        parse_column("ids", text)


def test_a_value_that_is_missing_keeps_its_place() -> None:
    document = {"hits": [{"id": "a", "s": 1}, {"id": "b"}, {"id": "c", "s": 3}]}
    assert column_at(document, ("hits", "[]", "s")) == [1, None, 3]
    assert column_at(document, ("none", "[]", "s")) is None


def test_documents_keep_the_order_of_the_reply_whatever_their_scores() -> None:
    document = {"hits": [{"id": "b", "d": 0.9, "t": "B"}, {"id": 7, "d": 0.1}, {"id": "a", "d": "-0.5", "t": "A"}]}
    hits = read_hits(document, paths(scores="hits[].d", texts="hits[].t"))
    assert hits.docs == ("b", "7", "a")
    assert hits.scores == (0.9, 0.1, -0.5)
    assert hits.texts == {"b": "B", "a": "A"}


def test_scores_in_a_list_of_their_own_belong_to_the_ids_of_the_same_length() -> None:
    chroma = paths("ids[0][]", scores="distances[0][]")
    assert read_hits({"ids": [["a", "b"]], "distances": [[0.1, 0.2]]}, chroma).scores == (0.1, 0.2)
    assert read_hits({"ids": [["a", "b"]], "distances": [[0.1]]}, chroma).scores is None
    assert read_hits({"ids": [["a", "b"]], "distances": None}, chroma).scores is None


@pytest.mark.parametrize("score", [None, True, "high", [1], float("nan"), float("inf"), 10**400])
def test_a_score_that_is_no_number_leaves_all_scores_out(score: Any) -> None:
    hits = read_hits({"hits": [{"id": "a", "s": 2}, {"id": "b", "s": score}]}, paths(scores="hits[].s"))
    assert hits.docs == ("a", "b")
    assert hits.scores is None


@pytest.mark.parametrize("value", [None, "", True, 1.5, ["a"], {"a": 1}])
def test_a_document_without_an_id_is_an_error_with_its_place(value: Any) -> None:
    with pytest.raises(ReplyError, match="document 2 of the reply"):
        read_hits({"hits": [{"id": "a"}, {"id": value}]}, paths())


def test_a_reply_without_a_list_has_no_documents_only_if_it_says_that_none_match() -> None:
    vespa = paths("root.children[].id", total="root.fields.totalCount")
    assert read_hits({"root": {"fields": {"totalCount": 0}}}, vespa).docs == ()
    others: list[Any] = [{"root": {"fields": {"totalCount": 3}}}, {"root": {}}, [], None, {"error": "overloaded"}]
    for document in others:
        with pytest.raises(ReplyError, match=r"no list at root\.children"):
            read_hits(document, vespa)


@pytest.mark.parametrize(
    ("document", "expect", "message"),
    [
        ({"timed_out": True}, {"timed_out": False}, "timed_out = true"),
        ({"_shards": {"failed": 2}}, {"_shards.failed": 0}, "_shards.failed = 2"),
        ({"code": 1100, "message": "bad limit"}, {"code": 0}, "code = 1100: bad limit"),
        ({"errors": [{"message": "no such class"}]}, {"errors": "absent"}, "errors: no such class"),
        ({"root": {"coverage": {"full": False}}}, {"root.coverage.full": True}, "root.coverage.full = false"),
        ({"code": False}, {"code": 0}, "code = false"),
    ],
)
def test_an_error_inside_a_success_is_named(document: Any, expect: dict[str, Any], message: str) -> None:
    wanted = {parse_path("expect", key): value for key, value in expect.items()}
    with pytest.raises(ReplyError) as caught:
        check_expected(document, wanted)
    assert message in str(caught.value)
    check_expected(document, dict.fromkeys(wanted, "any"))


def test_a_good_reply_and_one_that_does_not_tell_are_accepted() -> None:
    wanted = {parse_path("expect", "_shards.failed"): 0, parse_path("expect", "errors"): "absent"}
    for document in ({"_shards": {"failed": 0}}, {}, {"errors": None}):
        check_expected(document, wanted)


@pytest.mark.parametrize(
    "document",
    [
        {"error": {"type": "x", "reason": "why"}, "status": 400},
        {"error": {"code": "x", "message": "why"}},
        {"error": {"msg": "why", "code": 400}},
        {"status": {"error": "why"}, "time": 0},
        {"header": {"return_code": -63, "error": {"message": "why"}}},
        {"root": {"errors": [{"code": 4, "summary": "Timed out", "message": "why"}]}},
        {"root": {"errors": [{"code": 12, "summary": "why"}]}},
        {"errors": [{"message": "why"}]},
        {"error": "Cannot execute command", "detail": "why"},
        {"message": "why", "code": "x", "type": "y"},
        {"error": "why"},
    ],
)
def test_the_reason_of_an_error_is_found_where_engines_write_it(document: Any) -> None:
    assert reason_of(document) == "why"


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(ANY_JSON)
def test_json_of_another_shape_is_refused(document: Any) -> None:
    assume(not isinstance(document, dict) or "hits" not in document)
    with pytest.raises(ReplyError, match="the reply has no list at hits"):
        read_hits(document, paths())


@given(st.lists(st.fixed_dictionaries({"id": st.text(min_size=1) | st.integers()}, optional={"s": ANY_JSON, "t": ANY_JSON})))
def test_any_scores_and_texts_are_read_for_their_documents_or_left_out(rows: list[dict[str, Any]]) -> None:
    hits = read_hits({"hits": rows}, paths(scores="hits[].s", texts="hits[].t"))
    assert hits.docs == tuple(str(row["id"]) for row in rows)
    assert hits.scores is None or (len(hits.scores) == len(rows) and all(map(math.isfinite, hits.scores)))
    assert hits.texts.keys() <= {*hits.docs}
    assert all(isinstance(text, str) for text in hits.texts.values())


@pytest.mark.parametrize(
    ("value", "unit", "milliseconds"),
    [
        (12, "ms", 12.0),
        (0.5, "s", 500.0),
        ("12.5", "ms", 12.5),
        (7, "us", 0.007),
        (None, "ms", None),
        ("soon", "ms", None),
        (10**400, "s", None),
    ],
)
def test_the_time_of_the_server_is_in_milliseconds(value: Any, unit: str, milliseconds: float | None) -> None:
    assert server_milliseconds(value, unit) == (None if milliseconds is None else pytest.approx(milliseconds))


def test_a_step_into_another_type_finds_nothing() -> None:
    assert column_at({"a": {"b": 1}}, ("a", "[]")) is None
    assert not isinstance(value_at([1], (3,)), int)
