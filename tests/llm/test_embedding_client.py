"""Embedding APIs through a session: the cache of vectors, costs to the token, faults, limits and budgets."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._io.array_files import Journal
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import Budget, BudgetError, CallTotals
from rankproof._llm.cache import ResponseCaches, split_tokens
from rankproof._llm.embedding import CachedEncoder, estimate_texts, load_encoder
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError, UsageError
from rankproof.models._api.settings import ModelRequestError
from support.embedding_server import NAMES, REPORTS_TOKENS, EmbeddingServer, tokens_of
from support.scripted_server import NEVER, Request, Sent

TEXTS = [f"passage number {number} about {'dough' * (number % 3)} and knives" for number in range(20)]


def session_of(cache: Path | None = None, budget: Budget | None = None, pauses: list[float] | None = None) -> LLMSession:
    sleep: Callable[[float], None] = (lambda seconds: None) if pauses is None else pauses.append
    return LLMSession(ResponseCaches(cache) if cache else None, budget, RetryPolicy(max_requests=3, sleep=sleep))


def encoder_of(server: EmbeddingServer, session: LLMSession, **settings: Any) -> CachedEncoder:
    found = load_encoder(server.encoder_model(**settings), session, 1)
    assert isinstance(found, CachedEncoder)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_second_session_sends_nothing_and_gives_the_same_bits_and_the_same_costs(name: str, tmp_path: Path) -> None:
    counted = []
    found = []
    with EmbeddingServer(name) as server:
        for _ in range(2):
            with session_of(tmp_path) as session:
                totals = CallTotals()
                encoder = encoder_of(server, session, batch_size=3)
                found.append(encoder.encode_counting(TEXTS, "passage", totals))
                counted.append((totals.counts, totals.seconds))
                sent = len(server.requests)
        expected = server.vectors(TEXTS)
    assert len(server.requests) == sent == 7
    assert np.array_equal(found[0], found[1])
    assert np.allclose(found[0], expected, atol=1e-6)
    assert counted[0] == counted[1]
    assert counted[0][0]["calls"] == 7
    if name in REPORTS_TOKENS:
        assert (counted[0][0]["tokens_in"], counted[0][0]["estimated"]) == (server.tokens, 0)
    else:
        assert counted[0][0]["estimated"] == 7


def test_a_changed_text_is_the_only_one_that_is_sent_again(tmp_path: Path) -> None:
    with EmbeddingServer("voyage") as server:
        with session_of(tmp_path) as session:
            encoder_of(server, session).encode(TEXTS)
        with session_of(tmp_path) as session:
            encoder_of(server, session).encode([*TEXTS[:5], "changed", *TEXTS[6:]])
    assert server.texts == [*TEXTS, "changed"]


def test_a_query_does_not_open_the_vectors_of_passages(tmp_path: Path) -> None:
    with EmbeddingServer("cohere") as server:
        with session_of(tmp_path) as session:
            encoder = encoder_of(server, session)
            encoder.encode(TEXTS)
            encoder.encode_queries(["a hob"])
        largest = max(tmp_path.rglob("*.journal"), key=lambda path: path.stat().st_size)
        with Journal(largest), session_of(tmp_path) as session:
            assert encoder_of(server, session).encode_queries(["a hob", " "]).shape == (2, 32)
            with pytest.raises(ExternalError, match="another rankproof"):
                encoder_of(server, session).encode(["dough"])


def test_a_text_is_sent_once_as_a_query_and_once_as_a_passage() -> None:
    with EmbeddingServer("cohere") as server, session_of() as session:
        encoder = encoder_of(server, session)
        passages = encoder.encode(["a hob", "a hob", "dough", "a hob"])
        query = encoder.encode_queries(["a hob"])
        encoder.encode_queries(["a hob"])
        assert np.allclose(query, server.vectors(["a hob"], is_query=True), atol=1e-6)
    assert server.texts == ["a hob", "dough", "a hob"]
    assert np.array_equal(passages[0], passages[1])
    assert not np.allclose(passages[0], query[0])


def test_a_blank_text_is_never_sent_and_has_a_zero_vector() -> None:
    with EmbeddingServer("openai-embeddings") as server, session_of() as session:
        encoder = encoder_of(server, session)
        found = encoder.encode(["", "a hob", " \n"])
        assert encoder.encode_queries([" "]).shape == (1, 32)
    assert server.texts == ["a hob"]
    assert [bool(row.any()) for row in found] == [False, True, False]


def test_the_size_of_blank_texts_alone_is_found_with_one_small_request() -> None:
    with EmbeddingServer("ollama") as server, session_of() as session:
        assert encoder_of(server, session).encode(["", " "]).shape == (2, 32)
    assert len(server.requests) == 1


@pytest.mark.parametrize("concurrency", [1, 4])
def test_costs_are_counted_to_the_token_and_charged_to_the_session(concurrency: int) -> None:
    with EmbeddingServer("openai-embeddings") as server, session_of() as session:
        totals = CallTotals()
        model = {"batch_size": 3, "price_in": 2.0, "concurrency": concurrency}
        encoder_of(server, session, **model).encode_counting(TEXTS, "passage", totals)
        spent = session.meter.spent
    assert totals.counts["tokens_in"] == spent.tokens_in == server.tokens == tokens_of(TEXTS)
    assert totals.counts["calls"] == spent.calls == len(server.requests) == 7
    assert spent.money == pytest.approx(server.tokens * 2.0 / 1e6)


@given(st.integers(0, 10_000), st.lists(st.text(min_size=1, max_size=50), min_size=1, max_size=40))
def test_the_shares_of_the_texts_add_up_to_the_tokens_of_their_request(tokens: int, texts: list[str]) -> None:
    shares = split_tokens(tokens, texts)
    assert sum(shares) == tokens
    assert min(shares) >= 0


@pytest.mark.parametrize("reported", [0, -5, 10**9, "12", None, True, 12.5])
def test_tokens_that_cannot_be_right_are_estimated_and_marked(reported: object) -> None:
    def fault(number: int, request: Request, answer: Any) -> Any:
        return {**answer, "usage": {"prompt_tokens": reported}}

    with EmbeddingServer("openai-embeddings", fault=fault) as server, session_of() as session:
        totals = CallTotals()
        encoder_of(server, session).encode_counting(["a humming hob"], "passage", totals)
    assert (totals.counts["tokens_in"], totals.counts["estimated"]) == (4, 1)


def _first(count: int, sent: Any) -> Callable[[int, Request, Any], Any]:
    return lambda number, request, answer: sent(answer) if callable(sent) else sent if number <= count else answer


def _once(change: Callable[[Any], Any]) -> Callable[[int, Request, Any], Any]:
    return lambda number, request, answer: change(answer) if number == 1 else answer


@pytest.mark.parametrize(
    "fault",
    [
        _first(1, Sent(429, headers={"Retry-After": "7"})),
        _first(2, Sent(500)),
        _first(2, Sent(503)),
        _first(1, Sent(200, b'{"data": [{"index": 0, "embedd')),
        _first(1, Sent(200, b"")),
        _once(lambda answer: {**answer, "data": answer["data"][:-1]}),
        _once(lambda answer: {**answer, "data": [{**one, "index": 0} for one in answer["data"]]}),
        _once(lambda answer: {**answer, "data": [{"embedding": one["embedding"]} for one in answer["data"]]}),
        _once(lambda answer: {**answer, "data": [{**one, "embedding": ["NaN"] * 32} for one in answer["data"]]}),
        lambda number, request, answer: {**answer, "data": answer["data"][::-1]},
    ],
    ids=["429", "500", "503", "cut JSON", "empty", "too few", "same index", "no index", "NaN", "permuted"],
)
def test_a_fault_is_survived_and_never_gives_another_vector(fault: Callable[[int, Request, Any], Any]) -> None:
    with EmbeddingServer("voyage", fault=fault) as server, session_of() as session:
        totals = CallTotals()
        found = encoder_of(server, session).encode_counting(TEXTS[:4], "passage", totals)
        assert np.allclose(found, server.vectors(TEXTS[:4]), atol=1e-6)
        assert totals.counts["calls"] == session.meter.spent.calls == len(server.requests)
        assert totals.counts["tokens_in"] == tokens_of(TEXTS[:4])
        assert session.meter.spent.tokens_in >= server.tokens


def test_a_pause_that_the_server_demands_is_kept() -> None:
    pauses: list[float] = []
    fault = _first(1, Sent(429, headers={"Retry-After": "7"}))
    with EmbeddingServer("tei", fault=fault) as server, session_of(pauses=pauses) as session:
        encoder_of(server, session).encode(["a hob"])
    assert pauses == [7.0]


def test_vectors_of_another_size_in_a_later_request_are_refused() -> None:
    def fault(number: int, request: Request, answer: Any) -> Any:
        return answer if number == 1 else {**answer, "embeddings": [[1.0, 2.0]]}

    with EmbeddingServer("ollama", fault=fault) as server, session_of() as session:
        encoder = encoder_of(server, session)
        encoder.encode(["a hob"])
        with pytest.raises(ModelRequestError, match="the vectors have 2 dimensions, those of earlier replies 32"):
            encoder.encode(["dough"])
    assert len(server.requests) == 4


def test_vectors_of_another_size_than_those_in_the_cache_are_refused_and_a_new_cache_takes_them(tmp_path: Path) -> None:
    with EmbeddingServer("ollama") as server:
        with session_of(tmp_path / "first") as session:
            encoder_of(server, session).encode(["a hob"])
        server.fault = lambda number, request, answer: {**answer, "embeddings": [[1.0, 2.0]]}
        with session_of(tmp_path / "first") as session:
            encoder = encoder_of(server, session)
            with pytest.raises(ModelRequestError, match="set RANKPROOF_CACHE to a new folder"):
                encoder.encode(["dough"])
            assert any("the last failed request: " in note and "2 dimensions" in note for note in encoder.notes())
        with session_of(tmp_path / "second") as session:
            assert encoder_of(server, session).encode(["dough"]).shape == (1, 2)


def test_a_text_that_is_cut_before_it_is_sent_costs_what_is_sent() -> None:
    text = "dough " * 10_000
    with EmbeddingServer("openai-embeddings", fault=lambda number, request, answer: {**answer, "usage": {}}) as server:
        model, totals = server.encoder_model(max_tokens=100, price_in=1.0), CallTotals()
        with session_of(budget=Budget(tokens=1000)) as session:
            encoder = load_encoder(model, session, 1)
            assert isinstance(encoder, CachedEncoder)
            encoder.encode_counting([text], "passage", totals)
    assert totals.counts["tokens_in"] == estimate_texts(model, [text]).tokens_in == 100


@pytest.mark.slow
def test_replies_of_different_sizes_to_requests_at_the_same_time_are_refused() -> None:
    def fault(number: int, request: Request, answer: Any) -> Any:
        time.sleep(0.2)
        return {**answer, "embeddings": [[1.0] * (2 if request.body["input"] == [TEXTS[0]] else 32)]}

    with EmbeddingServer("ollama", fault=fault) as server, session_of() as session:
        encoder = encoder_of(server, session, batch_size=1)
        with pytest.raises(ModelRequestError, match="dimensions"):
            encoder.encode(TEXTS[:3])


def test_no_text_needs_no_request() -> None:
    with EmbeddingServer("ollama") as server, session_of() as session:
        assert len(encoder_of(server, session).encode([])) == 0
    assert server.requests == []


@pytest.mark.slow
def test_a_server_that_never_answers_is_given_up_and_may_have_been_paid() -> None:
    with EmbeddingServer("voyage", fault=lambda number, request, answer: NEVER) as server, session_of() as session:
        with pytest.raises(ModelRequestError, match="no data for"):
            encoder_of(server, session, timeout=0.2).encode(["a hob"])
        assert session.meter.spent.unsure == 3


def test_many_failures_in_a_row_end_all_requests(tmp_path: Path) -> None:
    with EmbeddingServer("voyage", fault=lambda number, request, answer: Sent(500)) as server, session_of(tmp_path) as session:
        encoder = encoder_of(server, session)
        for number in range(9):
            with pytest.raises(ModelRequestError):
                encoder.encode_queries([f"query {number}"])
        with pytest.raises(ExternalError, match="10 requests in a row failed"):
            encoder.encode_queries(["the last one"])


def test_a_batch_that_the_server_finds_too_large_is_sent_in_halves_and_later_batches_are_smaller() -> None:
    with EmbeddingServer("tei") as server, session_of() as session:
        totals = CallTotals()
        encoder = encoder_of(server, session, batch_size=16, concurrency=1)
        found = encoder.encode_counting(TEXTS, "passage", totals)
        assert np.allclose(found, server.vectors(TEXTS), atol=1e-6)
        first = len(server.requests)
        encoder.encode([f"more {number}" for number in range(8)])
        assert len(server.requests) == first + 2
    assert max(server.sizes) == 4
    assert totals.counts["calls"] == first
    assert sorted(server.texts) == sorted([*TEXTS, *(f"more {number}" for number in range(8))])


def _too_long(limit: int) -> Callable[[int, Request, Any], Any]:
    """Rejects a request with a text of more bytes, which the estimate takes for short enough."""

    def fault(number: int, request: Request, answer: Any) -> Any:
        is_long = any(len(text.encode()) > limit for text in request.body["input"])
        return Sent(400, b'{"error": {"message": "maximum context length is 10 tokens"}}') if is_long else answer

    return fault


def test_a_text_that_the_server_still_finds_too_long_is_shortened_alone() -> None:
    with EmbeddingServer("openai-embeddings", fault=_too_long(20)) as server, session_of() as session:
        encoder = encoder_of(server, session, max_tokens=10)
        found = encoder.encode(["short", "a text of more than twenty bytes", "brief"])
        assert np.allclose(found[[0, 2]], server.vectors(["short", "brief"]), atol=1e-6)
        assert "1 of the texts were shortened until OpenAI took them" in encoder.notes()[0]
        sent = next(text for text in server.texts if text.startswith("a text"))
    assert "a text of more than twenty bytes".startswith(sent)
    assert 10 <= len(sent) <= 20


def test_a_rejected_request_of_short_texts_is_not_repeated() -> None:
    wrong = Sent(400, b'{"error": {"message": "no such dimensions"}}')
    with (
        EmbeddingServer("openai-embeddings", fault=lambda number, request, answer: wrong) as server,
        session_of() as session,
        pytest.raises(ModelRequestError, match="no such dimensions"),
    ):
        encoder_of(server, session).encode(["short", "brief"])
    assert len(server.requests) == 1


def test_a_budget_ends_the_work_in_time_and_a_larger_one_continues_it(tmp_path: Path) -> None:
    with EmbeddingServer("cohere") as server:
        model = {"batch_size": 2, "concurrency": 1, "price_in": 100.0}
        with session_of(tmp_path, Budget(money=0.03)) as session:
            with pytest.raises(BudgetError, match="all replies so far are cached"):
                encoder_of(server, session, **model).encode(TEXTS)
            assert 0 < session.meter.spent.money <= 0.03
        stopped = len(server.requests)
        assert 0 < stopped < 10
        with session_of(tmp_path, Budget(calls=10 - stopped)) as session:
            encoder_of(server, session, **model).encode(TEXTS)
    assert sorted(server.texts) == sorted(TEXTS)


def test_a_budget_of_money_needs_a_price() -> None:
    no_price = pytest.raises(UsageError, match="loopback-embedding has no price; set price_in, or limit")
    with EmbeddingServer("voyage") as server, session_of(budget=Budget(money=1)) as session, no_price:
        encoder_of(server, session)


@pytest.mark.parametrize(
    ("name", "settings", "is_refused"),
    [
        ("ollama", {}, False),
        ("tei", {}, False),
        ("tei", {"api_key_env": "HF_TOKEN"}, True),
        ("openai-embeddings", {}, True),
    ],
)
def test_a_budget_of_money_needs_no_price_for_an_own_server_without_a_key(
    name: str, settings: dict[str, str], is_refused: bool
) -> None:
    refused = pytest.raises(UsageError, match="has no price") if is_refused else nullcontext()
    with EmbeddingServer(name) as server, session_of(budget=Budget(money=1)) as session, refused:
        assert encoder_of(server, session, **settings).encode(["a hob"]).any()


def test_queries_of_several_threads_with_one_text_are_sent_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def slow(number: int, request: Request, answer: Any) -> Any:
        time.sleep(0.05)
        return answer

    with EmbeddingServer("gemini", fault=slow) as server, session_of() as session:
        encoder = encoder_of(server, session)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: encoder.encode_queries(["the same"]), range(8)))
    assert len(server.requests) == 1


def test_the_time_of_a_query_is_that_of_its_request_also_from_the_cache(tmp_path: Path) -> None:
    def slow(number: int, request: Request, answer: Any) -> Any:
        time.sleep(0.2)
        return answer

    seconds = []
    with EmbeddingServer("gemini", fault=slow) as server:
        for _ in range(2):
            with session_of(tmp_path) as session:
                totals = CallTotals()
                encoder_of(server, session).encode_counting(["a hob"], "query", totals)
                seconds.append(totals.seconds)
    assert seconds[0] == seconds[1]
    assert 0.2 <= seconds[0] < 2


def test_the_key_is_in_no_file_of_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "CANARY-51d2e84b607f3a9c"
    monkeypatch.setenv("EMBEDDING_KEY", key)

    def echo(number: int, request: Request, answer: Any) -> Any:
        return {**answer, "model": key, "note": f"Bearer {key}"}

    with EmbeddingServer("voyage", fault=echo) as server, session_of(tmp_path) as session:
        totals = CallTotals()
        encoder_of(server, session, api_key_env="EMBEDDING_KEY").encode_counting(["a hob"], "passage", totals)
    assert totals.counts["masked"] == 1
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"vectors" in written
    assert key.encode() not in written


def test_the_vectors_of_a_request_that_was_cut_off_on_disk_are_sent_again(tmp_path: Path) -> None:
    with EmbeddingServer("voyage") as server:
        with session_of(tmp_path) as session:
            encoder_of(server, session, batch_size=10, concurrency=1).encode(TEXTS)
        (journal,) = tmp_path.rglob("*.journal")
        journal.write_bytes(journal.read_bytes()[:-100])
        with session_of(tmp_path) as session:
            found = encoder_of(server, session, batch_size=10).encode(TEXTS)
        assert np.allclose(found, server.vectors(TEXTS), atol=1e-6)
    assert server.texts == [*TEXTS, *TEXTS[10:]]


@pytest.mark.parametrize(("name", "is_unknown"), [("ollama", True), ("voyage", False), ("openai-embeddings", False)])
def test_a_server_that_truncates_silently_is_named(name: str, is_unknown: bool) -> None:
    with EmbeddingServer(name) as server, session_of() as session:
        notes = encoder_of(server, session).notes()
        assert any("truncates long texts without saying so" in note for note in notes) == is_unknown
        assert encoder_of(server, session, max_tokens=10).cut(["short", "word " * 20]) == 1
