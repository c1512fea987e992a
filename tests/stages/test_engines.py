"""The client of a search engine: order of the reply, retries, rate, budget, failures and recorded replies."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.dataset import Query
from rankproof._data.ordering import rank_documents
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import Budget, BudgetError
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.client import MAX_CONSECUTIVE_FAILURES
from rankproof._llm.session import LLMSession, map_concurrent
from rankproof.stages._base import BuildContext, EngineOptions, QueryTimer
from rankproof.stages._engines.base import EngineClient, EngineError, EngineReply, checked_reply
from support.examples import examples
from support.scripted_engine import Script, Scripted, ScriptedEngine
from support.stage_building import PlainBlockCache, corpus_of

CORPUS = corpus_of({f"d{at}": "text" for at in range(10)})
Q = Query("q", "text")
DOWN = EngineError("status 503", retryable=True)


def context_of(session: LLMSession | None = None, options: EngineOptions | None = None) -> BuildContext:
    session = session or LLMSession(retry_policy=RetryPolicy(sleep=lambda seconds: None))
    return BuildContext(CORPUS, CORPUS.fingerprint(), PlainBlockCache(), session=session, engines=options or EngineOptions())


def client_of(script: Script, session: LLMSession | None = None, **settings: float) -> tuple[EngineClient, list[object]]:
    stage = ScriptedEngine(script, **settings)  # type: ignore[arg-type]
    return stage.client(context_of(session)), stage.log


ids = st.lists(st.sampled_from([f"d{at}" for at in range(8)]), max_size=12)
scores = st.floats(-2, 2) | st.sampled_from([0.0, 1.0])


@examples(200)
@given(docs=ids, numbers=st.lists(scores, min_size=12, max_size=12), depth=st.integers(1, 10))
def test_a_ranking_follows_the_order_of_the_reply_whatever_its_scores(docs: list[str], numbers: list[float], depth: int) -> None:
    stage = ScriptedEngine(lambda query, size: EngineReply(tuple(docs), tuple(numbers[: len(docs)])), depth=depth)
    found, made = stage.build(context_of()).search(Q, [], QueryTimer())
    assert found == list(dict.fromkeys(docs))[:depth]
    assert np.all(np.diff(made) < 0)
    assert rank_documents(found, made)[0] == found


@examples(100)
@given(docs=ids, numbers=st.lists(scores, min_size=12, max_size=12))
def test_the_scores_of_the_engine_stay_beside_their_documents(docs: list[str], numbers: list[float]) -> None:
    reply = checked_reply(EngineReply(tuple(docs), tuple(numbers[: len(docs)])), 5, CORPUS)
    assert reply.scores is not None
    first = {doc: numbers[at] for at, doc in reversed(list(enumerate(docs)))}
    assert dict(zip(reply.docs, reply.scores, strict=True)) == {doc: first[doc] for doc in reply.docs}


def test_what_is_left_out_of_a_reply_is_noted() -> None:
    reply = checked_reply(EngineReply(("d1", "d2", "d1", "d3"), (1.0, math.nan, 0.5, 0.1)), 2, CORPUS)
    assert (reply.docs, reply.scores) == (("d1", "d2"), None)
    assert reply.notes == (
        "1 repeated document left out",
        "3 documents where 2 were requested: the first 2 count",
        "the engine's scores are left out: there is not one finite number for each document",
    )


def test_texts_are_kept_for_documents_that_the_corpus_does_not_have() -> None:
    reply = EngineReply(("d1", "new"), texts={"d1": "known", "new": "x" * 9000, "other": "not retrieved"})
    assert checked_reply(reply, 10, CORPUS).texts == {"new": "x" * 2000}


@pytest.mark.parametrize("docs", [("",), (None,), (1.5,), ("a\0",), ("\ud800",)])
def test_an_invalid_id_is_a_failed_request(docs: tuple[str, ...]) -> None:
    client, _ = client_of(lambda query, size: EngineReply(docs))
    failure = client.ask(Q)
    assert isinstance(failure, EngineError)
    assert failure.what.startswith("the reply has an invalid document id: ")


def test_round_trip_is_server_time_plus_network() -> None:
    for server_ms, expected in ((4.0, (4.0, 6.0)), (None, (10.0, 0.0)), (50.0, (10.0, 0.0)), (-1.0, (0.0, 10.0))):
        stage = ScriptedEngine(
            lambda query, size, ms=server_ms: EngineReply(("d1",), seconds=0.01, server_ms=ms, embed_seconds=0.002)  # type: ignore[misc]
        )
        timer = QueryTimer()
        stage.build(context_of()).search(Q, [], timer)
        assert (timer.milliseconds["search"], timer.milliseconds["network"]) == pytest.approx(expected)
        assert timer.milliseconds["embed"] == pytest.approx(2.0)


def test_a_session_that_is_stopped_at_once_closes_its_engines() -> None:
    with LLMSession() as session:
        stage = ScriptedEngine(lambda query, size: ["d1"])
        stage.client(context_of(session=session)).ask(Q)
        session.stop()
        assert ("engine", "closed") not in stage.log
        session.stop(at_once=True)
        assert ("engine", "closed") in stage.log


def test_a_server_time_far_above_the_round_trip_is_noted() -> None:
    said = []
    for server_ms in (4.0, 15.0, 10_000.0):
        stage = ScriptedEngine(lambda query, size, ms=server_ms: EngineReply(("d1",), seconds=0.01, server_ms=ms))  # type: ignore[misc]
        reply = stage.client(context_of()).ask(Q)
        assert isinstance(reply, EngineReply)
        said.append(reply.notes)
    assert said[:2] == [(), ()]
    assert said[2] == ("the server reports more time than the round trip took; it is cut to that: check server_time_unit",)


def test_the_client_measures_the_round_trip_of_the_request_that_succeeds() -> None:
    replies: Iterator[Scripted] = iter([DOWN, ["d1"]])

    def slow(query: Query, size: int) -> Scripted:
        time.sleep(0.02)
        return next(replies)

    reply = client_of(slow)[0].ask(Q)
    assert isinstance(reply, EngineReply)
    assert 0.02 <= reply.seconds < 0.04
    assert reply.requests == 2


def test_retries_wait_longer_each_time_or_as_long_as_the_server_demands() -> None:
    pauses: list[float] = []
    session = LLMSession(retry_policy=RetryPolicy(sleep=pauses.append))
    replies: Iterator[Scripted] = iter([DOWN, EngineError("429", retryable=True, wait=7.0), DOWN, ["d1"]])
    client, log = client_of(lambda query, size: next(replies), session, retries=3)
    assert isinstance(client.ask(Q), EngineReply)
    assert pauses == [0.5, 7.0, 2.0]
    assert len(log) == 4


def test_a_request_is_repeated_only_as_often_as_set_and_only_if_it_may_succeed() -> None:
    for failure, retries, requests in ((DOWN, 2, 3), (DOWN, 0, 1), (EngineError("status 400"), 2, 1)):
        client, log = client_of(lambda query, size, one=failure: one, retries=retries)  # type: ignore[misc]
        found = client.ask(Q)
        assert found is failure
        assert (found.requests, len(log)) == (requests, requests)


def test_a_failure_to_connect_is_a_failed_query() -> None:
    class Unreachable(ScriptedEngine):
        def connect(self, context: BuildContext) -> object:  # type: ignore[override]
            raise EngineError("connection refused", retryable=True)

    found = Unreachable(lambda query, size: []).client(context_of()).ask(Q)
    assert isinstance(found, EngineError)
    assert (found.what, found.requests) == ("connection refused", 3)


def test_after_ten_failures_in_a_row_no_query_is_asked() -> None:
    client, log = client_of(lambda query, size: DOWN, retries=0)
    found = [client.ask(Query(f"q{at}", "text")) for at in range(15)]
    assert len(log) == MAX_CONSECUTIVE_FAILURES
    assert [isinstance(one, EngineError) and one.sent for one in found] == [True] * 10 + [False] * 5
    assert str(found[-1]) == "not asked, because 10 queries in a row failed"


def test_a_reply_ends_the_failures_in_a_row() -> None:
    client, log = client_of(lambda query, size: DOWN if int(query.id) % 10 else ["d1"], retries=0)
    for at in range(1, 40):
        client.ask(Query(str(at), "text"))
    assert len(log) == 39


def test_the_rate_is_kept_over_threads() -> None:
    client, _ = client_of(lambda query, size: ["d1"], LLMSession(), rate=50, concurrency=4)
    session = LLMSession()
    start = time.monotonic()
    map_concurrent(session, client.ask, [Query(str(at), "text") for at in range(8)], 4)
    assert time.monotonic() - start >= 7 / 50


def test_no_more_requests_run_at_once_than_set() -> None:
    running, most = [0], [0]

    def busy(query: Query, size: int) -> list[str]:
        running[0] += 1
        most[0] = max(most[0], running[0])
        time.sleep(0.01)
        running[0] -= 1
        return []

    client, _ = client_of(busy, concurrency=2)
    map_concurrent(LLMSession(), client.ask, [Query(str(at), "text") for at in range(8)], 6)
    assert most == [2]


def test_requests_count_against_the_budget_and_recorded_replies_do_not(tmp_path: Path) -> None:
    asked = [Query(str(at), "text") for at in range(3)]
    with LLMSession(ResponseCaches(tmp_path), Budget(calls=2)) as session:
        client, _ = client_of(lambda query, size: ["d1"], session)
        with pytest.raises(BudgetError, match="all replies so far are cached"):
            [client.ask(query) for query in asked]
        assert session.meter.spent.calls == 2
    with LLMSession(ResponseCaches(tmp_path), Budget(calls=1)) as session:
        client, log = client_of(lambda query, size: ["d1"], session)
        assert all(isinstance(client.ask(query), EngineReply) for query in asked)
        assert log == [("engine", "2")]


def test_a_recorded_reply_is_the_one_that_was_given(tmp_path: Path) -> None:
    full = EngineReply(("d1", "new"), (1.5, -2.0), {"new": "é"}, 0.5, 0.1, 3.0, ("40 documents where 100 were requested",))
    with LLMSession(ResponseCaches(tmp_path)) as session:
        first = client_of(lambda query, size: full, session)[0].ask(Q)
    with LLMSession(ResponseCaches(tmp_path)) as session:
        client, log = client_of(lambda query, size: DOWN, session)
        assert client.ask(Q) == first
        assert not client.was_sent(Q)
    assert isinstance(first, EngineReply)
    assert first == replace(full, asked=first.asked)
    assert log == []


def test_another_text_depth_or_repeat_is_another_request(tmp_path: Path) -> None:
    for repeat, query, depth, sent in ((1, Q, 5, 1), (1, Q, 5, 0), (2, Q, 5, 1), (1, Query("q", "other"), 5, 1), (1, Q, 6, 1)):
        with LLMSession(ResponseCaches(tmp_path)) as session:
            session.repeat = repeat
            client, log = client_of(lambda query, size: ["d1"], session, depth=depth)
            client.ask(query)
            assert len(log) == sent


def test_settings_that_do_not_change_a_reply_share_the_recorded_replies() -> None:
    session = LLMSession()
    one, other = (ScriptedEngine(lambda query, size: ["d1"], timeout=at, retries=at, rate=at) for at in (1, 2))
    assert one != other
    one.client(context_of(session)).ask(Q)
    other.client(context_of(session)).ask(Q)
    assert (len(one.log), len(other.log)) == (1, 0)


def test_asking_again_ignores_recorded_replies_once(tmp_path: Path) -> None:
    for options, reply, expected in (
        (EngineOptions(), ["d1"], "d1"),
        (EngineOptions(ask_again=True), ["d2"], "d2"),
        (EngineOptions(), ["d3"], "d2"),
    ):
        with LLMSession(ResponseCaches(tmp_path)) as session:
            stage = ScriptedEngine(lambda query, size, docs=reply: docs)  # type: ignore[misc]
            client = stage.client(context_of(session, options))
            found = [client.ask(Q) for _ in range(2)]
            assert found[0] == found[1]
            assert isinstance(found[0], EngineReply)
            assert found[0].docs == (expected,)
            assert len(stage.log) == (0 if reply == ["d3"] else 1)


def test_the_connection_is_closed_with_the_searcher_or_the_session() -> None:
    with LLMSession() as session:
        stage = ScriptedEngine(lambda query, size: ["d1"])
        searcher = stage.build(context_of(session))
        searcher.search(Q, [], QueryTimer())
        searcher.close()
        stage.client(context_of(session)).ask(Query("q2", "text"))
    assert stage.log == [("engine", "q"), ("engine", "closed"), ("engine", "q2"), ("engine", "closed")]
