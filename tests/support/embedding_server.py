"""Embedding APIs on loopback: a server for each API that checks requests as the API does and encodes with a real model.

The shapes are written out here for each API, from its documentation, and not taken from the code under test.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankproof._data.arrays import Matrix
from rankproof.models._api.embedding import EmbeddingApi, EmbeddingConnection
from rankproof.models._base import Encoder
from rankproof.models._registry import encoder_by_name
from support.chat_server import ChatServer
from support.scripted_server import Request, Sent
from support.small_models import HashedWords

MODEL = "loopback-embedding"
BYTES_PER_TOKEN = 5
QUERY_MARK = "query:"
"""The prompt that the server puts before a query, where the API knows what a query is."""


def tokens_of(texts: Sequence[str]) -> int:
    """The tokens that the servers report."""
    return sum(len(text.encode()) // BYTES_PER_TOKEN + 1 for text in texts)


@dataclass(frozen=True)
class Api:
    """One API: its path, the most texts of a request, and how it is asked and answers.

    `texts` gives the texts of a request, `is_query` what they are, and `reply` the answer with these vectors.
    """

    name: str
    path: str
    limit: int
    texts: Callable[[Mapping[str, Any]], Sequence[str]]
    is_query: Callable[[Mapping[str, Any]], bool]
    dimensions: Callable[[Mapping[str, Any]], int | None]
    reply: Callable[[Mapping[str, Any], Sequence[str], Matrix], Any]
    keys: frozenset[str]
    key_header: str = "Authorization"


def _openai(body: Mapping[str, Any], texts: Sequence[str], vectors: Matrix) -> Any:
    def written(row: Matrix) -> Any:
        if body.get("encoding_format") == "base64":
            return b64encode(row.astype("<f4").tobytes()).decode()
        return row.tolist()

    data = [{"object": "embedding", "index": at, "embedding": written(row)} for at, row in enumerate(vectors)]
    usage = {"prompt_tokens": tokens_of(texts), "total_tokens": tokens_of(texts)}
    return {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _voyage(body: Mapping[str, Any], texts: Sequence[str], vectors: Matrix) -> Any:
    data = [{"object": "embedding", "embedding": row.tolist(), "index": at} for at, row in enumerate(vectors)]
    return {"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": tokens_of(texts)}}


def _cohere(body: Mapping[str, Any], texts: Sequence[str], vectors: Matrix) -> Any:
    meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": float(tokens_of(texts))}}
    return {"id": "da6e531f", "embeddings": {"float": vectors.tolist()}, "texts": list(texts), "meta": meta}


def _ollama(body: Mapping[str, Any], texts: Sequence[str], vectors: Matrix) -> Any:
    times = {"total_duration": 14143917, "load_duration": 1019500}
    return {"model": body["model"], "embeddings": vectors.tolist(), **times, "prompt_eval_count": tokens_of(texts)}


def _gemini(body: Mapping[str, Any], texts: Sequence[str], vectors: Matrix) -> Any:
    return {"embeddings": [{"values": row.tolist()} for row in vectors]}


def _gemini_texts(body: Mapping[str, Any]) -> Sequence[str]:
    assert all(one["model"] == f"models/{MODEL}" for one in body["requests"])
    return [one["content"]["parts"][0]["text"] for one in body["requests"]]


APIS = {
    api.name: api
    for api in (
        Api(
            "openai-embeddings",
            "/v1/embeddings",
            2048,
            lambda body: body["input"],
            lambda body: False,
            lambda body: body.get("dimensions"),
            _openai,
            frozenset({"model", "input", "encoding_format", "dimensions"}),
        ),
        Api(
            "ollama",
            "/api/embed",
            10_000,
            lambda body: body["input"],
            lambda body: False,
            lambda body: body.get("dimensions"),
            _ollama,
            frozenset({"model", "input", "truncate", "dimensions"}),
        ),
        Api(
            "tei",
            "/embed",
            4,
            lambda body: body["inputs"],
            lambda body: body.get("prompt_name") == "query",
            lambda body: body.get("dimensions"),
            lambda body, texts, vectors: vectors.tolist(),
            frozenset({"inputs", "normalize", "truncate", "prompt_name", "dimensions"}),
        ),
        Api(
            "cohere",
            "/v2/embed",
            96,
            lambda body: body["texts"],
            lambda body: {"search_query": True, "search_document": False}[body["input_type"]],
            lambda body: body.get("output_dimension"),
            _cohere,
            frozenset({"model", "texts", "input_type", "embedding_types", "truncate", "output_dimension"}),
        ),
        Api(
            "voyage",
            "/v1/embeddings",
            1000,
            lambda body: body["input"],
            lambda body: {"query": True, "document": False}[body["input_type"]],
            lambda body: body.get("output_dimension"),
            _voyage,
            frozenset({"model", "input", "input_type", "truncation", "output_dimension"}),
        ),
        Api(
            "gemini",
            f"/v1beta/models/{MODEL}:batchEmbedContents",
            100,
            _gemini_texts,
            lambda body: {"RETRIEVAL_QUERY": True, "RETRIEVAL_DOCUMENT": False}[body["requests"][0]["taskType"]],
            lambda body: body["requests"][0].get("outputDimensionality"),
            _gemini,
            frozenset({"requests"}),
            key_header="x-goog-api-key",
        ),
    )
}
NAMES = tuple(APIS)
WITH_ROLES = ("tei", "cohere", "voyage", "gemini")
REPORTS_TOKENS = ("openai-embeddings", "ollama", "cohere", "voyage")
_ROOTS = {"ollama": "", "tei": "", "cohere": "", "gemini": "/v1beta"}
_PROMPTS = {"tei": {"query_prompt_name": "query"}}


class EmbeddingServer(ChatServer):
    """`with EmbeddingServer("voyage") as server:`; `fault` may change an answer, and gets the number of the request."""

    def __init__(
        self, name: str, encoder: Encoder | None = None, fault: Callable[[int, Request, Any], Any] | None = None
    ) -> None:
        super().__init__(self._answer)
        self.api, self.encoder, self.fault = APIS[name], encoder or HashedWords().load(), fault
        self.tokens = 0
        self.texts: list[str] = []
        self.sizes: list[int] = []
        self._loaded: list[EmbeddingConnection] = []

    def encoder_model(self, **settings: Any) -> EmbeddingApi:
        """The settings of the model on this server, without a key."""
        known = {**self.written_settings(), "api_key_env": "", "timeout": 20.0}
        found = encoder_by_name(self.api.name, **{**known, **settings})
        assert isinstance(found, EmbeddingApi)
        return found

    def written_settings(self) -> dict[str, str]:
        """The model and the address, as an experiment file has them."""
        root = self.address.removesuffix("/v1") + _ROOTS.get(self.api.name, "/v1")
        return {"model": MODEL, "base_url": root, **_PROMPTS.get(self.api.name, {})}

    def loaded(self, **settings: Any) -> EmbeddingConnection:
        """A connection to this server, closed with it."""
        found = self.encoder_model(**settings).load()
        self._loaded.append(found)
        return found

    def __exit__(self, *error: Any) -> None:
        for connection in self._loaded:
            connection.close()
        super().__exit__(*error)

    def vectors(self, texts: Sequence[str], *, is_query: bool = False, dimensions: int | None = None) -> Matrix:
        """What the server gives for texts: a prompt goes before a query, and shorter vectors are cut off, not normalised."""
        spoken = [f"{QUERY_MARK} {text}" for text in texts] if is_query else list(texts)
        return np.asarray(self.encoder.encode(spoken))[:, :dimensions]

    def _answer(self, request: Request) -> Sent:
        api, body = self.api, request.body
        assert request.path == api.path
        assert set(body) <= api.keys
        texts = api.texts(body)
        if len(texts) > api.limit:
            return Sent(413, b'{"error": "batch size is too large", "error_type": "Validation"}')
        if not all(text.strip() for text in texts):
            return Sent(400, b'{"error": {"message": "an input is empty"}}')
        vectors = self.vectors(texts, is_query=api.is_query(body), dimensions=api.dimensions(body))
        answer = api.reply(body, texts, vectors)
        if self.fault is not None:
            answer = self.fault(len(self.requests), request, answer)
        if isinstance(answer, Sent):
            return answer
        with self._lock:
            self.tokens += tokens_of(texts)
            self.texts += texts
            self.sizes.append(len(texts))
        return Sent(body=json.dumps(answer).encode())
