"""Embedding APIs on the wire: requests, replies, limits, and replies that are refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rankproof._data.identity import identity_key
from rankproof.errors import UsageError
from rankproof.models._api.embedding import EmbeddingApi, cut_bytes
from rankproof.models._api.embedding_apis import GeminiEmbeddings, OllamaEmbeddings, OpenAIEmbeddings, TEIEmbeddings
from rankproof.models._api.settings import ModelRequestError, ModelUnavailableError
from rankproof.models._registry import ENCODERS
from rankproof.models._wordllama import WordLlama
from support.embedding_server import MODEL, NAMES, REPORTS_TOKENS, WITH_ROLES, EmbeddingServer, tokens_of
from support.scripted_server import Request, Sent

TEXTS = ["a humming hob", "let dough rest", "  ", "sharpen a knife"]
KEY = "CANARY-51d2e84b607f3a9c"


@pytest.mark.parametrize("name", NAMES)
def test_vectors_come_back_in_the_order_of_the_texts_with_length_one_and_zeros_for_a_blank_text(name: str) -> None:
    with EmbeddingServer(name) as server:
        found = server.loaded().encode(TEXTS)
        expected = server.vectors(TEXTS)
    assert found.dtype == np.float32
    assert np.allclose(found[[0, 1, 3]], expected[[0, 1, 3]], atol=1e-6)
    assert np.allclose(np.linalg.norm(found[[0, 1, 3]], axis=1), 1, atol=1e-6)
    assert not found[2].any()
    assert server.texts == [TEXTS[0], TEXTS[1], TEXTS[3]]


@pytest.mark.parametrize("name", NAMES)
def test_queries_are_marked_as_queries_where_the_api_tells_them_from_passages(name: str) -> None:
    with EmbeddingServer(name) as server:
        encoder = server.loaded()
        query, passage = encoder.encode_queries(["a hob"]), encoder.encode(["a hob"])
        assert np.allclose(query, server.vectors(["a hob"], is_query=name in WITH_ROLES), atol=1e-6)
    assert np.allclose(query, passage) == (name not in WITH_ROLES)


@pytest.mark.parametrize("name", NAMES)
def test_shorter_vectors_are_requested_and_normalised_again(name: str) -> None:
    with EmbeddingServer(name) as server:
        found = server.loaded(dimensions=8).encode(["a humming hob"])
        cut = server.vectors(["a humming hob"], dimensions=8)
    assert found.shape == (1, 8)
    assert np.linalg.norm(cut) < 0.9
    assert np.allclose(found, cut / np.linalg.norm(cut), atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_reply_has_the_seconds_and_the_tokens_that_the_server_reports(name: str) -> None:
    with EmbeddingServer(name) as server:
        reply = server.loaded().embed(["a humming hob", "dough"], "passage")
    assert reply.tokens == (tokens_of(["a humming hob", "dough"]) if name in REPORTS_TOKENS else 0)
    assert reply.seconds > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_key_is_sent_in_the_header_of_the_api_and_never_shown(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_KEY", KEY)

    def fault(number: int, request: Request, answer: Any) -> Any:
        return Sent(400, b'{"error": {"message": "bad key CANARY-51d2e84b607f3a9c"}}')

    with EmbeddingServer(name, fault=fault) as server:
        model = server.encoder_model(api_key_env="EMBEDDING_KEY")
        with pytest.raises(ModelRequestError) as caught:
            server.loaded(api_key_env="EMBEDDING_KEY").encode(["a hob"])
    headers = {key.lower(): value for key, value in server.requests[0].headers.items()}
    assert headers[server.api.key_header.lower()].removeprefix("Bearer ") == KEY
    assert KEY not in str(caught.value)
    assert "rejected the request (status 400)" in str(caught.value)
    assert KEY not in repr(model)


def test_base64_vectors_are_equal_to_those_of_the_numbers() -> None:
    with EmbeddingServer("openai-embeddings") as server:
        plain, packed = (server.loaded(encoding_format=form).encode(["a hob", "dough"]) for form in ("float", "base64"))
    assert np.allclose(plain, packed, atol=1e-7)
    assert [request.body["encoding_format"] for request in server.requests] == ["float", "base64"]


def test_real_vectors_survive_every_api(wordllama_weights: object) -> None:
    local = WordLlama().load()
    for name in NAMES:
        with EmbeddingServer(name, local) as server:
            found = server.loaded().encode(TEXTS[:2])
        assert np.allclose(found, local.encode(TEXTS[:2]), atol=1e-6)


def _changed(change: Callable[[list[Any]], Any]) -> Callable[[int, Request, Any], Any]:
    def fault(number: int, request: Request, answer: Any) -> Any:
        return {**answer, "data": change(answer["data"])}

    return fault


def _with_vector(vector: Any) -> Callable[[list[Any]], Any]:
    return lambda data: [{**data[0], "embedding": vector}, *data[1:]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-1], "1 vectors for 2 texts"),
        (lambda data: [data[0], data[0]], "each index from 0 to 1 once"),
        (lambda data: [{"embedding": one["embedding"]} for one in data], "each index from 0 to 1 once"),
        (lambda data: [data[0], {**data[1], "index": 2}], "each index from 0 to 1 once"),
        (lambda data: [data[0], {**data[1], "index": "1"}], "each index from 0 to 1 once"),
        (lambda data: {"0": data[0]}, "data is not a list"),
        (lambda data: ["no", data[1]], "is not an object"),
        (_with_vector([0.5, 0.5]), "2 and 32 dimensions"),
        (_with_vector([]), "dimensions"),
        (_with_vector([0.0] * 32), "the length 0"),
        (_with_vector([math.nan] * 32), "not finite"),
        (_with_vector([math.inf] * 32), "not finite"),
        (_with_vector([10**400] * 32), "not finite"),
        (_with_vector(["NaN"] * 32), "not a list of numbers"),
        (_with_vector([True] * 32), "not a list of numbers"),
        (_with_vector(None), "not a list of numbers"),
        (_with_vector({"0": 1.0}), "not a list of numbers"),
        (_with_vector("%%%"), "nor float32 numbers in base64"),
        (_with_vector("QUJD"), "nor float32 numbers in base64"),
    ],
)
def test_a_reply_without_one_usable_vector_for_each_text_is_a_failure_that_may_be_charged(
    change: Callable[[list[Any]], Any], words: str
) -> None:
    with (
        EmbeddingServer("openai-embeddings", fault=_changed(change)) as server,
        pytest.raises(ModelRequestError, match=words) as caught,
    ):
        server.loaded().encode(["a hob", "dough"])
    assert caught.value.retryable
    assert caught.value.charged


def test_vectors_are_put_in_order_by_their_index() -> None:
    with EmbeddingServer("openai-embeddings", fault=_changed(lambda data: data[::-1])) as server:
        found = server.loaded().encode(["a hob", "dough", "knife"])
        assert np.allclose(found, server.vectors(["a hob", "dough", "knife"]), atol=1e-6)


def test_vectors_of_another_size_than_requested_are_refused() -> None:
    with EmbeddingServer("openai-embeddings") as server:
        server.fault = lambda number, request, answer: {**answer, "data": [{"index": 0, "embedding": [1.0] * 32}]}
        with pytest.raises(ModelRequestError, match="32 and 64 dimensions"):
            server.loaded(dimensions=64).encode(["a hob"])


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ollama", []),
        ("ollama", {"embeddings": {"0": []}}),
        ("tei", {"error": "no"}),
        ("cohere", {"embeddings": [[1.0]]}),
        ("cohere", {"embeddings": {"int8": [[1]]}}),
        ("voyage", {"data": None}),
        ("gemini", {"embeddings": [[1.0]]}),
        ("gemini", {"embedding": {"values": [1.0]}}),
    ],
)
def test_a_reply_of_another_form_is_a_failure(name: str, answer: Any) -> None:
    with (
        EmbeddingServer(name, fault=lambda number, request, good: answer) as server,
        pytest.raises(ModelRequestError, match="is not"),
    ):
        server.loaded().encode(["a hob"])


@pytest.mark.parametrize(
    ("status", "words"), [(401, "rejected"), (404, "no embeddings at http.*/v1/embeddings, or no model"), (302, "redirects")]
)
def test_a_wrong_key_address_or_model_makes_every_request_fail(status: int, words: str) -> None:
    with (
        EmbeddingServer("voyage", fault=lambda number, request, answer: Sent(status)) as server,
        pytest.raises(ModelUnavailableError, match=words),
    ):
        server.loaded().encode(["a hob"])


def _failure(answer: Any) -> str:
    """The message after this answer, without the address."""
    with (
        EmbeddingServer("voyage", fault=lambda number, request, given: answer) as server,
        pytest.raises((ModelRequestError, ModelUnavailableError)) as caught,
    ):
        server.loaded().encode(["a hob"])
    return str(caught.value)


def test_an_unknown_address_shows_where_the_request_went_what_the_server_said_and_the_usual_address() -> None:
    said = _failure(Sent(404, b'{"error": "model not found, try pulling it first"}'))
    assert "/v1/embeddings, or no model loopback-embedding (status 404): model not found, try pulling it first" in said
    assert said.endswith("check the model, and base_url (such as https://api.voyageai.com/v1)")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Sent(429, b'{"error": {"message": "quota used up"}}'), "status 429: quota used up"),
        (Sent(402, b'{"error": {"message": "no credits"}}'), "(status 402): no credits; likely causes"),
        (Sent(405, b'{"detail": "Method Not Allowed"}'), "(status 405): Method Not Allowed; likely causes"),
        (Sent(400), "(status 400); likely causes"),
        ({"error": {"message": "quota used up", "code": 429}}, "data is not a list: quota used up"),
        (Sent(404, b"\xff\xfe not text"), "(status 404); check"),
        (Sent(429, b"\xff", {"Retry-After": "7"}), "status 429, and it demands a pause of 7 s"),
    ],
)
def test_a_failure_has_the_reason_of_the_server(answer: Any, words: str) -> None:
    assert words in _failure(answer)


def test_a_wrong_address_is_refused_with_the_usual_one_of_that_api() -> None:
    for name in NAMES:
        usual = ENCODERS.load(name)("m").base_url
        with pytest.raises(UsageError, match=f"write it like {usual},"):
            ENCODERS.load(name)("m", base_url="localhost:8080")


def test_a_gemini_model_without_task_types_gets_none() -> None:
    with EmbeddingServer("gemini") as server:
        encoder = server.loaded(task_type=False)
        with pytest.raises(ModelRequestError):
            encoder.encode(["a hob"])  # the server of the tests needs a task type
        (sent,) = server.requests[0].body["requests"]
    assert set(sent) == {"model", "content"}


@pytest.mark.parametrize(
    ("name", "texts", "batches"),
    [
        ("cohere", ["x"] * 200, [96, 96, 8]),
        ("gemini", ["x"] * 101, [100, 1]),
        ("voyage", ["x" * 50_000] * 5, [2, 2, 1]),
        ("openai-embeddings", ["x" * 32_768] * 10, [9, 1]),
        ("openai-embeddings", ["x"] * 300, [256, 44]),
    ],
)
def test_requests_keep_the_limits_of_texts_and_tokens(name: str, texts: list[str], batches: list[int]) -> None:
    model = ENCODERS.load(name)(MODEL)
    assert [len(batch) for batch in model.batches(texts)] == batches


@pytest.mark.parametrize(("name", "most"), [("openai-embeddings", 2048), ("cohere", 96), ("voyage", 1000), ("gemini", 100)])
def test_a_batch_larger_than_the_api_takes_is_refused(name: str, most: int) -> None:
    make = ENCODERS.load(name)
    make(MODEL, batch_size=most)
    with pytest.raises(UsageError, match="batch_size"):
        make(MODEL, batch_size=most + 1)


def test_a_text_is_cut_where_the_server_would_reject_it_and_only_counted_where_the_server_cuts_it() -> None:
    long = "word " * 100
    rejecting, cutting, unknown = (
        OpenAIEmbeddings("m", max_tokens=10),
        GeminiEmbeddings("m", max_tokens=10),
        OllamaEmbeddings("m"),
    )
    assert rejecting.sent_text(long) == long[:40]
    assert cutting.sent_text(long) == long
    assert [model.is_cut(long) for model in (rejecting, cutting, unknown)] == [True, True, False]
    assert [model.is_cut("short") for model in (rejecting, cutting, unknown)] == [False, False, False]


def test_a_cut_never_splits_a_character() -> None:
    assert cut_bytes("äöü", 3) == "ä"
    assert cut_bytes("äöü", 4) == "äö"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": " "}, "model is empty"),
        ({"api_key_env": "sk-abc123"}, "api_key_env is not the name"),
        ({"base_url": "http://example.org/v1"}, "plain http address on another machine"),
        ({"base_url": "https://user:pass@example.org"}, "base_url is not a plain"),
        ({"dimensions": 0}, "dimensions"),
        ({"encoding_format": "int8"}, "encoding_format"),
        ({"price_in": -1.0}, "price_in"),
        ({"timeout": 0.0}, "timeout"),
    ],
)
def test_a_wrong_setting_is_refused_without_showing_a_key(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words) as caught:
        OpenAIEmbeddings(**{"model": "m", **settings})
    assert "sk-abc123" not in str(caught.value)


def test_the_name_of_a_gemini_model_cannot_change_the_address() -> None:
    assert GeminiEmbeddings("models/gemini-embedding-001").path == GeminiEmbeddings("gemini-embedding-001").path
    with pytest.raises(UsageError, match="not the name of a Gemini model"):
        GeminiEmbeddings("../v1/models/x?key=1")


def test_settings_that_change_no_vector_are_no_part_of_the_identity() -> None:
    first = OpenAIEmbeddings("m")
    same = OpenAIEmbeddings(
        "m", api_key_env="OTHER", timeout=1, concurrency=1, price_in=3, batch_size=2, encoding_format="base64"
    )
    assert identity_key(first) == identity_key(same)
    others: list[EmbeddingApi] = [
        OpenAIEmbeddings("n"),
        OpenAIEmbeddings("m", dimensions=8),
        OpenAIEmbeddings("m", "https://example.org"),
        OllamaEmbeddings("m", "https://api.openai.com/v1"),
        TEIEmbeddings("m", query_prompt_name="query"),
        TEIEmbeddings("m"),
    ]
    assert len({identity_key(model) for model in (first, *others)}) == 7
